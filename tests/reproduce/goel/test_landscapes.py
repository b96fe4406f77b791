from math import factorial, sqrt

import numpy as np
import pytest

from halfspace_samples import largest_angle, planted_rows
from relu_samples import power
from unweave.activations import RELU, STEP
from unweave.learn.lowest_layer.units import unit_coefficients
from unweave.reproduce.goel.landscapes import Landscape, pair_polynomial


def planted_landscape(
    rng: np.random.Generator, threshold: float, **settings: float
) -> tuple[np.ndarray, np.ndarray, Landscape]:
    """Exact moments of a linear upper function."""
    rows, weights = planted_rows(rng, 4, 4, mixing=0.3), rng.uniform(0.5, 2.0, 4)
    coefficients = unit_coefficients(STEP, threshold, 4)
    second, fourth = (
        sqrt(factorial(k)) * coefficients[k] * sum(c * power(row, k) for c, row in zip(weights, rows, strict=True))
        for k in (2, 4)
    )
    return rows, weights, Landscape(second, fourth, float(coefficients[2]), float(coefficients[4]), **settings)


def test_gradients_agree_with_differences(seed: int) -> None:
    from scipy.optimize import approx_fprime

    rng = np.random.default_rng(seed)
    _, _, landscape = planted_landscape(rng, 2.5)
    z, columns = rng.standard_normal(4), rng.standard_normal((3, 4))
    numeric = approx_fprime(z, lambda v: landscape.one_by_one(v)[0], 1e-7)
    np.testing.assert_allclose(landscape.one_by_one(z)[1], numeric, rtol=1e-4, atol=1e-3)
    numeric = approx_fprime(columns.ravel(), lambda v: landscape.simultaneous(v.reshape(3, 4))[0], 1e-7)
    np.testing.assert_allclose(landscape.simultaneous(columns)[1].ravel(), numeric, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("threshold", [1.2, 2.5])
def test_both_objectives_have_the_rows_as_minima_for_either_sign_of_order_four(threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, _, landscape = planted_landscape(rng, threshold)
    assert largest_angle(rows, landscape.rows_one_by_one(rng, rank=4, restarts=80), is_signed=False) < 0.01
    assert largest_angle(rows, landscape.rows_at_once(rng, rank=4), is_signed=False) < 0.05


def test_a_minimum_is_inflated_by_the_penalty_as_predicted(seed: int) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    rows, weights, landscape = planted_landscape(rng, 2.5, penalty=3.0)
    z = minimize(landscape.one_by_one, 0.5 * rng.standard_normal(4), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    projections = weights * (rows @ z) ** 2
    unit = int(np.argmax(projections))
    factor = abs(landscape.coefficient_4) / (weights[unit] * landscape.multiplier * landscape.coefficient_2**2)
    assert projections[unit] == pytest.approx(1 / (1 - factor), rel=1e-6)


def tensor_quadrature() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    points = np.array([[a, b] for a in nodes for b in nodes])
    return points, np.array([a * b for a in weights for b in weights]) / (2 * np.pi)


def test_the_corrected_pair_polynomial_has_its_mean_and_the_printed_one_has_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = tensor_quadrature()
    a, v, w = rng.standard_normal((3, 2))
    a /= np.linalg.norm(a)
    # A polynomial of degree 4 along a has known coefficients, and quadrature is exact for it.
    argument = points @ a
    unit = argument**4 - 6 * argument**2 + 3 + 0.7 * (argument**2 - 1) + 0.2
    expected = sqrt(6) * sqrt(24) * (a @ v) ** 2 * (a @ w) ** 2
    assert weights @ (unit * pair_polynomial(points, v, w)) == pytest.approx(expected, rel=1e-10)
    one, other, overlap = points @ v, points @ w, v @ w
    printed = (one**2 - v @ v) * (other**2 - w @ w) / 2 + 2 * overlap**2 + 4 * one * other * overlap
    assert weights @ (unit * printed) != pytest.approx(expected, rel=1e-2)


def test_relu_has_another_zero_of_order_four() -> None:
    assert unit_coefficients(STEP, 1.5, 4)[4] < 0 < unit_coefficients(RELU, 1.5, 4)[4]
