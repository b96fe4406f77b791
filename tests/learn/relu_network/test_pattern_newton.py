"""Gauss-Newton in slopes and constants."""

import numpy as np
import pytest

from unweave import match
from unweave.learn.relu_network.next_neuron import NextNeuron
from unweave.learn.relu_network.pattern_newton import PatternNewton, pattern_system
from unweave.networks.planted import relu_network


def test_products_are_the_gradient_by_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=2)
    points, values = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    products = pattern_system(network, points, values).products
    weights, biases, heights = network.layers[0].weights, network.layers[0].biases, network.layers[1].weights[0]
    flat = np.column_stack([heights[:, None] * weights, heights * biases]).ravel()

    def loss(parameters: np.ndarray) -> float:
        slopes = parameters.reshape(2, 4)
        sides = np.column_stack([points, np.ones(50)]) @ slopes.T * np.sign(heights)
        return 0.5 * float(np.sum((values[:, 0] - np.maximum(sides, 0.0) @ np.sign(heights)) ** 2))

    steps = 1e-6 * np.eye(len(flat))
    differences = [(loss(flat - step) - loss(flat + step)) / 2e-6 for step in steps]
    assert products == pytest.approx(np.array(differences), abs=1e-5)


def test_small_errors_vanish_for_exact_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=5, neurons=3)
    points = rng.standard_normal((2_000, 5))
    hidden, output = truth.layers
    start = type(truth).shallow(
        hidden.weights + 0.01 * rng.standard_normal(hidden.weights.shape),
        hidden.biases + 0.01,
        1.02 * output.weights,
        output.biases,
        hidden.activation,
    )
    refined = PatternNewton()(start, points, truth(points))
    assert match(refined.network, truth).largest_error < 1e-12
    assert refined.history == tuple(sorted(refined.history, reverse=True))


def test_the_offset_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=4, neurons=2)
    points = rng.standard_normal((1_000, 4))
    refined = PatternNewton()(truth, points, truth(points) + 0.1 * rng.standard_normal((1_000, 1)))
    assert refined.network.layers[1].biases[0] == 0.0
    assert refined.has_converged


@pytest.mark.parametrize("bias", [0.0, -1.5])
def test_the_next_neuron_is_near_the_missing_one(seed: int, bias: float) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=4, neurons=3, special_biases=(bias,))
    points = rng.standard_normal((5_000, 4))
    hidden, output = truth.layers
    fewer = type(truth).shallow(
        hidden.weights[1:], hidden.biases[1:], output.weights[:, 1:], output.biases, hidden.activation
    )
    found = NextNeuron()(fewer, points, truth(points) + 0.05 * rng.standard_normal((5_000, 1)), rng)
    # A neuron and its mirror image differ by an affine part.
    assert abs(found.layers[0].weights[-1] @ hidden.weights[0]) > 0.9
