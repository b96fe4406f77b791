"""From samples to a lowest layer with an outcome: read the labels, start, polish, and judge by held-out samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from unweave.activations import Activation
from unweave.arrays import PerNeuron, Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.directions import OrientedUnits
from unweave.learn.lowest_layer.evidence import FaceEvidence, LowestLayerEvidence, structure_chance
from unweave.learn.lowest_layer.labels import LABEL_RULES, Labels, ReadLabels, read_labels
from unweave.learn.lowest_layer.layer import LowestLayerCertificate, ThresholdLayer
from unweave.learn.lowest_layer.local_relu import RegressedUnits, exact_residual
from unweave.learn.lowest_layer.polish import POLISH_RULES, Polished, angles_farther_out, polish
from unweave.learn.lowest_layer.starts import START_RULES, LayerStart, moment_start, quiet_start
from unweave.learn.lowest_layer.units import monic_coefficients
from unweave.learn.stages import Stages
from unweave.networks.network import Network
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict, at_least, at_most
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments, lines_for
from unweave.samples.sources import ArraySource, note_of_copies, without_copies
from unweave.samples.sums import accumulate

ANGLE_ADVICE = "neurons from the two halves of the samples or from orders 3 and 4 differ: give more samples"


@dataclass(frozen=True, eq=False)
class FoundLayer:
    """A lowest layer, if there is one, and the result that says how far it may be trusted.

    Args:
        layer: in the units of the inputs; None if there is none.
        offset: value of the labels where all units are quiet.
        result: its network maps inputs to the values of the units.
    """

    layer: ThresholdLayer | None
    offset: float
    result: Result[Network, LowestLayerCertificate]


@dataclass(frozen=True, eq=False)
class _Samples:
    points: Points
    labels: Labels


@dataclass(frozen=True, eq=False)
class _Judged:
    """A polished candidate with its evidence."""

    polished: Polished
    start: LayerStart
    angles: PerNeuron
    faces: FaceEvidence | None
    residual: float
    noise: float
    resolution: float
    diagnostics: list[Diagnostic]
    outcome: Outcome

    def layer(self, coordinates: Coordinates, unit: Activation) -> ThresholdLayer:
        """The units in the units of the inputs."""
        units = self.polished.units
        layer = ThresholdLayer(units.directions, units.thresholds, units.coefficients, unit)
        return layer.pulled_back(coordinates)


def fit_lowest_layer(
    points: Points,
    labels: Labels,
    unit: Activation,
    rng: np.random.Generator,
    *,
    neurons: int | None = None,
    evidence: LowestLayerEvidence | None = None,
    stages: Stages | None = None,
) -> FoundLayer:
    """Find directions and thresholds of the units below an unknown upper function.

    Args:
        points: Gaussian samples of any mean and covariance.
        labels: one per sample.
        unit: kind of the units.
        rng: splits, starts and subsamples.
        neurons: their number; found if None.
        evidence: what decides the outcome.
        stages: where times are recorded.

    Assumes: Gaussian inputs; linearly independent directions; active units change the labels.
    Guarantees: the outcome, which held-out samples decide: identified if exact labels are met, partly identified for
        estimates that nothing speaks against, not identified otherwise.
    """
    evidence, stages = evidence or LowestLayerEvidence(), stages or Stages()
    given = len(points)
    points, labels, copies = without_copies(points, labels)
    kept, held = evidence.samples.hold_out(points, rng)
    try:
        with stages("coordinates"):
            coordinates = _coordinates(points, neurons, evidence.samples.per_input)
    except InvalidInput as error:
        return _nothing(str(error), (), given, stages)
    white = np.ascontiguousarray(coordinates.rows_of(points).T)
    with stages("coordinates"):
        checks = _gaussianity(white, labels, rng)
    fitted, judging = _Samples(white[kept], labels[kept]), _Samples(white[held], labels[held])
    read = read_labels(fitted.points, fitted.labels, unit)
    best, failures = None, []
    for start in _starts(fitted, read, unit, rng, neurons, stages, failures):
        with stages("polish"):
            polished = polish(fitted.points, fitted.labels, read, start.units, unit, rng)
        with stages("evidence"):
            judged = _judge(fitted, judging, read, start, polished, unit, checks, evidence)
        if best is None or _rank_of(judged) > _rank_of(best):
            best = judged
        if best.outcome is not Outcome.NOT_IDENTIFIED:
            break
    if best is None:
        return _nothing(" ".join(failures), tuple(checks), given, stages)
    certificate = _certificate(best, len(judging.labels), evidence)
    cost = Cost(samples=given, seconds=stages.seconds)
    found = _found(best, best.layer(coordinates, unit), certificate, cost)
    notes = (*found.result.notes, *note_of_copies(given, copies))
    return replace(found, result=replace(found.result, notes=notes))


def _found(best: _Judged, layer: ThresholdLayer, certificate: LowestLayerCertificate, cost: Cost) -> FoundLayer:
    result = Result(
        outcome=best.outcome,
        reason=_reason(best.outcome, certificate, best.diagnostics, inputs=layer.directions.shape[1]),
        network=layer.network,
        certificate=certificate,
        diagnostics=tuple(best.diagnostics),
        cost=cost,
        notes=(f"neurons from {best.start.source}, order {best.start.order} first",),
    )
    return FoundLayer(layer, best.polished.offset, result)


def _coordinates(points: Points, neurons: int | None, samples_per_input: int) -> Coordinates:
    count, inputs = points.shape
    if neurons is not None and neurons > inputs:
        raise InvalidInput(
            f"{neurons} neurons in {inputs} inputs are linearly dependent: moments of order 2 show as many neurons as "
            "inputs at most, so these cannot be found from samples."
        )
    if count < samples_per_input * inputs:
        raise InvalidInput(
            f"{count} samples of {inputs} inputs are too few for moments, which need {samples_per_input} per input "
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
    neurons: int | None,
    stages: Stages,
    failures: list[str],
) -> Iterator[LayerStart]:
    """Make starts in the order in which they are worth trying; reasons of those that fail are kept."""
    for make in _start_makers(samples, read, unit, rng):
        tried = [neurons]
        while tried:
            try:
                with stages("start"):
                    start = make(tried[0])
            except InvalidInput as error:
                failures.append(str(error))
                break
            yield start
            # An eigenvalue near the noise may belong to a direction all the same: held-out samples will tell.
            found = len(start.units.directions)
            tried = [found + 1] if neurons is None and found < start.most_neurons else []


def _start_makers(
    samples: _Samples, read: ReadLabels, unit: Activation, rng: np.random.Generator
) -> list[Callable[[int | None], LayerStart]]:
    makers: list[Callable[[int | None], LayerStart]] = []
    if read.is_active is not None:
        is_active = read.is_active
        makers.append(lambda neurons: quiet_start(samples.points, is_active, rng, neurons=neurons))
    labels = samples.labels - read.offset
    makers.append(lambda neurons: moment_start(samples.points, labels, unit, rng, neurons=neurons))
    return makers


def _judge(
    fitted: _Samples,
    held: _Samples,
    read: ReadLabels,
    start: LayerStart,
    polished: Polished,
    unit: Activation,
    checks: list[Diagnostic],
    evidence: LowestLayerEvidence,
) -> _Judged:
    units, labels = polished.units, held.labels - polished.offset
    faces, residual, noise = None, np.nan, read.noise
    diagnostics = [*checks, *_start_diagnostics(start, is_polished=polished.is_polished)]
    if polished.is_polished and (read.is_exact or unit.name == "step"):
        is_active = _activity(held.labels, read)
        faces = evidence.face_evidence(held.points, is_active, units.directions, units.thresholds)
        angles, noise = faces.angles, max(faces.noise, read.noise)
        diagnostics += [*evidence.face_diagnostics(faces), evidence.flatness_check(faces, polished.misplaced)]
    elif polished.regression is not None:
        angles = _regression_angles(fitted, polished, polished.regression, evidence)
        ratio, noise = _noise_ratio(held, polished)
        diagnostics.append(evidence.residual_check(_residual_chance(fitted, polished)))
        diagnostics.append(
            at_most("residual in units of the noise", ratio, evidence.largest_noise_ratio, "a unit is wrong or missing")
        )
        diagnostics.append(_angle_diagnostic(angles, evidence.largest_angle))
    else:
        angles = _moment_angles(start, polished, unit, evidence)
        diagnostics.append(_angle_diagnostic(angles, evidence.largest_angle))
    diagnostics.append(evidence.duplicate_check(units.directions, np.minimum(angles, evidence.largest_angle)))
    if unit.name == "relu" and read.is_exact and faces is not None:
        residual = exact_residual(held.points, labels, units.directions, units.thresholds, units.coefficients)
    resolution = evidence.resolution if faces is None else np.nan
    # A unit that few held-out samples come near has an infinite angle: nothing was verified about it.
    is_met = residual < evidence.exact_residual and bool(np.all(np.isfinite(angles)))
    exact = _exact_resolution((fitted, held), read, polished, evidence) if is_met else np.inf
    if np.isfinite(exact):
        outcome, resolution, angles = Outcome.IDENTIFIED, exact, np.minimum(angles, residual)
    else:
        is_failed = any(diagnostic.verdict is Verdict.FAIL for diagnostic in diagnostics)
        outcome = Outcome.NOT_IDENTIFIED if is_failed else Outcome.PARTLY_IDENTIFIED
    return _Judged(polished, start, angles, faces, float(residual), float(noise), resolution, diagnostics, outcome)


def _regression_angles(
    fitted: _Samples, polished: Polished, regression: RegressedUnits, evidence: LowestLayerEvidence
) -> PerNeuron:
    limits = evidence.regression_limits(regression.angle_errors, inputs=fitted.points.shape[1])
    # Samples at which another unit is active turn a direction the less, the farther they are kept away.
    return evidence.calibration * np.hypot(limits, angles_farther_out(fitted.points, fitted.labels, polished))


def _moment_angles(start: LayerStart, polished: Polished, unit: Activation, evidence: LowestLayerEvidence) -> PerNeuron:
    bias = np.maximum(start.bias_angles, _predicted_bias(polished.units, unit))
    angles = evidence.calibration * np.hypot(start.noise_angles, bias)
    # Nothing tells the direction of one neuron from a mean of several: no second one to compare orders with.
    return np.full(1, np.inf) if len(angles) == 1 else angles


def _exact_resolution(
    parts: tuple[_Samples, ...], read: ReadLabels, polished: Polished, evidence: LowestLayerEvidence
) -> float:
    """Angle from which on two relu neurons would not have been taken for one; infinite if a sample contradicts a unit.

    Neurons between whose kinks no sample lies have the labels of one. Samples of the fit tell this as well as others
    do: a unit has few unknowns, and one between two kinks is met by no unit.
    """
    points, labels = np.vstack([part.points for part in parts]), np.concatenate([part.labels for part in parts])
    units = polished.units
    residual = exact_residual(points, labels - polished.offset, units.directions, units.thresholds, units.coefficients)
    faces = evidence.face_evidence(points, _activity(labels, read), units.directions, units.thresholds)
    is_met = residual < evidence.exact_residual and faces.disagreement == 0.0
    return float(np.max(faces.angles)) if is_met else np.inf


def _activity(labels: Labels, read: ReadLabels) -> np.ndarray:
    """Held-out samples that are active by the rule that the fitted ones were read with."""
    if read.is_exact:
        return np.abs(labels - read.offset) > LABEL_RULES.same_value * np.ptp(labels)
    return labels > read.level


def _start_diagnostics(start: LayerStart, *, is_polished: bool) -> list[Diagnostic]:
    # Polished directions are judged by their own evidence, so that a poor start is a warning only.
    weak = -np.inf if is_polished else None
    return [
        at_least(
            "smallest eigenvalue of order 2 in units of its noise",
            start.eigenvalue_ratio,
            START_RULES.eigenvalue_factor,
            "a neuron is lost in noise: give more samples or fewer neurons",
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


def _angle_diagnostic(angles: PerNeuron, largest: float) -> Diagnostic:
    worst = float(np.degrees(np.max(angles, initial=0.0)))
    return at_most("estimated angle of the worst neuron (degrees)", worst, float(np.degrees(largest)), ANGLE_ADVICE)


def _predicted_bias(units: OrientedUnits, unit: Activation) -> float:
    """First-order bias of order 3 by products of two units, in radians, if they weigh no more than single units."""
    factors = monic_coefficients(unit, float(np.median(units.thresholds)), 3)
    ratio = abs(float(factors[1] * factors[2] / factors[3]))
    condition = float(np.linalg.cond(units.directions))
    return condition * np.sqrt(max(len(units.directions) - 1, 0)) * ratio


def _residual_chance(samples: _Samples, polished: Polished) -> float:
    """Probability that noise leaves such residuals where no unit is active, and where one is."""
    units = polished.units
    arguments = samples.points @ units.directions.T - units.thresholds
    left = np.maximum(arguments, 0.0) @ units.coefficients + polished.offset - samples.labels
    active = np.count_nonzero(arguments > POLISH_RULES.noisy_outside, axis=1)
    deep = np.count_nonzero(arguments > -POLISH_RULES.noisy_outside, axis=1)
    sides = [active == 0, *((active == 1) & (deep == 1) & (arguments[:, i] > 0) for i in range(arguments.shape[1]))]
    return len(sides) * min(structure_chance(samples.points[side], left[side]) for side in sides)


def _noise_ratio(held: _Samples, polished: Polished) -> tuple[float, float]:
    """Residual where one unit is active alone, in units of the noise where none is, and that noise."""
    units = polished.units
    arguments = held.points @ units.directions.T - units.thresholds
    values = np.maximum(arguments, 0.0)
    residuals = values @ units.coefficients + polished.offset - held.labels
    active = np.count_nonzero(values, axis=1)
    quiet, alone = residuals[active == 0], residuals[active == 1]
    noise = float(np.sqrt(np.mean(quiet**2))) if len(quiet) else np.inf
    excess = float(np.sqrt(np.mean(alone**2))) if len(alone) else np.inf
    return excess / max(noise, np.finfo(float).tiny), noise


def _rank_of(judged: _Judged) -> tuple[int, float]:
    order = [Outcome.NOT_IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.IDENTIFIED]
    return order.index(judged.outcome), -float(np.median(judged.angles))


def _certificate(judged: _Judged, held_out: int, evidence: LowestLayerEvidence) -> LowestLayerCertificate:
    faces, angles = judged.faces, np.degrees(judged.angles)
    return LowestLayerCertificate(
        neurons=len(angles),
        largest_angle=float(np.max(angles)),
        median_angle=float(np.median(angles)),
        held_out=held_out,
        disagreement=np.nan if faces is None else faces.disagreement,
        label_noise=judged.noise,
        unexplained=np.nan if faces is None else faces.unexplained,
        largest_residual=judged.residual,
        confidence=evidence.confidence,
        missing_share=np.nan if faces is None else faces.missing_share,
        resolution=float(np.degrees(judged.resolution)),
    )


def _reason(
    outcome: Outcome, certificate: LowestLayerCertificate, diagnostics: list[Diagnostic], *, inputs: int
) -> str:
    if outcome is Outcome.IDENTIFIED:
        return (
            f"all {certificate.neurons} neurons meet {certificate.held_out:,d} held-out labels, those of one active "
            f"unit to {certificate.largest_residual:.1e} of their spread; another one that is active alone for "
            f"{100 * certificate.missing_share:.2g} % of the inputs would have shown, and two that are more than "
            f"{certificate.resolution:.2g} degrees apart are not told as one (confidence "
            f"{100 * certificate.confidence:.0f} %)."
        )
    if outcome is Outcome.PARTLY_IDENTIFIED:
        merged = ""
        if np.isfinite(certificate.resolution):
            merged = f", and two that are less than {certificate.resolution:.0f} degrees apart may be told as one"
        return (
            f"{certificate.neurons} neurons with an estimated error of {certificate.median_angle:.2g} degrees, "
            f"{certificate.largest_angle:.2g} for the worst: an estimate from {certificate.held_out:,d} held-out "
            f"samples, which more samples improve; that there are no others is not claimed{merged}."
        )
    failed = [
        f"{diagnostic.name} is {diagnostic.value:.3g}, needed {diagnostic.threshold:.3g}: {diagnostic.advice}"
        for diagnostic in diagnostics
        if diagnostic.verdict is Verdict.FAIL
    ]
    hint = " As many neurons as inputs were found, and there may be more." if certificate.neurons == inputs else ""
    return "; ".join(failed) + "." + hint


def _nothing(reason: str, diagnostics: tuple[Diagnostic, ...], samples: int, stages: Stages) -> FoundLayer:
    cost = Cost(samples=samples, seconds=stages.seconds)
    return FoundLayer(None, 0.0, Result(Outcome.NOT_IDENTIFIED, reason, diagnostics=diagnostics, cost=cost))
