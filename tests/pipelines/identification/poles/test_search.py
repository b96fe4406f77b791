"""Steep networks in boxes, as training leaves them, are found from the poles of their answers."""

import numpy as np
import pytest

import unweave
from unweave import Box, Outcome
from unweave.activations import SIGMOID, TANH, Activation
from unweave.identification.estimate import STEEP
from unweave.networks.network import Network


def steep(seed: int, *, inputs: int, neurons: int, outputs: int = 1, activation: Activation = TANH) -> Network:
    """Plant neurons that are saturated at most places of the box."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((neurons, inputs)) * 10.0 ** rng.uniform(1.0, 2.5, (neurons, 1))
    # Every hyperplane passes through the middle half of the box.
    biases = -np.sum(weights * rng.uniform(-0.5, 0.5, (neurons, inputs)), axis=1)
    return Network.shallow(
        weights, biases, rng.uniform(0.5, 1.5, (outputs, neurons)), rng.standard_normal(outputs), activation
    )


@pytest.mark.each_value
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(2, 3, 1), (6, 8, 1), (10, 5, 3)])
@pytest.mark.parametrize("activation", [TANH, SIGMOID], ids=str)
def test_steep_networks_are_identified(
    inputs: int, neurons: int, outputs: int, activation: Activation, seed: int
) -> None:
    truth = steep(seed + 1, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    found = unweave.identify(truth, domain=Box(-1, 1), seed=seed)
    assert found.is_identified, found.reason
    assert found.route == "pole walk"
    assert found.network is not None
    assert found.certificate is not None
    error = unweave.match(found.network, truth).largest_error
    assert error <= max(found.certificate.radius, 1e-9)


def test_the_units_of_the_box_do_not_matter(seed: int) -> None:
    truth = steep(seed + 2, inputs=4, neurons=4)
    low, high = np.array([1e3, -7.0, 0.0, 1e-6]), np.array([1.01e3, -1.0, 1e4, 3e-6])

    def model(points: np.ndarray) -> np.ndarray:
        return 1e5 + 3e-3 * truth((2.0 * points - low - high) / (high - low))

    found = unweave.identify(model, inputs=4, domain=Box(low, high), seed=seed)
    assert found.outcome is not Outcome.NOT_IDENTIFIED, found.reason
    points = np.random.default_rng(seed).uniform(low, high, (20_000, 4))
    assert found.network is not None
    spread = float(np.std(model(points)))
    assert np.quantile(np.abs(found.network(points) - model(points)), 0.99) < 1e-6 * spread


def test_a_neuron_that_bends_in_one_corner_only_is_found(seed: int) -> None:
    truth = steep(seed + 3, inputs=5, neurons=4)
    hidden, output = truth.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    biases[0] = 0.9 * np.sum(np.abs(weights[0]))
    truth = Network.shallow(weights, biases, output.weights, output.biases, TANH)
    found = unweave.identify(truth, domain=Box(-1, 1), seed=seed)
    assert found.is_identified, found.reason
    assert found.network is not None
    assert found.network.widths == (4,)


def test_a_neuron_that_the_box_hides_is_not_claimed(seed: int) -> None:
    """Its tail is all that shows: the other neurons are right, and the result says that something is left."""
    truth = steep(seed + 4, inputs=3, neurons=4)
    hidden, output = truth.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    weights[0] /= np.linalg.norm(weights[0]) / 10.0
    biases[0] = np.sum(np.abs(weights[0])) + 9.0
    truth = Network.shallow(weights, biases, output.weights, output.biases, TANH)
    found = unweave.identify(truth, domain=Box(-1, 1), seed=seed)
    assert found.network is not None
    assert found.outcome is not Outcome.IDENTIFIED or found.network.widths == (4,)


@pytest.mark.parametrize("budget", [60, 200, 900])
def test_the_budget_is_respected(budget: int, seed: int) -> None:
    asked = [0]
    truth = steep(seed + 5, inputs=6, neurons=6)

    def model(points: np.ndarray) -> np.ndarray:
        asked[0] += len(points)
        return truth(points)

    found = unweave.identify(model, inputs=6, domain=Box(-1, 1), budget=budget, seed=seed)
    assert asked[0] == found.queries <= budget
    assert found.outcome is not Outcome.IDENTIFIED


def test_one_input(seed: int) -> None:
    truth = steep(seed + 6, inputs=1, neurons=3)
    found = unweave.identify(truth, domain=Box(-1, 1), seed=seed)
    assert found.is_identified, found.reason
    assert found.network is not None
    assert unweave.match(found.network, truth).largest_error < 1e-6


def test_a_spent_budget_says_what_steep_networks_take() -> None:
    truth = steep(1, inputs=2, neurons=3)
    enough = unweave.identify(truth, domain=Box(-1, 1)).require().queries
    found = unweave.identify(truth, domain=Box(-1, 1), neurons=3, budget=400)
    assert not found.is_identified
    assert "ordinary" not in found.reason
    estimated = STEEP(inputs=2, neurons=3, max_batch=1000).queries
    assert f"{estimated} for 3 steep neurons ({estimated.above(found.queries)})" in found.reason
    assert estimated.least <= enough <= estimated.most


def test_a_spent_budget_speaks_of_the_neurons_that_were_found(seed: int) -> None:
    truth = steep(seed + 1, inputs=2, neurons=3)
    enough = unweave.identify(truth, domain=Box(-1, 1), seed=seed).require().queries
    found = unweave.identify(truth, domain=Box(-1, 1), seed=seed, budget=enough - 50)
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert "for 3 steep neurons (" in found.reason
    assert "for 10" not in found.reason
