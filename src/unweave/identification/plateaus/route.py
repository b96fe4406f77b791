"""The lowest layer from plateaus, as one of the ways to the neurons: answers that are constant in parts."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from unweave.activations import STEP
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.found import FirstLayer, Found
from unweave.identification.plateaus.plateau_layer import PlateauLayer
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.plateaus.staircase import StaircaseLook
from unweave.identification.refiner import Refiner
from unweave.identification.routes import Condition, Decision, Known, Survey, leave, take
from unweave.identification.walks.lines import remembered
from unweave.networks.network import Layer
from unweave.oracles.views import StandardOracle, layer_in_oracle_units


@dataclass(frozen=True, kw_only=True)
class PlateauWalk:
    """Settings of the way along the edges of plateaus.

    Args:
        suits: when it is taken.
        search: how the edges are found.
        staircase: how it is seen that they are steps of rounding.
        most_in_vain, most_in_vain_per_input: queries, the larger number counts, that a search may cost where answers
            jump and nothing was seen of a layer: one row takes about 60 per input.
        most_per_weight: queries that each row read so far allows without a budget: twice what rows take at most.
    """

    suits: Condition
    search: LowestLayerSearch = field(default_factory=LowestLayerSearch)
    staircase: StaircaseLook = field(default_factory=StaircaseLook)
    most_in_vain: int = 4_200
    most_in_vain_per_input: int = 150
    most_per_weight: int = 200
    name = "plateau walk"
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the first layer; what is above it is not looked for."""
        session, probe = survey.session, survey.probe
        try:
            with session.stage("leaving plateaus"):
                layer = self._search(survey)(
                    remembered(probe.oracle.query),
                    probe.oracle.inputs,
                    session.rng_walk,
                    noise=probe.answer_error,
                    rounding=probe.rounding,
                    saw=partial(session.saw, queries_per_parameter=self.most_per_weight),
                )
        except StageFailed as failure:
            return Found(str(failure))
        grid = session.oracle.ledger.grid
        if layer.is_parallel and (grid.is_staircase or grid.bits <= grid.most_bits):
            return Found(reasons.staircase(layer.rows), checks=layer.checks)
        is_stepped = layer.layer.activation == STEP and layer.rows > 0
        tolerance = self.search.margin * probe.answer_error
        is_staircase = is_stepped and self.staircase(probe.oracle.query, layer.layer, tolerance=tolerance)
        if probe.are_plateaus_of_rounding or is_staircase:
            return Found(reasons.rounded_plateaus(layer.rows), checks=layer.checks)
        return lowest_layer(layer, probe.oracle)

    def _search(self, survey: Survey) -> LowestLayerSearch:
        """The search, with a limit where answers jump: boundaries of labels show edges without end."""
        if survey.steps is None:
            return self.search
        most = max(self.most_in_vain, self.most_in_vain_per_input * survey.probe.oracle.inputs)
        return replace(self.search, most_in_vain=most)


def lowest_layer(found: PlateauLayer, oracle: StandardOracle) -> Found:
    """Give unit rows in the oracle's own inputs: lengths are not determined."""
    layer = layer_in_oracle_units(found.layer, oracle)
    lengths = np.linalg.norm(layer.weights, axis=1)
    layer = Layer(layer.weights / lengths[:, None], layer.biases / lengths, layer.activation)
    reason = reasons.lowest_layer(
        found.layer,
        float(np.max(found.errors)),
        lines=found.lines,
        quiet_lines=found.quiet_lines,
        is_complete=found.is_complete,
    )
    return Found(
        "it found the lowest layer, and what is above is not looked for.",
        first_layer=FirstLayer(found.layer, layer, reason),
        checks=found.checks,
    )


def is_constant_at_the_centre(survey: Survey, known: Known) -> Decision:
    """Suit functions that nothing else explains, and that are constant next to the centre."""
    if why := known.closes(survey) or survey.without_plateaus:
        return leave(why)
    if known.first_layer is not None:
        return leave("a first layer was found already.")
    inputs = survey.session.oracle.inputs
    centre = survey.plateaus.beside_centre * survey.session.rng_walk.standard_normal((1, inputs))
    places = np.repeat(centre, survey.plateaus.places, axis=0)
    if not survey.is_constant_around(places, survey.session.rng_walk):
        return leave("the answers change around the centre.")
    return take("nothing explains the answers, which are constant around the centre.")
