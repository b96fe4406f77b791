"""How large the terms are that a network adds up: what rounding multiplies."""

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY
from unweave.arrays import Points, Values
from unweave.networks.network import Layer, Network


def term_sizes(network: Network, points: Points) -> Values:
    """Sizes of the terms that a network adds up, and multiplies rounding of, at every point and output."""
    *hidden, output = network.layers
    values = points
    for layer in hidden:
        values = layer.activation(layer.preactivations(values))
    sizes = np.abs(values)
    if len(hidden) == 1 and hidden[0].activation.is_smooth:
        sizes = np.maximum(sizes, argument_sizes(hidden[0], points))
    terms = sizes @ np.abs(output.weights.T)
    if output.activation != IDENTITY:
        arguments = output.preactivations(values)
        terms = np.abs(output.activation(arguments, 1)) * terms + np.abs(output.activation(arguments))
    if network.skip is not None:
        terms = terms + np.abs(points) @ np.abs(network.skip.T)
    return terms + np.abs(output.biases)


def argument_sizes(layer: Layer, points: Points) -> Float64[np.ndarray, "points neurons"]:
    """How much the values of neurons change if their arguments change by as much as the terms that these add up.

    A steep neuron adds up large terms to a small argument, and multiplies their rounding in its slab.
    """
    added = np.abs(points) @ np.abs(layer.weights.T) + np.abs(layer.biases)
    return np.abs(layer.activation(layer.preactivations(points), 1)) * added
