"""Which neurons look like one."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import RELU, SILU, TANH
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector, twin_distance
from unweave.networks.planted import general_network


def left_of_twins(network: Network, points: np.ndarray, distance: float) -> float:
    """The smallest change of values by two halves of a neuron, beyond what all parameters together make up for."""
    hidden, output = network.layers
    values, rows = network(points), np.column_stack([hidden.weights, hidden.biases])
    lifted = np.column_stack([points, np.ones(len(points))])
    slopes = hidden.activation(hidden.preactivations(points), 1)
    tangents = [hidden.activation(hidden.preactivations(points)), np.ones((len(points), 1))]
    tangents += [slopes[:, [k]] * lifted for k in range(hidden.neurons)]
    columns = np.column_stack(tangents)
    columns /= np.linalg.norm(columns, axis=0)
    left = []
    for neuron, size in enumerate(ParameterVector(network).neuron_sizes):
        for step in [*(size * np.eye(rows.shape[1])), rows[neuron]]:
            halves = []
            for side in (-0.5, 0.5):
                moved = rows.copy()
                moved[neuron] += side * distance * step
                halves.append(Network((replace(hidden, weights=moved[:, :-1], biases=moved[:, -1]), output))(points))
            change = np.sum(halves, axis=0)[:, 0] / 2 - values[:, 0]
            rest = change - columns @ np.linalg.lstsq(columns, change, rcond=1e-13)[0]
            left.append(float(np.sqrt(np.sum(rest**2) / (len(points) - columns.shape[1]))))
    return min(left)


@pytest.mark.parametrize("limit", [1e-12, 1e-10])
def test_twins_farther_apart_than_said_change_values_by_the_limit(limit: float, seed: int) -> None:
    network = general_network(np.random.default_rng(seed), inputs=4, neurons=6, activation=TANH)
    points = np.random.default_rng(1).standard_normal((500, 4))
    # Halves of the points are other halves: what is left of a change differs a little between them.
    assert left_of_twins(network, points, twin_distance(network, points, limit)) == pytest.approx(4.0 * limit, rel=0.4)


def test_steep_twins_that_differ_in_length_are_farther_apart(seed: int) -> None:
    """In the slab of a steep neuron its argument is small: more of its length is left open than of its place."""
    network = general_network(np.random.default_rng(seed), inputs=3, neurons=4, activation=TANH)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (4_000, 3))
    hidden, output = network.layers
    steep = replace(hidden, weights=15.0 * hidden.weights, biases=np.zeros(4))
    network = Network((steep, output))
    left = left_of_twins(network, points, twin_distance(network, points, 1e-12))
    # A hundredth of the points meets the slab more or less often.
    assert 1e-12 < left < 1e-11


def test_nearly_linear_twins_may_be_far_apart() -> None:
    """Two neurons 0.075 of their weights apart looked like one, and "two nearer than 1e-04" was said."""
    direction = np.array([-0.56, 0.83]) / np.hypot(0.56, 0.83)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (100, 2))
    one = Network.shallow(0.04 * direction[None], np.array([-0.14]), np.array([[50.0]]), np.array([0.3]), SILU)
    distance = twin_distance(one, points, 1e-14)
    assert 0.075 < distance < 1.0
    assert left_of_twins(one, points, distance) < 1e-13


@pytest.mark.parametrize(("inputs", "neurons"), [(30, 40), (3, 200)])
def test_many_neurons_are_looked_at_one_by_one(inputs: int, neurons: int) -> None:
    network = general_network(np.random.default_rng(3), inputs=inputs, neurons=neurons, activation=TANH)
    points = np.random.default_rng(1).standard_normal((2_000, inputs))
    assert 1e-7 < twin_distance(network, points, 1e-14) < 1e-3


def test_only_smooth_networks_of_one_layer_have_twins() -> None:
    network = general_network(np.random.default_rng(5), inputs=4, neurons=6, activation=RELU)
    assert twin_distance(network, np.zeros((3, 4)), 1e-14) == 0.0
