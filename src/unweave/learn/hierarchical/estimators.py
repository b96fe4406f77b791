"""`HierarchicalRegressor` and `HierarchicalClassifier`: deep quadratic networks, all levels learnt jointly."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Shaped
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from unweave.arrays import Points, as_float64
from unweave.exceptions import InvalidInput
from unweave.learn.base import Stages
from unweave.learn.hierarchical.certificate import (
    EXACT_TOL,
    certificate_of,
    class_outcome_of,
    diagnostics_of,
    outcome_of,
)
from unweave.learn.hierarchical.joint_fit import (
    HierarchicalFit,
    JointLevenbergMarquardt,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import make_wiring
from unweave.result import Cost, Result

LARGEST_SEED = 2**31 - 1
# With fewer rows none are held out: the rest would not be enough for a fit.
LEAST_ROWS = 20
# Starts that decide whether squares add or subtract; the wrong choice leaves a far larger loss.
PROBING_STARTS = 2
# Weight decay of the classifier: without it, features of classes that can be separated grow without end.
CLASS_DECAY = 1e-8

Numbers = Float64[np.ndarray, "points"]


class _Hierarchical(BaseEstimator):
    """What both estimators share; never used by itself."""

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

    def _trained(
        self,
        student: Student,
        points: Points,
        labels: Numbers,
        *,
        solver: JointLevenbergMarquardt,
        loss: Loss,
        seed: int,
    ) -> HierarchicalFit:
        """The better one of squares that add and squares that subtract, unless their signs are mixed anyway."""
        settings: Any = self
        negative = replace(student, coefficients=tuple(-each for each in student.coefficients))
        probe, best = replace(solver, restarts=min(PROBING_STARTS, solver.restarts)), None
        for tried in (student,) if settings.signed else (student, negative):
            fit = probe(tried, points, labels, rng=np.random.default_rng(seed), loss=loss)
            best = fit if best is None or fit.relative_loss < best.relative_loss else best
            if best.relative_loss <= EXACT_TOL:
                return best
        assert best is not None
        return solver(best.student, points, labels, rng=np.random.default_rng(seed), loss=loss)

    def _split(self, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the fit, and rows held out."""
        share = getattr(self, "validation_fraction", None)
        if not isinstance(share, float | int) or not 0 <= share < 1:
            raise InvalidInput(f"validation_fraction needs a number from 0 to below 1, got {share!r}.")
        order = rng.permutation(rows)
        held_out = int(share * rows) if rows >= LEAST_ROWS else 0
        return order[held_out:], order[:held_out]

    def _hold(self, learnt: Result, fit: HierarchicalFit) -> None:
        self.result_, self.fit_ = learnt, fit
        self.network_ = fit.network
        self.certificate_, self.outcome_ = learnt.certificate, learnt.outcome

    def features(self, X: Any, level: int) -> Float64[np.ndarray, "points features"]:
        """The hidden features of a level, 2 to L, which are defined up to a rotation."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if not 2 <= level <= self.network_.depth:
            raise InvalidInput(f"level needs to be 2 to {self.network_.depth}, got {level}.")
        return self.network_.features(X, level)


class HierarchicalRegressor(RegressorMixin, _Hierarchical):
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
        solver: settings of the training, a `JointLevenbergMarquardt`.
        validation_fraction: share of rows that judge the result.
        random_state: seed or generator for starts and held out rows.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics and notes.
        network_: the network, a `QuadraticDenseNet`.
        certificate_: what held out rows and the flat directions of the fit say about it.
        outcome_: identified, partly identified or not identified.
        fit_: losses of all starts.
    """

    def __init__(
        self,
        widths: Sequence[int] = (4, 2),
        *,
        connections: Any = None,
        level_weights: Any = None,
        signed: bool = False,
        fit_affine: bool = True,
        mean_squares: Any = None,
        solver: JointLevenbergMarquardt | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.connections = connections
        self.level_weights = level_weights
        self.signed = signed
        self.fit_affine = fit_affine
        self.mean_squares = mean_squares
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "HierarchicalRegressor":
        """Learn from rows.

        Raises:
            InvalidInput: for settings that can't be used.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y, stages = np.asarray(y, dtype=np.float64), Stages()
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        used, held_out = self._split(len(X), np.random.default_rng(seed))
        student = self._student(X[used], has_affine=self.fit_affine, has_centre=self.mean_squares is None)
        solver = JointLevenbergMarquardt() if self.solver is None else self.solver
        with stages("training"):
            fit = self._trained(student, X[used], y[used], solver=solver, loss=SquaredLoss(), seed=seed)
        with stages("certificate"):
            spread = float(np.var(y)) or 1.0
            errors = (fit.network(X)[:, 0] - y) ** 2 / spread
            certificate = certificate_of(
                fit, X[used], errors=errors[held_out], fitted=float(np.mean(errors[used])), exact_tol=EXACT_TOL
            )
        outcome, reason = outcome_of(certificate)
        diagnostics = diagnostics_of(fit.network, X, y, student.parameters)
        cost = Cost(samples=len(X), seconds=stages.seconds)
        self._hold(Result(outcome, reason, fit.network, certificate, diagnostics, cost), fit)
        return self

    def predict(self, X: Any) -> Numbers:
        """What the network says."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_(X)[:, 0]


class HierarchicalClassifier(ClassifierMixin, _Hierarchical):
    """Learn two classes from the sign of a deep quadratic network with a linear part, by logistic loss.

    For more than two classes use ``sklearn.multiclass.OneVsRestClassifier``.

    Args:
        widths: features per level, from level 2 on.
        connections: sources that each level reads; see `HierarchicalRegressor`.
        level_weights: relative sizes of levels.
        signed: whether squares of a level enter with alternating signs; see `HierarchicalRegressor`.
        mean_squares: E[x^2] if it is known; the mean over the rows if None.
        solver: settings of the training, a `JointLevenbergMarquardt`; by default one with a little weight decay.
        validation_fraction: share of rows that judge the result.
        random_state: seed or generator for starts and held out rows.

    Attributes:
        classes_: the two classes.
        result_, network_, certificate_, outcome_, fit_: as for `HierarchicalRegressor`.
    """

    def __init__(
        self,
        widths: Sequence[int] = (3, 2),
        *,
        connections: Any = None,
        level_weights: Any = None,
        signed: bool = False,
        mean_squares: Any = None,
        solver: JointLevenbergMarquardt | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.connections = connections
        self.level_weights = level_weights
        self.signed = signed
        self.mean_squares = mean_squares
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> "HierarchicalClassifier":
        """Learn from rows.

        Raises:
            InvalidInput: for settings that can't be used, and any number of classes but two.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        signs, stages = self._signs(y), Stages()
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        used, held_out = self._split(len(X), np.random.default_rng(seed))
        student = self._student(X[used], has_affine=True, has_centre=False)
        solver = JointLevenbergMarquardt(decay=CLASS_DECAY, restarts=2) if self.solver is None else self.solver
        with stages("training"):
            fit = self._trained(student, X[used], signs[used], solver=solver, loss=LogisticLoss(), seed=seed)
        with stages("certificate"):
            rarer = min(np.mean(signs > 0), np.mean(signs < 0))
            errors = (np.sign(fit.network(X)[:, 0]) != signs) / rarer
            certificate = certificate_of(
                fit, X[used], errors=errors[held_out], fitted=float(np.mean(errors[used])), exact_tol=EXACT_TOL
            )
        outcome, reason = class_outcome_of(certificate)
        diagnostics = diagnostics_of(fit.network, X, signs, student.parameters)
        cost = Cost(samples=len(X), seconds=stages.seconds)
        self._hold(Result(outcome, reason, fit.network, certificate, diagnostics, cost), fit)
        return self

    def _signs(self, y: np.ndarray) -> Numbers:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise InvalidInput(
                f"Only binary classification is supported. The type of the target is {kind}: "
                "for more classes use sklearn.multiclass.OneVsRestClassifier."
            )
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInput("Classifier can't train when only one class is present: give rows of two classes.")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def decision_function(self, X: Any) -> Numbers:
        """The output of the network: positive for the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_(X)[:, 0]

    def predict(self, X: Any) -> Shaped[np.ndarray, "points"]:
        """The class of every row."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "points 2"]:
        """Chances of the two classes."""
        chance = expit(self.decision_function(X))
        return np.stack([1 - chance, chance], axis=1)


def _numbers(widths: Any) -> list[int]:
    if isinstance(widths, str) or not isinstance(widths, Sequence | np.ndarray):
        raise InvalidInput(f"widths needs one number of features per level, such as (4, 2), got {widths!r}.")
    if any(isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1 for width in widths):
        raise InvalidInput(f"widths needs whole numbers of at least 1, got {widths!r}.")
    return [int(width) for width in widths]
