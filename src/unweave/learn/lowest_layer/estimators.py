"""Estimators of a lowest layer under any upper function, and of unions and intersections of half spaces."""

from typing import Any, TypeVar

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.learn.base import Labels, NetworkRegressor, check_neurons, check_sizes, seed_of
from unweave.learn.classes import NetworkClassifier, result_of_classes
from unweave.learn.lowest_layer.evidence import LowestLayerEvidence
from unweave.learn.lowest_layer.fit import FoundLayer, fit_lowest_layer
from unweave.learn.lowest_layer.halfspaces import HalfspaceUnion
from unweave.learn.lowest_layer.layer import ThresholdLayer, worst_of
from unweave.learn.lowest_layer.units import unit_named
from unweave.learn.lowest_layer.upper import (
    UPPER_RULES,
    Upper,
    UpperFitRules,
    UpperPolynomial,
    fit_polynomial,
    fit_table,
)
from unweave.learn.stages import Stages
from unweave.learn.weighed import WeighedSamples
from unweave.result import Outcome

AnyHalfspaces = TypeVar("AnyHalfspaces", bound="_HalfspaceClassifier")


class LowestLayerRegressor(NetworkRegressor):
    """Recover the units of ``f(x) = P(u(<w_1, x> - t_1), .., u(<w_d, x> - t_d))`` for an unknown P.

    The inputs need to be Gaussian, of any mean and covariance; `result_` says whether that holds and how far the units
    may be trusted. Predictions come from a regression on the units that were found: a table of patterns for steps, a
    polynomial otherwise. Without units the prediction is the mean of the labels.

    Args:
        activation: of the units: step, relu or sigmoid.
        neurons: number of units; found from the samples if None.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        layer_: the `ThresholdLayer`, or None.
        weights_: its unit vectors, of shape (neurons, inputs).
        thresholds_: one per neuron.
        outcome_: identified if exact labels are met, partly identified for estimates, not identified otherwise.
        result_, network_, certificate_: see `Result`; the network maps inputs to the values of the units.

    Examples:
        >>> import numpy as np
        >>> from unweave.learn import LowestLayerRegressor
        >>> points = np.random.default_rng(0).standard_normal((20_000, 3))
        >>> active = np.maximum(points[:, :2] - 1.5, 0.0)
        >>> labels = active[:, 0] + np.sqrt(active[:, 1]) + active.prod(axis=1)
        >>> model = LowestLayerRegressor(random_state=0).fit(points, labels)
        >>> model.thresholds_.round(1).tolist(), round(model.score(points, labels), 1)
        ([1.5, 1.5], 1.0)
    """

    def __init__(
        self, *, activation: str = "relu", neurons: int | None = None, random_state: int | None = None
    ) -> None:
        self.activation = activation
        self.neurons = neurons
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LowestLayerRegressor":
        """Find the units, then fit the upper part.

        Args:
            X: samples.
            y: their labels.
            sample_weight: of the squared errors of predictions; samples of weight 0 are left out. Units are found, and
                judged, from all others alike: how they are drawn is what tells them.

        Raises:
            InvalidInput: for an unknown activation, a number of neurons below 1, negative weights, or samples whose
                powers are no floats.
        """
        points, labels = self._check_samples(X, y)
        check_sizes(points, labels)
        given = WeighedSamples.of(points, labels, self._check_weights(sample_weight, points))
        points, labels = given.points, given.labels
        unit, neurons, stages = unit_named(self.activation), check_neurons(self.neurons), Stages()
        rng = np.random.default_rng(seed_of(self.random_state))
        found = fit_lowest_layer(points, labels, unit, rng, neurons=neurons, stages=stages)
        with stages("upper"):
            self._upper = _fit_upper(found, given)
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
        return self._hidden(self._check_points(X))

    def _hidden(self, points: Points) -> np.ndarray:
        return np.zeros((len(points), 0)) if self.layer_ is None else self.layer_.values(points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Units are the aim, and Gaussian inputs the assumption: on other data predictions may be poor.
        tags.regressor_tags.poor_score = True
        return tags


def _fit_upper(found: FoundLayer, given: WeighedSamples, *, rules: UpperFitRules = UPPER_RULES) -> Upper:
    first = np.arange(min(rules.samples, len(given.labels)))
    labels, weights = given.labels, given.weights_of(first)
    if found.layer is None:
        return UpperPolynomial(((),), np.array([np.average(labels, weights=given.weights)]))
    hidden, labels = found.layer.values(given.points[first]), labels[first]
    if found.layer.unit.name == "step":
        return fit_table(hidden, labels, weights=weights, rules=rules)
    return fit_polynomial(hidden, labels, degree=rules.degree, weights=weights, rules=rules)


class _HalfspaceClassifier(NetworkClassifier):
    """Learn a union of half spaces, or an intersection as its complement; never used by itself."""

    # Whether normals are told for the class that is inside of a union, or for the one inside of an intersection.
    _is_union: bool

    def __init__(
        self,
        *,
        neurons: int | None = None,
        class_weight: dict | str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.neurons = neurons
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self: AnyHalfspaces, X: Any, y: Any, sample_weight: Any = None) -> AnyHalfspaces:
        """Find the half spaces and which class they hold; without evidence for any, fit some for prediction only.

        Args:
            X: samples.
            y: their classes, numbers or texts.
            sample_weight: one per sample, for predictions and probabilities; samples of weight 0 are left out. What is
                claimed counts every other sample once.

        Raises:
            InvalidInput: if there is one class only, for a number of half spaces below 1 or above that of samples, a
                negative weight, or inputs whose powers are no floats.
        """
        points, labels, weights = self._check_samples(X, y, sample_weight)
        check_sizes(points, np.ones(1))
        neurons, stages = check_neurons(self.neurons), Stages()
        if neurons is not None and neurons > len(points):
            raise InvalidInput(f"neurons needs to be no more than the {len(points)} samples, got {neurons}.")
        rng = np.random.default_rng(seed_of(self.random_state))
        search = HalfspaceUnion(LowestLayerEvidence())
        asked = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self._unions = [
            search(points, labels == each, rng, neurons=neurons, stages=stages, weights=weights) for each in asked
        ]
        layers, sign = [found.layer for found in self._unions], 1.0 if self._is_union else -1.0
        self.layer_ = ThresholdLayer.stacked(layers)
        self.classes_of_halfspaces_ = np.repeat(asked, [len(layer.thresholds) for layer in layers])
        self.normals_, self.offsets_ = sign * self.layer_.directions, sign * self.layer_.thresholds
        is_inside = np.array([found.is_second_inside == self._is_union for found in self._unions])
        self.inside_ = self.classes_[int(is_inside[0])] if len(asked) == 1 else is_inside
        results = [found.result for found in self._unions]
        if len(asked) == 1:
            return self._keep(results[0], points)
        certificates = [result.certificate for result in results if result.certificate is not None]
        worst = worst_of(certificates) if len(certificates) == len(results) else None
        joined = result_of_classes(
            asked, results, network=self.layer_.network, certificate=worst, seconds=stages.seconds
        )  # fmt: skip
        return self._keep(joined, points)

    def rows_needed(self, angle: float) -> int:
        """Say how many rows would bring the error of the worst normal down to `angle`.

        That error is ``certificate_.largest_angle``, in degrees, in coordinates in which inputs have spread 1. It falls
        with one over the number of rows, as places of jumps do, as long as rows are like those of the fit.

        Args:
            angle: the wanted error, in degrees.

        Returns:
            The number of rows, held-out ones included. Estimated: limits of confidence fall a bit faster than the rate.

        Raises:
            InvalidInput: if `angle` is not positive, or no half space is claimed whose error could be told.
        """
        check_is_fitted(self)
        if not (np.isfinite(angle) and angle > 0):
            raise InvalidInput(f"rows_needed needs a positive angle, got {angle!r}.")
        if self.outcome_ is Outcome.NOT_IDENTIFIED or self.certificate_ is None:
            raise InvalidInput(
                "rows_needed tells from errors of half spaces that are claimed, and none is: give more rows."
            )
        return int(np.ceil(self.result_.samples * self.certificate_.largest_angle / angle))

    def _hidden(self, points: Points) -> np.ndarray:
        """Distances to the half spaces, positive inside: more than the steps that the network has there."""
        return points @ self.normals_.T - self.offsets_

    def decision_function(self, X: Any) -> np.ndarray:
        """Answer with one number per sample, or per sample and class.

        With two classes it is the distance to the boundary where one half space decides, positive for the second class.
        With more it is the logarithm of the odds of every class against the others.
        """
        points = self._check_points(X)
        if len(self._unions) == 1:
            found = self._unions[0]
            return found.depths(points) if found.is_second_inside else -found.depths(points)
        return np.column_stack([logit(found.probabilities(points)) for found in self._unions])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Answer with the probability of every class, as often as held-out labels were right at such a distance."""
        points = self._check_points(X)
        chances = np.column_stack([found.probabilities(points) for found in self._unions])
        if len(self._unions) == 1:
            return np.column_stack([1.0 - chances, chances])
        return chances / chances.sum(axis=1, keepdims=True)


class HalfspaceUnionClassifier(_HalfspaceClassifier):
    """Recover a union of half spaces ``<normal, x> >= offset``: one class, `inside_`, is inside of at least one.

    Several classes are told from the others one by one. Probabilities are those of held-out samples at the same
    distance from the half spaces.

    Args:
        neurons: number of half spaces, of every class if there are more than two; found from the samples if None.
        class_weight: weights of classes, or "balanced", for predictions and probabilities.
        random_state: seed of splits, starts and subsamples.

    Attributes:
        classes_: the classes, in ascending order.
        inside_: the class that is inside; either may be, and the samples decide. With more than two classes it says of
            every class whether that class is inside, or the others are.
        normals_: unit normals of the half spaces.
        offsets_: one per half space.
        classes_of_halfspaces_: the class that every half space tells from the others.
        layer_: the half spaces as units.
        outcome_: identified if no held-out label is wrong, partly identified for estimates; if not identified, half
            spaces were fitted for prediction only. With more than two classes the worst of theirs.
        result_, network_, certificate_: see `Result`; the network has one step per half space of the union, and is what
            predicts; of several classes the most probable one is predicted.

    Examples:
        >>> import numpy as np
        >>> points = np.random.default_rng(0).standard_normal((2_000, 2))
        >>> names = np.where(np.any(points > 1.0, axis=1), "out", "in")
        >>> model = HalfspaceUnionClassifier(random_state=0).fit(points, names)
        >>> str(model.inside_), model.normals_.shape
        ('out', (2, 2))
        >>> [str(name) for name in model.predict([[0.0, 0.0], [3.0, 0.0]])]
        ['in', 'out']
        >>> bool(np.all(model.predict_proba([[3.0, 0.0]]) @ [0.0, 1.0] > 0.9))
        True
    """

    _is_union = True


class HalfspaceIntersectionClassifier(_HalfspaceClassifier):
    """Recover an intersection of half spaces ``<normal, x> >= offset``: one class, `inside_`, is inside of all of them.

    Its complement is a union of half spaces with opposite normals, which is what is learnt. Settings and attributes are
    those of `HalfspaceUnionClassifier`, with the differences below.

    Attributes:
        normals_: unit normals of the half spaces, pointing inwards.
        layer_: the complements of the half spaces as units.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> flowers = load_iris()
        >>> names = flowers.target_names[flowers.target]
        >>> model = HalfspaceIntersectionClassifier(random_state=0).fit(flowers.data, names)
        >>> model.predict_proba(flowers.data).shape, model.score(flowers.data, names) > 0.9
        ((150, 3), True)
    """

    _is_union = False
