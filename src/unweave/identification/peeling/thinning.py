"""Smaller networks that give nearly the same function: a hidden neuron is replaced by the others of its layer.

Neurons of tanh, and of most other activations, are linearly independent functions unless two of them are equal up to
sign or one is constant. In a network that is wider than it needs to be, the values of a layer are therefore
linearly dependent at enough points, and a neuron that depends on the others can be handed on to the next layer.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.networks.network import Layer, Network


def removals(network: Network, index: int, points: Points, *, smallest_power: float) -> Iterator[Network]:
    """The network without one neuron of a hidden layer, for every neuron, the least missed first.

    What the others and a constant can replace of the neuron (least squares at the points) is handed on to the next
    layer. Powers of combinations of neurons below the share `smallest_power` of the largest are taken for rounding.

    Assumes: more points than neurons in the layer, spread over the domain.
    """
    values = points
    for layer in network.layers[: index + 1]:
        values = layer.activation(layer.preactivations(values))
    lifted = np.hstack([values, np.ones((len(values), 1))])
    missed = _missed(lifted, smallest_power)[:-1] * np.linalg.norm(network.layers[index + 1].weights, axis=0)
    for neuron in np.argsort(missed):
        yield _without(network, index, int(neuron), lifted)


def _missed(lifted: Float64[np.ndarray, "points columns"], smallest_power: float) -> Float64[np.ndarray, "columns"]:
    """Root mean square of what the other columns leave of each: one inverse gives all regressions."""
    powers, axes = np.linalg.eigh(lifted.T @ lifted / len(lifted))
    # Raised and not cut off: where columns depend on each other exactly, their powers must stay small.
    raised = np.maximum(powers, smallest_power * powers[-1])
    return 1.0 / np.sqrt(np.maximum(axes**2 @ (1.0 / raised), np.finfo(float).tiny))


def _without(network: Network, index: int, neuron: int, lifted: Float64[np.ndarray, "points columns"]) -> Network:
    layer, following = network.layers[index : index + 2]
    others = np.delete(lifted, neuron, 1)
    shares = np.linalg.lstsq(others, lifted[:, neuron], rcond=1e-12)[0]
    moved = np.outer(following.weights[:, neuron], shares)
    layers = list(network.layers)
    layers[index] = Layer(np.delete(layer.weights, neuron, 0), np.delete(layer.biases, neuron), layer.activation)
    layers[index + 1] = replace(
        following,
        weights=np.delete(following.weights, neuron, 1) + moved[:, :-1],
        biases=following.biases + moved[:, -1],
    )
    return replace(network, layers=tuple(layers))
