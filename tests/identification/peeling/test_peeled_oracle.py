"""The layers above a known one are asked where the known one takes the wanted values."""

import numpy as np
import pytest

from helpers.plants import in_own_units
from unweave.activations import IDENTITY, RELU, SIGMOID, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.peeled_oracle import PeeledOracle
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.oracles.views import Queryable, StandardOracle

RANGES = {TANH: (-0.95, 0.95), SIGMOID: (0.05, 0.95), IDENTITY: (-3.0, 3.0)}


def planted_peeled(seed: int, activation: Activation, *, inputs: int = 6) -> tuple[Network, StandardOracle]:
    truth = deep_network(np.random.default_rng([seed, 21]), shape=(inputs, 5, 4, 3), activation=activation)
    return truth, in_own_units(truth, inputs=inputs, outputs=3)


@pytest.mark.parametrize("activation", RANGES, ids=repr)
@pytest.mark.parametrize("inputs", [5, 9])
def test_answers_are_those_of_the_layers_above(activation: Activation, inputs: int, seed: int) -> None:
    truth, oracle = planted_peeled(seed, activation, inputs=inputs)
    peeled = PeeledOracle(oracle, truth.layers[0])
    assert isinstance(peeled, Queryable)
    assert (peeled.inputs, peeled.outputs) == (5, 3)
    values = np.random.default_rng(seed).uniform(*RANGES[activation], (40, 5))
    np.testing.assert_allclose(peeled.query(values), Network(truth.layers[1:])(values), atol=1e-11)
    assert oracle.oracle.ledger.sent == 40


def test_preimages_give_the_values_and_are_the_smallest(seed: int) -> None:
    truth, oracle = planted_peeled(seed, TANH, inputs=8)
    layer = truth.layers[0]
    values = np.random.default_rng(seed).uniform(-0.9, 0.9, (10, 5))
    places = PeeledOracle(oracle, layer).preimages(values)
    np.testing.assert_allclose(np.tanh(layer.preactivations(places)), values, atol=1e-12)
    # The smallest solution has nothing in the null space of the weights.
    outside = np.linalg.svd(layer.weights)[2][layer.neurons :]
    np.testing.assert_allclose(places @ outside.T, 0.0, atol=1e-12)


def test_a_column_of_the_lift_moves_one_argument(seed: int) -> None:
    truth, oracle = planted_peeled(seed, TANH, inputs=8)
    layer = truth.layers[0]
    np.testing.assert_allclose(layer.weights @ PeeledOracle(oracle, layer).lift, np.eye(5), atol=1e-12)


def test_layers_that_cannot_be_undone_are_refused(seed: int) -> None:
    _, oracle = planted_peeled(seed, TANH)
    with pytest.raises(InvalidInput, match="7 neurons and 6 inputs"):
        PeeledOracle(oracle, Layer(np.ones((7, 6)), np.zeros(7), TANH))
    with pytest.raises(InvalidInput, match="relu can't be undone"):
        PeeledOracle(oracle, Layer(np.eye(6), np.zeros(6), RELU))
