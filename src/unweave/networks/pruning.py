"""Smaller networks: without one of their neurons, or without their affine part."""

from dataclasses import replace

import numpy as np

from unweave.networks.network import Layer, Network
from unweave.networks.parameters import is_shallow
from unweave.networks.signs import absorb_skip


def without_affine_part(network: Network, *, tol: float) -> Network:
    """Choose signs that leave no affine part up to a tolerance; leave it where there are none."""
    if network.skip is None:
        return network
    can_absorb = is_shallow(network)
    network = absorb_skip(network, relative_tol=tol) if can_absorb else network
    # Where signs can move an affine part around, only all of them together decide whether there is one.
    is_alone = not can_absorb or network.layers[0].activation.reflected_slope == 0.0
    is_zero = network.skip is not None and float(np.max(np.abs(network.skip))) <= tol
    return replace(network, skip=None) if is_alone and is_zero else network


def weakest_neuron(network: Network) -> tuple[int, int]:
    """Layer and index of the neuron with the smallest outgoing weights, compared with others of its layer."""
    weakest, smallest = (0, 0), np.inf
    for index, following in enumerate(network.layers[1:]):
        if following.inputs < 2:
            continue
        pulls = np.linalg.norm(following.weights, axis=0)
        share = float(np.min(pulls) / max(np.max(pulls), np.finfo(float).tiny))
        if share < smallest:
            weakest, smallest = (index, int(np.argmin(pulls))), share
    return weakest


def without_neuron(network: Network, neuron: int, *, layer: int = 0) -> Network:
    """The network without one of the neurons of a hidden layer."""
    hidden, following = network.layers[layer : layer + 2]
    layers = list(network.layers)
    layers[layer : layer + 2] = [
        Layer(np.delete(hidden.weights, neuron, 0), np.delete(hidden.biases, neuron), hidden.activation),
        replace(following, weights=np.delete(following.weights, neuron, 1)),
    ]
    return replace(network, layers=tuple(layers))
