"""The examination of a network that explains the answers so far: it is tried where it could still be wrong.

In a box, vertices and faces come first: a kink that cuts off a corner shows there. Where there are too many vertices to
ask all, neighbours of those with the largest errors follow. On other domains, places far from the centre come first.
Then fresh points of the domain, as many as the coverage needs that is to be claimed: their errors say, too, how far
from a kink another one may hide. Last, points on every kink that was found and beside it, where two that lie close
together show. What is missed is fitted, for parameters that few answers have told of; a network that still misses it
has something missing.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import kept_errors, root_mean_square
from unweave.certificates.certify import RULES, Certificate, fresh_needed, judged_by
from unweave.certificates.claims import in_words
from unweave.certificates.evidence import Evidence
from unweave.exceptions import BudgetExhausted, TimeExhausted
from unweave.identification import answer_reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.corners import VERTICES
from unweave.identification.probing import Probe
from unweave.identification.refiner import Candidate, Refiner, reach_of_parameters
from unweave.identification.telling_points import leverages
from unweave.networks.parameters import hidden_shift, is_shallow, twin_distance


@dataclass(frozen=True)
class Examined:
    """A network after its examination.

    Args:
        candidate: the network, refined once more if that was needed, with a certificate from all fresh answers.
        missed: fresh points that it misses.
        missed_trials: vertices and points of faces, or far ones, and points on kinks that it misses.
        is_complete: whether the budget was enough for all of it.
        reach: how far from the centre it was tried, in units of the domain's reach.
        fresh_errors: some of its errors at fresh points, for reports; nothing is decided by them.
        tolerance: the largest error at any fresh point that does not count as missed, in the units of the candidate.
        unit_excess: how many times the spread of an output its unit was, by which errors are larger than they were
            measured; 1 if units are right.
        cancels: whether rounding of its parameters leaves a network that does not explain the answers.
        delivered_certificate: that of the network in the oracle's units; None if it is the same.
    """

    candidate: Candidate
    missed: int = 0
    missed_trials: int = 0
    is_complete: bool = True
    reach: float = 0.0
    fresh_errors: tuple[float, ...] = ()
    tolerance: float = 0.0
    unit_excess: float = 1.0
    cancels: bool = False
    delivered_certificate: Certificate | None = None

    @property
    def is_passed(self) -> bool:
        """Whether it met every answer, as far as the budget went."""
        return self.missed == 0 and self.missed_trials == 0

    @property
    def explains(self) -> bool:
        """Whether the answers are met, also by the network as it is delivered."""
        return self.candidate.explains and not self.cancels

    @property
    def is_right(self) -> bool:
        """Whether it explains the answers that it was fitted to, and met every other one."""
        return self.explains and self.is_passed

    @property
    def is_imitation(self) -> bool:
        """Whether it was fitted from random starts and is not the network itself."""
        return self.candidate.start.is_student and not self.is_right

    @property
    def error(self) -> float:
        """Root mean square error of fresh answers, relative to their spread."""
        return self.candidate.certificate.rms_error

    def relative_to(self, spreads: Float64[np.ndarray, "outputs"], *, misjudged: float = 2.0) -> "Examined":
        """Give errors relative to the spread of the answers, if units are much larger for some output.

        Units are chosen from a few first answers, which may all be the same where others are not.

        Args:
            spreads: standard deviation of the answers, per output.
            misjudged: units, relative to the spread, up to which they are an estimate of it; chosen.
        """
        candidate = self.candidate
        times = float(np.max(candidate.units.size / spreads))
        if times <= misjudged:
            return self
        fresh_errors = tuple(times * error for error in self.fresh_errors)
        return replace(self, candidate=candidate.with_errors(times), fresh_errors=fresh_errors, unit_excess=times)

    def as_delivered(self, probe: Probe, *, blurring: float = 10.0) -> "Examined":
        """Give the errors of the network that is delivered, where they are larger than those of the one that was found.

        Both are the same but for rounding, which matters where neurons with large output weights cancel, and where
        the domain is far from zero. Of a network that cancels, and misses the answers therefore, nothing is claimed.

        Args:
            probe: with fresh answers, and the units that they are in.
            blurring: errors in units of those that are excused, from which on the delivered network does not explain
                the answers any more.
        """
        candidate, certificate, answers = self.candidate, self.candidate.certificate, probe.answers
        if not len(answers.fresh_points):
            return self
        errors = candidate.delivered_misses(probe.oracle, *answers.fresh) / (candidate.units.size / self.unit_excess)
        larger = replace(
            certificate,
            largest_error=max(certificate.largest_error, float(np.max(errors))),
            rms_error=max(certificate.rms_error, root_mean_square(errors)),
        )
        judged = replace(self, delivered_certificate=larger)
        excused = blurring * max(candidate.limit, certificate.rms_error)
        if larger.rms_error <= excused:
            return judged
        missed = int(np.count_nonzero(np.max(errors, axis=1) > excused))
        tolerance = max(self.tolerance, excused)
        return replace(judged, missed=max(self.missed, missed), tolerance=tolerance, cancels=True)

    def evidence(
        self, probe: Probe, *, largest_noise: float, contradiction: str, constant_slope: float = 1e-12
    ) -> Evidence:
        """Put together what a claim about the network is decided from.

        Args:
            probe: units and digits of the answers, and those that were asked.
            largest_noise: residual, relative to the spread, that may be excused.
            contradiction: how the network contradicts what the user has given; empty if it does not.
            constant_slope: slope, in standard units, below which a function without neurons is constant; chosen, above
                rounding.
        """
        candidate, network = self.candidate, self.candidate.network
        spreads, digits = probe.spreads, probe.digits
        is_coarse = digits.are_cause(candidate.floor, spreads)
        said = answer_reasons.too_coarse(digits.unit, spreads, candidate.limit, largest_noise) if is_coarse else ""
        errors_at = partial(candidate.delivered_errors, probe.oracle)
        slope = 0.0 if network.skip is None else float(np.max(np.abs(network.skip), initial=0.0))
        known = candidate.certificate.radius * float(np.min(spreads))
        return Evidence(
            network=in_words(network),
            certificate=self.delivered_certificate or candidate.certificate,
            floor=candidate.floor,
            limit=candidate.limit,
            tolerance=self.tolerance * float(np.max(candidate.units.size / spreads)),
            explains=self.explains,
            missed=self.missed,
            missed_trials=self.missed_trials,
            is_complete=self.is_complete,
            reach=self.reach,
            is_box=probe.answers.is_box,
            drawn_vertices=0 if network.inputs <= VERTICES.most_inputs else VERTICES.drawn,
            is_constant=network.widths == (0,) and (slope < constant_slope or bool(np.all(np.isinf(spreads)))),
            changes_rarely=probe.changes_rarely,
            is_rounded=bool(np.any(probe.may_hide_changes)),
            coarseness=said,
            misfit=candidate.start.misfit,
            is_shallow=is_shallow(network),
            contradiction=contradiction,
            constants=answer_reasons.constants(same, known=known) if (same := probe.same_outputs) else "",
            blurred=(
                answer_reasons.blurred(spreads, digits.unit, np.ptp(probe.answers.unseen[1], axis=0), known=known)
                if np.any(np.isinf(spreads))
                else ""
            ),
            twins=twin_distance(network, probe.answers.points, candidate.certificate.crossing_error or candidate.limit),
            is_student=candidate.start.is_student,
            fresh_errors=errors_at(*probe.answers.fresh, spreads),
            trial_error=max(errors_at(*probe.answers.trials_in_domain, spreads), default=0.0),
            are_corners_tried=probe.answers.are_corners_tried,
            unit_excess=self.unit_excess,
            is_refuted=candidate.is_refuted,
            cancels=self.cancels,
        )


@dataclass(frozen=True)
class Examination:
    """Settings of the examination.

    Args:
        confidence: probability of the claim on coverage.
        coverage: share of the domain that the claim is to cover. If omitted, 0.99 in a box, where fresh points are the
            only evidence against features that vertices do not show, and where the model does not answer farther out;
            0.95 elsewhere, where walks have met almost every hyperplane as well.
        rounds: how often a network may be refined again on what it has missed.
        asks_far: whether places far from the centre are tried where the domain has no end.
        unseen: errors of parameters at trial points, in units of the largest at fresh points; chosen: in corners and
            along one direction they add up as they seldom do in the middle.
        usual: quantile of errors at fresh points that stands for noise: the largest may be what is missing.
        unlucky: largest error at a trial point, in units of that, that the same noise may make: of normal errors that
            is 6 standard deviations.
        rounding: floor, relative to the spread, up to which it is the rounding of 53 binary digits: such errors are
            larger in some places than in others and add up, so that neither their quantile nor leverage bounds them.
        most_fresh: points that a coverage may need: they are kept in memory.
    """

    confidence: float = RULES.confidence
    coverage: float | None = None
    rounds: int = 3
    asks_far: bool = True
    unseen: float = 30.0
    usual: float = 0.95
    unlucky: float = 3.0
    rounding: float = 1e-11
    most_fresh: int = 1_000_000

    def __call__(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Try a network that explains the answers so far."""
        if candidate.units is not refiner.answers.oracle:
            refiner = refiner.in_units_of(candidate)
        examined = self._once(candidate, refiner)
        for _ in range(self.rounds):
            if examined.is_passed:
                break
            again = self._refined(examined, refiner)
            if again is None:
                break
            examined = self._once(again, refiner)
        return examined

    def of_any(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Try a network that explains the answers so far, or one that may only answer alike."""
        if candidate.explains:
            examined = self(candidate, refiner)
            if not examined.is_imitation:
                return examined
            # Fresh answers that have changed it were given up, and others are there now.
            imitation = self.of_imitation(examined.candidate, refiner)
            # Nor may what it has missed be forgotten: it would look right then.
            missed = max(examined.missed, imitation.missed)
            return replace(imitation, missed=missed, missed_trials=examined.missed_trials)
        return self.of_imitation(candidate, refiner)

    def of_known_fault(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Say what a network misses that is known not to explain the answers, without another query."""
        if candidate.units is not refiner.answers.oracle:
            refiner = refiner.in_units_of(candidate)
        errors = kept_errors(candidate.errors(*refiner.answers.fresh))
        # Fresh answers may have been given up since they have judged it: what they said then is what is known.
        missed, tolerance = candidate.missed, candidate.tolerance
        return Examined(candidate, missed, is_complete=False, fresh_errors=errors, tolerance=tolerance)

    def of_imitation(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Ask how far a network that only answers alike is from fresh answers, and at vertices and faces of a box."""
        answers, is_complete = refiner.answers, True
        try:
            if answers.is_box:
                answers.ask_trials()
            answers.ask_fresh(self.wanted(answers))
        except BudgetExhausted:
            is_complete = False
        return replace(self._judged(candidate, refiner), is_complete=is_complete, fresh_errors=())

    def of_rest(self, examined: Examined, refiner: Refiner, *, largest_error: float) -> Examined:
        """Ask fresh points that prove a share of the domain, if a network leaves only a little unexplained there.

        Args:
            examined: the network.
            refiner: with the answers.
            largest_error: root mean square error, relative to the spread, that is a little.
        """
        candidate, answers = examined.candidate, refiner.answers
        is_near = examined.error <= largest_error and candidate.units is answers.oracle
        if candidate.explains or candidate.start.is_student or not is_near:
            return examined
        try:
            answers.ask_fresh(self.wanted(answers))
        except BudgetExhausted:
            return examined
        judged, trials = self._judged(candidate, refiner), examined.missed_trials
        return replace(judged, missed_trials=trials, is_complete=examined.is_complete, reach=examined.reach)

    def wanted(self, answers: AnswerPool, *, is_tried_far: bool = True) -> int:
        """Say how many fresh answers the claim needs, if places far from the centre were tried or need not be."""
        is_only_evidence = answers.is_box or not is_tried_far
        coverage = self.coverage if self.coverage is not None else 0.99 if is_only_evidence else 0.95
        return fresh_needed(coverage, confidence=self.confidence, candidates=max(answers.judged, 1))

    def _once(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Ask what is missing, and compare."""
        answers, is_complete = refiner.answers, True
        try:
            if answers.is_box or self.asks_far:
                answers.ask_trials()
            answers.climb_from_vertices(candidate.network)
            answers.ask_fresh(self.wanted(answers, is_tried_far=answers.reach > 0.0 or not self.asks_far))
            answers.ask_trials_on_kinks(candidate.network, self._radius(candidate, answers))
        except BudgetExhausted as problem:
            is_complete = False
            if not isinstance(problem, TimeExhausted):
                answers.ask_fresh(len(answers.fresh_points) + int(answers.oracle.oracle.ledger.left))
        trials = int(np.count_nonzero(self._missed_trials(candidate, refiner)))
        reach = answers.reach if candidate.can_be_judged_far else 0.0
        return replace(self._judged(candidate, refiner), missed_trials=trials, is_complete=is_complete, reach=reach)

    def _judged(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Count what a network misses of the fresh answers that are there."""
        fresh = refiner.answers.fresh
        missed, tolerance = refiner.missed_fresh(candidate.network)
        certified, errors = self._certified(candidate, refiner), kept_errors(candidate.errors(*fresh))
        return Examined(certified, missed, fresh_errors=errors, tolerance=tolerance)

    def _missed_trials(self, candidate: Candidate, refiner: Refiner) -> Bool[np.ndarray, "points"]:
        """Whether each of the trial answers is missed."""
        answers = refiner.answers
        can_judge = candidate.can_be_judged_far
        if not answers.is_box and not can_judge:
            return np.zeros(len(answers.trial_points), dtype=bool)
        # What noise leaves open of parameters must not excuse a neuron that is missing in a corner; rounding may.
        is_excused = can_judge and (not answers.is_box or candidate.floor < refiner.noisy)
        excused = self._excused(candidate, answers) if is_excused else np.zeros(len(answers.trial_points))
        trials = answers.trial_points, answers.trial_values
        return refiner.missed(candidate.network, *trials, excused=excused, most=self._most(candidate, refiner))

    def _most(self, candidate: Candidate, refiner: Refiner) -> float:
        """How many floors noise explains, going by fresh answers."""
        if candidate.floor < self.rounding:
            return np.inf
        fresh = refiner.answers.fresh
        floors = refiner.floors(candidate.network, *fresh)[:, None]
        return self.unlucky * float(np.quantile(candidate.errors(*fresh) / floors, self.usual))

    def _excused(self, candidate: Candidate, answers: AnswerPool) -> Float64[np.ndarray, "points"]:
        """What errors of parameters may do at trial points.

        No more than the radius allows, and no more than what they do at fresh points, in proportion to the distance and
        to the leverage: a radius counts every answer as if it was wrong in the worst way, which may be as much as a
        neuron.
        """
        trials, fresh = (
            np.sqrt(1.0 + np.sum(each**2, axis=1)) for each in (answers.trial_points, answers.fresh_points)
        )
        certificate, network = candidate.certificate, candidate.network
        seen = self._seen(candidate, answers)
        excused = np.minimum(
            certificate.radius * reach_of_parameters(network, answers.trial_points),
            self.unseen * seen * trials / float(np.median(fresh)),
        )
        is_rounding = candidate.floor < self.rounding
        spread = None if is_rounding else leverages(network, answers.points, answers.trial_points)
        return excused if spread is None else np.minimum(excused, self.unlucky * seen * spread)

    def _seen(self, candidate: Candidate, answers: AnswerPool) -> float:
        """A large error at fresh points, no less than the noise, which it is where the time ended before any."""
        if not len(answers.fresh_points):
            return candidate.certificate.noise
        errors = candidate.errors(*answers.fresh)
        usual = 1.0 if candidate.floor < self.rounding else self.usual
        return max(float(np.quantile(errors, usual)), candidate.certificate.noise)

    def _certified(self, candidate: Candidate, refiner: Refiner) -> Candidate:
        answers, network = refiner.answers, candidate.network
        certificate = judged_by(
            candidate.certificate,
            errors=candidate.errors(*answers.fresh),
            trial_errors=candidate.errors(*answers.trials_in_domain),
            confidence=self.confidence,
            candidates=max(answers.judged, 1),
        )
        is_worse = certificate.rms_error > max(candidate.certificate.rms_error, certificate.noise)
        if is_worse and not certificate.crossings:
            # The claim on the parameters was made with smaller errors.
            claim = refiner.certified(network)
            certificate = replace(certificate, **{name: getattr(claim, name) for name in PARAMETER_CLAIM})
        # More fresh points meet the slabs of steep neurons, where arguments are rounded by more.
        floor = max(candidate.floor, refiner.floor(network))
        limit = max(candidate.limit, refiner.limit(floor))
        candidate = replace(candidate, certificate=certificate, floor=floor, limit=limit)
        return replace(candidate, certificate=replace(certificate, radius=self._radius(candidate, answers)))

    def _radius(self, candidate: Candidate, answers: AnswerPool) -> float:
        """How far parameters may be off, also if a difference that trials do not show is a second kink."""
        certificate = candidate.certificate
        is_exact = certificate.crossings and candidate.are_kinks_seen
        seen = certificate.crossing_error if is_exact else self._seen(candidate, answers)
        unshown = 2.0 * self.unlucky * seen
        return max(candidate.certificate.radius, hidden_shift(candidate.network, unshown))

    def _refined(self, examined: Examined, refiner: Refiner) -> Candidate | None:
        """Refine on what was missed; None if the network still misses it, or no budget is left for other answers."""
        answers, candidate = refiner.answers, examined.candidate
        if candidate.is_closed_form:
            # Its answers were placed for it; those of the pool are too few for a fit.
            return None
        answers.adopt_trials(self._missed_trials(candidate, refiner))
        seen = answers.fresh
        if examined.missed:
            try:
                answers.renew_fresh()
            except BudgetExhausted:
                return None
        again = refiner.again(candidate, candidate.network)
        misses = np.any(refiner.missed(again.network, *seen)) or np.any(self._missed_trials(again, refiner))
        return None if misses or not again.explains else again


PARAMETER_CLAIM = ("smallest_singular", "is_singular_estimated", "radius", "isolation")
