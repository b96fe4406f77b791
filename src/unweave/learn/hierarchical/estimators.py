"""`HierarchicalRegressor` and `HierarchicalClassifier`: deep quadratic networks, all levels learnt jointly."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float64, Int
from scipy.special import expit

from unweave.arrays import PerPoint, Points, as_float64
from unweave.exceptions import InvalidInput
from unweave.learn.base import BinaryClassifier, NetworkEstimator, NetworkRegressor, check_sizes, seed_of
from unweave.learn.hierarchical.certificate import HierarchicalCertificate, HierarchicalEvidence, diagnostics_of
from unweave.learn.hierarchical.decay import DecayChoice
from unweave.learn.hierarchical.joint_fit import (
    HierarchicalFit,
    JointLevenbergMarquardt,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from unweave.learn.stages import Stages
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import make_wiring
from unweave.numerics.least_squares import ending_after
from unweave.result import Cost, Outcome, Result
from unweave.samples.sources import DistinctRows, note_of_copies, without_copies

# How classifiers are trained: without decay, parameters of classes that can be separated grow without end.
CLASS_SOLVER = JointLevenbergMarquardt(decay=1e-8, affine_share=1.0, restarts=2)
# What decides an outcome.
EVIDENCE = HierarchicalEvidence()
AnyHierarchy = TypeVar("AnyHierarchy", bound="_Hierarchical")


class _Samples(NamedTuple):
    points: Points
    labels: PerPoint
    used: Int[np.ndarray, "used"]
    held_out: Int[np.ndarray, "held_out"]
    copies: int


class _Training(NamedTuple):
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


class _Hierarchical(NetworkEstimator):
    """Train and judge deep quadratic networks; never used by itself."""

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

    def _learn(self: AnyHierarchy, samples: _Samples, student: Student, training: _Training) -> AnyHierarchy:
        """Train on some samples, judge by the others, and keep the result."""
        points, labels, used, held_out, copies = samples
        stages = Stages()
        with stages("training"), ending_after(self._seconds()):
            fit = self._train(student, points[used], labels[used], training)
        with stages("certificate"):
            errors = training.errors(fit.network(points)[:, 0])
            certificate = EVIDENCE.certificate_of(
                fit, points[used], errors=errors[held_out], fitted=float(np.mean(errors[used])), unit=training.unit
            )
        outcome, reason = training.outcome_of(certificate)
        diagnostics = diagnostics_of(fit.network, points, labels, student.parameters)
        self.trained_, self.decay_ = fit, fit.decay
        given = len(points) + copies
        cost, notes = Cost(samples=given, seconds=stages.seconds), note_of_copies(given, copies)
        return self._keep(Result(outcome, reason, fit.network, certificate, diagnostics, cost, notes=notes), points)

    def _train(self, student: Student, points: Points, labels: PerPoint, training: _Training) -> HierarchicalFit:
        """Meet the labels; if that can't be done and there is much to lose, shrink features as held-out rows say."""
        fit = self._fit_of_starts(student, points, labels, training)
        if not training.chooses_decay or fit.relative_loss <= EVIDENCE.exact_error:
            return fit
        return DecayChoice()(training.solver, fit, points, labels, loss=training.loss, seed=training.seed)

    def _fit_of_starts(
        self, student: Student, points: Points, labels: PerPoint, training: _Training
    ) -> HierarchicalFit:
        """Take the better one of squares that add and squares that subtract, unless their signs are mixed anyway."""
        settings: Any = self
        solver, loss, rng = training.solver, training.loss, np.random.default_rng(training.seed)
        probing = min(solver.probing_starts, solver.restarts)
        best = replace(solver, restarts=probing)(student, points, labels, rng=rng, loss=loss)
        if not settings.signed and best.relative_loss > EVIDENCE.exact_error:
            negative = replace(student, coefficients=tuple(-each for each in student.coefficients))
            other, other_rng = self._other_signs(negative, points, labels, training, best.relative_loss)
            if other is not None and other.relative_loss < best.relative_loss:
                best, rng = other, other_rng
        if best.relative_loss <= EVIDENCE.exact_error:
            return best
        return solver(best.student, points, labels, rng=rng, loss=loss, earlier=best)

    def _other_signs(
        self, student: Student, points: Points, labels: PerPoint, training: _Training, reached: float
    ) -> tuple[HierarchicalFit | None, np.random.Generator]:
        """Starts of a student with the other signs; None if a few steps show that these are wrong."""
        solver, rng = training.solver, np.random.default_rng(training.seed)
        probing = min(solver.probing_starts, solver.restarts)
        short = replace(solver, restarts=1, steps=min(solver.steps, solver.probing_steps))
        first = short(student, points, labels, rng=np.random.default_rng(training.seed), loss=training.loss)
        if first.relative_loss > max(solver.wrong_signs, reached):
            return None, rng
        return replace(solver, restarts=probing)(student, points, labels, rng=rng, loss=training.loss), rng

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

    def _split(self, points: Points, labels: PerPoint, seed: int, *, copies: int = 0) -> _Samples:
        """Hold a random share of the samples out: all that are at one point, of which one judges."""
        share = getattr(self, "validation_fraction", None)
        if not isinstance(share, float | int) or not 0 <= share < 1:
            raise InvalidInput(f"validation_fraction needs a number from 0 to below 1, got {share!r}.")
        rng, distinct = np.random.default_rng(seed), DistinctRows.of(points)
        held_out, used = distinct.split(rng, share if distinct.count >= EVIDENCE.fewest_samples else 0.0)
        if distinct.have_copies:
            held_out = np.intersect1d(held_out, distinct.one_of_each(rng))
        return _Samples(points, labels, used, held_out, copies)

    def features(self, X: Any, level: int) -> Float64[np.ndarray, "points features"]:
        """Answer with the hidden features of a level, 2 to L, which are defined up to a rotation."""
        points = self._check_points(X)
        if not 2 <= level <= self.network_.depth:
            raise InvalidInput(f"level needs to be 2 to {self.network_.depth}, got {level}.")
        return self.network_.features(points, level)


