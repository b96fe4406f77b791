"""From samples to a lowest layer with a status: read the labels, start, polish, and judge by held-out samples."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.evidence import (
    CALIBRATION,
    CONFIDENCE,
    EXACT_TOL,
    LARGEST_ANGLE,
    FaceEvidence,
    LowestLayerCertificate,
    Status,
    duplicate_check,
    exact_residual,
    face_evidence,
    flatness_check,
    regression_limits,
)
from unweave.learn.lowest_layer.layer import LowestLayer, OrientedRows
from unweave.learn.lowest_layer.polish import Polished, polish
from unweave.learn.lowest_layer.starts import (
    EIGENVALUE_FACTOR,
    SAME_VALUE,
    ReadLabels,
    Start,
    moment_start,
    quiet_start,
    read_labels,
)
from unweave.learn.lowest_layer.units import monic_coefficients
from unweave.result import Diagnostic, Verdict, at_least, at_most
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments, lines_for
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate

Labels = Float64[np.ndarray, "points"]
# Share of the samples that judge the result and take no part in it.
HELD_OUT_SHARE = 0.1
# Fewer samples per input than this have no moments worth decomposing.
SAMPLES_PER_INPUT = 20
# Residual of noisy labels where one unit is active alone, in units of the noise, above which the unit is wrong.
LARGEST_NOISE_RATIO = 1.5
ANGLE_ADVICE = "rows from the two halves of the samples or from orders 3 and 4 differ: give more samples"


@dataclass(frozen=True, eq=False)
class FoundLayer:
    """The outcome of a fit.

    Args:
        layer: in the units of the inputs; None if there is none.
        offset: value of the labels where all units are quiet.
        certificate: evidence; None without a layer.
        status: how far the rows may be trusted.
        reason: one paragraph with the numbers.
        diagnostics: every assumption that was checked.
        notes: facts that a user should know.
        seconds: time per stage.
    """

    layer: LowestLayer | None
    offset: float
    certificate: LowestLayerCertificate | None
    status: Status
    reason: str
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class _Samples:
    points: Points
    labels: Labels


@dataclass(frozen=True, eq=False)
class _Judged:
    """A polished candidate with its evidence."""

    polished: Polished
    start: Start
    angles: Float64[np.ndarray, "neurons"]
    faces: FaceEvidence | None
    residual: float
    noise: float
    diagnostics: list[Diagnostic]
    status: Status


@dataclass
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    def time(self, stage: str, work: Callable):
        """Run some work and add its time to a stage."""
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def fit_lowest_layer(
    points: Points, labels: Labels, unit: Activation, rng: np.random.Generator, *, rank: int | None = None
) -> FoundLayer:
    """Find rows and thresholds of the units below an unknown upper function.

    Args:
        points: Gaussian samples of any mean and covariance.
        labels: one per sample.
        unit: kind of the units.
        rng: splits, starts and subsamples.
        rank: number of rows; found if None.

    Assumes: Gaussian inputs; linearly independent rows; active units change the labels.
    Guarantees: the status, which held-out samples decide; see `evidence`.
    """
    clock = _Clock()
    held = np.zeros(len(points), dtype=bool)
    held[rng.choice(len(points), int(HELD_OUT_SHARE * len(points)), replace=False)] = True
    try:
        coordinates = clock.time("coordinates", lambda: _coordinates(points, rank))
    except InvalidInput as error:
        return _nothing(str(error), (), clock)
    white = np.ascontiguousarray(coordinates.rows_of(points).T)
    checks = clock.time("coordinates", lambda: _gaussianity(white, labels, rng))
    fitted, judging = _Samples(white[~held], labels[~held]), _Samples(white[held], labels[held])
    read = read_labels(fitted.points, fitted.labels, unit)
    best, failures = None, []
    for start in _starts(fitted, read, unit, rng, rank, clock, failures):
        polished = clock.time("polish", lambda s=start: polish(fitted.points, fitted.labels, read, s.units, unit, rng))
        judged = clock.time("evidence", lambda s=start, p=polished: _judge(judging, read, s, p, unit, checks))
        if best is None or _rank_of(judged) > _rank_of(best):
            best = judged
        if best.status is not Status.UNRELIABLE:
            break
    if best is None:
        return _nothing(" ".join(failures), tuple(checks), clock)
    return _found(best, coordinates, unit, len(judging.labels), clock)


def _coordinates(points: Points, rank: int | None) -> Coordinates:
    count, inputs = points.shape
    if rank is not None and rank > inputs:
        raise InvalidInput(
            f"{rank} rows in {inputs} inputs are linearly dependent: moments of order 2 show as many rows as inputs "
            "at most, so these cannot be found from samples."
        )
    if count < SAMPLES_PER_INPUT * inputs:
        raise InvalidInput(
            f"{count} samples of {inputs} inputs are too few for moments, which need {SAMPLES_PER_INPUT} per input "
            "at the least and in practice thousands: give more samples."
        )
    source = ArraySource(points, np.zeros(count))
    return accumulate(source, InputMoments(points.mean(axis=0))).finalise().whole.coordinates()


def _gaussianity(points: Points, labels: Labels, rng: np.random.Generator) -> list[Diagnostic]:
    inputs = points.shape[1]
    check = GaussianityCheck(Coordinates.identity(inputs), lines_for(rng, rank=inputs))
    return accumulate(ArraySource(points, labels), check).finalise().whole.diagnostics()


def _starts(
    samples: _Samples,
    read: ReadLabels,
    unit: Activation,
    rng: np.random.Generator,
    rank: int | None,
    clock: _Clock,
    failures: list[str],
) -> Iterator[Start]:
    """Starts in the order in which they are worth trying; reasons of those that fail are kept."""
    for make in _start_makers(samples, read, unit, rng):
        ranks = [rank]
        while ranks:
            try:
                start = clock.time("start", lambda m=make, r=ranks[0]: m(r))
            except InvalidInput as error:
                failures.append(str(error))
                break
            yield start
            # An eigenvalue near the noise may belong to a row all the same: held-out samples will tell.
            found = len(start.units.rows)
            ranks = [found + 1] if rank is None and found < start.most_rows else []


def _start_makers(
    samples: _Samples, read: ReadLabels, unit: Activation, rng: np.random.Generator
) -> list[Callable[[int | None], Start]]:
    makers: list[Callable[[int | None], Start]] = []
    if read.is_active is not None:
        is_active = read.is_active
        makers.append(lambda rank: quiet_start(samples.points, is_active, rng, rank=rank))
    makers.append(lambda rank: moment_start(samples.points, samples.labels - read.offset, unit, rng, rank=rank))
    return makers


def _judge(
    held: _Samples,
    read: ReadLabels,
    start: Start,
    polished: Polished,
    unit: Activation,
    checks: list[Diagnostic],
) -> _Judged:
    units, labels = polished.units, held.labels - polished.offset
    faces, residual, noise = None, np.nan, read.noise
    diagnostics = [*checks, *_start_diagnostics(start, is_polished=polished.is_polished)]
    if polished.is_polished and (read.is_exact or unit.name == "step"):
        is_active = _activity(held.labels, read)
        faces = face_evidence(held.points, is_active, units.rows, units.thresholds)
        angles, noise = faces.angles, max(faces.noise, read.noise)
        diagnostics += [*faces.diagnostics(), flatness_check(faces, polished.misplaced)]
    elif polished.regression is not None:
        angles = regression_limits(polished.regression.angle_errors, inputs=units.rows.shape[1])
        ratio, noise = _noise_ratio(held, polished)
        diagnostics.append(
            at_most("residual in units of the noise", ratio, LARGEST_NOISE_RATIO, "a unit is wrong or missing")
        )
        diagnostics.append(_angle_diagnostic(angles))
    else:
        bias = np.minimum(start.bias_angles, _predicted_bias(units, unit))
        angles = CALIBRATION * np.hypot(start.noise_angles, bias)
        diagnostics.append(_angle_diagnostic(angles))
    diagnostics.append(duplicate_check(units.rows, np.minimum(angles, LARGEST_ANGLE)))
    if unit.name == "relu" and read.is_exact and faces is not None:
        residual = exact_residual(held.points, labels, units.rows, units.thresholds, units.coefficients)
    # A unit that few held-out samples come near has an infinite angle: nothing was verified about it.
    is_met = residual < EXACT_TOL and bool(np.all(np.isfinite(angles)))
    if faces is not None and is_met and faces.disagreement == 0.0:
        status = Status.VERIFIED
        angles = np.minimum(angles, residual)
    else:
        is_failed = any(diagnostic.verdict is Verdict.FAIL for diagnostic in diagnostics)
        status = Status.UNRELIABLE if is_failed else Status.ESTIMATED
    return _Judged(polished, start, angles, faces, float(residual), float(noise), diagnostics, status)


def _activity(labels: Labels, read: ReadLabels) -> np.ndarray:
    """Held-out samples that are active by the rule that the fitted ones were read with."""
    if read.is_exact:
        return np.abs(labels - read.offset) > SAME_VALUE * np.ptp(labels)
    return labels > read.level


def _start_diagnostics(start: Start, *, is_polished: bool) -> list[Diagnostic]:
    # Polished rows are judged by their own evidence, so that a poor start is a warning only.
    weak = -np.inf if is_polished else None
    return [
        at_least(
            "smallest eigenvalue of order 2 in units of its noise",
            start.eigenvalue_ratio,
            EIGENVALUE_FACTOR,
            "a row is lost in noise: give more samples or fewer rows",
            weak=weak,
        ),
        at_least(
            "order 2 has one sign",
            float(start.is_definite),
            1.0,
            "products of units outweigh single ones, or coefficients differ in sign",
            weak=weak,
        ),
    ]


def _angle_diagnostic(angles: Float64[np.ndarray, "neurons"]) -> Diagnostic:
    worst = float(np.degrees(np.max(angles, initial=0.0)))
    return at_most("estimated angle of the worst row (degrees)", worst, float(np.degrees(LARGEST_ANGLE)), ANGLE_ADVICE)


def _predicted_bias(units: OrientedRows, unit: Activation) -> float:
    """First-order bias of order 3 by products of two units, in radians, if they weigh no more than single units."""
    factors = monic_coefficients(unit, float(np.median(units.thresholds)), 3)
    ratio = abs(float(factors[1] * factors[2] / factors[3]))
    condition = float(np.linalg.cond(units.rows))
    return condition * np.sqrt(max(len(units.rows) - 1, 0)) * ratio


def _noise_ratio(held: _Samples, polished: Polished) -> tuple[float, float]:
    """Residual where one unit is active alone, in units of the noise where none is, and that noise."""
    units = polished.units
    arguments = held.points @ units.rows.T - units.thresholds
    values = np.maximum(arguments, 0.0)
    residuals = values @ units.coefficients + polished.offset - held.labels
    active = np.count_nonzero(values, axis=1)
    quiet, alone = residuals[active == 0], residuals[active == 1]
    noise = float(np.sqrt(np.mean(quiet**2))) if len(quiet) else np.inf
    excess = float(np.sqrt(np.mean(alone**2))) if len(alone) else np.inf
    return excess / max(noise, np.finfo(float).tiny), noise


def _rank_of(judged: _Judged) -> tuple[int, float]:
    order = [Status.UNRELIABLE, Status.ESTIMATED, Status.VERIFIED]
    return order.index(judged.status), -float(np.median(judged.angles))


def _found(judged: _Judged, coordinates: Coordinates, unit: Activation, held_out: int, clock: _Clock) -> FoundLayer:
    units, faces, angles = judged.polished.units, judged.faces, np.degrees(judged.angles)
    layer = LowestLayer(units.rows, units.thresholds, units.coefficients, unit).pulled_back(coordinates)
    certificate = LowestLayerCertificate(
        status=judged.status.value,
        rows=len(units.rows),
        largest_angle=float(np.max(angles)),
        median_angle=float(np.median(angles)),
        held_out=held_out,
        disagreement=np.nan if faces is None else faces.disagreement,
        label_noise=judged.noise,
        unexplained=np.nan if faces is None else faces.unexplained,
        largest_residual=judged.residual,
        confidence=CONFIDENCE,
    )
    notes = (f"rows from {judged.start.source}, order {judged.start.order} first",)
    return FoundLayer(
        layer,
        judged.polished.offset,
        certificate,
        judged.status,
        _reason(certificate, judged.diagnostics, is_full=len(units.rows) == units.rows.shape[1]),
        tuple(judged.diagnostics),
        notes,
        clock.seconds,
    )


def _reason(certificate: LowestLayerCertificate, diagnostics: list[Diagnostic], *, is_full: bool) -> str:
    if certificate.status == Status.VERIFIED.value:
        return (
            f"all {certificate.rows} rows meet {certificate.held_out:,d} held-out labels, those of one active unit to "
            f"{certificate.largest_residual:.1e} of their spread."
        )
    if certificate.status == Status.ESTIMATED.value:
        return (
            f"{certificate.rows} rows with an estimated error of {certificate.median_angle:.2g} degrees, "
            f"{certificate.largest_angle:.2g} for the worst: an estimate from {certificate.held_out:,d} held-out "
            "samples, which more samples improve."
        )
    failed = [
        f"{diagnostic.name} is {diagnostic.value:.3g}, needed {diagnostic.threshold:.3g}: {diagnostic.advice}"
        for diagnostic in diagnostics
        if diagnostic.verdict is Verdict.FAIL
    ]
    hint = " As many rows as inputs were found, and there may be more." if is_full else ""
    return "; ".join(failed) + "." + hint


def _nothing(reason: str, diagnostics: tuple[Diagnostic, ...], clock: _Clock) -> FoundLayer:
    return FoundLayer(None, 0.0, None, Status.UNRELIABLE, reason, diagnostics, (), clock.seconds)
