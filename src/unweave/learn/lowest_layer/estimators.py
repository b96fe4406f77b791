"""Estimators of a lowest layer under any upper function, and of unions and intersections of half spaces."""

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unweave.learn.base import BinaryClassifier, Labels, NetworkRegressor, Stages, check_neurons, seed_of
from unweave.learn.lowest_layer.evidence import LowestLayerEvidence
from unweave.learn.lowest_layer.fit import FoundLayer, fit_lowest_layer
from unweave.learn.lowest_layer.halfspaces import HalfspaceUnion
from unweave.learn.lowest_layer.units import unit_named
from unweave.learn.lowest_layer.upper import (
    UPPER_RULES,
    Upper,
    UpperFitRules,
    UpperPolynomial,
    fit_polynomial,
    fit_table,
)

AnyHalfspaces = TypeVar("AnyHalfspaces", bound="_HalfspaceClassifier")


class LowestLayerRegressor(NetworkRegressor):
    """Recover the units of ``f(x) = P(u(<w_1, x> - t_1), .., u(<w_d, x> - t_d))`` for an unknown P.

    The inputs need to be Gaussian, of any mean and covariance; `result_` says whether that holds and how far the units
    may be trusted. Predictions come from a regression on the units that were found: a table of patterns for steps, a
    polynomial otherwise. Without units the prediction is the mean of the labels.

    Args:
        unit: step, relu or sigmoid.
        neurons: number of units; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        layer_: the `ThresholdLayer`, or None.
        weights_: its unit vectors, of shape (neurons, inputs).
        thresholds_: one per neuron.
        outcome_: identified if exact labels are met, partly identified for estimates, not identified otherwise.
        result_, network_, certificate_: see `Result`; the network maps inputs to the values of the units.
    """

    def __init__(self, *, unit: str = "relu", neurons: int | None = None, random_state: int | None = None) -> None:
        self.unit = unit
        self.neurons = neurons
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "LowestLayerRegressor":
        """Find the units, then fit the upper part.

        Raises:
            InvalidInput: for an unknown unit, or a number of neurons below 1.
        """
        points, labels = self._check_samples(X, y)
        unit, neurons, stages = unit_named(self.unit), check_neurons(self.neurons), Stages()
        rng = np.random.default_rng(seed_of(self.random_state))
        found = fit_lowest_layer(points, labels, unit, rng, neurons=neurons, stages=stages)
        with stages("upper"):
            self._upper = _fit_upper(found, points, labels)
        self.layer_ = found.layer
        self.weights_ = np.zeros((0, points.shape[1])) if found.layer is None else found.layer.directions
        self.thresholds_ = np.zeros(0) if found.layer is None else found.layer.thresholds
        return self._keep(found.result, points)

    def predict(self, X: Any) -> Labels:
        """Answer with the label of every sample."""
        check_is_fitted(self)
        return self._upper(self.units(X))

    def units(self, X: Any) -> np.ndarray:
        """Answer with the values of the units that were found: what an upper network sees."""
        points = self._check_points(X)
        return np.zeros((len(points), 0)) if self.layer_ is None else self.layer_.values(points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Units are the aim, and Gaussian inputs the assumption: on other data predictions may be poor.
        tags.regressor_tags.poor_score = True
        return tags


def _fit_upper(
    found: FoundLayer, points: np.ndarray, labels: np.ndarray, *, rules: UpperFitRules = UPPER_RULES
) -> Upper:
    if found.layer is None:
        return UpperPolynomial(((),), np.array([np.mean(labels)]))
    hidden, labels = found.layer.values(points[: rules.samples]), labels[: rules.samples]
    if found.layer.unit.name == "step":
        return fit_table(hidden, labels, rules=rules)
    return fit_polynomial(hidden, labels, degree=rules.degree, rules=rules)


class _HalfspaceClassifier(BinaryClassifier):
    """Learn a union of half spaces, or an intersection as its complement; never used by itself."""

    # Whether normals are told for the class that is inside of a union, or for the one inside of an intersection.
    _is_union: bool

    def __init__(self, *, neurons: int | None = None, random_state: int | None = None) -> None:
        self.neurons = neurons
        self.random_state = random_state

    def fit(self: AnyHalfspaces, X: Any, y: Any) -> AnyHalfspaces:
        """Find the half spaces and which class they hold; without evidence for any, fit some for prediction only.

        Raises:
            InvalidInput: if there are not exactly two classes, or for a number of half spaces below 1.
        """
        points, is_second = self._check_samples(X, y)
        neurons, stages = check_neurons(self.neurons), Stages()
        rng = np.random.default_rng(seed_of(self.random_state))
        search = HalfspaceUnion(LowestLayerEvidence())
        found = search(points, is_second, rng, neurons=neurons, stages=stages)
        self._is_second_in_union = found.is_second_inside
        self.inside_ = self.classes_[int(found.is_second_inside == self._is_union)]
        sign = 1.0 if self._is_union else -1.0
        self.layer_ = found.layer
        self.normals_, self.offsets_ = sign * found.layer.directions, sign * found.layer.thresholds
        return self._keep(found.result, points)

    def decision_function(self, X: Any) -> Labels:
        """Answer with the distance to the boundary where one half space decides; positive for the second class."""
        points = self._check_points(X)
        depths = np.max(self.layer_.arguments(points), axis=1)
        return depths if self._is_second_in_union else -depths


class HalfspaceUnionClassifier(_HalfspaceClassifier):
    """Recover a union of half spaces ``<normal, x> >= offset``: one class, `inside_`, is inside of at least one.

    Args:
        neurons: number of half spaces; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        classes_: the two classes.
        inside_: the class that is inside; either may be, and the samples decide.
        normals_: unit normals of the half spaces.
        offsets_: one per half space.
        layer_: the half spaces as units.
        outcome_: identified if no held-out label is wrong, partly identified for estimates; if not identified, half
            spaces were fitted for prediction only.
        result_, network_, certificate_: see `Result`; the network has one step per half space of the union, and is what
            predicts.
    """

    _is_union = True


class HalfspaceIntersectionClassifier(_HalfspaceClassifier):
    """Recover an intersection of half spaces ``<normal, x> >= offset``: one class, `inside_`, is inside of all of them.

    Its complement is a union of half spaces with opposite normals, which is what is learnt. Settings and attributes are
    those of `HalfspaceUnionClassifier`, with the differences below.

    Attributes:
        normals_: unit normals of the half spaces, pointing inwards.
        layer_: the complements of the half spaces as units.
    """

    _is_union = False
