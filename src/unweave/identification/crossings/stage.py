"""The last stage behind rounded answers: a network that is right up to the rounding is fitted to exact values.

Rounding is no noise. Where the answer switches from one number of its grid to the next the function is known exactly,
so that a few more equations than unknowns give all parameters with all digits. Other such places judge the result:
the network says where they are, and one answer on each side shows whether that is true.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.arrays import PerPoint, PointMask, Points
from unweave.certificates.certify import certify
from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification import answer_reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.corners import VERTICES
from unweave.identification.crossings.digits import DigitsLook
from unweave.identification.crossings.kinks import KinkLines
from unweave.identification.crossings.search import Crossings, CrossingSearch, Lines, RoundedAnswers
from unweave.identification.probing import Probe
from unweave.identification.refiner import Candidate, Refiner
from unweave.identification.session import Session
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow, shallow_jacobian
from unweave.networks.pruning import without_affine_part
from unweave.numerics.network_fit import Refinement
from unweave.oracles.ledger import Rounding


@dataclass(frozen=True, eq=False)
class Judged:
    """What places that no fit has seen say about a network.

    Args:
        lines: on which the places lie.
        errors: how far the network is from the function there, at most, in standard units; infinite if farther than
            was looked.
        are_kinks_seen: whether some of the places lie on every kink of the network.
    """

    lines: Lines
    errors: PerPoint
    are_kinks_seen: bool = True

    @property
    def largest(self) -> float:
        """The largest error."""
        return float(np.max(self.errors, initial=0.0))


@dataclass(frozen=True, eq=False)
class ExactFit:
    """A network that was fitted to places where answers switch.

    Args:
        refinement: the network.
        crossings: the places.
        points: the same as they were asked.
        levels: values of the function there, in standard units.
        rounding: how numbers have come to the grid, which the values follow from.
    """

    refinement: Refinement
    crossings: Crossings
    points: Points
    levels: PerPoint
    rounding: Rounding

    @property
    def network(self) -> Network:
        """The fitted network."""
        return self.refinement.network


@dataclass(frozen=True, kw_only=True)
class PlaceRules:
    """How many places are looked for where answers switch, and which.

    Args:
        surplus, more: places per parameter, and beside them: a few more equations than unknowns, so that a wrong
            network can't meet them all.
        choice: places among which those are chosen that tell most, per place that is needed.
        most_chosen: parameters up to which that is done, for the time it takes.
    """

    surplus: float = 1.25
    more: int = 10
    choice: int = 6
    most_chosen: int = 700

    def wanted(self, network: Network) -> int:
        """Give the number of places that a fit needs."""
        return int(np.ceil(self.surplus * network.parameters)) + self.more


@dataclass(frozen=True, kw_only=True)
class JudgeRules:
    """How places judge a network that was not fitted to them.

    Args:
        count: of these places: without exception they stand for 95 % of the domain, with a confidence of 95 %.
        fewest: of these that must be there: without exception they stand for 86 %.
        first_look: distances from a place at which both sides are asked first, in units of the stage's `tol`. A fit to
            hardly more equations than unknowns multiplies their errors.
        widening: factor of that where a side is wrong; chosen.
        gained: error that judges must stay below, in units of the rounding, if anything is to be said beyond it;
            chosen.
    """

    count: int = 59
    fewest: int = 20
    first_look: float = 8.0
    widening: float = 8.0
    gained: float = 0.05


@dataclass(frozen=True, kw_only=True)
class CrossingStage:
    """Settings of the stage. Errors are in standard units, in which answers spread by one.

    Args:
        search: how places are found where answers switch.
        places: how many are looked for, and which.
        tol: how exactly a value is known there; chosen, four digits above the rounding of sums in float64.
        pilot: places that show first how sharply answers switch.
        sharp: distance from such a place, in steps of the grid, from which on the answer must be on its own side:
            where it is not, the model itself has no more digits than its answers.
        digits_look: how else it is seen that a model has no more digits than its answers.
        judges: how other places judge the network.
        stretch: argument of a typical neuron up to which places are drawn where the domain has no end: over it tanh
            bends and is not flat yet.
        largest_stretch: how much farther than its scale the domain is asked for that.
        kinks: how places on kinks are found, where a network is judged as well.
        attempts: fits, each with the places added that the one before has missed.
        few_missed: share of the judges up to which that is done: if more are missed, something is missing, or the
            model has no more digits.
        zero_skip: relative size of an affine part up to which it may be zero; chosen, far above its error here.
    """

    search: CrossingSearch = field(default_factory=CrossingSearch)
    places: PlaceRules = field(default_factory=PlaceRules)
    tol: float = 1e-11
    pilot: int = 10
    sharp: float = 0.03
    digits_look: DigitsLook = field(default_factory=DigitsLook)
    judges: JudgeRules = field(default_factory=JudgeRules)
    stretch: float = 1.5
    largest_stretch: float = 10.0
    kinks: KinkLines = field(default_factory=KinkLines)
    attempts: int = 3
    few_missed: float = 0.5
    zero_skip: float = 1e-6

    def __call__(self, candidate: Candidate, refiner: Refiner, probe: Probe, session: Session) -> Candidate:
        """Fit a candidate that is right up to the rounding to exact values, if rounded answers switch sharply.

        A candidate that other values contradict is given back as one that does not explain the answers.
        """
        kind, network, units = probe.rounded_to, candidate.network, candidate.units
        if kind is None or not candidate.explains or not is_shallow(network) or network.widths == (0,):
            return candidate
        if units is not refiner.answers.oracle or not self._is_affordable(candidate, refiner.answers, session):
            return _unconfirmed(candidate)
        answers, rng = RoundedAnswers(units, kind), session.rng_fresh.spawn(1)[0]
        with session.stage("locating crossings"):
            try:
                return self._answered(candidate, refiner, answers, rng)
            except StageFailed as failure:
                session.notes.append(answer_reasons.no_crossings(str(failure)))
            except BudgetExhausted:
                session.notes.append(answer_reasons.no_crossings("the budget does not allow it."))
        return _unconfirmed(candidate)

    def _answered(
        self, candidate: Candidate, refiner: Refiner, answers: RoundedAnswers, rng: np.random.Generator
    ) -> Candidate:
        """Fit and judge, and stay nearer to the centre if the model does not answer where that is done best.

        Raises:
            OracleError: if the model fails in a box, where every model must answer.
            StageFailed: if there are too few places, or the model does not answer around them.
        """
        try:
            return self._finished(candidate, refiner, answers, rng)
        except OracleError:
            if answers.is_box:
                raise
        try:
            return replace(self, largest_stretch=1.0)._finished(candidate, refiner, answers, rng)
        except OracleError as problem:
            raise StageFailed(f"the model does not answer around such places: {problem}") from problem

    def _finished(
        self, candidate: Candidate, refiner: Refiner, answers: RoundedAnswers, rng: np.random.Generator
    ) -> Candidate:
        network, error = candidate.network, candidate.floor
        wanted = self.places.wanted(network)
        points = self._sample(network, answers, self.places.choice * wanted, rng)
        lines = self._telling(network, self.search.lines(network, answers, points), rng)
        first, rest = lines.chosen(_first(lines, self.pilot)), lines.chosen(~_first(lines, self.pilot))
        crossings = self.search(answers, first, error=error, tol=self._tol(network, first.origins))
        self._check_sharpness(answers, crossings)
        self.digits_look(network, answers, crossings)
        rest = rest.chosen(_first(rest, wanted - len(crossings.distances)))
        others = self.search(answers, rest, error=error, tol=self._tol(network, rest.origins))
        crossings = crossings.with_others(others)
        fit = self._fitted(network, crossings, refiner, answers)
        judged = self._judged(fit.network, answers, fit.rounding, rng)
        for _ in range(self.attempts - 1):
            missed = judged.errors > self.judges.widening * self.judges.first_look * self.tol
            if not 0.0 < np.mean(missed) < self.few_missed:
                break
            # The fit knew too little there; others will judge what comes of it.
            tol = self._tol(network, judged.lines.origins)
            more = self.search(answers, judged.lines.chosen(missed), error=error, tol=tol)
            fit = self._fitted(fit.network, fit.crossings.with_others(more), refiner, answers)
            judged = self._judged(fit.network, answers, fit.rounding, rng)
        return self._candidate(candidate, fit, judged)

    def _telling(self, network: Network, lines: Lines, rng: np.random.Generator) -> Lines:
        """Put first as many lines as there are parameters, chosen so that these are told best; then others at random.

        Random places tell little of a neuron that bends in a corner of the domain.
        """
        rows = shallow_jacobian(network, lines.origins)[: len(lines.places)]
        order = rng.permutation(len(rows))
        if network.parameters <= self.places.most_chosen:
            pivots = np.asarray(scipy.linalg.qr(rows.T, mode="r", pivoting=True)[1])
            chosen = pivots[: network.parameters]
            order = np.concatenate([chosen, np.setdiff1d(order, chosen, assume_unique=True)])
        return lines.chosen(order)

    def _fitted(self, network: Network, crossings: Crossings, refiner: Refiner, answers: RoundedAnswers) -> ExactFit:
        """Fit to the values at the places, which depend on how numbers came to the grid: the best way counts.

        Raises:
            StageFailed: if there are fewer places than parameters.
        """
        if len(crossings.distances) < network.parameters:
            raise StageFailed("too few answers switch where the network says they do.")
        points, fits = answers.oracle.as_asked(crossings.points), []
        for rounding in answers.kind.roundings:
            levels = answers.levels(crossings.lines.lower, rounding)
            refinement = self._without_affine_part(network, points, levels, refiner)
            fits.append(ExactFit(refinement, crossings, points, levels, rounding))
            if refinement.residual <= self.judges.first_look * self.tol:
                break
        return min(fits, key=lambda fit: fit.refinement.residual)

    def _without_affine_part(self, network: Network, points: Points, levels: PerPoint, refiner: Refiner) -> Refinement:
        """Fit, and choose signs that leave no affine part if the values are met as well without it."""
        whole = refiner.refine(network, points, levels[:, None], floor=self.tol)
        if whole.network.skip is None:
            return whole
        absorbed = without_affine_part(whole.network, tol=self.zero_skip)
        if absorbed.skip is not None:
            return whole
        smaller = refiner.refine(absorbed, points, levels[:, None], floor=self.tol)
        return smaller if smaller.residual <= self.judges.first_look * max(whole.residual, self.tol) else whole

    def _judged(
        self, network: Network, answers: RoundedAnswers, rounding: Rounding, rng: np.random.Generator
    ) -> Judged:
        """Ask on both sides of places that the network names, farther and farther away where a side is wrong.

        Raises:
            StageFailed: if there are too few such places.
        """
        domain = self._sample(network, answers, 2 * self.judges.count, rng)
        lines = self.search.lines(network, answers, domain)
        tables = lines.chosen(_first(lines, self.judges.count)), self.kinks(network, answers, self.search, rng)
        inside, along = (self._looked(network, answers, each, answers.levels(each.lower, rounding)) for each in tables)
        if len(inside.errors) < self.judges.fewest:
            raise StageFailed("too few other places are there to judge the network by.")
        errors = np.concatenate([inside.errors, along.errors])
        are_kinks_seen = self.kinks.are_seen(network, along.lines.at(along.lines.places))
        return Judged(inside.lines.with_others(along.lines), errors, are_kinks_seen)

    def _looked(self, network: Network, answers: RoundedAnswers, lines: Lines, levels: PerPoint) -> Judged:
        if len(lines.places) == 0:
            return Judged(lines, np.empty(0))
        step = float(np.median(answers.kind.step(lines.lower))) / float(answers.oracle.size[0])
        looks, most = np.full(len(lines.places), self.judges.first_look * self.tol), step
        lines_aimed = self.search.aimed(network, lines, levels)
        farthest = max(most, self.judges.first_look * self.tol) / lines_aimed.slopes
        inside = [answers.contains(lines_aimed.at(lines_aimed.places + way * farthest)) for way in (-1.0, 1.0)]
        lines_aimed = lines_aimed.chosen(inside[0] & inside[1])
        looks = looks[: len(lines_aimed.places)]
        waiting = np.ones(len(looks), dtype=bool)
        while np.any(waiting):
            chosen, reach = lines_aimed.chosen(waiting), looks[waiting] / lines_aimed.slopes[waiting]
            both = np.concatenate([chosen.at(chosen.places - reach), chosen.at(chosen.places + reach)])
            below, above = np.split(answers.are_above(both, np.tile(chosen.lower, 2)), 2)
            is_right = ~below & above
            looks[waiting] = np.where(is_right, looks[waiting], self.judges.widening * looks[waiting])
            waiting[waiting] = ~is_right
            waiting &= looks <= most
        return Judged(lines_aimed, np.where(looks <= most, looks, np.inf))

    def _candidate(self, candidate: Candidate, fit: ExactFit, judged: Judged) -> Candidate:
        """Give the fitted network with its own certificate; or the fault, if it does not meet other places either."""
        error, network = judged.largest, fit.network
        if not error <= self.judges.gained * candidate.floor:
            certificate = replace(candidate.certificate, radius=np.inf, isolation=0.0)
            return replace(candidate, certificate=certificate, is_refuted=True)
        fresh = judged.lines.at(judged.lines.places)
        claim = certify(
            network,
            points=fit.points,
            values=fit.levels[:, None],
            fresh_points=fresh,
            fresh_values=network(fresh) + error,
            noise=self.tol,
        )
        certificate = replace(
            candidate.certificate,
            smallest_singular=claim.smallest_singular,
            radius=claim.radius,
            isolation=claim.isolation,
            crossings=len(judged.errors),
            crossing_error=error,
        )
        return replace(
            candidate,
            refinement=fit.refinement,
            certificate=certificate,
            is_closed_form=True,
            are_kinks_seen=judged.are_kinks_seen,
        )

    def _check_sharpness(self, answers: RoundedAnswers, crossings: Crossings) -> None:
        """Ask a small share of a step beside places that were found.

        Raises:
            StageFailed: if answers are on the wrong side there, or no place was found.
        """
        lines = crossings.lines
        if len(lines.places) < self.pilot // 2:
            raise StageFailed("too few answers switch where the network says they do.")
        away = self.sharp * answers.kind.step(lines.lower) / (answers.oracle.size[0] * lines.slopes)
        both = np.concatenate([lines.at(crossings.distances - away), lines.at(crossings.distances + away)])
        may_be_asked = answers.contains(both)
        expected = np.repeat([False, True], len(away))[may_be_asked]
        is_above = answers.are_above(both[may_be_asked], np.tile(lines.lower, 2)[may_be_asked])
        if np.any(is_above != expected):
            raise StageFailed("they switch more than once around one place, so that the model has no more digits.")

    def _sample(self, network: Network, answers: RoundedAnswers, count: int, rng: np.random.Generator) -> Points:
        """Draw places, so far out that neurons bend over them where the domain has no end."""
        points, hidden = answers.oracle.sample(rng, count), network.layers[0]
        if answers.is_box or hidden.activation.is_piecewise_linear:
            return points
        length = float(np.median(np.linalg.norm(hidden.weights, axis=1)))
        return float(np.clip(self.stretch / max(length, 1e-300), 1.0, self.largest_stretch)) * points

    def _tol(self, network: Network, points: Points) -> float:
        """How exactly values can be known: sums of large terms are rounded by more."""
        terms = float(np.max(np.abs(network.layers[1].weights)) * np.max(np.abs(points), initial=1.0))
        return max(self.tol, 32.0 * np.finfo(float).eps * terms)

    def _is_affordable(self, candidate: Candidate, pool: AnswerPool, session: Session) -> bool:
        """Whether the budget pays for this stage and for the examination; without one, what is needed is allowed."""
        network, ledger = candidate.network, session.oracle.ledger
        bits = int(np.ceil(np.log2(max(candidate.floor, self.tol) / self.tol)))
        kinks = len(network.layers[0].activation.kinks) * network.widths[0]
        judges = self.judges.count + kinks * self.kinks.per_kink
        needed = self.places.wanted(network) * (bits + 4) + 3 * judges
        vertices = min(2**network.inputs, VERTICES.drawn) if pool.is_box else 0
        needed += 20 * kinks + vertices + 1_000 * pool.is_box
        ledger.allow(needed)
        if ledger.left >= needed:
            return True
        session.notes.append(answer_reasons.no_crossings(f"that takes about {needed:,} queries more."))
        return False


def _unconfirmed(candidate: Candidate) -> Candidate:
    """Claim nothing about the neurons of a network that was fitted up to the rounding, from random starts."""
    if not candidate.start.is_student:
        return candidate
    return replace(candidate, certificate=replace(candidate.certificate, radius=np.inf, isolation=0.0))


def _first(lines: Lines, count: int) -> PointMask:
    return np.arange(len(lines.places)) < count
