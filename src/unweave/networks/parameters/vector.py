"""The parameters of a network as one vector, in relative units.

A change of 1 is a change by the size of what it belongs to: weights and bias of a hidden neuron
together by the norm of its weights, output weights by the norm of the outgoing weights of their
neuron. The offset and the slopes of the linear part count in units of the output.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network


def is_shallow(network: Network) -> bool:
    """Whether there is one hidden layer and an identity output layer."""
    return len(network.layers) == 2 and network.layers[1].activation.name == "identity"


@dataclass(frozen=True)
class ParameterVector:
    """Maps between a network and the vector of its parameters in relative units.

    The order is: layer by layer, weights (neuron by neuron) and then biases; at the end the skip.
    """

    network: Network

    @property
    def count(self) -> int:
        """Number of parameters."""
        return self.network.parameters

    @property
    def neuron_sizes(self) -> Float64[np.ndarray, "neurons"]:
        """Unit of the weights and bias of each neuron of the first layer."""
        return self.sizes(0)

    @property
    def output_sizes(self) -> Float64[np.ndarray, "neurons"]:
        """Unit of the output weights of each neuron of the last hidden layer."""
        return positive(np.linalg.norm(self.network.layers[-1].weights, axis=0))

    def sizes(self, layer: int) -> Float64[np.ndarray, "neurons"]:
        """Unit of the weights and bias of each neuron of a hidden layer."""
        return positive(np.linalg.norm(self.network.layers[layer].weights, axis=1))

    @property
    def units(self) -> Float64[np.ndarray, "parameters"]:
        """The unit of every parameter."""
        parts = []
        for index, layer in enumerate(self.network.layers[:-1]):
            parts += [np.repeat(self.sizes(index), layer.inputs), self.sizes(index)]
        slopes = 0 if self.network.skip is None else self.network.skip.size
        parts += [np.tile(self.output_sizes, self.network.outputs), np.ones(self.network.outputs + slopes)]
        return np.concatenate(parts)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Where the parameters of every layer are; if there is a skip, its place comes last."""
        counts = [layer.weights.size + layer.neurons for layer in self.network.layers]
        if self.network.skip is not None:
            counts.append(self.network.skip.size)
        ends = np.cumsum(counts)
        return tuple(slice(int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True))

    def of_layers(self, layers: Collection[int]) -> Bool[np.ndarray, "parameters"]:
        """Which parameters belong to the given layers; the skip belongs to the last one.

        Raises:
            InvalidInput: if there is no such layer.
        """
        last = len(self.network.layers) - 1
        if not all(0 <= layer <= last for layer in layers):
            raise InvalidInput(f"layers need to be indices from 0 to {last}, got {sorted(layers)}.")
        belongs = np.zeros(self.count, dtype=bool)
        for index, block in enumerate(self.blocks):
            belongs[block] = min(index, last) in layers
        return belongs

    def moved(self, step: Float64[np.ndarray, "parameters"]) -> Network:
        """The network after a step in relative units."""
        absolute, layers = step * self.units, []
        for layer, block in zip(self.network.layers, self.blocks, strict=False):
            weights, biases = np.split(absolute[block], [layer.weights.size])
            layers.append(
                replace(
                    layer, weights=layer.weights + weights.reshape(layer.weights.shape), biases=layer.biases + biases
                )
            )
        skip = self.network.skip
        return Network(tuple(layers), None if skip is None else skip + absolute[self.blocks[-1]].reshape(skip.shape))

    def step_to(self, other: Network) -> Float64[np.ndarray, "parameters"]:
        """The step that leads to another network of the same shape: the inverse of `moved`."""
        parts = []
        for layer, target in zip(self.network.layers, other.layers, strict=True):
            parts += [(target.weights - layer.weights).ravel(), target.biases - layer.biases]
        if self.network.skip is not None:
            parts.append((_skip(other) - self.network.skip).ravel())
        return np.concatenate(parts) / self.units

    def split(self, vector: Float64[np.ndarray, "parameters"]) -> tuple[np.ndarray, ...]:
        """Of a shallow network weights, biases, output weights, offset and (possibly empty) skip, in absolute units."""
        inputs, outputs, neurons = self.network.inputs, self.network.outputs, self.network.widths[0]
        sizes = [neurons * inputs, neurons, outputs * neurons, outputs]
        weights, biases, output_weights, offset, skip = np.split(vector, np.cumsum(sizes))
        return (
            weights.reshape(neurons, inputs) * self.neuron_sizes[:, None],
            biases * self.neuron_sizes,
            output_weights.reshape(outputs, neurons) * self.output_sizes,
            offset,
            skip.reshape(-1, inputs),
        )

    def joined(
        self,
        weights: np.ndarray,
        biases: np.ndarray,
        output_weights: np.ndarray,
        residuals: np.ndarray,
        points: Points,
    ) -> Float64[np.ndarray, "parameters"]:
        """``J^T w`` of a shallow network in relative units, from its parts in absolute ones and the residuals w."""
        parts = [
            weights * self.neuron_sizes[:, None],
            biases * self.neuron_sizes,
            output_weights * self.output_sizes,
            residuals.sum(axis=0),
        ]
        if self.network.skip is not None:
            parts.append(residuals.T @ points)
        return np.concatenate([part.ravel() for part in parts])


def positive(sizes: np.ndarray) -> np.ndarray:
    """Sizes, where a size of zero is replaced by one."""
    return np.where(sizes > 0, sizes, 1.0)


def _skip(network: Network) -> np.ndarray:
    return np.zeros((network.outputs, network.inputs)) if network.skip is None else network.skip
