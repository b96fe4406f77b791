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
from unweave.arrays import PointMask, Points
from unweave.exceptions import InvalidInput
from unweave.learn.base import Stages
from unweave.learn.lowest_layer.evidence import FaceEvidence, LowestLayerCertificate, LowestLayerEvidence
from unweave.learn.lowest_layer.halfspace_fits import UnionRules, fit_union
from unweave.learn.lowest_layer.layer import OrientedUnits, ThresholdLayer
from unweave.learn.lowest_layer.polish import PolishRules, polish_faces
from unweave.learn.lowest_layer.slices import Slices
from unweave.learn.lowest_layer.starts import LayerStartRules, quiet_start
from unweave.networks.network import Network
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments, lines_for
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate

PREDICTION_NOTE = "predictions come from a fit of half spaces that are not claimed to be the true ones"


@dataclass(frozen=True, eq=False)
class FoundUnion:
    """Half spaces, and which class is inside of them.

    Args:
        layer: one step per half space of the union, in the units of the inputs.
        is_second_inside: whether samples of the second class are those inside of at least one.
        result: its network is that of the layer.
    """

    layer: ThresholdLayer
    is_second_inside: bool
    result: Result[Network, LowestLayerCertificate]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Half spaces in white coordinates, and what held-out samples say about them; no faces if they are no claim."""

    layer: ThresholdLayer
    is_second_inside: bool
    disagreement: float
    outcome: Outcome = Outcome.NOT_IDENTIFIED
    faces: FaceEvidence | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def rank(self) -> tuple[int, float]:
        """Better candidates are larger."""
        order = [Outcome.NOT_IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.IDENTIFIED]
        return order.index(self.outcome), -self.disagreement


@dataclass(frozen=True, eq=False)
class _Split:
    """Samples in white coordinates: those to fit, and those that judge."""

    points: Points
    is_second: PointMask
    held_points: Float64[np.ndarray, "held inputs"]
    held_second: Bool[np.ndarray, "held"]
    held_slices: Slices


@dataclass(frozen=True)
class HalfspaceUnion:
    """Settings of the search.

    Args:
        evidence: what decides the outcome.
        fewest_of_a_class: samples of each class below which nothing is claimed, and none are held out; chosen: a face
            is not judged by fewer than `evidence.fewest_in_band` samples next to it anyway.
        starts: how many half spaces moments show.
        polish: how far half spaces are polished.
        union: how they are fitted without moments, and for prediction.
    """

    evidence: LowestLayerEvidence
    fewest_of_a_class: int = 30
    starts: LayerStartRules = field(default_factory=LayerStartRules)
    polish: PolishRules = field(default_factory=PolishRules)
    union: UnionRules = field(default_factory=UnionRules)

    def __call__(
        self, points: Points, is_second: PointMask, rng: np.random.Generator, *, neurons: int | None, stages: Stages
    ) -> FoundUnion:
        """Find the half spaces.

        Args:
            points: samples.
            is_second: whether each is of the second class.
            rng: splits, starts and subsamples.
            neurons: number of half spaces; found if None.
            stages: where times are recorded.

        Guarantees: the outcome, which samples decide that took no part in any fit. A half space that is missing would
            have shown if it cuts off more than `missing_share` of the inputs, whatever their distribution.
        """
        with stages("coordinates"):
            coordinates, problem = self._coordinates(points, is_second)
            white = np.ascontiguousarray(coordinates.rows_of(points).T)
        if problem:
            with stages("smooth fit"):
                best = self._prediction(_Split(white, is_second, white, is_second, Slices.of(points)), rng, neurons)
            return _found(best, coordinates, problem, (), None, len(points), stages)
        held = self.evidence.samples.hold_out(len(points), rng)
        split = _Split(white[~held], is_second[~held], white[held], is_second[held], Slices.of(points)[held])
        with stages("coordinates"):
            checks = _shape_of_inputs(white, rng)
        best = self._best(split, checks, rng, neurons, stages)
        certificate = None if best.faces is None else self._certificate(best, int(held.sum()))
        reason = _reason(best, certificate)
        return _found(best, coordinates, reason, best.diagnostics or tuple(checks), certificate, len(points), stages)

    def _coordinates(self, points: Points, is_second: PointMask) -> tuple[Coordinates, str]:
        """White coordinates, or scaled ones and why nothing can be claimed in them."""
        count, inputs = points.shape
        scale = points.std(axis=0)
        scaled = Coordinates(points.mean(axis=0), np.diag(1.0 / np.where(scale > 0, scale, 1.0)))
        needed = self.evidence.samples.per_input * inputs
        rarer = int(min(is_second.sum(), (~is_second).sum()))
        if count < needed or rarer < self.fewest_of_a_class:
            return scaled, (
                f"{count} samples, {rarer} of them of the rarer class, are too few to judge half spaces in {inputs} "
                f"inputs: at least {needed} and {self.fewest_of_a_class} are needed."
            )
        is_constant = scale <= self.evidence.samples.constant * np.abs(points).max(axis=0)
        if np.any(is_constant):
            number = int(np.flatnonzero(is_constant)[0])
            return scaled, f"input {number} is constant, so that no half space is determined: leave it out."
        try:
            white = np.ascontiguousarray(scaled.rows_of(points).T)
            moments = accumulate(ArraySource(white, np.zeros(count)), InputMoments(np.zeros(inputs))).finalise().whole
            inner = moments.coordinates()
        except InvalidInput as error:
            return scaled, str(error)
        return Coordinates(scaled.origin + inner.origin / np.diag(scaled.axes), scaled.axes @ inner.axes), ""

    def _best(
        self,
        split: _Split,
        checks: list[Diagnostic],
        rng: np.random.Generator,
        neurons: int | None,
        stages: Stages,
    ) -> _Candidate:
        """The first candidate that may be claimed; otherwise what predicts held-out samples best."""
        best: _Candidate | None = None
        failed: tuple[Diagnostic, ...] = ()
        for layer, is_second_inside, is_start in self._starts(split, rng, neurons, stages):
            if not is_start:
                candidate = replace(_unclaimed(layer, is_second_inside, split), diagnostics=failed)
            else:
                with stages("polish"):
                    units = OrientedUnits(layer.directions, layer.thresholds, layer.coefficients)
                    is_active = split.is_second == is_second_inside
                    units, misplaced = polish_faces(split.points, is_active, units, rng, rules=self.polish)
                    layer = ThresholdLayer(units.directions, units.thresholds, units.coefficients, STEP)
                with stages("evidence"):
                    candidate = self._judge(layer, is_second_inside, split, misplaced, checks)
                failed = candidate.diagnostics
            if best is None or candidate.rank > best.rank:
                best = candidate
            if is_start and best.outcome is not Outcome.NOT_IDENTIFIED:
                break
        assert best is not None, "a smooth fit always ends"
        return best

    def _starts(
        self, split: _Split, rng: np.random.Generator, neurons: int | None, stages: Stages
    ) -> Iterator[tuple[ThresholdLayer, bool, bool]]:
        """Half spaces, whether the second class is inside of them, and whether they are to be polished.

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
                yield _layer_of(start.units), is_second_inside, True
                # An eigenvalue near the noise may belong to a half space all the same: held-out samples will tell.
                found = len(start.units.directions)
                tried = [found + 1] if neurons is None and found < start.most_neurons else []
        for is_second_inside in (first, not first):
            with stages("smooth fit"):
                layer = self._smooth(split, is_second_inside, rng, neurons)
            yield layer, is_second_inside, True
            yield layer, is_second_inside, False

    def _smooth(
        self, split: _Split, is_second_inside: bool, rng: np.random.Generator, neurons: int | None
    ) -> ThresholdLayer:
        is_active = split.is_second == is_second_inside
        return fit_union(split.points, is_active, rng, neurons=neurons, rules=self.union)

    def _prediction(self, split: _Split, rng: np.random.Generator, neurons: int | None) -> _Candidate:
        """The better one of two smooth fits."""
        fits = [_unclaimed(self._smooth(split, side, rng, neurons), side, split) for side in (True, False)]
        return max(fits, key=lambda each: each.rank)

    def _judge(
        self,
        layer: ThresholdLayer,
        is_second_inside: bool,
        split: _Split,
        misplaced: np.ndarray,
        checks: list[Diagnostic],
    ) -> _Candidate:
        """Decide the outcome; nothing else does."""
        evidence, is_active = self.evidence, split.held_second == is_second_inside
        faces = evidence.face_evidence(split.held_points, is_active, layer.directions, layer.thresholds)
        diagnostics = (
            *checks,
            *evidence.face_diagnostics(faces),
            evidence.flatness_check(faces, misplaced),
            evidence.need_check(faces),
            evidence.duplicate_check(layer.directions, np.minimum(faces.angles, evidence.largest_angle)),
            *split.held_slices.check(np.abs(layer.arguments(split.held_points)) <= evidence.band[0]),
        )
        is_failed = any(each.verdict is Verdict.FAIL for each in diagnostics)
        outcome = Outcome.IDENTIFIED if faces.disagreement == 0.0 else Outcome.PARTLY_IDENTIFIED
        outcome = Outcome.NOT_IDENTIFIED if is_failed else outcome
        return _Candidate(layer, is_second_inside, faces.disagreement, outcome, faces, diagnostics)

    def _certificate(self, best: _Candidate, held_out: int) -> LowestLayerCertificate:
        faces = best.faces
        assert faces is not None
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


