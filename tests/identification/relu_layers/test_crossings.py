"""Which kinks lie on full hyperplanes, against planted networks with two hidden layers."""

import numpy as np
import pytest

from plants import planter
from unweave.activations import RELU, Activation, leaky_relu
from unweave.identification.relu_layers.crossings import Accuracy, Plane, continues_everywhere
from unweave.identification.walks.lines import run_searches
from unweave.networks.network import Network
from unweave.networks.planted import deep_network, general_network

EPS = float(np.finfo(float).eps)
EXACT = Accuracy(noise=EPS, rounding=4 * EPS, slope=3.0)
INPUTS = 6


planted = planter(deep_network, 71, shape=(INPUTS, 5, 6, 1), activation=RELU, shift_deviation=0.3)


def first_layer_plane(network: Network, neuron: int, rng: np.random.Generator, error: float = 1e-13) -> Plane:
    """The hyperplane of a first-layer neuron, at a random point of it."""
    layer = network.layers[0]
    length = np.linalg.norm(layer.weights[neuron])
    normal, offset = layer.weights[neuron] / length, layer.biases[neuron] / length
    point = rng.standard_normal(network.inputs)
    return Plane(neuron, point - (normal @ point + offset) * normal, normal, error)


def second_layer_plane(network: Network, neuron: int, rng: np.random.Generator) -> Plane | None:
    """The local hyperplane of a second-layer neuron: Newton steps from a random point, None if they do not settle."""
    first, second, _ = network.layers
    point = rng.standard_normal(network.inputs)
    for _ in range(30):
        arguments = first.preactivations(point[None])[0]
        slopes = first.activation(arguments, 1)
        gradient = second.weights[neuron] @ (slopes[:, None] * first.weights)
        value = second.weights[neuron] @ first.activation(arguments) + second.biases[neuron]
        if not np.any(gradient):
            return None
        point = point - value * gradient / (gradient @ gradient)
        if abs(value) < 1e-14:
            return Plane(neuron, point, gradient / np.linalg.norm(gradient), 1e-13)
    return None


def found(planes: list[Plane], network: Network, seed: int, accuracy: Accuracy = EXACT) -> set[int]:
    rng = np.random.default_rng([seed, 72])
    return set(run_searches([continues_everywhere(plane, accuracy, rng) for plane in planes], network))


@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.1)])
def test_hyperplanes_of_the_first_layer_go_on_everywhere(activation: Activation, seed: int) -> None:
    network, rng = planted(seed, activation=activation), np.random.default_rng([seed, 73])
    planes = [first_layer_plane(network, neuron, rng) for neuron in range(5)]
    assert len(found(planes, network, seed)) >= 4


def test_hyperplanes_of_the_second_layer_do_not(seed: int) -> None:
    network, rng = planted(seed), np.random.default_rng([seed, 74])
    planes = [second_layer_plane(network, neuron, rng) for neuron in range(6) for _ in range(20)]
    planes = [plane for plane in planes if plane is not None]
    assert len(planes) >= 20
    assert found(planes, network, seed) == set()


def test_all_hyperplanes_of_a_shallow_network_go_on(seed: int) -> None:
    rng = np.random.default_rng([seed, 75])
    network = general_network(rng, inputs=INPUTS, neurons=8, outputs=2, activation=RELU)
    planes = [first_layer_plane(network, neuron, rng) for neuron in range(8)]
    assert found(planes, network, seed) == set(range(8))


@pytest.mark.parametrize("tilt", [1e-8, 1e-3])
def test_a_tilted_hyperplane_does_not_go_on(tilt: float, seed: int) -> None:
    network, rng = planted(seed), np.random.default_rng([seed, 76])
    tilted = []
    for neuron in range(5):
        plane = first_layer_plane(network, neuron, rng)
        normal = plane.normal + tilt * rng.standard_normal(INPUTS)
        tilted.append(Plane(neuron, plane.point, normal / np.linalg.norm(normal), plane.error))
    assert found(tilted, network, seed) == set()


def test_a_hyperplane_with_large_errors_is_not_believed(seed: int) -> None:
    network, rng = planted(seed), np.random.default_rng([seed, 77])
    planes = [first_layer_plane(network, neuron, rng, error=1e-3) for neuron in range(5)]
    assert found(planes, network, seed) == set()


def test_a_parallel_hyperplane_nearby_does_not_disturb(seed: int) -> None:
    rng = np.random.default_rng([seed, 78])
    weights = np.repeat(rng.standard_normal((1, INPUTS)), 2, axis=0)
    network = Network.shallow(weights, np.array([0.0, 0.1]), np.array([[1.0, 0.7]]), np.zeros(1), RELU)
    planes = [first_layer_plane(network, neuron, rng) for neuron in range(2)]
    assert found(planes, network, seed) == {0, 1}


def test_little_is_asked_where_nothing_is_seen(seed: int) -> None:
    rng, asked = np.random.default_rng([seed, 79]), []

    def affine(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return points @ np.ones((INPUTS, 1))

    plane = Plane(0, rng.standard_normal(INPUTS), np.eye(INPUTS)[0], 1e-13)
    assert run_searches([continues_everywhere(plane, EXACT, rng)], affine) == []
    assert sum(asked) == 12
    assert sum(asked) < 6 * EXACT.rules.pairs
