import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from halfspace_samples import largest_angle, planted_rows, values_of, with_pairs
from unweave.activations import RELU, SIGMOID, STEP
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.estimators import LowestLayerRegressor
from unweave.reproduce.goel.delta_search import delta_search, jumps_across
from unweave.reproduce.goel.even_units import even_rows, row_margin
from unweave.reproduce.goel.exponential_units import correlation_graph, hessian_clusters, simplex_sets
from unweave.reproduce.goel.modular import cut_score, modular_fit

DENSITY = np.exp(-0.5 * 0.3**2) / np.sqrt(2 * np.pi)


def test_labels_jump_across_rows_without_a_linear_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3), rng.standard_normal((300_000, 3))
    values = values_of(points, rows, 0.3, STEP)
    labels = with_pairs(values) - values.sum(axis=1)
    jumps = jumps_across(points, labels, rows, unit=STEP, threshold=0.3, width=0.1)
    # The derivative of the upper function is the sum of the two other units.
    np.testing.assert_allclose(jumps, DENSITY * 2 * np.mean(values), rtol=0.15)


def test_an_exhaustive_search_finds_rows_of_either_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((60_000, 2))
    values = values_of(points, rows, 0.3, STEP)
    labels = values[:, 0] - values[:, 1] + 0.5 * values[:, 0] * values[:, 1]
    found = delta_search(points, labels, rng, unit=STEP, threshold=0.3, rank=2, width=0.05, directions=150)
    assert largest_angle(rows, found.rows) < 5
    assert np.sort(np.sign(found.jumps)).tolist() == [-1.0, 1.0]


def test_slopes_change_across_rows_of_relu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((400_000, 2))
    labels = values_of(points, rows, 0.3, RELU) @ np.array([1.0, 2.0])
    labels -= labels.mean()
    between = (rows[0] + rows[1]) / np.sqrt(2)
    jumps = jumps_across(points, labels, np.vstack([rows, between]), unit=RELU, threshold=0.3, width=0.12)
    assert jumps[0] == pytest.approx(DENSITY, rel=0.4)
    assert jumps[1] == pytest.approx(2 * DENSITY, rel=0.4)
    assert abs(jumps[2]) < 0.7 * jumps[0]


def test_a_search_needs_few_inputs_and_a_kink() -> None:
    points, rng = np.zeros((10, 5)), np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="up to 4 inputs"):
        delta_search(points, np.zeros(10), rng, unit=STEP, threshold=0.3, rank=1)
    with pytest.raises(InvalidInput, match="jump or a kink"):
        jumps_across(points, np.zeros(10), np.eye(5), unit=SIGMOID, threshold=0.3, width=0.1)


def exponential(points: np.ndarray, sets: list[list[int]], rho: float, threshold: float) -> np.ndarray:
    return np.stack([np.exp(rho * (points[:, group].sum(axis=1) - threshold)) for group in sets], axis=1)


def test_the_correlation_graph_finds_sets_under_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, sets = rng.standard_normal((100_000, 10)), [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    values = exponential(points, sets, 0.5, 1.0)
    found = correlation_graph(points, values.sum(axis=1) + 0.1 * values[:, 0] * values[:, 1])
    assert sorted(found.sets) == [tuple(group) for group in sets]
    assert found.is_reliable
    # Within a set the correlation of a sum of units is rho^2 mu, with the corrected mu.
    mu = np.exp(-0.5 * 1.0 + 0.5**2 * 3 / 2)
    within = np.mean(values.sum(axis=1) * points[:, 0] * points[:, 3])
    assert within == pytest.approx(0.25 * mu, rel=0.1)


@pytest.mark.parametrize("method", [hessian_clusters, simplex_sets])
def test_exponential_units_without_threshold(method, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, sets = rng.standard_normal((200_000, 6)), [[0, 2], [1, 4]]
    values = exponential(points, sets, 1.0, 0.0) * 0.5
    found = method(points, values.sum(axis=1))
    assert sorted(found.sets)[:2] == [(0, 2), (1, 4)]
    assert len(found.sets) == 2


def test_even_activations_need_no_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 4, 4), rng.standard_normal((200_000, 4))
    values = np.abs(points @ rows.T)
    labels = with_pairs(values) * 0.3 + 0.7 * values.sum(axis=1)
    found = even_rows(points, labels, rng, rank=4, coefficient_4=-0.163)
    assert largest_angle(rows, found, is_signed=False) < 8


def test_the_condition_on_even_units_uses_normalised_coefficients() -> None:
    coefficients = np.array([2.0, 0.0, 1.0, 0.0, 0.5])
    assert row_margin(1.0, 1.0, 0.1, coefficients=coefficients) == pytest.approx(2 - 0.1 * np.sqrt(6))
    # A negative coefficient of order 4 makes the condition hold for all non-negative products.
    assert row_margin(1.0, 1.0, 9.0, coefficients=coefficients * [1, 1, 1, 1, -1]) > 0


def test_a_cut_with_rare_outputs_allows_modular_learning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3), rng.standard_normal((40_000, 3))
    labels = np.tanh(values_of(points, rows, 1.5, RELU).sum(axis=1) * 0.2) * 5
    fit = modular_fit(points, labels, LowestLayerRegressor(random_state=seed), LinearRegression(), rng)
    assert largest_angle(rows, fit.lower.weights_) < 1
    assert 0 < fit.cut.score < 0.5
    assert fit.cut.score <= fit.cut.upper
    assert np.corrcoef(fit.predict(points), labels)[0, 1] > 0.99


def test_a_cut_with_frequent_outputs_scores_badly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert cut_score(rng.uniform(0.5, 1.5, (500, 3)), rng).score > 0.7
    with pytest.raises(InvalidInput, match="non-negative"):
        cut_score(-np.ones((5, 2)), rng)
