"""The smallest residuals that a right network can have: noise, or rounding of the answers and of its own terms."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY
from unweave.arrays import PerPoint, Points, Values, root_mean_square
from unweave.networks.network import Layer, Network
from unweave.oracles.views import ROUNDING_DEVIATION, StandardOracle


@dataclass(frozen=True)
class Floors:
    """What a right network may be missed by.

    Args:
        oracle: who has answered, in standard coordinates.
        noise: standard deviation of an answer.
        largest_rounding: rounding of a network's own terms, relative to the answers, up to which it counts.
    """

    oracle: StandardOracle
    noise: float
    largest_rounding: float = 1e-8

    def on_average(self, network: Network, points: Points, values: Values) -> float:
        """Give the root mean square over some answers."""
        terms, sizes = (root_mean_square(each) for each in self._sizes(network, points, values))
        own = min(np.finfo(float).eps * terms, self.largest_rounding * sizes)
        return float(max(self.noise, self._rounding * sizes, own))

    def at_each(self, network: Network, points: Points, values: Values) -> PerPoint:
        """Give it at every single point: far from the centre of the domain terms are larger."""
        terms, sizes = (np.max(each, axis=1) for each in self._sizes(network, points, values))
        own = np.minimum(np.finfo(float).eps * terms, self.largest_rounding * sizes)
        return np.maximum(np.maximum(self.noise, self._rounding * sizes), own)

    @property
    def _rounding(self) -> float:
        return ROUNDING_DEVIATION * self.oracle.oracle.ledger.answer_digits

    def _sizes(self, network: Network, points: Points, answers: Values) -> tuple[Values, Values]:
        """Sizes of the terms that a network adds up, and of the answers before they were centred."""
        # The oracle's own rounding is that of its answers before they were centred.
        centre = np.abs(self.oracle.offset / self.oracle.size)
        return term_sizes(network, points) + centre, np.abs(answers) + centre


def term_sizes(network: Network, points: Points) -> Values:
    """Sizes of the terms that a network adds up, and multiplies rounding of, at every point and output."""
    *hidden, output = network.layers
    values = points
    for layer in hidden:
        values = layer.activation(layer.preactivations(values))
    sizes = np.abs(values)
    if len(hidden) == 1:
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
