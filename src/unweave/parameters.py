"""The parameters of a shallow network as one vector, and the Jacobian of its values in them.

Parameters are counted in relative units: a change of 1 is a change by the size of the neuron (its
weights and bias together by the norm of the weights, its output weights by their norm) or, for the
affine part, of the output. Singular values of the Jacobian and error radii then speak of relative
errors.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.networks import Network


@dataclass(frozen=True)
class ParameterVector:
    """Maps between a shallow network and the vector of its parameters in relative units.

    The order is: weights (neuron by neuron), biases, output weights (output by output), offset, skip.
    """

    network: Network

    def __post_init__(self) -> None:
        if len(self.network.layers) != 2 or self.network.layers[1].activation.name != "identity":
            raise InvalidInput("a shallow network has one hidden layer and an identity output layer.")

    @property
    def count(self) -> int:
        """Number of parameters."""
        return self.network.parameters

    @property
    def neuron_sizes(self) -> Float64[np.ndarray, "neurons"]:
        """Unit of the weights and bias of each neuron."""
        return _positive(np.linalg.norm(self.network.layers[0].weights, axis=1))

    @property
    def output_sizes(self) -> Float64[np.ndarray, "neurons"]:
        """Unit of the output weights of each neuron."""
        return _positive(np.linalg.norm(self.network.layers[1].weights, axis=0))

    def split(self, vector: Float64[np.ndarray, "parameters"]) -> tuple[np.ndarray, ...]:
        """Weights, biases, output weights, offset and (possibly empty) skip, in absolute units."""
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
        """``J^T w`` in relative units, from its parts in absolute ones and the residuals w themselves."""
        parts = [
            weights * self.neuron_sizes[:, None],
            biases * self.neuron_sizes,
            output_weights * self.output_sizes,
            residuals.sum(axis=0),
        ]
        if self.network.skip is not None:
            parts.append(residuals.T @ points)
        return np.concatenate([part.ravel() for part in parts])

    def moved(self, step: Float64[np.ndarray, "parameters"]) -> Network:
        """The network after a step in relative units."""
        weights, biases, output_weights, offset, skip = self.split(step)
        hidden, output = self.network.layers
        return Network.shallow(
            weights=hidden.weights + weights,
            biases=hidden.biases + biases,
            output_weights=output.weights + output_weights,
            offset=output.biases + offset,
            activation=hidden.activation,
            skip=None if self.network.skip is None else self.network.skip + skip,
        )


def _positive(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0, sizes, 1.0)


def dense_jacobian(network: Network, points: Points) -> Float64[np.ndarray, "rows parameters"]:
    """Jacobian of all values (point by point, output by output) in the relative parameters."""
    vector = ParameterVector(network)
    hidden, output = network.layers
    arguments = hidden.preactivations(points)
    slopes = hidden.activation(arguments, 1) * vector.neuron_sizes
    values = hidden.activation(arguments) * vector.output_sizes
    outputs, neurons, inputs = network.outputs, hidden.neurons, network.inputs
    jacobian = np.zeros((len(points), outputs, vector.count))
    first_output = neurons * (inputs + 1)
    first_offset = first_output + outputs * neurons
    for o in range(outputs):
        pulled = slopes * output.weights[o]
        jacobian[:, o, : neurons * inputs] = (pulled[:, :, None] * points[:, None, :]).reshape(len(points), -1)
        jacobian[:, o, neurons * inputs : first_output] = pulled
        jacobian[:, o, first_output + o * neurons : first_output + (o + 1) * neurons] = values
        jacobian[:, o, first_offset + o] = 1.0
        if network.skip is not None:
            first_skip = first_offset + outputs + o * inputs
            jacobian[:, o, first_skip : first_skip + inputs] = points
    return jacobian.reshape(-1, vector.count)


class JacobianOperator:
    """The same Jacobian as products only, for networks whose Jacobian does not fit in memory.

    A change of weights and bias of neuron k moves output o by ``a_ok g'(z_k) <change, (x, 1)>``, so a
    product is one large matrix product with the table of slopes and one with the table of values;
    nothing else of the size points x neurons is formed. These are plain matrix products, for which
    NumPy's BLAS is as fast as compiled code.
    """

    def __init__(self, network: Network, points: Points) -> None:
        self.vector = ParameterVector(network)
        hidden, output = network.layers
        arguments = hidden.preactivations(points)
        self._values, self._slopes = hidden.activation(arguments), hidden.activation(arguments, 1)
        self._output_weights = output.weights
        self._lifted = np.hstack([points, np.ones((len(points), 1))])
        self.shape = (len(points) * network.outputs, self.vector.count)

    def forward(self, step: Float64[np.ndarray, "parameters"]) -> Float64[np.ndarray, "rows"]:
        """``J v``."""
        weights, biases, output_weights, offset, skip = self.vector.split(step)
        change = np.column_stack([weights, biases])
        outputs, width = len(self._output_weights), change.shape[1]
        pulled = (self._output_weights.T[:, :, None] * change[:, None, :]).reshape(len(change), -1)
        moved = (self._slopes @ pulled).reshape(-1, outputs, width)
        values = np.einsum("pow,pw->po", moved, self._lifted) + self._values @ output_weights.T + offset
        if len(skip):
            values = values + self._lifted[:, :-1] @ skip.T
        return values.ravel()

    def backward(self, residuals: Float64[np.ndarray, "rows"]) -> Float64[np.ndarray, "parameters"]:
        """``J^T w``."""
        table = residuals.reshape(len(self._lifted), -1)
        outputs, width = table.shape[1], self._lifted.shape[1]
        weighted = (table[:, :, None] * self._lifted[:, None, :]).reshape(len(table), -1)
        pulled = (self._slopes.T @ weighted).reshape(-1, outputs, width)
        change = np.einsum("kow,ok->kw", pulled, self._output_weights)
        return self.vector.joined(change[:, :-1], change[:, -1], table.T @ self._values, table, self._lifted[:, :-1])
