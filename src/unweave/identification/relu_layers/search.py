"""Networks with two hidden layers of relu or leaky relu: first layer, peel, second layer, join, verify.

What is returned as a network has met fresh answers at several distances from the centre. Everything less is the
first layer, with the reason why there is no more.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import PerPoint, Points, Values
from unweave.certificates.claims import counted
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification.probing import Probe
from unweave.identification.refiner import Candidate
from unweave.identification.relu_layers.facets import Facets
from unweave.identification.relu_layers.first_layer import FirstReluLayer, FirstReluLayerSearch
from unweave.identification.relu_layers.upper_layer import UpperReluLayer, UpperRules, join
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import Box
from unweave.result import Diagnostic, Outcome, at_most

WHY_NOT = (
    "It was not tested why: neurons may hardly switch, the answers may have too few digits, or there may be more "
    "layers."
)


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


@dataclass(frozen=True)
class FreshAnswers:
    """How many fresh answers judge a network.

    Args:
        share: per parameter and output.
        fewest: at least.
        most: at most.
    """

    share: float = 0.4
    fewest: int = 96
    most: int = 2_000

    def wanted(self, parameters: float) -> int:
        """The number for so many parameters per output."""
        return int(np.clip(self.share * parameters, self.fewest, self.most))


@dataclass(frozen=True, kw_only=True)
class MoreLines:
    """Lines of the second layer through values where its kinks do not meet the answers.

    Args:
        roughly: error up to which kinks alone, before refinement, meet an answer: ten times that of gradients
            (`KinkSearch`), which add up.
        rounds: of lines where they do not.
        per_round: how many.
        beside: how far beside such values they begin, since a line needs two places.
    """

    roughly: float = 1e-4
    rounds: int = 6
    per_round: int = 4
    beside: float = 1e-3

    def ends(
        self, values: Float64[np.ndarray, "points neurons"], errors: PerPoint, rng: np.random.Generator
    ) -> tuple[Float64[np.ndarray, "lines neurons"], Float64[np.ndarray, "lines neurons"]]:
        """Values of the first layer where the answers are met, and such where they are missed."""
        met, missed = np.flatnonzero(errors <= self.roughly), np.flatnonzero(errors > self.roughly)
        starts = values[rng.choice(met if len(met) else missed, self.per_round)]
        return starts + self.beside * rng.random(starts.shape), values[rng.choice(missed, self.per_round)]


@dataclass(frozen=True)
class TwoLayerSearch:
    """Settings of the way to two hidden layers along kinks.

    Args:
        first: how the first layer is found.
        upper: how the second layer is found.
        refine: how the upper layers, and in the end all layers, are refined.
        facets: how the first layer is read again where the network is too large to be refined as a whole.
        largest_polish: parameters up to which all layers are refined together here, so that fresh answers judge what
            is delivered; above, that is done once, later.
        scouts: answers that are looked at for neurons that are missing still.
        fresh: how many fresh answers judge in the end.
        surplus: answers per parameter when all layers are refined.
        nearly: error of fresh answers, relative to the spread, up to which a network is handed on: it is refined
            further or, if it is too large for that, shown with its error.
        scales: distances of scouting and of fresh answers from the centre; chosen: half a decade to either side.
        verified: error of a fresh answer, relative to the spread of all, up to which a network meets it: small against
            the share of any neuron that could be seen.
        verified_noise: the same in standard deviations of the noise: chance exceeds ten in 2e-23 of all answers.
        more_lines: how kinks are looked for that the first lines have not shown.
        clear_row: error of a hyperplane up to which it is shown as a row of the first layer. Two kinks close together
            were read as one with an expected error of 4e-5, and 0.3 degrees off.
        one_row: rows that are nearer to each other are shown as one: ten times that.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    first: FirstReluLayerSearch = field(default_factory=FirstReluLayerSearch)
    upper: UpperRules = field(default_factory=UpperRules)
    refine: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)
    facets: Facets = field(default_factory=Facets)
    largest_polish: int = 2_500
    scouts: int = 96
    fresh: FreshAnswers = field(default_factory=FreshAnswers)
    surplus: float = 2.0
    nearly: float = 1e-5
    scales: tuple[float, ...] = (0.3, 1.0, 3.0)
    verified: float = 1e-8
    verified_noise: float = 10.0
    more_lines: MoreLines = field(default_factory=MoreLines)
    clear_row: float = 1e-5
    one_row: float = 1e-4

    def __call__(self, session: Session, probe: Probe) -> ReluLayers:
        """Recover both hidden layers, or the first one.

        Raises:
            StageFailed: if no hyperplane goes on everywhere, or the domain is a box.
            BudgetExhausted: before the first layer was found.
        """
        if isinstance(session.oracle.domain, Box):
            raise StageFailed(
                "the hidden layers of a network are told apart far from the centre, which a box excludes."
            )
        with session.stage("walking to the first layer"):
            found = self.first(session, probe)
        session.saw(found.neurons)
        if found.neurons == 0:
            raise StageFailed("no kink was seen whose hyperplane goes on everywhere.")
        try:
            return self._peeled(session, probe, found)
        except (StageFailed, BudgetExhausted) as failure:
            why, fewer = str(failure), found.neurons
        with suppress(BudgetExhausted), session.stage("walking to the first layer"):
            found = self.first.read_again(session, probe, found)
        if found.neurons > fewer:
            try:
                return self._peeled(session, probe, found)
            except (StageFailed, BudgetExhausted) as failure:
                why = str(failure)
        with suppress(BudgetExhausted), session.stage("walking to the first layer"):
            found = self.first.sharpened(session, probe, found)
        return _first_only(found, why, self)

    def _peeled(self, session: Session, probe: Probe, found: FirstReluLayer) -> ReluLayers:
        first = self.first.oriented(found)
        if first.activation != RELU:
            # Values of both signs are asked, so that errors of the first layer bend the answers.
            found = self.first.read_again(session, probe, found)
            first = self.first.oriented(found)
        with session.stage("walking through the second layer"):
            error, rng = float(np.max(found.terms.errors)), session.rng_walk.spawn(1)[0]
            upper = UpperReluLayer(probe, first, rng, self.refine, first_error=error, rules=self.upper)
            scouts = _Sample.asked(probe, session.rng_fit, self.scouts, self)
            _walk(upper, first, scouts, session.rng_walk, self)
        with session.stage("refining"):
            candidate = upper.refined()
            network, is_unique = _joined(first, upper, candidate)
            if network.parameters > self.refine.deep.limit and candidate.network.skip is None:
                network = self._on_facets(session, probe, found, upper, candidate)
            elif np.all(scouts.errors(network) <= scouts.tolerance):
                network = self._polished(probe, upper, network, scouts)
        wanted = self.fresh.wanted(network.parameters / probe.oracle.outputs)
        fresh = _Sample.asked(probe, session.rng_fresh, wanted, self)
        error = float(np.max(fresh.errors(network)))
        if error > max(fresh.tolerance, self.nearly):
            missed = np.count_nonzero(fresh.errors(network) > fresh.tolerance)
            raise StageFailed(
                f"two layers of {network.widths[0]} and {network.widths[1]} neurons miss {missed} of {wanted} fresh "
                f"answers, by up to {error:.1e} of their spread. {WHY_NOT}"
            )
        return _judged(network, is_unique, fresh, found)

    def _on_facets(
        self, session: Session, probe: Probe, found: FirstReluLayer, upper: UpperReluLayer, candidate: Candidate
    ) -> Network:
        """Read the first layer exactly and fit those above alone: for networks too large to be refined as a whole."""
        rough = join(self.first.oriented(found), upper.network(candidate))
        try:
            terms = self.facets(probe, rough, found.terms, session.rng_walk)
        except BudgetExhausted:
            return rough
        first = self.first.oriented(replace(found, terms=terms))
        return join(first, upper.fitted(candidate, first))

    def _polished(self, probe: Probe, upper: UpperReluLayer, network: Network, scouts: "_Sample") -> Network:
        """Refine all layers together; where that takes long it is done once, later, with the same answers."""
        answers = probe.answers
        answers.keep(scouts.points, scouts.values, are_spread=True)
        # Only these tell about second-layer neurons that hardly switch at random inputs.
        beside = upper.answers()
        if network.parameters > self.largest_polish:
            answers.keep(*beside, are_spread=False)
            return network
        try:
            answers.excite(network)
            answers.ask(max(int(self.surplus * network.parameters / probe.oracle.outputs) - len(answers.points), 1))
        except BudgetExhausted:
            return network
        answers.keep(*beside, are_spread=False)
        return self.refine(network, answers.points, answers.values, floor=probe.scale.noise).network