class HierarchicalRegressor(_Hierarchical, NetworkRegressor):
    """Learn ``y = sum_l a_l |S_l(x)|^2 + <b, x> + c``, where features S_l are linear in products of lower features.

    Args:
        widths: features per level, from level 2 on; too many are harmless, too few are not.
        connections: sources that each level reads; level 2: squares of inputs, level 3: level 2 and the inputs, then
            the level below and the one three below, if omitted.
        level_weights: relative sizes of levels; any positive numbers do, since features can be scaled.
        signed: whether squares of a level enter with alternating signs; if not, all add or all subtract, whichever
            fits better.
        fit_affine: whether there is a linear part and a constant.
        mean_squares: E[x^2] if it is known; found with the network if None.
        decay: weight of the squared parameters, in units in which inputs and their squares have size 1; None to choose
            it by held-out rows if labels are not met exactly, or to leave it to a given solver.
        seconds: end training after this time with the best that was found.
        solver: settings of the training, a `JointLevenbergMarquardt`.
        validation_fraction: share of samples that judge the result.
        random_state: seed or generator for starts and held out samples.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics and notes.
        network_: the network, a `QuadraticDenseNet`.
        certificate_: what held out samples and the flat directions of the fit say about it.
        outcome_: identified, partly identified or not identified.
        trained_: how training went, with the losses of all starts.
        decay_: the weight decay that was used.

    >>> import numpy as np
    >>> from unweave.learn import HierarchicalRegressor
    >>> points = np.random.default_rng(0).standard_normal((300, 3))
    >>> labels = (points[:, 0] ** 2 - points[:, 1] ** 2) ** 2 + points[:, 2]
    >>> HierarchicalRegressor((1,), random_state=0).fit(points, labels).outcome_.value
    'identified'
    """

    def __init__(
        self,
        widths: Sequence[int] = (4, 2),
        *,
        connections: Any = None,
        level_weights: Any = None,
        signed: bool = False,
        mean_squares: Any = None,
        decay: float | None = None,
        fit_affine: bool = True,
        seconds: float | None = None,
        solver: JointLevenbergMarquardt | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            widths,
            connections=connections,
            level_weights=level_weights,
            signed=signed,
            mean_squares=mean_squares,
            decay=decay,
            seconds=seconds,
            solver=solver,
            validation_fraction=validation_fraction,
            random_state=random_state,
        )
        self.fit_affine = fit_affine

    def fit(self, X: Any, y: Any) -> "HierarchicalRegressor":
        """Learn from samples.

        Raises:
            InvalidInput: for settings that can't be used, and samples whose powers are no floats.
        """
        points, labels = self._check_samples(X, y)
        check_sizes(points, labels)
        points, labels, copies = without_copies(points, labels)
        seed, spread = seed_of(self.random_state), float(np.var(labels)) or float(np.mean(labels**2)) or 1.0
        samples = self._split(points, labels, seed, copies=copies)
        student = self._student(points[samples.used], has_affine=self.fit_affine, has_centre=self.mean_squares is None)
        solver, chooses_decay = self._solver(JointLevenbergMarquardt())
        errors = lambda outputs: (outputs - labels) ** 2 / spread  # noqa: E731
        training = _Training(solver, SquaredLoss(), seed, errors, spread, EVIDENCE.outcome_of, chooses_decay)
        return self._learn(samples, student, training)


