"""The lowest layer from plateaus, as one of the ways to the neurons: answers that are constant in parts."""

from dataclasses import dataclass, field

import numpy as np

from unweave.activations import RELU, STEP
from unweave.arrays import Points
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.search import NEXT_TO, LowestLayerSearch
from unweave.identification.plateaus.threshold_layer import ThresholdLayer
from unweave.identification.refiner import Refiner
from unweave.identification.routes import Condition, Decision, FirstLayer, Found, Known, Survey, leave, take
from unweave.identification.session import Probe
from unweave.identification.walks.lines import remembered
from unweave.networks.network import Layer
from unweave.oracles.oracle import LINE_POINTS
from unweave.oracles.views import StandardOracle, layer_in_oracle_units

# Random places whose surroundings are looked at, and how far, in half-widths of the domain.
PLACES, NEARBY = 16, 1e-5
# Tolerated rounding, in expected errors.
MARGIN = 6.0


@dataclass(frozen=True, kw_only=True)
class PlateauWalk:
    """Settings of the way along the edges of plateaus.

    Args:
        suits: when it is taken.
        search: how the edges are found.
    """

    suits: Condition
    search: LowestLayerSearch = field(default_factory=LowestLayerSearch)
    name = "plateau walk"
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the first layer; what is above it is not looked for."""
        session, probe = survey.session, survey.probe
        try:
            with session.stage("leaving plateaus"):
                layer = self.search(
                    remembered(probe.oracle.query),
                    probe.oracle.inputs,
                    session.rng_walk,
                    noise=_answer_error(probe),
                    rounding=probe.rounding,
                )
        except StageFailed as failure:
            return Found(str(failure))
        return lowest_layer(layer, probe.oracle)


def lowest_layer(found: ThresholdLayer, oracle: StandardOracle) -> Found:
    """Give unit rows in the oracle's own inputs: lengths are not determined."""
    layer = layer_in_oracle_units(found.layer, oracle)
    lengths = np.linalg.norm(layer.weights, axis=1)
    layer = Layer(layer.weights / lengths[:, None], layer.biases / lengths, layer.activation)
    return Found(
        "it found the lowest layer, and what is above is not looked for.",
        first_layer=FirstLayer(found.layer, layer, reasons.lowest_layer(found)),
        checks=found.checks,
    )


def is_constant_in_parts(survey: Survey, known: Known) -> Decision:  # noqa: ARG001
    """Suit functions whose answers are constant around every one of some random places: 32 queries at most."""
    if why := _without_plateaus(survey):
        return leave(why)
    if survey.activation == STEP or _changes_nowhere_nearby(survey):
        return take("the answers are constant around every place that was looked at.")
    return leave("the answers change around the places that were looked at.")


def is_constant_at_the_centre(survey: Survey, known: Known) -> Decision:
    """Suit functions that nothing else explains, and that are constant next to the centre: two queries."""
    if why := known.closes(survey) or _without_plateaus(survey):
        return leave(why)
    if known.first_layer is not None:
        return leave("a first layer is known.")
    session = survey.session
    if not is_constant_around(survey, NEXT_TO * session.rng_walk.standard_normal((1, session.oracle.inputs))):
        return leave("the answers change around the centre.")
    return take("nothing explains the answers, which are constant around the centre.")


def _without_plateaus(survey: Survey) -> str:
    """Say why no plateau can be left; empty if one may be."""
    if not survey.may_walk or survey.is_in_box:
        return survey.near_only
    has_plateaus = survey.activation in (None, STEP, RELU)
    return "" if has_plateaus else f"{survey.activation} is constant nowhere."


def _changes_nowhere_nearby(survey: Survey) -> bool:
    """Whether answers are constant, first on the lines that have told the noise, then around random places."""
    lines = np.split(survey.probe.answers.values[: 2 * LINE_POINTS], 2)
    if all(np.any(np.ptp(line, axis=0) > 0.0) for line in lines):
        return False
    with survey.session.stage("probing the answers"):
        places = survey.probe.oracle.sample(survey.session.rng_walk, PLACES, margin=NEARBY)
        return is_constant_around(survey, places)


def is_constant_around(survey: Survey, points: Points) -> bool:
    """Whether answers are constant around all of some points: two queries each."""
    probe = survey.probe
    steps = NEARBY * survey.session.rng_walk.uniform(-1.0, 1.0, points.shape)
    values, beside = np.split(probe.oracle.query(np.concatenate([points, points + steps])), 2)
    errors = _answer_error(probe) + probe.rounding * np.max(np.abs(values), axis=1)
    return bool(np.all(np.max(np.abs(values - beside), axis=1) <= MARGIN * errors))


def _answer_error(probe: Probe) -> float:
    """Expected error of an answer, with the rounding of what was subtracted to centre the answers."""
    return probe.scale.noise + probe.rounding * float(np.max(np.abs(probe.oracle.offset / probe.oracle.size)))
