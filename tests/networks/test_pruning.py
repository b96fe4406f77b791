"""Networks without a neuron, or without their affine part, and which neuron that is."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import TANH
from unweave.networks.network import Network
from unweave.networks.planted import deep_network, general_network
from unweave.networks.pruning import weakest_neuron, without_affine_part, without_neuron


@pytest.mark.parametrize("layer", [0, 1])
def test_the_weakest_neuron_of_any_layer_is_found_and_dropped(layer: int, seed: int) -> None:
    truth = deep_network(np.random.default_rng([seed, 91]), shape=(6, 5, 4, 2), shift_deviation=0.3)
    layers = list(truth.layers)
    silenced = layers[layer + 1].weights.copy()
    silenced[:, 2] = 0.0
    layers[layer + 1] = replace(layers[layer + 1], weights=silenced)
    network = Network(tuple(layers))
    assert weakest_neuron(network) == (layer, 2)
    smaller = without_neuron(network, 2, layer=layer)
    assert smaller.widths[layer] == network.widths[layer] - 1
    points = np.random.default_rng(seed).standard_normal((20, 6))
    np.testing.assert_allclose(smaller(points), network(points), atol=1e-14)


def test_an_affine_part_is_dropped_only_if_it_is_as_good_as_zero(seed: int) -> None:
    """Signs of tanh neurons move no affine part around: one of 1e-10 was left beside rounded answers."""
    network = general_network(np.random.default_rng([seed, 81]), inputs=4, neurons=3, activation=TANH)
    tiny, small = (replace(network, skip=np.full((1, 4), size)) for size in (1e-10, 1e-5))
    dropped = without_affine_part(tiny, tol=1e-6)
    assert dropped.skip is None
    assert dropped.layers == network.layers
    assert without_affine_part(small, tol=1e-6).skip is not None
    assert without_affine_part(network, tol=1e-6) is network
