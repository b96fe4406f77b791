import numpy as np
import pytest

from unweave.arrays import unpack
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.deep.concentration import (
    ConcentrationRows,
    PowerBudget,
    crossing,
    measure_recovery,
    measure_span,
    planted_network,
    sphere_points,
)
from unweave.reproduce.fiedler.entangled import entangled_weights

SETTINGS = {"inputs": 8, "outputs": 3, "layers": 3, "contraction": 0.5, "radius": 0.01, "neurons": 12}


def dense_projection(matrices: np.ndarray, rank: int) -> np.ndarray:
    left = np.linalg.svd(matrices.reshape(len(matrices), -1).T, full_matrices=False)[0][:, :rank]
    return left @ left.T


def test_the_error_is_that_of_dense_projections(seed: int) -> None:
    planted, rng = planted_network(SETTINGS, seed), np.random.default_rng([seed, 1])
    points = sphere_points(rng, count=20 * 4, inputs=8, radius=0.01)
    hessians = unpack(planted.network.hessians(points).reshape(-1, 36), 8)
    rows = np.concatenate(entangled_weights(planted.network, np.zeros(8)))
    squares = np.einsum("ki,kj->kij", rows, rows)
    difference = dense_projection(squares, 12) - dense_projection(hessians, 12)
    expected = np.linalg.norm(difference) / np.sqrt(12)
    assert measure_span(Cell(SETTINGS, seed))["subspace"] == pytest.approx(expected, rel=1e-6)


def test_shares_say_what_was_found(seed: int) -> None:
    found = measure_recovery(Cell(SETTINGS | {"inputs": 12, "outputs": 6, "layers": 2}, seed))
    assert found["recovered"] == 1.0
    assert found["false_positives"] == 0.0
    lost = measure_recovery(Cell(SETTINGS | {"inputs": 6, "outputs": 2, "neurons": 18}, seed))
    assert float(lost["recovered"]) < 0.5  # type: ignore[arg-type]
    assert float(lost["false_positives"]) > 0.5  # type: ignore[arg-type]


def test_points_have_the_radius(seed: int) -> None:
    points = sphere_points(np.random.default_rng(seed), count=9, inputs=4, radius=0.3)
    assert np.allclose(np.linalg.norm(points, axis=1), 0.3)


def test_values_cross_a_level_on_straight_lines() -> None:
    places = np.array([1.0, 2.0, 4.0, 5.0])
    assert crossing(places, np.array([0.0, 0.2, 0.6, 0.7]), 0.3) == pytest.approx(2.5)
    # The last passage counts.
    assert crossing(places, np.array([0.0, 0.5, 0.2, 0.4]), 0.3) == pytest.approx(4.5)
    assert crossing(places, np.array([0.0, 0.1, 0.1, 0.1]), 0.3) == np.inf
    assert crossing(places, np.array([0.4, 0.5, 0.6, 0.7]), 0.3) == 1.0


def test_rows_are_all_combinations() -> None:
    rows = ConcentrationRows(5, 2, (6, 8, 10), (0.1, 1.0), ((2, 1.0), (3, 0.5)))()
    assert len(rows) == 12
    assert len({tuple(row.items()) for row in rows}) == 12


def test_the_published_budget_is_for_the_published_inputs() -> None:
    assert PowerBudget.of(100).starts_for(1500) == 10_000
    assert PowerBudget.of(20).starts_for(60) == 369
