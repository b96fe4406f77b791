"""Sets of inputs that exponential units share."""

import numpy as np
import pytest

from unweave.reproduce.goel.exponential_units import correlation_graph, hessian_clusters, simplex_sets


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
    points, sets = rng.standard_normal((120_000, 6)), [[0, 2], [1, 4]]
    values = exponential(points, sets, 1.0, 0.0) * 0.5
    found = method(points, values.sum(axis=1))
    assert sorted(found.sets)[:2] == [(0, 2), (1, 4)]
    assert len(found.sets) == 2
