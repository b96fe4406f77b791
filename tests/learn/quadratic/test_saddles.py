import numpy as np
import pytest
import scipy.linalg

from squares import both_signs, random_labels, rank_deficient_saddle
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.saddles import BlockEscape, LanczosEscape, dependent_rows, smallest_eigenpair


def dense_hessian(problem: QuadraticProblem, state: State) -> np.ndarray:
    shape = state.weights.shape
    units = np.eye(state.weights.size)
    return np.array([problem.hessian_product(state, unit.reshape(shape)).ravel() for unit in units])


@pytest.mark.parametrize("inputs", [3, 7])
def test_lanczos_finds_the_smallest_eigenvalue(inputs: int, seed: int) -> None:
    problem = random_labels(seed, samples=4 * inputs, inputs=inputs)
    rng = np.random.default_rng(seed)
    state = problem.at(0.3 * rng.standard_normal((2 * inputs, inputs)))
    hessian = dense_hessian(problem, state)
    assert np.allclose(hessian, hessian.T, atol=1e-12)
    value, vector = smallest_eigenpair(problem, state, rng)
    assert value == pytest.approx(scipy.linalg.eigvalsh(hessian)[0], rel=1e-7)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


def test_closed_form_and_lanczos_agree_at_a_rank_deficient_saddle(seed: int) -> None:
    problem = random_labels(seed, samples=133, inputs=20)
    state = problem.at(rank_deficient_saddle(problem, seed))
    assert np.linalg.norm(state.gradient) < 1e-6
    assert state.loss > 0.1
    rng = np.random.default_rng(seed)
    closed = -2.0 * np.max(np.abs(scipy.linalg.eigvalsh(state.residual_matrix)))
    found = LanczosEscape()(problem, state, rng)
    assert found is not None
    assert found.curvature == pytest.approx(closed, rel=1e-5)
    block, single = BlockEscape()(problem, state, rng), BlockEscape(pairs=1)(problem, state, rng)
    assert block is not None
    assert single is not None
    assert closed * (1 + 1e-9) <= single.curvature < 0
    assert closed * (1 + 1e-9) <= block.curvature < 0


def test_a_block_escape_is_a_gradient_step_in_the_matrix(seed: int) -> None:
    output_weights = both_signs(5) * np.random.default_rng(seed).uniform(0.2, 3.0, 10)
    problem = random_labels(seed, samples=12, inputs=5, output_weights=output_weights)
    state = problem.at(np.zeros((10, 5)))
    found = BlockEscape()(problem, state, np.random.default_rng(seed))
    assert found is not None
    change = problem.matrix_of(found.direction)
    ratio = np.sum(change * state.residual_matrix) / np.sum(state.residual_matrix**2)
    assert ratio < 0
    assert np.allclose(change, ratio * state.residual_matrix, atol=1e-12)
    assert problem.moved(state, found.direction).loss < state.loss


def test_dependent_rows_are_orthonormal_in_the_output_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, output_weights = rng.standard_normal((7, 4)), rng.uniform(0.5, 2.0, 7)
    null = dependent_rows(output_weights, weights, tol=BlockEscape.dependence_tol)
    assert null.shape == (7, 3)
    assert np.allclose((weights.T * output_weights) @ null, 0.0, atol=1e-12)
    assert np.allclose((null.T * output_weights) @ null, np.eye(3), atol=1e-12)


def test_there_is_no_escape_from_a_global_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((8, 4))
    points = rng.standard_normal((9, 4))
    planted = QuadraticProblem(points, np.zeros(9), both_signs(4))
    problem = QuadraticProblem(points, planted.form_values(planted.matrix_of(weights)), both_signs(4))
    assert BlockEscape(fallback=LanczosEscape())(problem, problem.at(weights), rng) is None


def test_lanczos_helps_where_no_rows_are_dependent(seed: int) -> None:
    problem = random_labels(seed, samples=30, inputs=4, output_weights=np.array([1.0, -1.0]))
    rng = np.random.default_rng(seed)
    state = problem.at(1e-2 * rng.standard_normal((2, 4)))
    value, _ = smallest_eigenpair(problem, state, rng)
    found = BlockEscape(fallback=LanczosEscape())(problem, state, rng)
    assert value < 0
    assert found is not None
    assert found.curvature < 0
