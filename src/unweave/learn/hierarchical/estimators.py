"""`HierarchicalRegressor` and `HierarchicalClassifier`: deep quadratic networks, all levels learnt jointly."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.special import expit

from unweave.learn.base import NetworkRegressor, check_sizes, seed_of
from unweave.learn.classes import NetworkClassifier, result_of_classes
from unweave.learn.hierarchical.joint_fit import HierarchicalFit, JointLevenbergMarquardt, LogisticLoss, SquaredLoss
from unweave.learn.hierarchical.training import EVIDENCE, HierarchicalEstimator, HierarchicalResult, Training
from unweave.learn.weighed import WeighedSamples

# How classifiers are trained: without decay, parameters of classes that can be separated grow without end.
CLASS_SOLVER = JointLevenbergMarquardt(decay=1e-8, affine_share=1.0, restarts=2)


class HierarchicalRegressor(HierarchicalEstimator, NetworkRegressor):
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "HierarchicalRegressor":
        """Learn from samples.

        Args:
            X: samples.
            y: their labels.
            sample_weight: of their squared errors; samples of weight 0 are left out. Evidence counts every other one
                once.

        Raises:
            InvalidInput: for settings that can't be used, samples whose powers are no floats, and negative weights.
        """
        points, labels = self._check_samples(X, y)
        check_sizes(points, labels)
        given = WeighedSamples.of(points, labels, self._check_weights(sample_weight, points))
        points, labels, seed = given.points, given.labels, seed_of(self.random_state)
        spread = float(np.var(labels)) or float(np.mean(labels**2)) or 1.0
        samples = self._split(given, seed)
        student = self._student(points[samples.used], has_affine=self.fit_affine, has_centre=self.mean_squares is None)
        solver, chooses_decay = self._solver(JointLevenbergMarquardt())
        errors = lambda outputs: (outputs - labels) ** 2 / spread  # noqa: E731
        training = Training(solver, SquaredLoss(), seed, errors, spread, EVIDENCE.outcome_of, chooses_decay)
        self.trained_, result = self._learned(samples, student, training)
        self.decay_, self.networks_ = self.trained_.decay, (self.trained_.network,)
        return self._keep(result, points)


class HierarchicalClassifier(HierarchicalEstimator, NetworkClassifier):
    """Learn classes from the sign of a deep quadratic network with a linear part, by logistic loss.

    More than two classes have a network each, which tells one of them from all others.

    Args:
        widths: features per level, from level 2 on.
        connections: sources that each level reads; see `HierarchicalRegressor`.
        level_weights: relative sizes of levels.
        signed: whether squares of a level enter with alternating signs; see `HierarchicalRegressor`.
        mean_squares: E[x^2] if it is known; the mean over the samples if None.
        decay: weight of the squared parameters, in units in which inputs and their squares have size 1; None to choose
            it by held-out rows if labels are not met exactly, or to leave it to a given solver.
        seconds: end training after this time with the best that was found.
        class_weight: weights of classes, or "balanced".
        solver: settings of the training, a `JointLevenbergMarquardt`; by default one with a little weight decay.
        validation_fraction: share of samples that judge the result.
        random_state: seed or generator for starts and held out samples.

    Attributes:
        classes_: the classes, in ascending order.
        networks_: one network; with more than two classes one for each of them.
        network_: the network; None with more than two classes.
        trained_, decay_: as for `HierarchicalRegressor`; with more than two classes one for each of them.
        result_, certificate_, outcome_: as for `HierarchicalRegressor`; with more than two classes the worst of theirs.

    >>> import numpy as np
    >>> from unweave.learn import HierarchicalClassifier
    >>> points = np.random.default_rng(0).standard_normal((400, 2))
    >>> names = np.where(np.abs(points[:, 0] ** 2 - points[:, 1] ** 2) < 1, "diagonal", "axis")
    >>> model = HierarchicalClassifier((1,), decay=1e-4, random_state=0).fit(points, names)
    >>> [str(name) for name in model.predict([[1.5, 1.5], [1.5, 0.0]])]
    ['diagonal', 'axis']
    >>> bool(model.predict_proba([[1.5, 0.0]])[0, 0] > 0.9)
    True
    """

    def __init__(
        self,
        widths: Sequence[int] = (3, 2),
        *,
        connections: Any = None,
        level_weights: Any = None,
        signed: bool = False,
        mean_squares: Any = None,
        decay: float | None = None,
        class_weight: dict | str | None = None,
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
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "HierarchicalClassifier":
        """Learn from samples.

        Args:
            X: samples.
            y: their classes, numbers or texts.
            sample_weight: of their losses; samples of weight 0 are left out. Evidence counts every other one once.

        Raises:
            InvalidInput: for settings that can't be used, one class only, and negative weights.
        """
        points, labels, weights = self._check_samples(X, y, sample_weight)
        check_sizes(points, np.ones(len(points)))
        numbers = np.searchsorted(self.classes_, labels).astype(float)
        given, seed = WeighedSamples.of(points, numbers, weights), seed_of(self.random_state)
        asked = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(given.labels == each, 1.0, -1.0) for each in asked]
        found = [self._told_apart(replace(given, labels=each), seed) for each in signs]
        fits, results = [fit for fit, _ in found], [result for _, result in found]
        self.networks_ = tuple(fit.network for fit in fits)
        self.trained_, self.decay_ = fits[0], fits[0].decay
        if len(asked) == 1:
            return self._keep(results[0], given.points)
        self.trained_, self.decay_ = tuple(fits), tuple(fit.decay for fit in fits)
        worst = max((each.certificate for each in results if each.certificate), key=lambda each: each.relative_error)
        seconds = {name: sum(each.seconds[name] for each in results) for name in results[0].seconds}
        joined = result_of_classes(self.classes_, results, network=None, certificate=worst, seconds=seconds)
        return self._keep(joined, given.points)

    def _told_apart(self, given: WeighedSamples, seed: int) -> tuple[HierarchicalFit, HierarchicalResult]:
        """A network that is positive for labels of 1."""
        samples, signs = self._split(given, seed), given.labels
        rarer = min(np.mean(signs > 0), np.mean(signs < 0))
        student = self._student(given.points[samples.used], has_affine=True, has_centre=False)
        solver, chooses_decay = self._solver(CLASS_SOLVER)
        errors = lambda outputs: (np.sign(outputs) != signs) / rarer  # noqa: E731
        training = Training(solver, LogisticLoss(), seed, errors, 1.0, EVIDENCE.class_outcome_of, chooses_decay)
        return self._learned(samples, student, training)

    def decision_function(self, X: Any) -> np.ndarray:
        """Answer with the output of the network, positive for the second class; of more, with that of every class."""
        points = self._check_points(X)
        outputs = np.hstack([network(points) for network in self.networks_])
        return outputs[:, 0] if len(self.networks_) == 1 else outputs

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "points classes"]:
        """Answer with the chances of the classes: those of each against the others, scaled to a sum of 1."""
        chances = expit(self.decision_function(X))
        if chances.ndim == 1:
            return np.stack([1 - chances, chances], axis=1)
        sums = chances.sum(axis=1, keepdims=True)
        return np.where(sums > 0, chances / np.where(sums > 0, sums, 1.0), 1 / len(self.classes_))
