"""What a user should know first: a hint that is wrong, answers that are rounded, inputs that are clipped."""

import numpy as np
import pytest

import unweave
from unweave.activations import RELU, TANH, Activation
from unweave.identification.reasons import nothing_with
from unweave.networks.planted import general_network

INPUTS = 3


@pytest.mark.parametrize(("truth", "given"), [(RELU, "tanh"), (TANH, "relu")])
def test_an_activation_that_finds_nothing_is_named_first(truth: Activation, given: str) -> None:
    network = general_network(np.random.default_rng(3), inputs=INPUTS, neurons=4, activation=truth)
    found = unweave.identify(network, activation=given)
    assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
    assert found.reason.startswith(f"{given} was given, and no network of it was found")


@pytest.mark.parametrize(("given", "budget"), [(2, 2_500), (7, 1_000)])
def test_a_number_of_neurons_that_finds_nothing_is_named_first(given: int, budget: int) -> None:
    """In a box Hessians take it for their rank."""
    network = general_network(np.random.default_rng(0), inputs=5, neurons=4)
    box = unweave.Box(-1.0, 1.0)
    found = unweave.identify(network, neurons=given, domain=box, budget=budget)
    assert not found.is_identified
    assert found.reason.startswith(f"{given} neurons were given, and no network with as many was found")
    assert unweave.identify(network, domain=box).is_identified


def test_a_number_of_neurons_that_is_not_found_is_named_first() -> None:
    """Students are not held to it."""
    network = general_network(np.random.default_rng(0), inputs=5, neurons=4)
    found = unweave.identify(network, neurons=7, domain=unweave.Box(-1.0, 1.0), budget=2_500)
    assert found.is_identified
    assert found.reason.startswith("7 neurons were given and 4 are visible.")


@pytest.mark.parametrize(
    ("activation", "neurons", "said"),
    [
        (None, None, ""),
        (None, 1, "1 neuron was given, and no network with as many was found"),
        (TANH, None, "tanh was given, and no network of it was found"),
        (TANH, 3, "3 neurons of tanh were given, and no network like that was found"),
    ],
)
def test_what_was_given_is_said(activation: Activation | None, neurons: int | None, said: str) -> None:
    words = nothing_with(activation, neurons)
    assert words.startswith(said)
    assert bool(words) == bool(said)


def test_decimals_are_said_of_a_network_that_is_found_and_of_one_that_is_not() -> None:
    network = general_network(np.random.default_rng(3), inputs=INPUTS, neurons=3, activation=RELU)

    def rounded(points: np.ndarray) -> np.ndarray:
        return np.round(network(points), 4)

    found = unweave.identify(rounded, inputs=INPUTS)
    assert found.network is not None
    assert [note for note in found.notes if "rounded to 4 decimals" in note]
    assert "rounded to 4 decimals" in unweave.identify(rounded, inputs=INPUTS, activation="tanh", budget=600).reason


def test_a_model_that_clips_its_inputs_is_asked_inside_of_the_bounds() -> None:
    network = general_network(np.random.default_rng(3), inputs=INPUTS, neurons=2)

    def clipped(points: np.ndarray) -> np.ndarray:
        return network(np.clip(points, -1.0, 1.0))

    found = unweave.identify(clipped, inputs=INPUTS)
    assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
    assert found.reason.startswith("the model clips its inputs: above 1 and below -1 answers do not change")
    assert "--box -1 1" in found.reason
    assert unweave.identify(clipped, inputs=INPUTS, domain=unweave.Box(-1.0, 1.0)).network is not None


@pytest.mark.parametrize("network", range(4))
def test_bounds_of_a_piecewise_linear_model_are_no_neurons_of_a_first_layer(network: int) -> None:
    """Inputs that are cut off are a layer of their own, of neurons that look at one input each."""
    secret = general_network(np.random.default_rng(network), inputs=INPUTS, neurons=3, activation=RELU)
    found = unweave.identify(lambda points: secret(np.clip(points, -1.0, 1.0)), inputs=INPUTS)
    assert found.reason.startswith("the model clips its inputs: above 1 and below -1 answers do not change")
    assert "--box -1 1" in found.reason
