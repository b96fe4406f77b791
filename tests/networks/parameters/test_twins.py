"""Which neurons look like one."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import RELU, TANH
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector, twin_distance
from unweave.networks.planted import general_network


@pytest.mark.parametrize("limit", [1e-14, 1e-10])
def test_twins_farther_apart_than_said_change_values_by_the_limit(limit: float) -> None:
    rng = np.random.default_rng(5)
    network = general_network(rng, inputs=4, neurons=6, activation=TANH)
    points = rng.standard_normal((500, 4))
    distance = twin_distance(network, points, limit)
    hidden, output = network.layers
    changes = []
    for neuron in range(6):
        for axis in range(5):
            halves = []
            for side in (-0.5, 0.5):
                moved = np.column_stack([hidden.weights, hidden.biases])
                moved[neuron, axis] += side * distance * ParameterVector(network).neuron_sizes[neuron]
                layer = replace(hidden, weights=moved[:, :-1], biases=moved[:, -1])
                halves.append(Network((layer, output))(points))
            changes.append(float(np.sqrt(np.mean((0.5 * (halves[0] + halves[1]) - network(points)) ** 2))))
    # Along inputs and bias they reach the limit, up to rounding of the differences; along the neuron they may just do.
    assert 0.8 * limit - 3e-16 < min(changes) < 10.0 * limit


def test_steep_twins_that_differ_in_length_are_farther_apart(seed: int) -> None:
    """In the slab of a steep neuron its argument is small: more of its length is left open than of its place."""
    network = general_network(np.random.default_rng(seed), inputs=3, neurons=4, activation=TANH)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (4_000, 3))
    hidden, output = network.layers
    steep = replace(hidden, weights=15.0 * hidden.weights, biases=np.zeros(4))
    network, limit = Network((steep, output)), 1e-12
    distance = twin_distance(network, points, limit)
    left = []
    for neuron in range(4):
        halves = [
            Network((replace(steep, weights=steep.weights * factors[:, None], biases=steep.biases * factors), output))
            for factors in (1.0 + side * 0.5 * distance * (np.arange(4) == neuron) for side in (-1.0, 1.0))
        ]
        change = 0.5 * (halves[0](points) + halves[1](points)) - network(points)
        arguments = steep.preactivations(points)[:, neuron]
        slopes = 1.0 - np.tanh(arguments) ** 2
        columns = np.column_stack([np.tanh(arguments), slopes, slopes * arguments, np.ones(len(points))])
        rest = change - columns @ np.linalg.lstsq(columns, change, rcond=None)[0]
        left.append(float(np.sqrt(np.mean(rest**2))))
    assert min(left) == pytest.approx(limit, rel=0.05)


def test_only_smooth_networks_of_one_layer_have_twins() -> None:
    network = general_network(np.random.default_rng(5), inputs=4, neurons=6, activation=RELU)
    assert twin_distance(network, np.zeros((3, 4)), 1e-14) == 0.0
