"""Networks put together from neurons that far lines have shown."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import SOFTPLUS, TANH, Activation
from unweave.identification.saturation.neurons import FarNeuron
from unweave.identification.saturation.route import merged, network_of, with_affine_part
from unweave.networks.network import Network
from unweave.networks.planted import general_network

INPUTS, OUTPUTS = 4, 2


def planted(seed: int, activation: Activation = TANH) -> tuple[Network, list[FarNeuron]]:
    rng = np.random.default_rng([seed, 71])
    network = general_network(rng, inputs=INPUTS, neurons=5, outputs=OUTPUTS, activation=activation)
    hidden, output = network.layers
    neurons = [
        FarNeuron(w, float(b), a) for w, b, a in zip(hidden.weights, hidden.biases, output.weights.T, strict=True)
    ]
    return network, neurons


def flipped(neuron: FarNeuron, share: float = 1.0) -> FarNeuron:
    """The same term of an odd activation, or a share of it."""
    return FarNeuron(-neuron.weights, -neuron.bias, -share * neuron.height)


def assert_same_function(found: Network, truth: Network, *, atol: float = 1e-10) -> None:
    points = np.random.default_rng(0).standard_normal((100, INPUTS))
    np.testing.assert_allclose(found(points), truth(points), atol=atol)


def network(neurons: list[FarNeuron], activation: Activation = TANH) -> Network:
    return network_of(neurons, activation, slope=np.zeros((OUTPUTS, INPUTS)))


def test_the_assertion_on_functions_can_fail(seed: int) -> None:
    truth, neurons = planted(seed)
    with pytest.raises(AssertionError):
        assert_same_function(network(neurons[1:]), truth)


def test_neurons_make_the_network_up_to_its_offset(seed: int) -> None:
    truth, neurons = planted(seed)
    hidden, output = truth.layers
    assert_same_function(network(neurons), Network((hidden, replace(output, biases=np.zeros(OUTPUTS)))))
    assert network(neurons).skip is None
    assert network([]).widths == (0,)
    sloped = network_of(neurons, TANH, slope=np.ones((OUTPUTS, INPUTS)))
    np.testing.assert_array_equal(sloped.skip, np.ones((OUTPUTS, INPUTS)))


def test_new_neurons_are_added(seed: int) -> None:
    _, neurons = planted(seed)
    assert merged([], neurons) == neurons
    assert merged(neurons[:2], neurons[2:]) == neurons
    assert merged(neurons, []) == neurons


def test_a_neuron_met_again_is_corrected(seed: int) -> None:
    """What a later line shows is what is left: a share of a neuron, perhaps with the other sign."""
    _, neurons = planted(seed)
    once = merged(neurons, [replace(neurons[1], height=0.1 * neurons[1].height)])
    assert len(once) == 5
    np.testing.assert_allclose(once[1].height, 1.1 * neurons[1].height)
    turned = merged(neurons, [flipped(neurons[3], 0.1)])
    np.testing.assert_allclose(turned[3].height, 1.1 * neurons[3].height)
    truth = network([*neurons, flipped(neurons[3], 0.1)])
    assert_same_function(network(turned), truth)


def test_a_neuron_that_is_taken_back_vanishes(seed: int) -> None:
    _, neurons = planted(seed)
    for again in (replace(neurons[2], height=-neurons[2].height), flipped(neurons[2], -1.0)):
        assert merged(neurons, [again]) == [*neurons[:2], *neurons[3:]]


def test_parallel_neurons_with_other_biases_or_lengths_stay_apart(seed: int) -> None:
    _, neurons = planted(seed)
    size = float(np.linalg.norm(neurons[0].weights))
    for other in (
        replace(neurons[0], bias=neurons[0].bias + 1e-2 * size),
        replace(neurons[0], weights=1.01 * neurons[0].weights),
        replace(neurons[0], bias=-neurons[0].bias - 0.5),
    ):
        assert len(merged(neurons, [other])) == 6


def test_the_offset_is_fitted(seed: int) -> None:
    truth, neurons = planted(seed)
    points = np.random.default_rng([seed, 72]).standard_normal((50, INPUTS))
    found = with_affine_part(network(neurons), points, truth(points))
    assert found.skip is None
    assert_same_function(found, truth)


def test_an_affine_part_is_fitted_where_signs_leave_one_open(seed: int) -> None:
    truth, neurons = planted(seed, SOFTPLUS)
    turned = [FarNeuron(-each.weights, -each.bias, each.height) for each in neurons[:2]] + neurons[2:]
    points = np.random.default_rng([seed, 72]).standard_normal((50, INPUTS))
    found = with_affine_part(network(turned, SOFTPLUS), points, truth(points))
    assert found.skip is not None
    assert_same_function(found, truth)
