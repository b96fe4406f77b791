"""Weights of samples and classes: fits see them, claims don't."""

from typing import Any

import numpy as np
import pytest

from late import LateModule, sklearn
from unweave.exceptions import InvalidInput
from unweave.learn.weighed import WeighedSamples
from unweave.result import Outcome

ROWS = 120
learn = LateModule("unweave.learn")
REGRESSORS = ("hierarchical", "overparameterized", "quadratic", "quadratic with biases")


def quick() -> "learn.JointLevenbergMarquardt":
    return learn.JointLevenbergMarquardt(restarts=1, steps=30)


def regressor(name: str) -> Any:
    if name == "hierarchical":
        return learn.HierarchicalRegressor((1,), solver=quick(), random_state=0)
    if name == "overparameterized":
        return learn.OverparameterizedRegressor(neurons=20, ridge=1e-2, random_state=0)
    return learn.QuadraticNetworkRegressor(signs="both", ridge=1e-2, fit_bias=name.endswith("biases"))


def noisy(seed: int, inputs: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, labels of the square of one input with noise, and weights."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((ROWS, inputs)) + 0.5
    labels = points[:, 0] ** 2 - points[:, 1] + rng.standard_normal(ROWS)
    return points, labels, rng.uniform(0.1, 5.0, ROWS)


def test_samples_are_there_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((6, 2)), rng.standard_normal(6)
    counts = np.array([1, 3, 0, 2, 2, 4])
    by_weight = WeighedSamples.of(points, labels, 7.0 * counts)
    again = rng.permutation(np.repeat(np.arange(6), counts))
    by_copies = WeighedSamples.of(points[again], labels[again])
    for name in ("points", "labels", "weights"):
        np.testing.assert_allclose(getattr(by_weight, name), getattr(by_copies, name), rtol=1e-15)
    assert (by_weight.copies, by_copies.copies) == (0, 7)
    assert by_weight.weights is not None
    assert np.mean(by_weight.weights) == pytest.approx(1.0)
    even = WeighedSamples.of(points, labels, np.full(6, 1e300))
    assert even.weights is None
    np.testing.assert_array_equal(even.points, points)
    with pytest.raises(InvalidInput, match="at least one positive"):
        WeighedSamples.of(points, labels, np.zeros(6))


@pytest.mark.parametrize("has_biases", [False, True])
@pytest.mark.parametrize("inputs", [3, 16])
def test_quadratic_forms_are_those_of_weighted_least_squares(has_biases: bool, inputs: int, seed: int) -> None:
    """More rows than products of inputs, and fewer, where both meet the labels."""
    points, labels, weights = noisy(seed, inputs)
    squares = sklearn.preprocessing.PolynomialFeatures(2, include_bias=False).fit_transform(points)
    squares = squares if has_biases else squares[:, inputs:]
    expected = sklearn.linear_model.LinearRegression(fit_intercept=has_biases).fit(
        squares, labels, sample_weight=weights
    )
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0, fit_bias=has_biases).fit(points, labels, weights)
    np.testing.assert_allclose(model.predict(points), expected.predict(squares), atol=1e-6)
    plain = learn.QuadraticNetworkRegressor(signs="both", ridge=0, fit_bias=has_biases).fit(points, labels)
    assert (np.max(np.abs(plain.predict(points) - model.predict(points))) > 0.05) == (inputs == 3)
    assert model.certificate_.is_global
    loss = np.mean(weights / weights.mean() * (model.predict(points) - labels) ** 2) / 2
    assert model.certificate_.loss == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("inputs", [3, 16])
def test_quadratic_forms_with_a_ridge_are_optimal_for_the_weights(inputs: int, seed: int) -> None:
    """The constant is free, also where it has the weight of its sample."""
    points, labels, weights = noisy(seed, inputs)
    # Standardised inputs, so that the penalty is that of the form as it is.
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0.3, fit_bias=True).fit(points, labels, weights)
    unit = np.sqrt(np.mean(weights / weights.mean() * labels**2))
    lifted = np.column_stack([points, np.ones(ROWS)])
    rows, columns = np.triu_indices(inputs + 1)
    sizes = np.where(rows == columns, 1.0, np.sqrt(2.0))
    squares = (lifted[:, rows] * lifted[:, columns] * sizes)[:, :-1]
    expected = sklearn.linear_model.Ridge(alpha=0.3 * ROWS, tol=1e-12).fit(
        squares, labels / unit, sample_weight=weights / weights.mean()
    )
    np.testing.assert_allclose(model.predict(points), unit * expected.predict(squares), atol=1e-6)
    assert model.certificate_.is_global
    assert model.certificate_.gap < 1e-9


@pytest.mark.parametrize("name", REGRESSORS)
def test_heavy_samples_are_fitted_better(name: str, seed: int) -> None:
    estimator = regressor(name)
    points, labels, _ = noisy(seed)
    heavy = np.random.default_rng(seed).random(ROWS) < 0.5
    labels, weights = np.where(heavy, labels, -labels), np.where(heavy, 20.0, 0.05)

    def error(**settings: np.ndarray) -> float:
        model = estimator.fit(points, labels, **settings)
        return float(np.mean((model.predict(points) - labels)[heavy] ** 2))

    assert error(sample_weight=weights) < 0.7 * error()


