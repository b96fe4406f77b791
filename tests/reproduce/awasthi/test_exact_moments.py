"""Tensors and errors of known networks against quadrature."""

from itertools import product

import numpy as np
import pytest
from scipy.special import eval_hermitenorm

from tensors import normal_mean
from unweave.activations import RELU
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import reflect, rescale
from unweave.reproduce.awasthi.exact_moments import affine_error, hermite_tensors


@pytest.mark.parametrize("bias", [-4.0, -2.0, 0.0, 2.0, 3.0])
def test_the_affine_error_agrees_with_quadrature(bias: float) -> None:
    slope = 1.0 if bias > 0 else 0.0
    expected = normal_mean(lambda t: (max(t + bias, 0.0) - slope * (t + bias)) ** 2, -bias)
    assert affine_error(np.array([bias]))[0] == pytest.approx(expected, abs=1e-13)


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
