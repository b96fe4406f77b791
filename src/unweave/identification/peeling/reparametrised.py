"""A network written by the directions of its entangled weights: only diagonals and shifts are left to find.

Let ``V_l`` be the entangled weights of layer l at a point, rows for neurons, and let unit rows
``T_l = S_l P_l V_l`` be known, with an unknown order ``P_l`` and unknown diagonal scales ``S_l``, signs included. With
``M_1 = T_1`` and ``M_{l+1} = T_{l+1} T_l^+`` the model is

    y_l = outer_l g_l(right_l M_l (left_l y_{l-1}) + shifts_l)

with diagonal left, right and outer. Where the layers are no wider than those before, there are diagonals for which
it is the network itself [fiedler, Def. 4.4 and Prop. 4.3].
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points, Values
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import LayerRows
from unweave.networks.network import Layer, Network

Diagonals = tuple[Float64[np.ndarray, "_"], ...]


@dataclass(frozen=True, eq=False)
class ReparametrisedNetwork:
    """The model above.

    Args:
        matrices: the fixed ``M_l``, one row per neuron.
        activations: one per layer.
        left: diagonal before the matrix of every layer.
        right: diagonal after it.
        outer: diagonal after the activation; ones in the output layer.
        shifts: one per neuron.
    """

    matrices: tuple[Float64[np.ndarray, "_ _"], ...]
    activations: tuple[Activation, ...]
    left: Diagonals
    right: Diagonals
    outer: Diagonals
    shifts: Diagonals

    def __call__(self, points: Points) -> Values:
        """Value at every point."""
        return self.network()(points)

    def network(self) -> Network:
        """The same function with ordinary weights ``right M left outer`` (the outer of the layer before)."""
        layers, before = [], np.ones(self.matrices[0].shape[1])
        parts = zip(self.matrices, self.activations, self.left, self.right, self.outer, self.shifts, strict=True)
        for matrix, activation, left, right, outer, shifts in parts:
            layers.append(Layer(right[:, None] * matrix * (left * before), shifts, activation))
            before = outer
        return Network(tuple(layers))

    @property
    def free_parameters(self) -> int:
        """Numbers that are left to find: left and right diagonals and shifts, without the first left one."""
        return sum(len(part) for diagonals in (self.left[1:], self.right, self.shifts) for part in diagonals)


def fixed_matrices(directions: LayerRows) -> tuple[Float64[np.ndarray, "_ _"], ...]:
    """The matrices ``M_1 = T_1`` and ``M_{l+1} = T_{l+1} T_l^+`` (4.63).

    Raises:
        InvalidInput: if a hidden layer is wider than the one before, or than the inputs.

    Assumes: linearly independent directions in every hidden layer.
    """
    for layer, rows in enumerate(directions[:-1]):
        if len(rows) > rows.shape[1] or (layer > 0 and len(rows) > len(directions[layer - 1])):
            widths = [len(each) for each in directions]
            raise InvalidInput(
                f"weights follow from entangled weights only for hidden layers that do not widen, got {widths} "
                f"after {rows.shape[1]} inputs."
            )
    later = (np.linalg.lstsq(before.T, after.T, rcond=None)[0].T for before, after in pairwise(directions))
    return (directions[0], *later)
