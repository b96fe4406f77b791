"""The walk along kinks in a box: all neurons, none twice, and no answer that rounding explains is missed."""

import numpy as np
import pytest

import unweave
from assertions import assert_recovered
from unweave.activations import LEAKY_RELU, RELU, Activation
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import Box


@pytest.mark.parametrize(
    ("inputs", "neurons", "number"), [(10, 12, 4), pytest.param(20, 10, 7, marks=pytest.mark.slow)]
)
def test_a_neuron_that_few_answers_tell_of_is_not_found_twice(inputs: int, neurons: int, number: int) -> None:
    """A fit had turned it a little, its kink was read once more, and two stood in the place of one."""
    truth = general_network(np.random.default_rng(number), inputs=inputs, neurons=neurons, activation=RELU)
    found = unweave.identify(truth, domain=Box(-1.0, 1.0), seed=number)
    assert_recovered(found, truth, atol=1e-8)


@pytest.mark.parametrize(
    ("inputs", "neurons", "number"),
    [
        # 28 queries per parameter before.
        (30, 15, 0),
        pytest.param(50, 25, 3, marks=pytest.mark.slow),
        pytest.param(50, 25, 6, marks=pytest.mark.slow),
    ],
)
def test_neurons_that_random_lines_do_not_meet_are_found(inputs: int, neurons: int, number: int) -> None:
    """With 50 inputs errors of 24 measured terms were so large that no answer showed what was missing."""
    truth = general_network(np.random.default_rng(number), inputs=inputs, neurons=neurons, activation=RELU)
    found = unweave.identify(truth, domain=Box(-1.0, 1.0), seed=number)
    assert_recovered(found, truth, atol=1e-8)
    assert found.queries < 20 * truth.parameters


def drawn(number: int, activation: Activation) -> Network:
    """A network whose neurons bend near the faces of the box."""
    rng = np.random.default_rng(number)
    inputs, neurons = int(rng.integers(2, 11)), int(rng.integers(1, 13))
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    biases = rng.choice([-1, 1], neurons) * rng.uniform(0.3, 2.0, neurons)
    heights = rng.standard_normal((1, neurons)) / np.sqrt(neurons)
    return Network.shallow(weights, biases, heights, np.zeros(1), activation)


@pytest.mark.parametrize(("number", "activation"), [(990018, LEAKY_RELU), (990111, RELU)])
def test_rounding_of_arguments_is_no_missed_answer(number: int, activation: Activation) -> None:
    """The right network, met to 6e-15, was partly identified: it missed two answers by their last digits."""
    truth = drawn(number, activation)
    found = unweave.identify(truth, domain=Box(-1.0, 1.0), seed=number)
    assert found.is_identified, found.reason
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (1_000, truth.inputs))
    assert found.network is not None
    np.testing.assert_allclose(found.network(points), truth(points), atol=1e-12)