def _walk(
    upper: UpperReluLayer, first: Layer, scouts: "_Sample", rng: np.random.Generator, search: TwoLayerSearch
) -> None:
    """Walk the second layer until what its kinks tell meets all scouts.

    Raises:
        StageFailed: if it does not.
    """
    values = first.activation(first.preactivations(scouts.points))

    def errors_now() -> PerPoint:
        return np.max(np.abs(upper.rough()(values) - scouts.values), axis=1) / scouts.spread

    upper.walk()
    errors, rounds = errors_now(), 0
    more = search.more_lines
    while np.any(errors > more.roughly) and rounds < more.rounds:
        upper.walk_between(*more.ends(values, errors, rng))
        errors, rounds = errors_now(), rounds + 1
    if np.all(errors <= more.roughly):
        return
    raise StageFailed(
        f"what the kinks show of them misses {np.count_nonzero(errors > more.roughly)} of {len(errors)} answers, by "
        f"up to {np.max(errors):.1e} of their spread. {WHY_NOT}"
    )


def _joined(first: Layer, upper: UpperReluLayer, candidate: Candidate) -> tuple[Network, bool]:
    """The whole network, and whether its upper layers are the only ones: isolated, and without a made-up part."""
    network = upper.network(candidate)
    return join(first, network), network.skip is None and candidate.certificate.is_isolated