@pytest.mark.parametrize("name", REGRESSORS)
def test_weights_are_numbers_from_zero_on(name: str) -> None:
    estimator = regressor(name)
    points, labels, weights = noisy(0)
    for wrong, told in ((-weights, "[Nn]egative"), (weights[1:], "sample_weight"), (np.nan * weights, "NaN")):
        with pytest.raises(InvalidInput, match=told):
            estimator.fit(points, labels, sample_weight=wrong)


def test_claims_count_every_sample_once(seed: int) -> None:
    """Weights are no evidence: what held-out samples show is the same, and labels that are met are met."""
    points, _, weights = noisy(seed)
    labels = (points[:, 0] ** 2 - points[:, 1] ** 2) ** 2
    model = learn.HierarchicalRegressor((1,), random_state=seed).fit(points, labels, sample_weight=weights)
    assert model.outcome_ is Outcome.IDENTIFIED
    assert model.certificate_.held_out == ROWS // 5
    met = learn.OverparameterizedRegressor(ridge=0, random_state=seed).fit(points[:30], labels[:30], weights[:30])
    assert met.certificate_.is_global_minimum
    exact = learn.QuadraticNetworkRegressor().fit(points, points[:, 0] ** 2, sample_weight=weights)
    assert (exact.outcome_, exact.certificate_.rank) == (Outcome.IDENTIFIED, 1)


@pytest.mark.parametrize("unit", ["step", "relu"])
def test_lowest_layers_are_found_from_all_samples_and_predict_by_weight(unit: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((8_000, 3))
    active = np.maximum(points[:, :2] - 1.0, 0.0) if unit == "relu" else 1.0 * (points[:, :2] > 1.0)
    group = rng.random(8_000) < 0.5
    labels = active.sum(axis=1) * np.where(group, 1.0, 3.0)
    plain = learn.LowestLayerRegressor(activation=unit, random_state=seed).fit(points, labels)
    model = learn.LowestLayerRegressor(activation=unit, random_state=seed)
    model.fit(points, labels, sample_weight=np.where(group, 1.0, 1e-6))
    np.testing.assert_array_equal(model.weights_, plain.weights_)
    assert len(model.weights_) == 2
    assert np.mean((model.predict(points) - labels)[group] ** 2) < 0.1 * np.mean(
        (plain.predict(points) - labels)[group] ** 2
    )


def test_several_classes_have_a_network_each() -> None:
    flowers = sklearn.datasets.load_iris()
    points, names = (
        sklearn.preprocessing.StandardScaler().fit_transform(flowers.data),
        flowers.target_names[flowers.target],
    )
    model = learn.HierarchicalClassifier((1,), solver=quick(), random_state=0).fit(points, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert len(model.networks_) == 3
    assert model.decision_function(points).shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(points).sum(axis=1), 1.0)
    assert model.score(points, names) > 0.9
    # Each network is that of its class against all others.
    alone = learn.HierarchicalClassifier((1,), solver=quick(), random_state=0).fit(points, names == "virginica")
    np.testing.assert_allclose(model.networks_[2](points)[:, 0], alone.decision_function(points))
    assert "setosa: " in model.result_.reason
    assert model.features(points, 2).shape == model.transform(points).shape == (150, 3)
    assert "partly identified" in model.result_.report()


def test_weights_of_classes_move_the_boundary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((400, 2))
    classes = np.where(points[:, 0] + 1.5 * rng.standard_normal(400) > 1.5, "rare", "usual")
    settings = {"widths": (1,), "solver": learn.JointLevenbergMarquardt(restarts=1, decay=1e-2), "random_state": seed}
    plain = learn.HierarchicalClassifier(**settings).fit(points, classes)
    balanced = learn.HierarchicalClassifier(**settings, class_weight="balanced").fit(points, classes)
    rare = classes == "rare"
    assert np.mean(balanced.predict(points)[rare] == "rare") > np.mean(plain.predict(points)[rare] == "rare") + 0.1
    by_hand = learn.HierarchicalClassifier(**settings).fit(
        points, classes, np.where(rare, 1 / rare.mean(), 1 / (~rare).mean())
    )
    np.testing.assert_allclose(balanced.decision_function(points), by_hand.decision_function(points), atol=1e-6)


@pytest.mark.slow
def test_rows_for_a_wanted_angle(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def fitted(rows: int) -> learn.HalfspaceUnionClassifier:
        points = rng.standard_normal((rows, 2))
        return learn.HalfspaceUnionClassifier(random_state=seed).fit(points, np.any(points > 1.0, axis=1))

    few = fitted(3_000)
    wanted = few.certificate_.largest_angle / 4
    assert few.rows_needed(wanted) == pytest.approx(12_000, abs=1)
    assert 0.2 * wanted < fitted(few.rows_needed(wanted)).certificate_.largest_angle < 1.5 * wanted
    with pytest.raises(InvalidInput, match="positive angle"):
        few.rows_needed(0.0)
    with pytest.raises(InvalidInput, match="none is"):
        fitted(100).rows_needed(1.0)
