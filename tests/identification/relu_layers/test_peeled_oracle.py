"""The layers above a first layer of relu or leaky relu answer to its values."""

import numpy as np
import pytest

from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import BudgetExhausted, InvalidInput
from unweave.identification.relu_layers.peeled_oracle import PeeledReluOracle
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import Box, CallableOracle, Everywhere
from unweave.oracles.views import StandardOracle


def planted_relu(
    seed: int, activation: Activation = RELU, budget: int | None = None
) -> tuple[Network, Layer, StandardOracle]:
    """A network, its first layer in standard coordinates, and its oracle."""
    rng = np.random.default_rng([seed, 111])
    network = deep_network(rng, shape=(6, 4, 5, 2), activation=activation, shift_deviation=0.3)
    center, half_width = rng.standard_normal(6), rng.uniform(0.5, 2.0, 6)
    first = network.layers[0]
    standard = Layer(first.weights * half_width, first.biases + first.weights @ center, activation)
    oracle = CallableOracle(network, inputs=6, outputs=2, budget=budget)
    return network, standard, StandardOracle(oracle, center, half_width, np.zeros(2), np.ones(2))


@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.1), leaky_relu(-0.3)])
def test_the_answers_are_those_of_the_upper_layers(activation: Activation, seed: int) -> None:
    network, first, oracle = planted_relu(seed, activation)
    peeled = PeeledReluOracle(oracle, first, size=10.0)
    values = np.random.default_rng([seed, 112]).uniform(0.0, 10.0, (50, 4))
    if activation == leaky_relu(0.1):
        values -= 5.0
    np.testing.assert_allclose(peeled.query(values), Network(network.layers[1:])(values), atol=1e-11)
    np.testing.assert_allclose(first.activation(first.preactivations(peeled.origins(values))), values, atol=1e-11)


def test_relu_values_are_positive(seed: int) -> None:
    _, first, oracle = planted_relu(seed)
    peeled = PeeledReluOracle(oracle, first, size=10.0)
    assert peeled.domain == Box(0.0, 10.0)
    with pytest.raises(InvalidInput, match="outside the domain"):
        peeled.query(np.array([[1.0, 1.0, -0.1, 1.0]]))
    assert isinstance(PeeledReluOracle(oracle, planted_relu(seed, leaky_relu(0.1))[1], size=1.0).domain, Everywhere)


def test_queries_are_counted_once(seed: int) -> None:
    _, first, oracle = planted_relu(seed)
    oracle.query(np.zeros((3, 6)))
    peeled = PeeledReluOracle(oracle, first, size=10.0)
    peeled.query(np.ones((5, 4)))
    assert peeled.ledger.sent == 5
    assert oracle.oracle.ledger.sent == 8


def test_the_budget_of_the_whole_network_is_kept(seed: int) -> None:
    _, first, oracle = planted_relu(seed, budget=10)
    peeled = PeeledReluOracle(oracle, first, size=10.0)
    peeled.query(np.ones((8, 4)))
    with pytest.raises(BudgetExhausted, match="needs 3 queries but only 2 of the budget of 10"):
        peeled.query(np.ones((3, 4)))
    assert oracle.oracle.ledger.sent == 8


def test_dependent_weights_are_refused(seed: int) -> None:
    _, first, oracle = planted_relu(seed)
    weights = np.vstack([first.weights, first.weights[0]])
    with pytest.raises(InvalidInput, match=r"full row rank, got shape \(5, 6\)"):
        PeeledReluOracle(oracle, Layer(weights, np.zeros(5), RELU), size=1.0)
