"""From labels of two classes to a union of half spaces: both orientations, all starts, one judge.

Either class may be the one that is inside of at least one half space; the other one then is convex. Starts come from
the cumulants of the convex class, which need as many inputs as half spaces, and from smooth fits, which do not. Every
candidate is polished and judged by the same held-out samples, and the best one is what is reported and what predicts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.activations import STEP
from unweave.arrays import PerNeuron, PerPoint, PointMask, Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.directions import OrientedUnits
from unweave.learn.lowest_layer.evidence import FaceEvidence, LowestLayerEvidence, Slices
from unweave.learn.lowest_layer.halfspace_fits import FacePolish
from unweave.learn.lowest_layer.layer import (
    DistanceCalibration,
    FoundUnion,
    LowestLayerCertificate,
    ThresholdLayer,
    calibrate,
)
from unweave.learn.lowest_layer.starts import LayerStartRules, quiet_start
from unweave.learn.lowest_layer.union_fits import UnionRules, fit_either_union
from unweave.learn.stages import Stages
from unweave.networks.network import Network
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict, at_most
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments, lines_for
from unweave.samples.sources import ArraySource, DistinctRows
from unweave.samples.sums import accumulate

PREDICTION_NOTE = "predictions come from a fit of half spaces that are not claimed to be the true ones"


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Samples in white coordinates that take part in no fit."""

    points: Points
    is_second: PointMask
    weights: PerPoint
    slices: Slices