def _layer_of(units: OrientedUnits) -> ThresholdLayer:
    return ThresholdLayer(units.directions, units.thresholds, units.coefficients, STEP)


def _unclaimed(layer: ThresholdLayer, is_second_inside: bool, split: _Split) -> _Candidate:
    is_inside = np.max(layer.arguments(split.held_points), axis=1) >= 0
    wrong = float(np.mean((is_inside == is_second_inside) != split.held_second))
    return _Candidate(layer, is_second_inside, wrong)


def _shape_of_inputs(points: Points, rng: np.random.Generator) -> list[Diagnostic]:
    """Whether inputs are Gaussian: the start needs it, the evidence does not, so that nothing fails here."""
    inputs = points.shape[1]
    check = GaussianityCheck(Coordinates.identity(inputs), lines_for(rng, rank=inputs))
    found = accumulate(ArraySource(points, np.zeros(len(points))), check).finalise().whole.diagnostics()
    return [replace(each, verdict=Verdict.WEAK) if each.verdict is Verdict.FAIL else each for each in found]


def _reason(best: _Candidate, certificate: LowestLayerCertificate | None) -> str:
    if best.outcome is Outcome.NOT_IDENTIFIED or certificate is None:
        failed = [
            f"{each.name} is {each.value:.3g}, needed {each.threshold:.3g}: {each.advice}"
            for each in best.diagnostics
            if each.verdict is Verdict.FAIL
        ]
        return (
            f"half spaces that predict are wrong for {100 * best.disagreement:.2g} % of the held-out samples, and what "
            f"was found near them is not claimed: {'; '.join(failed)}."
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


def _found(
    best: _Candidate,
    coordinates: Coordinates,
    reason: str,
    diagnostics: tuple[Diagnostic, ...],
    certificate: LowestLayerCertificate | None,
    samples: int,
    stages: Stages,
) -> FoundUnion:
    layer = best.layer.pulled_back(coordinates)
    notes = (PREDICTION_NOTE,) if best.outcome is Outcome.NOT_IDENTIFIED else ()
    cost = Cost(samples=samples, seconds=stages.seconds)
    result = Result(best.outcome, reason, layer.network, certificate, diagnostics, cost, notes)
    return FoundUnion(layer, best.is_second_inside, result)
