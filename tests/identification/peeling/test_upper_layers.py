"""Networks above a known layer, from Hessians in the coordinates of its values."""

import numpy as np
import pytest

import unweave
from helpers.plants import in_own_units
from plants import planter
from unweave.activations import IDENTITY, SIGMOID, TANH, Activation
from unweave.identification.peeling.output_guesses import OutputGuess
from unweave.identification.peeling.peeled_oracle import PeeledOracle
from unweave.identification.peeling.upper_layers import UpperLayers, UpperStart
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.numerics.subspace_power import SubspacePower


def starts(truth: Network, seed: int, activations: tuple[Activation, ...] = (IDENTITY,)) -> list[UpperStart]:
    """Starts from the exact first layer of the truth, in its own units."""
    inputs, outputs = truth.inputs, truth.outputs
    oracle = in_own_units(truth, inputs=inputs, outputs=outputs)
    first, second = truth.layers[:2]
    frame = np.linalg.qr(second.weights.T)[0] if second.neurons < first.neurons else np.eye(first.neurons)
    guesses = tuple(OutputGuess(activation, np.zeros(outputs), np.ones(outputs)) for activation in activations)
    upper = UpperLayers(PeeledOracle(oracle, first), frame, guesses, 1e-15, SubspacePower())
    return list(upper.starts(np.random.default_rng([seed, 91])))


def upper_part(truth: Network) -> Network:
    """What starts are compared with: the layers above the first, to the arguments of the output layer."""
    *hidden, output = truth.layers[1:]
    return Network((*hidden, Layer(output.weights, output.biases, IDENTITY)))


planted = planter(deep_network, 92)


@pytest.mark.parametrize("shape", [(8, 6, 4, 3), (9, 8, 6, 6), (7, 5, 2, 4)])
def test_one_more_hidden_layer_is_a_shallow_network(shape: tuple[int, ...], seed: int) -> None:
    truth = planted(seed, shape=shape)
    (start,) = starts(truth, seed)
    assert unweave.match(start.network, upper_part(truth)).largest_error < 0.05
    assert all(check.verdict is unweave.result.Verdict.OK for check in start.checks)


@pytest.mark.parametrize("output", [TANH, SIGMOID])
def test_the_right_output_activation_is_the_clearest(output: Activation, seed: int) -> None:
    truth = planted(seed, shape=(8, 6, 4, 3), output_activation=output)
    start = starts(truth, seed, (IDENTITY, output))[0]
    assert start.guess.activation == output
    assert unweave.match(start.network, upper_part(truth)).largest_error < 0.05


def test_two_more_hidden_layers_are_told_apart(seed: int) -> None:
    truth = planted(seed, shape=(12, 10, 8, 6, 6))
    (start,) = starts(truth, seed)
    expected = upper_part(truth)
    assert start.network.widths == expected.widths
    cube = np.random.default_rng(seed).uniform(-0.5, 0.5, (200, 10))
    values = expected(cube)
    assert np.max(np.abs(start.network(cube) - values)) < 0.1 * np.max(np.abs(values - values.mean(axis=0)))


def test_nothing_but_an_affine_map_above(seed: int) -> None:
    truth = planted(seed, shape=(7, 5, 3))
    (start,) = starts(truth, seed)
    assert len(start.network.layers) == 1
    np.testing.assert_allclose(start.network.layers[0].weights, truth.layers[1].weights, atol=1e-8)
    np.testing.assert_allclose(start.network.layers[0].biases, truth.layers[1].biases, atol=1e-8)
