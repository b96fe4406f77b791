"""Bounds of smallest singular values, compared with all singular values."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import svdvals

from unweave.activations import LEAKY_RELU, RELU, TANH, Activation
from unweave.certificates.large_jacobians import estimated_singular, proven_singular
from unweave.networks.network import Network
from unweave.networks.parameters import shallow_jacobian
from unweave.networks.planted import general_network


def triangle_of(sizes: np.ndarray, seed: int) -> np.ndarray:
    """A triangle with these singular values."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((len(sizes), len(sizes))))[0] for _ in range(2))
    return np.linalg.qr(left * sizes @ right, mode="r")


@pytest.mark.parametrize(
    "sizes",
    [
        np.geomspace(1e3, 1e-1, 60),
        np.geomspace(1.0, 1e-7, 60),
        np.concatenate([np.ones(50), np.full(10, 1e-4)]),
        np.concatenate([np.ones(58), [1.001e-3, 1e-3]]),
        np.ones(60),
        1e150 * np.geomspace(1.0, 1e-3, 60),
        1e-100 * np.geomspace(1.0, 1e-3, 60),
    ],
    ids=["wide", "ill-conditioned", "many small", "two close", "orthogonal", "huge", "tiny"],
)
def test_a_proven_bound_is_below_and_close(sizes: np.ndarray, seed: int) -> None:
    triangle = triangle_of(sizes, seed)
    smallest = float(svdvals(triangle)[-1])
    assert 0.9 * smallest < proven_singular(triangle) <= smallest


@pytest.mark.parametrize("smallest", [0.0, 1e-300])
def test_nothing_is_proven_of_a_singular_triangle(smallest: float, seed: int) -> None:
    triangle = triangle_of(np.linspace(1.0, 2.0, 20), seed)
    triangle[7, 7] = smallest
    assert proven_singular(triangle) <= max(float(svdvals(triangle)[-1]), 1e-290)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU, TANH], ids=repr)
@pytest.mark.parametrize("angle", [1e-1, 1e-3])
@pytest.mark.parametrize("alike", [(2, 7), (2, 7, 5)])
def test_neurons_that_are_nearly_the_same_do_not_hide_from_the_estimate(
    activation: Activation, angle: float, alike: tuple[int, ...], seed: int
) -> None:
    """Campaign, many kinks, seed 6001: a parameter was off by 4.7e-10, and 5.7e-12 was claimed."""
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=12, neurons=10, outputs=2, activation=activation)
    hidden, output = network.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    for other in alike[1:]:
        weights[other] = weights[2] + angle * rng.standard_normal(12) / np.sqrt(12)
        biases[other] = biases[2] + angle * rng.standard_normal()
    network = Network((replace(hidden, weights=weights, biases=biases), output))
    points, scales = rng.standard_normal((900, 12)), np.ones(network.parameters)
    exact = float(svdvals(shallow_jacobian(network, points))[-1])
    assert 0.3 * exact < estimated_singular(network, points, scales) <= exact + 1e-14
