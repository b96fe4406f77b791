"""Bounds of what weights that turn do to unknowns of a linear system: never exceeded, and reached."""

import numpy as np
import pytest

from unweave.activations import TANH
from unweave.identification.saturation.block_claim import _Turns
from unweave.networks.network import Network
from unweave.networks.planted import general_network


def turned(network: Network, points: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """How far values move, to first order, when weights change by `turns`; outputs one after the other."""
    hidden, output = network.layers
    slopes = hidden.activation(hidden.preactivations(points), 1)
    return ((slopes * (points @ turns.T)) @ output.weights.T).T.ravel()


def planted(seed: int, outputs: int) -> tuple[Network, np.ndarray, np.ndarray, np.ndarray]:
    """A network, points, rows of an inverse and how far weights may turn."""
    rng = np.random.default_rng([seed, 181])
    network = general_network(rng, inputs=5, neurons=6, outputs=outputs, activation=TANH)
    return network, rng.standard_normal((30, 5)), rng.standard_normal((4, 30 * outputs)), rng.uniform(0.1, 1.0, 6)


def bounds_of(network: Network, points: np.ndarray, rows: np.ndarray, sideways: np.ndarray) -> np.ndarray:
    hidden = network.layers[0]
    return _Turns(network, points, hidden.activation(hidden.preactivations(points), 1), sideways).moved(rows)


@pytest.mark.parametrize("outputs", [1, 3])
def test_no_turn_exceeds_the_bound(outputs: int, seed: int) -> None:
    network, points, rows, sideways = planted(seed, outputs)
    bounds, rng = bounds_of(network, points, rows, sideways), np.random.default_rng([seed, 182])
    directions = network.layers[0].weights / np.linalg.norm(network.layers[0].weights, axis=1, keepdims=True)
    for _ in range(50):
        turns = rng.standard_normal(directions.shape)
        turns -= np.sum(turns * directions, axis=1, keepdims=True) * directions
        turns *= (sideways / np.linalg.norm(turns, axis=1))[:, None]
        assert np.all(np.abs(rows @ turned(network, points, turns)) <= bounds)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_worst_turn_reaches_it(outputs: int, seed: int) -> None:
    network, points, rows, sideways = planted(seed, outputs)
    bounds = bounds_of(network, points, rows, sideways)
    directions = network.layers[0].weights / np.linalg.norm(network.layers[0].weights, axis=1, keepdims=True)
    for row, bound in zip(rows, bounds, strict=True):
        effects = np.zeros(directions.shape)
        for neuron, axis in np.ndindex(*directions.shape):
            unit = np.zeros(directions.shape)
            unit[neuron, axis] = 1.0
            effects[neuron, axis] = row @ turned(network, points, unit)
        effects -= np.sum(effects * directions, axis=1, keepdims=True) * directions
        worst = sideways[:, None] * effects / np.linalg.norm(effects, axis=1, keepdims=True)
        assert row @ turned(network, points, worst) == pytest.approx(bound, rel=1e-6)
