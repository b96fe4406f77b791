"""Deep networks with every kind of output: moved by symmetries they are matched again, and only then."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import IDENTITY, RELU, SIGMOID, TANH, Activation
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import canonical, express, is_reflectable, match, permute, reflect, rescale

SHAPE = (6, 5, 4, 3, 2)
KINDS = [(hidden, output) for hidden in (TANH, SIGMOID, RELU) for output in (IDENTITY, TANH, SIGMOID)]


def planted(seed: int, hidden: Activation, output: Activation) -> tuple[Network, np.ndarray]:
    rng = np.random.default_rng(seed)
    network = deep_network(rng, shape=SHAPE, shift_deviation=0.3, activation=hidden, output_activation=output)
    return network, rng.standard_normal((50, SHAPE[0]))


def moved(network: Network, seed: int) -> Network:
    """The same function after random symmetries of every layer."""
    rng = np.random.default_rng([seed, 1])
    for layer, neurons in enumerate(network.widths):
        network = permute(network, layer, rng.permutation(neurons))
        if is_reflectable(network, layer):
            network = reflect(network, layer, rng.random(neurons) < 0.5)
        if network.layers[layer].activation.homogeneity is not None:
            network = rescale(network, layer, rng.uniform(0.5, 2.0, neurons))
    return network


@pytest.mark.parametrize(("hidden", "output"), KINDS)
def test_symmetries_are_undone(hidden: Activation, output: Activation, seed: int) -> None:
    network, points = planted(seed, hidden, output)
    other = moved(network, seed)
    np.testing.assert_allclose(other(points), network(points), atol=1e-13)
    assert max(np.max(np.abs(a.weights - b.weights)) for a, b in zip(other.layers, network.layers, strict=True)) > 0.1
    assert match(other, network).largest_error < 1e-13
    np.testing.assert_allclose(canonical(other)(points), network(points), atol=1e-13)
    for one, two in zip(canonical(other).layers, canonical(network).layers, strict=True):
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-13)
        np.testing.assert_allclose(one.biases, two.biases, atol=1e-13)


@pytest.mark.parametrize(("hidden", "output"), KINDS)
def test_a_small_error_of_any_layer_is_seen_at_its_size(hidden: Activation, output: Activation, seed: int) -> None:
    network, _ = planted(seed, hidden, output)
    for index, layer in enumerate(network.layers):
        weights = layer.weights.copy()
        weights[0, 0] += 1e-6
        layers = list(network.layers)
        layers[index] = replace(layer, weights=weights)
        error = match(moved(Network(tuple(layers)), seed), network).largest_error
        assert 1e-7 < error < 1e-4


@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=str)
def test_sigmoid_and_tanh_hidden_layers_are_one_kind(output: Activation, seed: int) -> None:
    network, points = planted(seed, SIGMOID, output)
    written = express(network, TANH)
    assert written.activations == (TANH, TANH, TANH, output)
    np.testing.assert_allclose(written(points), network(points), atol=1e-13)
    assert match(written, network).largest_error < 1e-13


def test_another_output_activation_is_another_network(seed: int) -> None:
    network, _ = planted(seed, TANH, TANH)
    output = replace(network.layers[-1], activation=SIGMOID)
    found = match(Network((*network.layers[:-1], output)), network)
    assert not found.is_comparable
    assert "activations differ" in str(found.reason)


def test_networks_without_neurons_or_without_hidden_layers() -> None:
    def empty(offset: float) -> Network:
        return Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.array([offset]), TANH)

    affine = Network((Layer(np.array([[1.0, 2.0]]), np.array([3.0]), IDENTITY),))
    assert match(empty(2.0), empty(2.0)).largest_error == 0.0
    assert match(empty(3.0), empty(2.0)).largest_error == 0.5
    assert canonical(empty(2.0)).widths == (0,)
    assert canonical(affine).widths == ()
    assert match(affine, affine).largest_error == 0.0
    assert match(affine, affine).errors.neurons == ()
