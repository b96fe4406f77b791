"""The layers above a first layer of relu or leaky relu, as a black box of their own."""

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer
from unweave.oracles.oracle import Box, Domain, Everywhere, Oracle
from unweave.oracles.views import StandardOracle


class PeeledReluOracle(Oracle):
    """What the layers above a first layer of relu or leaky relu answer to values of that layer.

    With weights of full row rank every value ``y`` that the layer can take is taken at
    ``x = W^+ (g^{-1}(y) - b)``. For relu these are all positive ones: a box in the orthant.

    Args:
        oracle: the whole network; its ledger counts every query and keeps the budget, the one of the peeled oracle
            counts its own.
        first: the first layer, in the coordinates of `oracle`.
        size: values of relu are asked up to this size; of leaky relu they are typically of size one.

    Raises:
        InvalidInput: if the rows of the weights are linearly dependent.
    """

    def __init__(self, oracle: StandardOracle, first: Layer, *, size: float) -> None:
        if first.neurons > first.inputs or np.linalg.matrix_rank(first.weights) < first.neurons:
            raise InvalidInput(f"PeeledReluOracle needs weights of full row rank, got shape {first.weights.shape}.")
        super().__init__(inputs=first.neurons, outputs=oracle.outputs, domain=_values_of(first, size))
        self.ledger.type_digits = oracle.oracle.ledger.answer_digits
        self._oracle, self._first = oracle, first
        self._inverse = np.linalg.pinv(first.weights)

    def origins(self, values: Float64[np.ndarray, "points neurons"]) -> Float64[np.ndarray, "points inputs"]:
        """The smallest inputs at which the first layer takes these values."""
        slope = float(self._first.activation(np.array([-1.0]), 1)[0])
        arguments = values if slope == 0.0 else np.where(values < 0.0, values / slope, values)
        return (arguments - self._first.biases) @ self._inverse.T

    def _answer(self, points: Points) -> object:
        return self._oracle.query(self.origins(points))


def _values_of(first: Layer, size: float) -> Domain:
    return Box(0.0, size) if first.activation == RELU else Everywhere()
