"""The step of cubic regularisation against a general minimiser, and what the algorithm reaches."""

import numpy as np
import pytest

from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.search import Ending
from unweave.reproduce.soltanolkotabi.cubic_regularisation import CubicRegularisation, cubic_minimum, dense_hessian
from unweave.reproduce.soltanolkotabi.stochastic_descent import StochasticDescent, largest_curvature


def planted(seed: int, *, inputs: int = 4, samples: int = 9) -> tuple[QuadraticProblem, np.random.Generator]:
    rng = np.random.default_rng(seed)
    points, teacher = rng.standard_normal((samples, inputs)), rng.standard_normal((inputs, inputs)) / 2
    return QuadraticProblem(points, np.sum((points @ teacher.T) ** 2, axis=1), np.ones(inputs + 1)), rng


@pytest.mark.parametrize("values", [[0.5, 1.0, 2.0], [-1.0, 0.5, 2.0], [-2.0, -1.0, -0.5], [0.0, 0.0, 1.0]])
def test_steps_are_global_minima(values: list[float], seed: int) -> None:
    from scipy.optimize import minimize

    rng, given, strength = np.random.default_rng(seed), np.array(values), 0.7
    slopes = rng.standard_normal(3)

    def model(step: np.ndarray) -> float:
        return float(slopes @ step + 0.5 * given @ step**2 + strength / 3 * np.linalg.norm(step) ** 3)

    peers = [minimize(model, 3 * rng.standard_normal(3)).fun for _ in range(10)]
    assert model(cubic_minimum(given, slopes, strength)) == pytest.approx(min(peers), abs=1e-8)


def test_the_hard_case_goes_along_the_lowest_eigenvector() -> None:
    step = cubic_minimum(np.array([-1.0, 2.0]), np.array([0.0, 0.3]), 0.5)
    # (H + s r) u = -g with r = 1 / 0.5 = 2 and u_2 = -0.3 / 3.
    np.testing.assert_allclose([np.linalg.norm(step), step[1]], [2.0, -0.1], rtol=1e-12)
    assert not np.any(cubic_minimum(np.array([0.0, 1.0]), np.zeros(2), 1.0))


def test_hessians_are_those_of_products(seed: int) -> None:
    problem, rng = planted(seed)
    state = problem.at(rng.standard_normal((5, 4)))
    columns = [problem.hessian_product(state, unit.reshape(5, 4)).ravel() for unit in np.eye(20)]
    dense = dense_hessian(problem, state)
    np.testing.assert_allclose(dense, np.array(columns), atol=1e-12)
    largest = np.max(np.abs(np.linalg.eigvalsh(dense)))
    assert largest_curvature(problem, state.weights, rounds=300) == pytest.approx(largest, rel=1e-3)


def test_it_leaves_the_saddle_at_zero_and_reaches_zero_loss(seed: int) -> None:
    problem, rng = planted(seed)
    test = OptimalityTest.of(problem)
    trained = CubicRegularisation(gap_tol=1e-14)(np.zeros((5, 4)), test, rng)
    assert trained.ending is Ending.OPTIMAL
    assert trained.loss < 1e-13
    assert trained.escapes
    assert trained.escapes[0] < 0
    assert all(after <= before for before, after in zip(trained.history, trained.history[1:], strict=False))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_stochastic_descent_reaches_small_loss(noise: float, seed: int) -> None:
    problem, rng = planted(seed, inputs=2, samples=3)
    start, test = rng.standard_normal((3, 2)), OptimalityTest.of(problem)
    trained = StochasticDescent(gap_tol=1e-3, noise=noise)(start, test, rng)
    assert trained.ending is Ending.OPTIMAL
    assert trained.loss <= 1.1e-3
    assert trained.loss < 0.1 * trained.history[0]
    assert StochasticDescent(steps=4, gap_tol=1e-12)(start, test, rng).ending is Ending.OUT_OF_STEPS