class HierarchicalClassifier(_Hierarchical, BinaryClassifier):
    """Learn two classes from the sign of a deep quadratic network with a linear part, by logistic loss.

    For more than two classes use ``sklearn.multiclass.OneVsRestClassifier``.

    Args:
        widths: features per level, from level 2 on.
        connections: sources that each level reads; see `HierarchicalRegressor`.
        level_weights: relative sizes of levels.
        signed: whether squares of a level enter with alternating signs; see `HierarchicalRegressor`.
        mean_squares: E[x^2] if it is known; the mean over the samples if None.
        decay: weight of the squared parameters, in units in which inputs and their squares have size 1; None to choose
            it by held-out rows if labels are not met exactly, or to leave it to a given solver.
        seconds: end training after this time with the best that was found.
        solver: settings of the training, a `JointLevenbergMarquardt`; by default one with a little weight decay.
        validation_fraction: share of samples that judge the result.
        random_state: seed or generator for starts and held out samples.

    Attributes:
        classes_: the two classes.
        result_, network_, certificate_, outcome_, trained_, decay_: as for `HierarchicalRegressor`.
    """

    def fit(self, X: Any, y: Any) -> "HierarchicalClassifier":
        """Learn from samples.

        Raises:
            InvalidInput: for settings that can't be used, and any number of classes but two.
        """
        points, is_second = self._check_samples(X, y)
        check_sizes(points, np.ones(len(points)))
        signs, seed = np.where(is_second, 1.0, -1.0), seed_of(self.random_state)
        rarer = min(np.mean(signs > 0), np.mean(signs < 0))
        samples = self._split(points, signs, seed)
        student = self._student(points[samples.used], has_affine=True, has_centre=False)
        solver, chooses_decay = self._solver(CLASS_SOLVER)
        errors = lambda outputs: (np.sign(outputs) != signs) / rarer  # noqa: E731
        training = _Training(solver, LogisticLoss(), seed, errors, 1.0, EVIDENCE.class_outcome_of, chooses_decay)
        return self._learn(samples, student, training)

    def decision_function(self, X: Any) -> PerPoint:
        """Answer with the output of the network: positive for the second class."""
        points = self._check_points(X)
        return self.network_(points)[:, 0]

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "points 2"]:
        """Answer with the chances of the two classes."""
        chance = expit(self.decision_function(X))
        return np.stack([1 - chance, chance], axis=1)


def _numbers(widths: Any) -> list[int]:
    if isinstance(widths, str) or not isinstance(widths, Sequence | np.ndarray):
        raise InvalidInput(f"widths needs one number of features per level, such as (4, 2), got {widths!r}.")
    if any(isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1 for width in widths):
        raise InvalidInput(f"widths needs whole numbers of at least 1, got {widths!r}.")
    return [int(width) for width in widths]
