"""Signs and slopes of first-layer neurons, from the gradients of planted networks."""

import numpy as np
import pytest

from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.relu_layers.orientation import Bend, orient
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network


def planted(seed: int, activation: Activation = RELU, *, inputs: int = 7, neurons: int = 5) -> Network:
    rng = np.random.default_rng([seed, 91])
    return deep_network(rng, shape=(inputs, neurons, 8, 2), activation=activation, shift_deviation=0.3)


def bends_of(network: Network, seed: int, *, sightings: int = 3) -> list[Bend]:
    """Exact gradients on both sides of every neuron, at random places where it is seen."""
    rng, layer, bends = np.random.default_rng([seed, 92]), network.layers[0], []
    for neuron, (normal, offset) in enumerate(zip(layer.weights, layer.biases, strict=True)):
        seen = 0
        while seen < sightings:
            point, direction = rng.standard_normal((2, network.inputs))
            point = point - (normal @ point + offset) * normal
            before, after = network.gradients(point + 1e-9 * np.array([[-1.0], [1.0]]) * direction)
            if np.linalg.matrix_rank(after - before, tol=1e-6) == 1:
                bends.append(Bend(neuron, direction, before, after))
                seen += 1
    return bends


def assert_oriented(found: Layer, truth: Layer) -> None:
    np.testing.assert_allclose(found.weights, truth.weights, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.biases, truth.biases, rtol=0.0, atol=1e-12)
    assert found.activation == truth.activation


@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.01), leaky_relu(0.37), leaky_relu(-0.2)])
def test_signs_and_slope_are_found(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation)
    signs = np.random.default_rng([seed, 93]).choice([-1.0, 1.0], 5)
    layer = truth.layers[0]
    found = orient(signs[:, None] * layer.weights, signs * layer.biases, bends_of(truth, seed))
    assert_oriented(found, layer)


def test_the_assertion_can_fail(seed: int) -> None:
    truth, layer = planted(seed), planted(seed).layers[0]
    found = orient(layer.weights, layer.biases, bends_of(truth, seed))
    for other in (
        Layer(-layer.weights, layer.biases, RELU),
        Layer(layer.weights, layer.biases + 1e-9, RELU),
        Layer(layer.weights, layer.biases, leaky_relu(0.01)),
    ):
        with pytest.raises(AssertionError):
            assert_oriented(found, other)


def test_more_neurons_than_inputs_are_refused(seed: int) -> None:
    truth = planted(seed, inputs=4, neurons=5)
    layer = truth.layers[0]
    with pytest.raises(StageFailed, match="5 neurons of the first layer in 4 inputs are linearly dependent"):
        orient(layer.weights, layer.biases, bends_of(truth, seed, sightings=1))


def test_parallel_neurons_are_refused(seed: int) -> None:
    truth, layer = planted(seed), planted(seed).layers[0]
    weights = layer.weights.copy()
    weights[1] = weights[0]
    with pytest.raises(StageFailed, match="linearly dependent"):
        orient(weights, layer.biases, bends_of(truth, seed))


def test_a_neuron_without_a_bend_is_refused(seed: int) -> None:
    truth, layer = planted(seed), planted(seed).layers[0]
    bends = [bend for bend in bends_of(truth, seed) if bend.neuron != 3]
    with pytest.raises(StageFailed, match="not read well enough"):
        orient(layer.weights, layer.biases, bends)


def test_a_missing_neuron_is_noticed(seed: int) -> None:
    truth, layer = planted(seed), planted(seed).layers[0]
    bends = [bend for bend in bends_of(truth, seed) if bend.neuron < 4]
    with pytest.raises(StageFailed, match=r"no layer of relu|bends both ways"):
        orient(layer.weights[:4], layer.biases[:4], bends)
