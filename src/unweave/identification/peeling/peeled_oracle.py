"""The layers above a known one, as a function of its values.

Where a layer has no more neurons than inputs, and an activation that can be undone, every pattern of its values is
taken somewhere: to ask what the layers above make of it, ask there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from unweave.activations import inverse_of
from unweave.arrays import Points, Values
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer
from unweave.oracles.views import Queryable


@dataclass(frozen=True)
class PeeledOracle:
    """The layers above a known one, as a function of its values.

    Args:
        oracle: the whole network, in the coordinates of the layer's inputs.
        layer: the known layer, of full row rank.

    Raises:
        InvalidInput: if the layer has more neurons than inputs, or its activation can't be undone.
    """

    oracle: Queryable
    layer: Layer

    def __post_init__(self) -> None:
        if self.layer.neurons > self.layer.inputs:
            raise InvalidInput(
                f"a layer can be peeled off if it has no more neurons than inputs, got {self.layer.neurons} neurons "
                f"and {self.layer.inputs} inputs."
            )
        inverse_of(self.layer.activation)

    @property
    def inputs(self) -> int:
        """Number of inputs: the neurons of the layer."""
        return self.layer.neurons

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.oracle.outputs

    @cached_property
    def lift(self) -> Float64[np.ndarray, "inputs neurons"]:
        """The smallest change of the inputs that changes one argument of the layer, one column each."""
        return np.linalg.pinv(self.layer.weights)

    def preimages(self, points: Points) -> Float64[np.ndarray, "points inputs_below"]:
        """Inputs at which the layer takes these values: the smallest ones."""
        return (inverse_of(self.layer.activation)(points) - self.layer.biases) @ self.lift.T

    def query(self, points: Points) -> Values:
        """Answers where the layer takes these values."""
        return self.oracle.query(self.preimages(points))
