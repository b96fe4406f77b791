"""Scikit-learn classifiers for unions and intersections of half spaces."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.evidence import Status
from unweave.learn.lowest_layer.fit import fit_lowest_layer
from unweave.learn.lowest_layer.layer import LowestLayer
from unweave.learn.lowest_layer.regressor import check_rows, generator_of, learnt_of
from unweave.learn.lowest_layer.soft import fitted_union
from unweave.learn.lowest_layer.units import STEP

FALLBACK_NOTE = "predictions come from a logistic fit of half spaces that are not claimed to be the true ones"


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