@dataclass(frozen=True)
class _Sample:
    """Answers at several distances from the centre."""

    points: Points
    values: Values
    noise: float
    search: TwoLayerSearch

    @staticmethod
    def asked(probe: Probe, rng: np.random.Generator, count: int, search: TwoLayerSearch) -> "_Sample":
        per_scale = -(-count // len(search.scales))
        points = np.concatenate([scale * probe.oracle.sample(rng, per_scale) for scale in search.scales])
        return _Sample(points, probe.oracle.query(points), probe.scale.noise, search)

    @property
    def spread(self) -> float:
        return max(float(np.max(np.std(self.values, axis=0))), float(np.finfo(float).tiny))

    @property
    def tolerance(self) -> float:
        """Error up to which a network meets an answer."""
        return max(self.search.verified, self.search.verified_noise * self.noise / self.spread)

    def errors(self, network: Network) -> PerPoint:
        """Largest error at every point, relative to the spread of the answers."""
        return np.max(np.abs(network(self.points) - self.values), axis=1) / self.spread


def _first_only(found: FirstReluLayer, why: str, search: TwoLayerSearch) -> ReluLayers:
    """The first layer, with its signs if they can be told, without rows that were not read clearly or lie on others."""
    is_clear = (found.terms.errors <= search.clear_row) & found.terms.apart(search.one_row)
    layer, has_signs = Layer(found.terms.normals[is_clear], found.terms.offsets[is_clear], RELU), False
    if np.all(is_clear):
        with suppress(StageFailed):
            layer, has_signs = search.first.oriented(found), True
    rest = ", and no other was met" if found.is_complete and np.all(is_clear) else ", and there may be more"
    reason = (
        f"the first layer shows {counted(layer.neurons)} with hyperplanes read to {search.clear_row:g} or "
        f"better{rest}; what is above it was not found: {why}"
    )
    if layer.neurons == 0:
        return ReluLayers(Outcome.NOT_IDENTIFIED, reason, None, None, False, np.inf, found.checks)
    return ReluLayers(Outcome.PARTLY_IDENTIFIED, reason, None, layer, has_signs, np.inf, found.checks)


def _judged(network: Network, is_unique: bool, fresh: _Sample, found: FirstReluLayer) -> ReluLayers:
    errors = fresh.errors(network)
    error, widths = float(np.max(errors)), " and ".join(str(width) for width in network.widths)
    check = at_most(
        "largest error of a fresh answer, relative to the spread",
        error,
        fresh.tolerance,
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
