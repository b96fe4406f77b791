"""The Jacobian of a network of any depth, layer by layer.

A weight ``W[k, j]`` of a layer moves output o by ``s_ok y_j``: the sensitivity of the output in the
argument of neuron k times the value that comes in. So each layer is one table of sensitivities and one
of incoming values, and products of the Jacobian with itself are products of these tables.

A homogeneous activation leaves the scale of each neuron undetermined: weights and bias can grow by
what the outgoing weights lose. The directions of all these changes get rows of their own, so that the
Jacobian has full rank and a step changes no scale.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import CHUNK_NUMBERS, Points, Values
from unweave.networks.network import Network
from unweave.networks.parameters.vector import ParameterVector, is_shallow, positive, shallow_jacobian


@dataclass(frozen=True)
class _Block:
    """Sensitivities of all outputs in the arguments of one layer, and the values that come in (1 for the bias)."""

    sensitivities: Float64[np.ndarray, "points outputs neurons"]
    incoming: Float64[np.ndarray, "points lifted"]


class LayeredJacobian:
    """Jacobian of all values in the relative parameters of some layers, of a network of any depth.

    Args:
        network: the network.
        points: where its values are known.
        layers: the layers whose parameters may move; all if omitted.
    """

    def __init__(self, network: Network, points: Points, *, layers: Collection[int] | None = None) -> None:
        self._network, self._points = network, points
        vector = ParameterVector(network)
        self._layers = frozenset(range(len(network.layers)) if layers is None else layers)
        self.is_free = vector.of_layers(self._layers)
        self._units = vector.units[self.is_free]
        self._order = self._weights_before_biases()

    @property
    def count(self) -> int:
        """Number of parameters that may move."""
        return len(self._units)

    def dense(self) -> Float64[np.ndarray, "rows parameters"]:
        """All rows (point by point, output by output), then one row for every scale that is free."""
        answers, directions = len(self._points) * self._network.outputs, self.gauge_directions()
        jacobian = np.empty((answers + len(directions), self.count))
        first = 0
        for rows in self.rows():
            jacobian[first : first + len(rows)] = rows
            first += len(rows)
        jacobian[answers:] = self._gauge_size(float(np.sum(jacobian[:answers] ** 2)), len(directions)) * directions
        return jacobian

    def rows(self) -> Iterator[Float64[np.ndarray, "rows parameters"]]:
        """The rows of the answers, in chunks of points."""
        for chunk in self._chunks(self._network.outputs * self.count):
            products = [
                (block.sensitivities[:, :, :, None] * block.incoming[:, None, None, :]).reshape(
                    len(block.incoming) * self._network.outputs, -1
                )
                for block in self._blocks(chunk)
            ]
            yield np.hstack(products)[:, self._order] * self._units

    def normal_equations(
        self, residuals: Values
    ) -> tuple[Float64[np.ndarray, "parameters parameters"], Float64[np.ndarray, "parameters"]]:
        """``J^T J`` with the rows of the gauge, and ``J^T r``.

        The block of two layers is a sum over the points of ``(S^T S') (x) (y y'^T)``: one product of two
        tables, which costs as much as if there were a single output.
        """
        gram, target = np.zeros((self.count, self.count)), np.zeros(self.count)
        widest = max(layer.neurons for layer in self._network.layers)
        first = 0
        for chunk in self._chunks((widest + self._network.inputs + 1) ** 2):
            blocks = self._blocks(chunk)
            starts = np.cumsum([0, *(block.sensitivities.shape[2] * block.incoming.shape[1] for block in blocks)])
            part = residuals[first : first + len(chunk)]
            first += len(chunk)
            for i, one in enumerate(blocks):
                pulled = np.einsum("pok,po->pk", one.sensitivities, part)
                target[starts[i] : starts[i + 1]] += (pulled.T @ one.incoming).ravel()
                for j, other in enumerate(blocks[: i + 1]):
                    product = _cross_gram(one, other)
                    gram[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] += product
                    if j < i:
                        gram[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] += product.T
        gram = gram[np.ix_(self._order, self._order)]
        gram *= self._units
        gram *= self._units[:, None]
        directions = self.gauge_directions()
        if len(directions):
            gram += self._gauge_size(float(np.trace(gram)), len(directions)) ** 2 * directions.T @ directions
        return gram, target[self._order] * self._units

    def gauge_directions(self) -> Float64[np.ndarray, "gauges parameters"]:
        """Orthonormal directions in which the scales change, one per neuron whose scale is free.

        For ``g(r t) = r^p g(t)`` the function keeps its values under ``(w, b, a) -> (r w, r b, r^-p a)``
        with a the outgoing weights. Scales are free where both layers may move.
        """
        network, vector, found = self._network, ParameterVector(self._network), []
        for index, (layer, following) in enumerate(zip(network.layers, network.layers[1:], strict=False)):
            if layer.activation.homogeneity is None or not {index, index + 1} <= self._layers:
                continue
            for k in range(layer.neurons):
                direction = np.zeros(vector.count)
                inside, outside = (direction[vector.blocks[index + shift]] for shift in (0, 1))
                inside[k * layer.inputs : (k + 1) * layer.inputs] = layer.weights[k]
                inside[layer.weights.size + k] = layer.biases[k]
                outside[k : following.weights.size : layer.neurons] = (
                    -layer.activation.homogeneity * following.weights[:, k]
                )
                found.append((direction / vector.units)[self.is_free])
        if not found:
            return np.empty((0, self.count))
        directions = np.array(found)
        directions /= positive(np.linalg.norm(directions, axis=1))[:, None]
        basis, triangle = np.linalg.qr(directions.T)
        # A neuron without any weight has no scale.
        return np.where(np.abs(np.diag(triangle)) > 1e-12, basis, 0.0).T

    def _gauge_size(self, squares: float, directions: int) -> float:
        """Root mean square over the other directions: never below the smallest singular value of the answers."""
        return float(np.sqrt(squares / max(self.count - directions, 1)))

    def _chunks(self, numbers: int) -> list[np.ndarray]:
        return np.array_split(self._points, max(1, -(-len(self._points) * numbers // CHUNK_NUMBERS)))

    def _blocks(self, points: Points) -> list[_Block]:
        """The tables of the layers that may move, first layer first, the skip last."""
        network = self._network
        incoming, arguments = [points], []
        for layer in network.layers:
            arguments.append(layer.preactivations(incoming[-1]))
            incoming.append(layer.activation(arguments[-1]))
        identity = np.broadcast_to(np.eye(network.outputs), (len(points), network.outputs, network.outputs))
        blocks, pulled = [], identity
        if network.skip is not None and len(network.layers) - 1 in self._layers:
            blocks.append(_Block(identity, points))
        for index in reversed(range(len(network.layers))):
            layer = network.layers[index]
            sensitivities = pulled * layer.activation(arguments[index], 1)[:, None, :]
            if index in self._layers:
                blocks.append(_Block(sensitivities, _lifted(incoming[index])))
            if index <= min(self._layers):
                break
            pulled = sensitivities @ layer.weights
        return blocks[::-1]

    def _weights_before_biases(self) -> np.ndarray:
        """Where each parameter is if every neuron holds its bias right behind its weights."""
        places, first = [], 0
        for index in sorted(self._layers):
            layer = self._network.layers[index]
            numbers = first + np.arange(layer.neurons * (layer.inputs + 1)).reshape(layer.neurons, -1)
            places += [numbers[:, :-1].ravel(), numbers[:, -1]]
            first += numbers.size
        places.append(np.arange(first, len(self._units)))
        return np.concatenate(places)


def _lifted(values: np.ndarray) -> np.ndarray:
    return np.hstack([values, np.ones((len(values), 1))])


def _cross_gram(one: _Block, other: _Block) -> Float64[np.ndarray, "parameters others"]:
    """``sum_p (S_p^T S'_p) (x) (y_p y'_p^T)`` as one product of two tables."""
    points = len(one.incoming)
    weights = np.swapaxes(one.sensitivities, 1, 2) @ other.sensitivities
    values = one.incoming[:, :, None] * other.incoming[:, None, :]
    product = weights.reshape(points, -1).T @ values.reshape(points, -1)
    by_axis = product.reshape(*weights.shape[1:], *values.shape[1:]).transpose(0, 2, 1, 3)
    return by_axis.reshape(one.sensitivities.shape[2] * one.incoming.shape[1], -1)


def dense_jacobian(network: Network, points: Points) -> Float64[np.ndarray, "rows parameters"]:
    """Jacobian of all values (point by point, output by output) in the relative parameters, then the gauge."""
    return shallow_jacobian(network, points) if is_shallow(network) else LayeredJacobian(network, points).dense()
