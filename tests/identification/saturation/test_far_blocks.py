"""Neurons alone in their slabs: where they are asked, and what their blocks tell."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.plants import in_own_units
from unweave.activations import ERF, TANH, Activation
from unweave.exceptions import StageFailed
from unweave.identification.saturation.far_blocks import FarBlocks
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.views import StandardOracle


def planted(seed: int, activation: Activation = TANH, outputs: int = 1) -> tuple[Network, StandardOracle]:
    rng = np.random.default_rng([seed, 5])
    truth = general_network(rng, inputs=6, neurons=9, outputs=outputs, activation=activation)
    return truth, in_own_units(truth, inputs=6, outputs=outputs)


def almost(truth: Network, seed: int, size: float = 1e-7) -> Network:
    """The network with all parameters off by a relative error of this size."""
    rng = np.random.default_rng([seed, 6])
    hidden, output = truth.layers
    return Network(
        (
            replace(
                hidden,
                weights=hidden.weights * (1 + size * rng.standard_normal(hidden.weights.shape)),
                biases=hidden.biases + size * rng.standard_normal(len(hidden.biases)),
            ),
            replace(output, weights=output.weights * (1 + size * rng.standard_normal(output.weights.shape))),
        )
    )


def sideways(found: Network, truth: Network) -> float:
    """The largest error of a direction."""
    one, other = (
        network.layers[0].weights / np.linalg.norm(network.layers[0].weights, axis=1, keepdims=True)
        for network in (found, truth)
    )
    return float(np.max(np.linalg.norm(one - other, axis=1)))


def test_all_other_neurons_are_in_their_tails(seed: int) -> None:
    truth, oracle = planted(seed)
    settings, rng = FarBlocks(), np.random.default_rng(seed)
    blocks = settings(oracle, truth, rng)
    hidden = truth.layers[0]
    for neuron, points in enumerate(blocks.points):
        arguments = np.abs(hidden.preactivations(points))
        np.testing.assert_allclose(hidden.preactivations(points)[:6, neuron], settings.profile, atol=1e-9)
        assert np.min(np.delete(arguments, neuron, axis=1)) > settings.separation
    assert oracle.oracle.ledger.sent == blocks.points.shape[0] * blocks.points.shape[1]


@pytest.mark.parametrize("activation", [TANH, ERF], ids=repr)
@pytest.mark.parametrize("outputs", [1, 3])
def test_directions_are_solved_to_rounding(activation: Activation, outputs: int, seed: int) -> None:
    truth, oracle = planted(seed, activation, outputs)
    start = almost(truth, seed)
    found = FarBlocks()(oracle, start, np.random.default_rng(seed)).settled(start)
    assert sideways(start, truth) > 1e-8
    assert sideways(found, truth) < 1e-14


def test_derivatives_are_those_of_the_differences(seed: int) -> None:
    truth, oracle = planted(seed)
    blocks, step = FarBlocks()(oracle, truth, np.random.default_rng(seed)), 1e-6
    hidden, output = truth.layers
    columns, before = blocks.columns(hidden), blocks.residuals(truth)
    longer = replace(truth, layers=(replace(hidden, weights=hidden.weights * (1 + step)), output))
    shifted = replace(truth, layers=(replace(hidden, biases=hidden.biases + step), output))
    pulled = replace(truth, layers=(hidden, replace(output, weights=output.weights * (1 + step))))
    for column, moved in ((0, longer), (-2, shifted), (-1, pulled)):
        change = (before - blocks.residuals(moved))[:, :, 0] / (step * output.weights.T)
        np.testing.assert_allclose(change, columns[:, :, column], atol=2e-3)


def test_a_neuron_that_is_nowhere_alone_is_said(seed: int) -> None:
    truth, oracle = planted(seed)
    hidden, output = truth.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    weights[1], biases[1] = weights[0], biases[0] + 1.0
    twins = Network((replace(hidden, weights=weights, biases=biases), output))
    with pytest.raises(StageFailed, match="2 of 9 neurons are never alone"):
        FarBlocks(rounds=30)(oracle, twins, np.random.default_rng(seed))
