"""The lowest layer from plateaus, as one of the ways to the neurons: answers that are constant in parts."""

from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.search import NEXT_TO, LowestLayerSearch
from unweave.identification.plateaus.threshold_layer import ThresholdLayer
from unweave.identification.refiner import Refiner
from unweave.identification.session import FirstLayer, Probe, Session
from unweave.identification.walks.lines import remembered
from unweave.networks.network import Layer
from unweave.oracles.views import StandardOracle, layer_in_oracle_units

# Random places whose surroundings are looked at, and how far, in half-widths of the domain.
PLACES, NEARBY = 16, 1e-5
# Tolerated rounding, in expected errors.
MARGIN = 6.0


@dataclass(frozen=True)
class PlateauWalk:
    """Settings of the way along the edges of plateaus.

    Args:
        search: how the edges are found.
    """

    search: LowestLayerSearch = field(default_factory=LowestLayerSearch)
    name = "plateau walk"

    def __call__(self, session: Session, probe: Probe, refiner: Refiner) -> NoReturn:  # noqa: ARG002
        """Tell the run its first layer.

        Raises:
            StageFailed: always: what is above the first layer is not looked for.
        """
        oracle = probe.oracle
        with session.stage("leaving plateaus"):
            found = self.search(
                remembered(oracle.query),
                oracle.inputs,
                session.rng_walk,
                noise=_answer_error(probe),
                rounding=probe.rounding,
            )
        keep_lowest_layer(session, oracle, found)
        raise StageFailed("it found the lowest layer, and what is above is not looked for.")


def keep_lowest_layer(session: Session, oracle: StandardOracle, found: ThresholdLayer) -> None:
    """Tell a run what was found, with unit rows in the oracle's own inputs: lengths are not determined."""
    layer = layer_in_oracle_units(found.layer, oracle)
    lengths = np.linalg.norm(layer.weights, axis=1)
    layer = Layer(layer.weights / lengths[:, None], layer.biases / lengths, layer.activation)
    session.first_layer = FirstLayer(found.layer, layer, reasons.lowest_layer(found))
    session.diagnostics += found.checks


def is_constant_in_parts(session: Session, probe: Probe) -> bool:
    """Whether answers are constant around every one of some random places: 32 queries."""
    return is_constant_around(session, probe, probe.oracle.sample(session.rng_walk, PLACES, margin=NEARBY))


def is_constant_at_the_centre(session: Session, probe: Probe) -> bool:
    """Whether answers are constant around a place next to the centre: two queries."""
    return is_constant_around(session, probe, NEXT_TO * session.rng_walk.standard_normal((1, session.oracle.inputs)))


def is_constant_around(session: Session, probe: Probe, points: Points) -> bool:
    """Whether answers are constant around all of some points: two queries each."""
    steps = NEARBY * session.rng_walk.uniform(-1.0, 1.0, points.shape)
    values, beside = np.split(probe.oracle.query(np.concatenate([points, points + steps])), 2)
    errors = _answer_error(probe) + probe.rounding * np.max(np.abs(values), axis=1)
    return bool(np.all(np.max(np.abs(values - beside), axis=1) <= MARGIN * errors))


def _answer_error(probe: Probe) -> float:
    """Expected error of an answer, with the rounding of what was subtracted to centre the answers."""
    return probe.scale.noise + probe.rounding * float(np.max(np.abs(probe.oracle.offset / probe.oracle.size)))
