"""Networks with two hidden layers of relu or leaky relu: first layer, peel, second layer, join, verify.

What is returned as a network has met fresh answers at several distances from the centre. Everything less is the
first layer, with the reason why there is no more.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import Points
from unweave.assembly.joined import join
from unweave.assembly.orientation import orient
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification.candidates import Candidate
from unweave.identification.first_relu_layer import OUTER, FirstReluLayer, FirstReluLayerSearch
from unweave.identification.run import Probe, Run
from unweave.identification.upper_relu_layer import UpperReluLayer
from unweave.identification.verdicts import count
from unweave.measurements.walks.kinks import KinkWalk
from unweave.measurements.walks.lines import far_line
from unweave.measurements.walks.parallels import share_of_common_bends
from unweave.networks import Layer, Network
from unweave.oracles.domains import Box
from unweave.outcomes import Diagnostic, Outcome, at_least, at_most
from unweave.refinement import LevenbergMarquardt

# Fresh answers per parameter, with bounds, and their distances from the centre.
FRESH_SHARE = 0.4
FEWEST_FRESH, MOST_FRESH = 128, 2_000
FRESH_SCALES = (0.3, 1.0, 3.0)
# Error of a fresh answer, relative to the spread of all, up to which a network meets it.
VERIFIED = 1e-8
# Lines through values that the network misses, per round, and rounds.
LINES_THROUGH_MISSES, ROUNDS = 4, 6
# Share of bends that two parallel lines through a shallow network have in common, with a margin for bends beyond
# their ends; and how much farther from the centre the second line is.
SHALLOW_SHARE = 0.75
PARALLEL = 10.0


@dataclass(frozen=True, eq=False)
class ReluLayers:
    """What was found of a network with two hidden layers, in standard coordinates.

    Args:
        outcome: identified if the network is complete and unique, partly identified if only the function, or only
            the first layer is known.
        reason: one paragraph in plain words.
        network: reproduces fresh answers, or None.
        first_layer: unit weights; with signs and activation if `has_signs`. None if nothing was found.
        has_signs: whether the signs of the first layer are known.
        fresh_error: largest error of a fresh answer, relative to the spread; infinite without a network.
        checks: the assumptions that were checked.
    """

    outcome: Outcome
    reason: str
    network: Network | None
    first_layer: Layer | None
    has_signs: bool
    fresh_error: float
    checks: tuple[Diagnostic, ...]


def looks_shallow(run: Run, probe: Probe) -> bool:
    """Whether a piecewise linear function bends alike on two parallel lines, as shallow networks do.

    Costs about ten queries per kink on two lines, whatever the number of inputs.

    Raises:
        StageFailed: if it is not piecewise linear.

    Assumes: the domain has no end, and there are two inputs at least.
    """
    near = far_line(probe.oracle.inputs, run.rng_walk, radius=float(np.sqrt(probe.oracle.inputs)), outer=OUTER)
    # Far apart, so that most upper neurons are met on one side by the one and on the other by the other.
    far = replace(near, base=-PARALLEL * near.base, unit=PARALLEL * near.unit)
    settings = KinkWalk(noise=probe.scale.noise, rounding=probe.rounding)
    share = share_of_common_bends(settings(probe.oracle.query, near), settings(probe.oracle.query, far))
    run.diagnostics.append(
        at_least(
            "share of bends that two parallel lines have in common",
            share,
            SHALLOW_SHARE,
            "neurons of a shallow network bend all parallel lines alike: there are further layers",
            weak=0.0,
        )
    )
    return share >= SHALLOW_SHARE


@dataclass(frozen=True)
class DeepKinkRoute:
    """Settings of the way to two hidden layers along kinks.

    Args:
        first: how the first layer is found.
        refine: how the upper layers, and in the end all layers, are refined.
        largest_polish: parameters up to which all layers are refined together; above, that takes too long for
            what it gains.
    """

    first: FirstReluLayerSearch = field(default_factory=FirstReluLayerSearch)
    refine: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)
    largest_polish: int = 2_500
    name = "kink walk through two layers"

    def __call__(self, run: Run, probe: Probe) -> ReluLayers:
        """Recover both hidden layers, or the first one.

        Raises:
            StageFailed: if no hyperplane goes on everywhere, or the domain is a box.
            BudgetExhausted: before the first layer was found.
        """
        if isinstance(run.oracle.domain, Box):
            raise StageFailed(
                "the hidden layers of a network are told apart far from the centre, which a box excludes."
            )
        with run.stage("walking to the first layer"):
            found = self.first(run, probe)
        if found.neurons == 0:
            raise StageFailed("no kink was seen whose hyperplane goes on everywhere.")
        try:
            return self._peeled(run, probe, found)
        except (StageFailed, BudgetExhausted) as failure:
            return self._first_only(run, probe, found, f"the layers above were not found: {failure}")

    def _first_only(self, run: Run, probe: Probe, found: FirstReluLayer, why: str) -> ReluLayers:
        """The first layer as exact as it can be read, with its signs if they can be told."""
        with suppress(BudgetExhausted), run.stage("walking to the first layer"):
            found = self.first.read_again(run, probe, found)
        layer, has_signs = Layer(found.terms.normals, found.terms.offsets, RELU), False
        with suppress(StageFailed):
            layer, has_signs = orient(found.terms.normals, found.terms.offsets, list(found.bends)), True
        reason = f"the first layer has {count(found.neurons)}; {why}"
        return ReluLayers(Outcome.PARTLY_IDENTIFIED, reason, None, layer, has_signs, np.inf, found.checks)

    def _peeled(self, run: Run, probe: Probe, found: FirstReluLayer) -> ReluLayers:
        first = orient(found.terms.normals, found.terms.offsets, list(found.bends))
        with run.stage("walking through the second layer"):
            upper = UpperReluLayer(probe.oracle, first, run.rng_walk.spawn(1)[0], self.refine)
            network, is_unique = _joined(first, upper, upper.search())
        fresh = _Fresh(run, probe, network.parameters)
        for _ in range(ROUNDS if first.activation == RELU else 0):
            errors = fresh.errors(network)
            if np.all(errors <= VERIFIED):
                break
            with run.stage("walking through the second layer"):
                candidate = upper.search_between(*fresh.values_beside_misses(first, errors))
                network, is_unique = _joined(first, upper, candidate)
        error = float(np.max(fresh.errors(network)))
        if error > VERIFIED:
            why = (
                f"what was found above it misses fresh answers by up to {error:.1e} of their spread. There are more "
                "than two hidden layers, or neurons that hardly switch."
            )
            return self._first_only(run, probe, found, why)
        with run.stage("refining"):
            network = self._polished(probe, upper, network, fresh)
        return _judged(network, is_unique, fresh.errors(network), found)

    def _polished(self, probe: Probe, upper: UpperReluLayer, network: Network, fresh: "_Fresh") -> Network:
        """Refine all layers together, if that is cheap and fresh answers are met better for it."""
        before = fresh.errors(network)
        if network.parameters > self.largest_polish:
            return network
        try:
            probe.answers.excite(network)
            probe.answers.prepare(network.parameters)
        except BudgetExhausted:
            return network
        points, values = upper.answers()
        points = np.concatenate([points, probe.answers.points])
        values = np.concatenate([values, probe.answers.values])
        polished = self.refine(network, points, values, floor=probe.scale.noise).network
        return polished if np.max(fresh.errors(polished)) < np.max(before) else network


def _joined(first: Layer, upper: UpperReluLayer, candidate: Candidate) -> tuple[Network, bool]:
    """The whole network, and whether its upper layers are the only ones: isolated, and without a made-up part."""
    network = upper.network(candidate)
    return join(first, network), network.skip is None and candidate.certificate.is_isolated


class _Fresh:
    """Answers that nothing was fitted to, at several distances from the centre."""

    def __init__(self, run: Run, probe: Probe, parameters: int) -> None:
        wanted = int(np.clip(FRESH_SHARE * parameters / probe.oracle.outputs, FEWEST_FRESH, MOST_FRESH))
        per_scale = -(-wanted // len(FRESH_SCALES))
        self.points = np.concatenate([scale * probe.oracle.sample(run.rng_fresh, per_scale) for scale in FRESH_SCALES])
        self.values = probe.oracle.query(self.points)
        self._rng = run.rng_walk

    def errors(self, network: Network) -> Float64[np.ndarray, "points"]:
        """Largest error at every point, relative to the spread of the answers."""
        spread = max(float(np.max(np.std(self.values, axis=0))), np.finfo(float).tiny)
        return np.max(np.abs(network(self.points) - self.values), axis=1) / spread

    def values_beside_misses(self, first: Layer, errors: np.ndarray) -> tuple[Points, Points]:
        """Values of the first layer where the answers are met, and such where they are missed."""
        met, missed = np.flatnonzero(errors <= VERIFIED), np.flatnonzero(errors > VERIFIED)
        starts = self._rng.choice(met if len(met) else missed, LINES_THROUGH_MISSES)
        ends = self._rng.choice(missed, LINES_THROUGH_MISSES)
        values = first.activation(first.preactivations(self.points))
        return values[starts], values[ends]


def _judged(network: Network, is_unique: bool, errors: np.ndarray, found: FirstReluLayer) -> ReluLayers:
    error, widths = float(np.max(errors)), " and ".join(str(width) for width in network.widths)
    check = at_most(
        "largest error of a fresh answer, relative to the spread",
        error,
        VERIFIED,
        "a neuron above the first layer is missing, or there are more than two hidden layers",
    )
    reason = (
        f"two hidden layers of {widths} neurons of {network.layers[0].activation}; {len(errors)} fresh answers are met "
        f"to {error:.1e} of their spread"
    )
    outcome = Outcome.IDENTIFIED if is_unique else Outcome.PARTLY_IDENTIFIED
    if not is_unique:
        reason += (
            ", but its upper layers are not the only ones: a neuron there is always active or hardly ever switches, so "
            "that its parameters, and signs of others, stay open"
        )
    return ReluLayers(outcome, f"{reason}.", network, network.layers[0], True, error, (*found.checks, check))