@dataclass(frozen=True, eq=False)
class _Split:
    """Samples in white coordinates: those to fit, those that judge, and what is known of the shape of all."""

    points: Points
    is_second: PointMask
    weights: PerPoint
    held: _HeldOut
    checks: list[Diagnostic]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Half spaces in white coordinates, and what held-out samples say about them.

    Args:
        layer: the half spaces.
        is_second_inside: of them.
        wrong: weights of the held-out samples that they are wrong for, and 0 for the others.
        misplaced: share of the points next to each that are on its wrong side.
        outcome: what may be claimed.
        faces: evidence next to their boundaries.
        diagnostics: what decided the outcome.
    """

    layer: ThresholdLayer
    is_second_inside: bool
    wrong: PerPoint
    misplaced: PerNeuron
    outcome: Outcome
    faces: FaceEvidence
    diagnostics: tuple[Diagnostic, ...]

    @property
    def rank(self) -> tuple[int, float]:
        """Better candidates are larger."""
        order = [Outcome.NOT_IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.IDENTIFIED]
        return order.index(self.outcome), -self.faces.disagreement

    def gain_over(self, other: "_Candidate") -> float:
        """By how many standard errors fewer held-out labels are wrong."""
        gaps = other.wrong - self.wrong
        return float(np.sum(gaps) / max(np.sqrt(np.sum(gaps**2)), np.finfo(float).tiny))


@dataclass(frozen=True)
class HalfspaceUnion:
    """Settings of the search.

    Args:
        evidence: what decides the outcome.
        fewest_of_a_class: samples of each class below which nothing is claimed, and none are held out; chosen: a face
            is not judged by fewer than `evidence.fewest_in_band` samples next to it anyway.
        clearly_better: standard errors of held-out labels by which half spaces must be better to replace those that
            were chosen before; customary.
        starts: how many half spaces moments show.
        polish: how far half spaces are polished.
        union: how they are fitted without moments, and for prediction.
    """

    evidence: LowestLayerEvidence
    fewest_of_a_class: int = 30
    clearly_better: float = 2.0
    starts: LayerStartRules = field(default_factory=LayerStartRules)
    polish: FacePolish = field(default_factory=FacePolish)
    union: UnionRules = field(default_factory=UnionRules)

    def __call__(
        self,
        points: Points,
        is_second: PointMask,
        rng: np.random.Generator,
        *,
        neurons: int | None,
        stages: Stages,
        weights: PerPoint | None = None,
    ) -> FoundUnion:
        """Find the half spaces.

        Args:
            points: samples.
            is_second: whether each is of the second class.
            rng: splits, starts and subsamples.
            neurons: number of half spaces; found if None.
            stages: where times are recorded.
            weights: of samples, for predictions and probabilities; what is claimed counts every sample once.

        Guarantees: the outcome, which samples decide that took no part in any fit. A half space that is missing would
            have shown if it cuts off more than `missing_share` of the inputs, whatever their distribution.
        """
        given = np.ones(len(points)) if weights is None else weights
        with stages("coordinates"):
            coordinates, problem = self._coordinates(points, is_second)
        if problem:
            return self._unjudged(problem, points, is_second, given, rng, neurons, stages)
        points, is_second, given = _merged(points, is_second, given)
        shares = given / given.mean()
        with stages("coordinates"):
            white = np.ascontiguousarray(coordinates.rows_of(points).T)
            checks = _shape_of_inputs(white, rng)
        kept, held = self.evidence.samples.hold_out(points, rng)
        judges = _HeldOut(white[held], is_second[held], shares[held], Slices.of(points)[held])
        split = _Split(white[kept], is_second[kept], shares[kept], judges, checks)
        best = self._best(split, rng, neurons, stages)
        certificate = self._certificate(best, int(held.sum()))
        layer = best.layer.pulled_back(coordinates)
        calibration = _calibration(layer, best.is_second_inside, points[held], is_second[held], shares[held])
        found = _result(best.outcome, _reason(best, certificate), layer, len(points), stages)
        found = replace(found, certificate=certificate, diagnostics=best.diagnostics)
        return FoundUnion(layer, best.is_second_inside, calibration, found)

    def _unjudged(
        self,
        problem: str,
        points: Points,
        is_second: PointMask,
        weights: PerPoint,
        rng: np.random.Generator,
        neurons: int | None,
        stages: Stages,
    ) -> FoundUnion:
        """Half spaces for prediction, where nothing can be claimed."""
        # Samples that are given twice count as one of twice the weight, so that no fit has seen a held-out one.
        rows, which = np.unique(np.column_stack([points, is_second]), axis=0, return_inverse=True)
        merged, sides = np.ascontiguousarray(rows[:, :-1]), rows[:, -1] > 0
        sums = np.bincount(which.ravel(), weights=weights, minlength=len(rows))
        sums = sums / sums.mean()
        with stages("smooth fit"):
            is_second_inside, fit = fit_either_union(
                merged, sides, rng, neurons=neurons, weights=sums, rules=self.union
            )[0]
        held = fit.held_out
        calibration = _calibration(fit.held_layer, is_second_inside, merged[held], sides[held], sums[held])
        result = _result(Outcome.NOT_IDENTIFIED, problem, fit.layer, len(points), stages)
        return FoundUnion(fit.layer, is_second_inside, calibration, result)

    def _coordinates(self, points: Points, is_second: PointMask) -> tuple[Coordinates, str]:
        """White coordinates, or scaled ones and why nothing can be claimed in them."""
        count, inputs = DistinctRows.of(points).count, points.shape[1]
        scale = points.std(axis=0)
        scaled = Coordinates(points.mean(axis=0), np.diag(1.0 / np.where(scale > 0, scale, 1.0)))
        needed = self.evidence.samples.per_input * inputs
        rarer = min(DistinctRows.of(points[side]).count for side in (is_second, ~is_second))
        if count < needed or rarer < self.fewest_of_a_class:
            samples = "samples" if count == len(points) else "different samples"
            return scaled, (
                f"{count} {samples}, {rarer} of them of the rarer class, are too few to judge half spaces in "
                f"{inputs} inputs: at least {needed} and {self.fewest_of_a_class} are needed."
            )
        is_constant = scale <= self.evidence.samples.constant * np.abs(points).max(axis=0)
        if np.any(is_constant):
            number = int(np.flatnonzero(is_constant)[0])
            return scaled, f"input {number} is constant, so that no half space is determined: leave it out."
        try:
            white = np.ascontiguousarray(scaled.rows_of(points).T)
            source = ArraySource(white, np.zeros(len(white)))
            inner = accumulate(source, InputMoments(np.zeros(inputs))).finalise().whole.coordinates()
        except InvalidInput as error:
            return scaled, str(error)
        return Coordinates(scaled.origin + inner.origin / np.diag(scaled.axes), scaled.axes @ inner.axes), ""

    def _best(self, split: _Split, rng: np.random.Generator, neurons: int | None, stages: Stages) -> _Candidate:
        """What may be claimed; otherwise what predicts best."""
        polished: list[_Candidate] = []
        for layer, is_second_inside in self._quiet_starts(split, rng, neurons, stages):
            polished.append(self._polished(layer, is_second_inside, split, rng, stages))
            if self._is_settled(polished[-1]):
                return polished[-1]
            if polished[-1].outcome is Outcome.PARTLY_IDENTIFIED:
                break
        with stages("smooth fit"):
            fits = fit_either_union(
                split.points, split.is_second, rng, neurons=neurons, weights=split.weights, rules=self.union
            )
        smooth: list[_Candidate] = []
        for is_second_inside, fit in fits:
            found = self._polished(fit.layer, is_second_inside, split, rng, stages)
            if self._is_settled(found):
                return found
            # Programmes leave fewer points on the wrong side than any other half spaces, so that theirs count as well.
            own = self.polish.programme.misplaced_next_to(
                split.points, split.is_second == is_second_inside, fit.layer.directions, fit.layer.thresholds
            )
            misplaced = np.maximum(own, found.misplaced)
            smooth.append(self._judge(fit.layer, is_second_inside, split, misplaced))
            polished.append(found)
        return self._preferred(polished, smooth)

    def _is_settled(self, claim: _Candidate) -> bool:
        """Whether labels have no noise, so that programmes are as precise as anything can be."""
        noise = max(claim.faces.noise, claim.faces.quiet_noise)
        return claim.outcome is not Outcome.NOT_IDENTIFIED and noise <= self.evidence.noise.none

    def _preferred(self, polished: list[_Candidate], smooth: list[_Candidate]) -> _Candidate:
        """The claim that predicts best, unless held-out samples contradict it; without one, what predicts best."""
        claims = [each for each in (*polished, *smooth) if each.outcome is not Outcome.NOT_IDENTIFIED]
        best = smooth[0]
        if claims:
            claim = max(claims, key=lambda each: each.rank)
            rival = at_most(
                "held-out labels that other half spaces explain better, in standard errors",
                best.gain_over(claim),
                self.evidence.significant,
                "a half space is missing: give more samples",
            )
            if rival.verdict is not Verdict.FAIL:
                return replace(claim, diagnostics=(*claim.diagnostics, rival))
            best = replace(best, diagnostics=(*best.diagnostics, rival))
        # The smooth fit was chosen by more samples than are held out here: chance is to replace it rarely.
        for other in (*polished, *smooth[1:]):
            if other.outcome is Outcome.NOT_IDENTIFIED and other.gain_over(best) > self.clearly_better:
                best = other
        return best

    def _quiet_starts(
        self, split: _Split, rng: np.random.Generator, neurons: int | None, stages: Stages
    ) -> Iterator[tuple[ThresholdLayer, bool]]:
        """Half spaces from cumulants, and whether the second class is inside of them.

        The class around the centre of the samples is more often the convex one, so that it is tried first.
        """
        lengths = np.einsum("pi,pi->p", split.points, split.points)
        first = bool(lengths[split.is_second].mean() >= lengths[~split.is_second].mean())
        for is_second_inside in (first, not first):
            is_active = split.is_second == is_second_inside
            tried = [neurons] if neurons is None or neurons <= split.points.shape[1] else []
            while tried:
                try:
                    with stages("start"):
                        start = quiet_start(split.points, is_active, rng, neurons=tried[0], rules=self.starts)
                except InvalidInput:
                    break
                units = start.units
                yield ThresholdLayer(units.directions, units.thresholds, units.coefficients, STEP), is_second_inside
                # An eigenvalue near the noise may belong to a half space all the same: held-out samples will tell.
                found = len(start.units.directions)
                tried = [found + 1] if neurons is None and found < start.most_neurons else []

    def _polished(
        self, layer: ThresholdLayer, is_second_inside: bool, split: _Split, rng: np.random.Generator, stages: Stages
    ) -> _Candidate:
        with stages("polish"):
            units = OrientedUnits(layer.directions, layer.thresholds, layer.coefficients)
            is_active = split.is_second == is_second_inside
            units, misplaced = self.polish(split.points, is_active, units, rng)
            layer = ThresholdLayer(units.directions, units.thresholds, units.coefficients, STEP)
        with stages("evidence"):
            return self._judge(layer, is_second_inside, split, misplaced)

    def _judge(self, layer: ThresholdLayer, is_second_inside: bool, split: _Split, misplaced: np.ndarray) -> _Candidate:
        """Decide the outcome; nothing else does."""
        evidence, held = self.evidence, split.held
        is_active = held.is_second == is_second_inside
        faces = evidence.face_evidence(held.points, is_active, layer.directions, layer.thresholds)
        if len(layer.directions) == 1:
            # The complement of one half space is another one, so that either class may be the one inside of more.
            other = evidence.face_evidence(held.points, ~is_active, -layer.directions, -layer.thresholds)
            faces = replace(faces, missing_share=max(faces.missing_share, other.missing_share))
        diagnostics = (
            *split.checks,
            *evidence.face_diagnostics(faces),
            evidence.flatness_check(faces, misplaced),
            evidence.need_check(faces),
            evidence.duplicate_check(layer.directions, np.minimum(faces.angles, evidence.largest_angle)),
            *held.slices.check(np.abs(layer.arguments(held.points)) <= evidence.band[0]),
        )
        is_failed = any(each.verdict is Verdict.FAIL for each in diagnostics)
        outcome = Outcome.IDENTIFIED if faces.disagreement == 0.0 else Outcome.PARTLY_IDENTIFIED
        outcome = Outcome.NOT_IDENTIFIED if is_failed else outcome
        is_wrong = (np.max(layer.arguments(held.points), axis=1) >= 0) != is_active
        wrong = np.where(is_wrong, held.weights, 0.0)
        return _Candidate(layer, is_second_inside, wrong, misplaced, outcome, faces, diagnostics)

    def _certificate(self, best: _Candidate, held_out: int) -> LowestLayerCertificate:
        faces = best.faces
        angles = np.degrees(faces.angles)
        return LowestLayerCertificate(
            neurons=len(angles),
            largest_angle=float(np.max(angles)),
            median_angle=float(np.median(angles)),
            held_out=held_out,
            disagreement=faces.disagreement,
            label_noise=max(faces.noise, faces.quiet_noise),
            unexplained=faces.unexplained,
            largest_residual=np.nan,
            confidence=self.evidence.confidence,
            wrong_share=faces.wrong_share,
            missing_share=faces.missing_share,
        )


def _merged(
    points: Points, is_second: PointMask, weights: PerPoint
) -> tuple[Float64[np.ndarray, "merged inputs"], Bool[np.ndarray, "merged"], Float64[np.ndarray, "merged"]]:
    """Rows that come again, as one with the sum of their weights; all rows where labels at a point differ."""
    distinct = DistinctRows.of(points)
    both = DistinctRows.of(np.column_stack([points, is_second]))
    if not distinct.have_copies or both.count > distinct.count:
        return points, is_second, weights
    first = np.sort(np.unique(distinct.which, return_index=True)[1])
    sums = np.bincount(distinct.which, weights=weights, minlength=distinct.count)
    return np.ascontiguousarray(points[first]), is_second[first], sums


def _shape_of_inputs(points: Points, rng: np.random.Generator) -> list[Diagnostic]:
    """Whether inputs are Gaussian: the start needs it, the evidence does not, so that nothing fails here."""
    inputs = points.shape[1]
    check = GaussianityCheck(Coordinates.identity(inputs), lines_for(rng, rank=inputs))
    found = accumulate(ArraySource(points, np.zeros(len(points))), check).finalise().whole.diagnostics()
    return [replace(each, verdict=Verdict.WEAK) if each.verdict is Verdict.FAIL else each for each in found]


def _reason(best: _Candidate, certificate: LowestLayerCertificate) -> str:
    if best.outcome is Outcome.NOT_IDENTIFIED:
        failed = [
            f"{each.name} is {each.value:.3g}, needed {each.threshold:.3g}: {each.advice}"
            for each in best.diagnostics
            if each.verdict is Verdict.FAIL
        ]
        return (
            f"half spaces that predict are wrong for {100 * certificate.disagreement:.2g} % of the held-out samples, "
            f"and what was found near them is not claimed: {'; '.join(failed)}."
        )
    count = "1 half space" if certificate.neurons == 1 else f"{certificate.neurons} half spaces"
    verb = "explains" if certificate.neurons == 1 else "explain"
    hidden = f"another one that cuts off {100 * certificate.missing_share:.2g} % of the inputs would have shown"
    if best.outcome is Outcome.IDENTIFIED:
        return (
            f"{count} {verb} all {certificate.held_out:,d} held-out labels, to {certificate.largest_angle:.2g} "
            f"degrees; {hidden} (confidence {100 * certificate.confidence:.0f} %)."
        )
    return (
        f"{count} {verb} all but {100 * certificate.disagreement:.2g} % of {certificate.held_out:,d} held-out labels: "
        f"estimates, to {certificate.largest_angle:.2g} degrees for the worst; {hidden} (confidence "
        f"{100 * certificate.confidence:.0f} %)."
    )


def _calibration(
    layer: ThresholdLayer, is_second_inside: bool, points: Points, is_second: PointMask, weights: PerPoint
) -> DistanceCalibration:
    """Probabilities of the class inside."""
    return calibrate(np.max(layer.arguments(points), axis=1), is_second == is_second_inside, weights)


def _result(
    outcome: Outcome, reason: str, layer: ThresholdLayer, samples: int, stages: Stages
) -> Result[Network, LowestLayerCertificate]:
    notes = (PREDICTION_NOTE,) if outcome is Outcome.NOT_IDENTIFIED else ()
    return Result(outcome, reason, layer.network, cost=Cost(samples=samples, seconds=stages.seconds), notes=notes)
