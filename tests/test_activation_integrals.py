"""Hermite coefficients of activations, and the suprema of their derivatives."""

import itertools

import numpy as np
import pytest
from scipy import special

from known_activations import ALL, BROKEN, KINKED
from unweave.activations import (
    ELU,
    HARD_SIGMOID,
    HARD_TANH,
    QUADRATIC,
    RELU,
    SELU,
    SIGMOID,
    SIN,
    STEP,
    TANH,
    Activation,
    elu,
    hermite_polynomials,
    softplus,
)
from unweave.activations.table import SELU_ALPHA, SELU_SCALE
from unweave.exceptions import InvalidInput

SMOOTH = [activation for activation in ALL if activation.is_smooth]


def test_hermite_polynomials_are_orthonormal() -> None:
    nodes, weights = special.roots_hermitenorm(40)
    polynomials = hermite_polynomials(nodes, 12)
    gram = (polynomials * weights) @ polynomials.T / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(gram, np.eye(13), atol=1e-12)


def hermite_by_quad(activation: Activation, degree: int, *, scale: float, bias: float, order: int) -> float:
    """Adaptive quadrature, split at the kinks (or anywhere, if there are none)."""
    from scipy import integrate

    polynomial = special.hermitenorm(degree)

    def integrand(z: float) -> float:
        value = float(activation(np.array([scale * z + bias]), order)[0])
        return value * polynomial(z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi * special.factorial(degree))

    splits = np.sort([np.clip((kink - bias) / scale, -11.0, 11.0) for kink in activation.breaks(3) or (0.0,)])
    edges = [-12.0, *splits.tolist(), 12.0]
    return sum(
        integrate.quad(integrand, left, right, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for left, right in itertools.pairwise(edges)
    )


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [TANH, SIGMOID, softplus(2.5), SIN, QUADRATIC, *BROKEN], ids=repr)
@pytest.mark.parametrize(
    ("scale", "bias", "order"),
    [
        (1.7, -0.8, 0),
        (-0.6, 0.5, 1),
        pytest.param(1.0, 0.0, 0, marks=pytest.mark.slow),
        pytest.param(-2.0, 1.0, 0, marks=pytest.mark.slow),
        pytest.param(1.2, 0.4, 1, marks=pytest.mark.slow),
    ],
)
def test_hermite_coefficients_agree_with_adaptive_quadrature(
    activation: Activation, scale: float, bias: float, order: int
) -> None:
    coefficients = activation.hermite_coefficients(6, scale=scale, bias=bias, order=order)
    expected = [hermite_by_quad(activation, r, scale=scale, bias=bias, order=order) for r in range(7)]
    np.testing.assert_allclose(coefficients, expected, atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("activation", [TANH, *BROKEN], ids=repr)
def test_hermite_coefficients_of_every_degree_have_their_length(activation: Activation, degree: int) -> None:
    longer = activation.hermite_coefficients(5, scale=1.3, bias=0.2)
    shorter = activation.hermite_coefficients(degree, scale=1.3, bias=0.2)
    np.testing.assert_allclose(shorter, longer[: degree + 1], atol=1e-15)


def test_relu_of_a_constant_has_one_coefficient() -> None:
    np.testing.assert_array_equal(RELU.hermite_coefficients(3, scale=0.0, bias=2.0), [2.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(RELU.hermite_coefficients(2, scale=0.0, bias=-2.0), np.zeros(3))
    np.testing.assert_array_equal(RELU.hermite_coefficients(1, scale=0.0, bias=2.0, order=1), [1.0, 0.0])


def test_hermite_coefficients_of_the_derivative_of_tanh_are_those_of_the_literature() -> None:
    published = [0.60571, 0.0, -0.25710, 0.0, 0.13986, 0.0, -0.08320, 0.0]
    np.testing.assert_allclose(TANH.hermite_coefficients(7, order=1), published, atol=5e-6)


@pytest.mark.parametrize("activation", SMOOTH, ids=repr)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_supremum_agrees_with_a_bounded_search(activation: Activation, order: int) -> None:
    from scipy import optimize

    supremum = activation.supremum(order)
    far = np.max(np.abs(activation(np.array([-1e6, 1e6]), order)))
    if np.isinf(supremum):
        assert far > 1e5
        return
    grid = np.linspace(-16.25, 16.25, 6_501)
    top = grid[np.argmax(np.abs(activation(grid, order)))]
    search = optimize.minimize_scalar(
        lambda t: -abs(float(activation(np.array([t]), order)[0])),
        bounds=(top - 0.005, top + 0.005),
        method="bounded",
        options={"xatol": 1e-9},
    )
    found = max(float(far), -float(search.fun))
    assert supremum == pytest.approx(found, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("activation", KINKED, ids=repr)
def test_suprema_of_kinked_activations(activation: Activation) -> None:
    is_clipped = activation in (HARD_TANH, HARD_SIGMOID)
    assert activation.supremum(0) == (1.0 if is_clipped else np.inf)
    assert activation.supremum(1) == (1.0 / 6.0 if activation == HARD_SIGMOID else 1.0)
    assert activation.supremum(2) == activation.supremum(3) == 0.0


@pytest.mark.parametrize(("activation", "largest"), [(ELU, 1.0), (elu(0.5), 0.5), (SELU, SELU_ALPHA * SELU_SCALE)])
def test_suprema_of_broken_activations_are_those_between_breaks(activation: Activation, largest: float) -> None:
    assert activation.supremum(0) == np.inf
    assert activation.supremum(1) == pytest.approx(max(largest, 1.0), rel=1e-15)
    assert activation.supremum(2) == activation.supremum(3) == pytest.approx(largest, rel=1e-15)


@pytest.mark.parametrize("activation", [each for each in ALL if each.kinks], ids=repr)
def test_a_kink_leaves_no_hermite_coefficients_of_the_second_derivative(activation: Activation) -> None:
    with pytest.raises(InvalidInput, match="up to order 1 only: the next derivative is a measure"):
        activation.hermite_coefficients(4, order=2)


def test_a_jump_of_the_second_derivative_leaves_no_hermite_coefficients_of_the_third() -> None:
    expected = [hermite_by_quad(ELU, r, scale=1.3, bias=0.4, order=2) for r in range(5)]
    np.testing.assert_allclose(ELU.hermite_coefficients(4, scale=1.3, bias=0.4, order=2), expected, atol=1e-11)
    with pytest.raises(InvalidInput, match="up to order 2 only"):
        ELU.hermite_coefficients(4, order=3)


@pytest.mark.parametrize(("scale", "bias"), [(1.0, -0.5), (-1.7, 0.8)])
def test_a_step_has_the_hermite_coefficients_of_the_slope_of_relu(scale: float, bias: float) -> None:
    expected = RELU.hermite_coefficients(6, scale=scale, bias=bias, order=1)
    np.testing.assert_array_equal(STEP.hermite_coefficients(6, scale=scale, bias=bias), expected)
    with pytest.raises(InvalidInput, match="up to order 0 only"):
        STEP.hermite_coefficients(4, order=1)
