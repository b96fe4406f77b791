"""Estimators of a lowest layer under any upper function, and of unions and intersections of half spaces."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from unweave.activations import STEP
from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.evidence import Status
from unweave.learn.lowest_layer.fit import FoundLayer, fit_lowest_layer
from unweave.learn.lowest_layer.halfspace_fits import fitted_union
from unweave.learn.lowest_layer.layer import LowestLayer
from unweave.learn.lowest_layer.units import unit_named
from unweave.learn.lowest_layer.upper import Upper, UpperPolynomial, fit_polynomial, fit_table
from unweave.result import Cost, Result

# Factors of the products of units in the polynomial that is fitted above a layer that is not one of steps.
UPPER_DEGREE = 3
# Samples that fit the upper part: it has a few hundred coefficients.
UPPER_SAMPLES = 200_000
FALLBACK_NOTE = "predictions come from a logistic fit of half spaces that are not claimed to be the true ones"


class LowestLayerRegressor(RegressorMixin, BaseEstimator):
    """Rows and thresholds of ``f(x) = P(u(<w_1, x> - t_1), .., u(<w_d, x> - t_d))`` for an unknown P.

    The inputs need to be Gaussian, of any mean and covariance; `result_` says whether that holds and how far the rows
    may be trusted. Predictions come from a regression on the units that were found: a table of patterns for steps, a
    polynomial otherwise. Without units the prediction is the mean of the labels.

    Args:
        unit: step, relu or sigmoid.
        rows: number of rows; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        layer_: the `LowestLayer`, or None.
        weights_: its unit rows, of shape (rows, inputs).
        thresholds_: one per row.
        status_: verified, estimated or unreliable.
        result_, network_, certificate_, outcome_: see `Result`; the network maps inputs to the values of the units.
    """

    def __init__(self, *, unit: str = "relu", rows: int | None = None, random_state: int | None = None) -> None:
        self.unit = unit
        self.rows = rows
        self.random_state = random_state

    def fit(self, X, y) -> "LowestLayerRegressor":
        """Find the rows, then fit the upper part.

        Raises:
            InvalidInput: for an unknown unit, or a number of rows below 1.
        """
        checked: Any = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        points, labels = checked[0], np.asarray(checked[1], dtype=np.float64)
        unit = unit_named(self.unit)
        check_rows(self.rows)
        rng = generator_of(self.random_state)
        found = fit_lowest_layer(points, labels, unit, rng, rank=self.rows)
        start = time.perf_counter()
        self._upper = _fitted_upper(found, points, labels)
        found.seconds["upper"] = time.perf_counter() - start
        self.layer_ = found.layer
        self.weights_ = np.zeros((0, points.shape[1])) if found.layer is None else found.layer.rows
        self.thresholds_ = np.zeros(0) if found.layer is None else found.layer.thresholds
        self.status_ = found.status.value
        self.result_ = learnt_of(found, len(points))
        self.network_, self.certificate_ = self.result_.network, self.result_.certificate
        self.outcome_ = self.result_.outcome
        return self

    def predict(self, X) -> np.ndarray:
        """Labels of samples."""
        check_is_fitted(self)
        return self._upper(self.units(X))

    def units(self, X) -> np.ndarray:
        """Values of the units that were found: what an upper network sees."""
        check_is_fitted(self)
        points: Any = validate_data(self, X, dtype=np.float64, reset=False)
        return np.zeros((len(points), 0)) if self.layer_ is None else self.layer_.values(points)

    def __sklearn_tags__(self):
        """Rows are the aim, and Gaussian inputs the assumption: on other data predictions may be poor."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def generator_of(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """A generator from any `random_state` that scikit-learn accepts."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def check_rows(rows: int | None) -> None:
    """Raise `InvalidInput` unless the number of rows is None or positive."""
    if rows is not None and (isinstance(rows, bool) or rows != int(rows) or rows < 1):
        raise InvalidInput(f"the number of rows needs to be None or an integer from 1 on, got {rows!r}.")


def learnt_of(found: FoundLayer, samples: int) -> Result:
    """The outcome of a fit as every learner returns it."""
    return Result(
        outcome=found.status.outcome,
        reason=found.reason,
        network=None if found.layer is None else found.layer.network,
        certificate=found.certificate,
        diagnostics=found.diagnostics,
        cost=Cost(samples=samples, seconds=found.seconds),
        notes=found.notes,
    )


