"""How estimators of deep quadratic networks train one network on samples, and judge it by those it has not seen."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import PerPoint, Points, as_float64
from unweave.exceptions import InvalidInput
from unweave.learn.base import NetworkEstimator
from unweave.learn.hierarchical.certificate import HierarchicalCertificate, HierarchicalEvidence, diagnostics_of
from unweave.learn.hierarchical.decay import DecayChoice
from unweave.learn.hierarchical.joint_fit import HierarchicalFit, JointLevenbergMarquardt, Loss
from unweave.learn.stages import Stages
from unweave.learn.weighed import WeighedSamples
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import make_wiring
from unweave.numerics.least_squares import ending_after
from unweave.result import Cost, Outcome, Result
from unweave.samples.sources import DistinctRows

# What decides an outcome.
EVIDENCE = HierarchicalEvidence()


class SplitSamples(NamedTuple):
    """Samples, and the rows of those that are fitted and of those that judge."""

    given: WeighedSamples
    used: Int[np.ndarray, "used"]
    held_out: Int[np.ndarray, "held_out"]


class Training(NamedTuple):
    """How a network is trained and judged.

    Args:
        solver: its settings.
        loss: what is minimised.
        seed: of the starts.
        errors: of outputs, one per sample, relative to what no features would leave.
        unit: what that is, of the squares of outputs.
        outcome_of: decides what the certificate is worth.
        chooses_decay: whether held-out rows choose the weight decay.
    """

    solver: JointLevenbergMarquardt
    loss: Loss
    seed: int
    errors: Callable[[PerPoint], PerPoint]
    unit: float
    outcome_of: Callable[[HierarchicalCertificate], tuple[Outcome, str]]
    chooses_decay: bool


HierarchicalResult = Result[QuadraticDenseNet, HierarchicalCertificate]


class HierarchicalEstimator(NetworkEstimator):
    """Train and judge deep quadratic networks; never used by itself."""

    networks_: tuple[QuadraticDenseNet, ...]

    def __init__(
        self,
        widths: Sequence[int] = (3, 2),
        *,
        connections: Any = None,
        level_weights: Any = None,
        signed: bool = False,
        mean_squares: Any = None,
        decay: float | None = None,
        seconds: float | None = None,
        solver: JointLevenbergMarquardt | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.connections = connections
        self.level_weights = level_weights
        self.signed = signed
        self.mean_squares = mean_squares
        self.decay = decay
        self.seconds = seconds
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _student(self, points: Points, *, has_affine: bool, has_centre: bool) -> Student:
        settings: Any = self
        wiring = make_wiring(points.shape[1], _numbers(settings.widths), settings.connections)
        weights = [1.0] * len(wiring.widths) if settings.level_weights is None else settings.level_weights
        if len(weights) != len(wiring.widths) or min(weights) <= 0:
            raise InvalidInput(f"level_weights needs {len(wiring.widths)} positive numbers, got {weights!r}.")
        coefficients = []
        for width, weight in zip(wiring.widths, weights, strict=True):
            signs = np.where(np.arange(width) % 2 == 0, 1.0, -1.0) if settings.signed else np.ones(width)
            coefficients.append(float(weight) * signs)
        mean_squares = np.mean(points**2, axis=0)
        if settings.mean_squares is not None:
            mean_squares = as_float64(settings.mean_squares, name="mean_squares", ndim=1)
            if len(mean_squares) != points.shape[1]:
                raise InvalidInput(f"mean_squares needs {points.shape[1]} numbers, got {len(mean_squares)}.")
        return Student(wiring, tuple(coefficients), mean_squares, has_affine, has_centre)

    def _learned(
        self, samples: SplitSamples, student: Student, training: Training
    ) -> tuple[HierarchicalFit, HierarchicalResult]:
        """Train on some samples, and judge by the others."""
        given, used, held_out = samples
        points, labels, stages = given.points, given.labels, Stages()
        with stages("training"), ending_after(self._seconds()):
            fit = self._train(student, points[used], labels[used], given.weights_of(used), training)
        with stages("certificate"):
            errors = training.errors(fit.network(points)[:, 0])
            certificate = EVIDENCE.certificate_of(
                fit, points[used], errors=errors[held_out], fitted=float(np.mean(errors[used])), unit=training.unit
            )
        outcome, reason = training.outcome_of(certificate)
        diagnostics = diagnostics_of(fit.network, points, labels, student.parameters)
        count = len(points) + given.copies
        cost, notes = Cost(samples=count, seconds=stages.seconds), given.notes
        return fit, Result(outcome, reason, fit.network, certificate, diagnostics, cost, notes=notes)

    def _train(
        self, student: Student, points: Points, labels: PerPoint, weights: PerPoint | None, training: Training
    ) -> HierarchicalFit:
        """Meet the labels; if that can't be done and there is much to lose, shrink features as held-out rows say."""
        samples = points, labels
        fit = self._fit_of_starts(student, samples, weights, training)
        if not training.chooses_decay or fit.relative_loss <= EVIDENCE.exact_error:
            return fit
        return DecayChoice()(
            training.solver, fit, *samples, loss=training.loss, seed=training.seed, weights=weights
        )  # fmt: skip

    def _fit_of_starts(
        self, student: Student, samples: tuple[Points, PerPoint], weights: PerPoint | None, training: Training
    ) -> HierarchicalFit:
        """Take the better one of squares that add and squares that subtract, unless their signs are mixed anyway."""
        settings: Any = self
        solver, loss, rng = training.solver, training.loss, np.random.default_rng(training.seed)
        probing = min(solver.probing_starts, solver.restarts)
        best = replace(solver, restarts=probing)(student, *samples, rng=rng, loss=loss, weights=weights)
        if not settings.signed and best.relative_loss > EVIDENCE.exact_error:
            negative = replace(student, coefficients=tuple(-each for each in student.coefficients))
            other, other_rng = self._other_signs(negative, samples, weights, training, best.relative_loss)
            if other is not None and other.relative_loss < best.relative_loss:
                best, rng = other, other_rng
        if best.relative_loss <= EVIDENCE.exact_error:
            return best
        return solver(best.student, *samples, rng=rng, loss=loss, weights=weights, earlier=best)

    def _other_signs(
        self,
        student: Student,
        samples: tuple[Points, PerPoint],
        weights: PerPoint | None,
        training: Training,
        reached: float,
    ) -> tuple[HierarchicalFit | None, np.random.Generator]:
        """Starts of a student with the other signs; None if a few steps show that these are wrong."""
        solver, rng = training.solver, np.random.default_rng(training.seed)
        probing = min(solver.probing_starts, solver.restarts)
        short = replace(solver, restarts=1, steps=min(solver.steps, solver.probing_steps))
        given = partial(dict, loss=training.loss, weights=weights)
        first = short(student, *samples, rng=np.random.default_rng(training.seed), **given())
        if first.relative_loss > max(solver.wrong_signs, reached):
            return None, rng
        return replace(solver, restarts=probing)(student, *samples, rng=rng, **given()), rng

    def _seconds(self) -> float | None:
        seconds = getattr(self, "seconds", None)
        if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
            raise InvalidInput(f"seconds needs to be None or a number from 0 on, got {seconds!r}.")
        return seconds

    def _solver(self, default: JointLevenbergMarquardt) -> tuple[JointLevenbergMarquardt, bool]:
        """Settings of the training, and whether held-out rows choose the decay."""
        settings: Any = self
        if settings.decay is None:
            return (default, True) if settings.solver is None else (settings.solver, False)
        if not (isinstance(settings.decay, int | float) and 0 <= settings.decay < np.inf):
            raise InvalidInput(f"decay needs to be None or a number from 0 on, got {settings.decay!r}.")
        return replace(default if settings.solver is None else settings.solver, decay=float(settings.decay)), False

    def _split(self, given: WeighedSamples, seed: int) -> SplitSamples:
        """Hold a random share of the samples out: all that are at one point, of which one judges."""
        share = getattr(self, "validation_fraction", None)
        if not isinstance(share, float | int) or not 0 <= share < 1:
            raise InvalidInput(f"validation_fraction needs a number from 0 to below 1, got {share!r}.")
        rng, distinct = np.random.default_rng(seed), DistinctRows.of(given.points)
        held_out, used = distinct.split(rng, share if distinct.count >= EVIDENCE.fewest_samples else 0.0)
        if distinct.have_copies:
            held_out = np.intersect1d(held_out, distinct.one_of_each(rng))
        return SplitSamples(given, used, held_out)

    def features(self, X: Any, level: int) -> Float64[np.ndarray, "points features"]:
        """Answer with the hidden features of a level, 2 to L, which are defined up to a rotation.

        Of several classes those of the network of every class, side by side.
        """
        points, depth = self._check_points(X), self.networks_[0].depth
        if not 2 <= level <= depth:
            raise InvalidInput(f"level needs to be 2 to {depth}, got {level}.")
        return np.hstack([network.features(points, level) for network in self.networks_])

    def _hidden(self, points: Points) -> Float64[np.ndarray, "points features"]:
        """All features of a network side by side, the lowest level first."""
        return np.hstack([network.all_features(points) for network in self.networks_])


def _numbers(widths: Any) -> list[int]:
    if isinstance(widths, str) or not isinstance(widths, Sequence | np.ndarray):
        raise InvalidInput(f"widths needs one number of features per level, such as (4, 2), got {widths!r}.")
    if any(isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1 for width in widths):
        raise InvalidInput(f"widths needs whole numbers of at least 1, got {widths!r}.")
    return [int(width) for width in widths]
