from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_hermitenorm, factorial

from unweave.activations import RELU, TANH
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.hermite_units import (
    affine_error,
    hermite_tensors,
    normal_density,
    relu_coefficient,
    relu_energy,
    unit_parameters,
)
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import reflect, rescale

BIASES = np.array([-4.0, -2.5, -np.sqrt(3), -1.0, -0.3, 0.0, 0.3, 1.0, 2.5])


def expectation(function, kink: float) -> float:
    """Mean over a standard normal variable, by quadrature on both sides of a kink."""
    weighted = lambda t: function(t) * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)  # noqa: E731
    return sum(quad(weighted, *ends, epsabs=1e-13, limit=200)[0] for ends in ((-15.0, kink), (kink, 15.0)))


@pytest.mark.parametrize("order", range(9))
def test_coefficients_agree_with_quadrature(order: int) -> None:
    expected = [expectation(lambda t, b=b: max(t + b, 0.0) * eval_hermitenorm(order, t), -b) for b in BIASES]
    np.testing.assert_allclose(relu_coefficient(order, BIASES), expected, atol=1e-10)


@pytest.mark.parametrize("order", range(8))
def test_each_coefficient_is_the_derivative_of_the_one_before(order: int) -> None:
    difference = (relu_coefficient(order, BIASES + 1e-5) - relu_coefficient(order, BIASES - 1e-5)) / 2e-5
    np.testing.assert_allclose(relu_coefficient(order + 1, BIASES), difference, atol=1e-7)


def test_coefficients_agree_with_the_activation() -> None:
    # The activation has orthonormal polynomials.
    expected = [RELU.hermite_coefficients(7, bias=float(b)) * np.sqrt(factorial(np.arange(8))) for b in BIASES]
    found = [relu_coefficient(order, BIASES) for order in range(8)]
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)


@pytest.mark.parametrize(("order", "bias"), [(3, 0.0), (4, 1.0), (4, -1.0), (5, 0.0), (5, np.sqrt(3))])
def test_blind_spots_are_seen_by_the_next_order(order: int, bias: float) -> None:
    assert abs(relu_coefficient(order, np.array([bias]))[0]) < 1e-15
    assert abs(relu_coefficient(order + 1, np.array([bias]))[0]) > 0.1


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_consecutive_polynomials_are_apart_but_less_than_the_document_says(order: int) -> None:
    t = np.linspace(-6.0, 6.0, 60_001)
    smaller = np.min(np.maximum(np.abs(eval_hermitenorm(order, t)), np.abs(eval_hermitenorm(order + 1, t))))
    assert 0.6 < smaller < np.sqrt(factorial(order) / 2)


@pytest.mark.parametrize("bias", [0.0, 0.5, -1.0, 2.0])
def test_squares_of_the_coefficients_add_up_to_the_energy(bias: float) -> None:
    energy = relu_energy(np.array([bias]))[0]
    assert energy == pytest.approx(np.sum(RELU.hermite_coefficients(119, bias=bias) ** 2), abs=2e-4)
    assert energy == pytest.approx(expectation(lambda t: max(t + bias, 0.0) ** 2, -bias), abs=1e-12)


@pytest.mark.parametrize("bias", [-4.0, -2.0, 0.0, 2.0, 3.0])
def test_the_affine_error_agrees_with_quadrature(bias: float) -> None:
    slope = 1.0 if bias > 0 else 0.0
    expected = expectation(lambda t: (max(t + bias, 0.0) - slope * (t + bias)) ** 2, -bias)
    assert affine_error(np.array([bias]))[0] == pytest.approx(expected, abs=1e-13)


def test_the_density_is_that_of_the_normal_law() -> None:
    assert normal_density(np.zeros(1))[0] == pytest.approx(1 / np.sqrt(2 * np.pi))


def hermite_tensor_at(point: np.ndarray, order: int) -> np.ndarray:
    """``He_k(x)`` entry by entry: a product of polynomials of how often each input appears."""
    tensor = np.empty((len(point),) * order)
    for index in product(range(len(point)), repeat=order):
        counts = [index.count(i) for i in range(len(point))]
        tensor[index] = np.prod([eval_hermitenorm(n, t) for n, t in zip(counts, point, strict=True)])
    return tensor


@pytest.mark.parametrize("order", range(5))
def test_tensors_are_means_over_gaussian_inputs(order: int, seed: int) -> None:
    # Weights of any length, an offset and a slope; a fine grid is exact enough in two dimensions.
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=2, neurons=3, activation=RELU)
    network = Network(network.layers, skip=rng.normal(size=(1, 2)))
    axis = np.linspace(-8.0, 8.0, 321)
    grid = np.array(list(product(axis, axis)))
    weights = np.exp(-0.5 * np.sum(grid**2, axis=1)) / (2 * np.pi) * (axis[1] - axis[0]) ** 2
    polynomials = np.ones((len(grid), *(2,) * order))
    for index in product(range(2), repeat=order):
        counts = [index.count(i) for i in range(2)]
        polynomials[(slice(None), *index)] = np.prod(
            [eval_hermitenorm(n, grid[:, i]) for i, n in enumerate(counts)], axis=0
        )
    expected = np.tensordot(weights * network(grid)[:, 0], polynomials, axes=1)
    tensor = hermite_tensors(network, highest=4)[order]
    assert tensor.shape == (2,) * order
    np.testing.assert_allclose(tensor, expected, atol=5e-3)
    np.testing.assert_allclose(polynomials[7], hermite_tensor_at(grid[7], order))


def test_scales_of_neurons_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=4)
    scaled = rescale(network, 0, rng.uniform(0.1, 5.0, 4))
    for tensor, other in zip(hermite_tensors(network, highest=4), hermite_tensors(scaled, highest=4), strict=True):
        np.testing.assert_allclose(tensor, other, atol=1e-13)
    for array, other in zip(unit_parameters(network), unit_parameters(scaled), strict=True):
        np.testing.assert_allclose(array, other, atol=1e-13)


def test_flips_change_no_tensor_but_by_the_affine_part_that_makes_up_for_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=4)
    flipped = reflect(network, 0, np.array([True, False, True, True]))
    for tensor, other in zip(hermite_tensors(network, highest=5), hermite_tensors(flipped, highest=5), strict=True):
        np.testing.assert_allclose(tensor, other, atol=1e-13)


def test_other_networks_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.raises(InvalidInput, match="relu network with one output"):
        hermite_tensors(general_network(rng, inputs=2, neurons=2, activation=TANH), highest=2)
    with pytest.raises(InvalidInput, match="one output"):
        unit_parameters(general_network(rng, inputs=2, neurons=2, outputs=2, activation=RELU))
    with pytest.raises(InvalidInput, match="zero weights"):
        unit_parameters(Network.shallow(np.zeros((1, 2)), np.ones(1), np.ones((1, 1)), np.zeros(1), RELU))