def _fitted_upper(found: FoundLayer, points: np.ndarray, labels: np.ndarray) -> Upper:
    if found.layer is None:
        return UpperPolynomial(((),), np.array([np.mean(labels)]))
    hidden = found.layer.values(points[:UPPER_SAMPLES])
    if found.layer.unit.name == "step":
        return fit_table(hidden, labels[:UPPER_SAMPLES])
    return fit_polynomial(hidden, labels[:UPPER_SAMPLES], degree=UPPER_DEGREE)


class _HalfspaceClassifier(ClassifierMixin, BaseEstimator):
    """What unions and intersections have in common; not to be used by itself."""

    # Whether samples of the second class are those inside of a half space.
    _is_union: bool

    def __init__(self, *, halfspaces: int | None = None, random_state: int | None = None) -> None:
        self.halfspaces = halfspaces
        self.random_state = random_state

    def fit(self, X, y):
        """Find the half spaces; without evidence for any, fit some for prediction only.

        Raises:
            InvalidInput: if there are not exactly two classes, or for a number of half spaces below 1.
        """
        checked: Any = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        points, targets = checked
        check_classification_targets(targets)
        self.classes_, labels = _two_classes(targets)
        check_rows(self.halfspaces)
        is_active = labels == (1 if self._is_union else 0)
        rng = generator_of(self.random_state)
        found = fit_lowest_layer(points, is_active.astype(np.float64), STEP, rng, rank=self.halfspaces)
        self.result_ = learnt_of(found, len(points))
        self.status_ = found.status.value
        if found.layer is not None and found.status is not Status.UNRELIABLE:
            self.layer_ = found.layer
        else:
            self.layer_ = self._fallback(points, is_active, rng)
        sign = 1.0 if self._is_union else -1.0
        self.normals_, self.offsets_ = sign * self.layer_.rows, sign * self.layer_.thresholds
        self.network_, self.certificate_ = self.result_.network, self.result_.certificate
        self.outcome_ = self.result_.outcome
        return self

    def decision_function(self, X) -> np.ndarray:
        """Distance to the nearest boundary where one half space decides; positive for the second class."""
        check_is_fitted(self)
        points: Any = validate_data(self, X, dtype=np.float64, reset=False)
        depths = np.max(self.layer_.arguments(points), axis=1)
        return depths if self._is_union else -depths

    def predict(self, X) -> np.ndarray:
        """The class of every sample."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def __sklearn_tags__(self):
        """There are two sides of a union."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _fallback(self, points: Points, is_active: Bool[np.ndarray, "points"], rng: np.random.Generator) -> LowestLayer:
        start = time.perf_counter()
        layer = fitted_union(points, is_active, rng, halfspaces=self.halfspaces)
        self.result_.seconds["fallback"] = time.perf_counter() - start
        self.result_ = replace(self.result_, notes=(*self.result_.notes, FALLBACK_NOTE))
        return layer


class HalfspaceUnionClassifier(_HalfspaceClassifier):
    """The union of half spaces ``<normal, x> >= offset``: the second class is inside of at least one.

    Args:
        halfspaces: how many; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        normals_: unit normals of the half spaces.
        offsets_: one per half space.
        status_: verified, estimated or unreliable; for the last, half spaces were fitted for prediction only.
        layer_: the half spaces as units.
        result_, network_, certificate_, outcome_: see `Result`; the network has one step per half space of the union.
    """

    _is_union = True


class HalfspaceIntersectionClassifier(_HalfspaceClassifier):
    """The intersection of half spaces ``<normal, x> >= offset``: the second class is inside of all of them.

    Its complement is a union of half spaces with opposite normals, which is what is learnt.

    Args:
        halfspaces: how many; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        normals_: unit normals of the half spaces, pointing inwards.
        offsets_: one per half space.
        status_: verified, estimated or unreliable; for the last, half spaces were fitted for prediction only.
        layer_: the complements of the half spaces as units.
        result_, network_, certificate_, outcome_: see `Result`; the network has one step per half space of the union.
    """

    _is_union = False


def _two_classes(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kind = type_of_target(targets, input_name="y")
    classes, labels = np.unique(targets, return_inverse=True)
    if kind != "binary":
        raise InvalidInput(f"Only binary classification is supported. The type of the target is {kind}.")
    if len(classes) != 2:
        raise InvalidInput(f"half spaces need samples of two classes, got {len(classes)} class: {classes[:3]}.")
    return classes, labels
