"""A network written by the directions of its entangled weights: only diagonals and shifts are left to find.

Let ``V_l`` be the entangled weights of layer l at a point, rows for neurons, and let unit rows
``T_l = S_l P_l V_l`` be known, with an unknown order ``P_l`` and unknown diagonal scales ``S_l``, signs included. With
``M_1 = T_1`` and ``M_{l+1} = T_{l+1} T_l^+`` the model is

    y_l = outer_l g_l(right_l M_l (left_l y_{l-1}) + shifts_l)

with diagonal left, right and outer. Where the layers are no wider than those before, there are diagonals for which
it is the network itself [fiedler, Def. 4.4 and Prop. 4.3].
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float64, Int

from unweave.activations import Activation
from unweave.arrays import Points, Values, Vector
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.entangled import LayerRows, entangled_weights, preactivations
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


def start(directions: LayerRows, activations: tuple[Activation, ...]) -> ReparametrisedNetwork:
    """The model with all diagonals one and all shifts zero, where [fiedler, (4.69)] begins."""
    matrices = fixed_matrices(directions)
    left = tuple(np.ones(matrix.shape[1]) for matrix in matrices)
    ones = tuple(np.ones(len(matrix)) for matrix in matrices)
    return ReparametrisedNetwork(matrices, activations, left, ones, ones, tuple(np.zeros(len(m)) for m in matrices))


def exact_solution(
    network: Network,
    point: Vector,
    *,
    orders: tuple[Int[np.ndarray, "_"], ...],
    scales: Diagonals,
    is_scaled_outside: bool,
) -> ReparametrisedNetwork:
    """The diagonals for which the model is a known network (Proposition 4.3), for tests.

    Args:
        network: the network.
        point: where its entangled weights ``V_l`` were taken.
        orders: neuron of `network` behind every row of ``T_l``; the output layer keeps its order.
        scales: ``T_l[k] = scales_l[k] V_l[orders_l[k]]``.
        is_scaled_outside: undo the scales after the activation (second solution) instead of before the next
            matrix (first solution).
    """
    from_network = entangled_weights(network, point)
    directions = tuple(s[:, None] * v[order] for s, v, order in zip(scales, from_network, orders, strict=True))
    inside = preactivations(network, point)
    inverse_slopes = [
        1.0 / g(z, 1)[order] for g, z, order in zip(network.activations[:-1], inside[:-1], orders[:-1], strict=True)
    ]
    ones = [np.ones(layer.neurons) for layer in network.layers]
    after = [inverse if is_scaled_outside else s * inverse for s, inverse in zip(scales, inverse_slopes, strict=False)]
    outer = (*scales[:-1], ones[-1]) if is_scaled_outside else tuple(ones)
    return ReparametrisedNetwork(
        matrices=fixed_matrices(directions),
        activations=network.activations,
        left=(np.ones(network.inputs), *after),
        right=tuple(1.0 / s for s in scales),
        outer=outer,
        shifts=tuple(layer.biases[order] for layer, order in zip(network.layers, orders, strict=True)),
    )


def with_consistent_left(model: ReparametrisedNetwork, point: Vector) -> ReparametrisedNetwork:
    """Set the left diagonals from the others: ``left_{l+1} = 1 / g_l'(z_l)`` at the base point, times the scale.

    At a solution the left diagonals are determined by right, outer and shifts: in the first form
    ``1 / (right_l g_l'(z_l))``, in the second ``1 / g_l'(z_l)``. That leaves two numbers per neuron. The general
    expression ``1 / (right_l outer_l g_l'(z_l))`` is both.
    """
    left = [model.left[0]]
    for layer in range(len(model.matrices) - 1):
        current = replace(model, left=(*left, *model.left[layer + 1 :]))
        inside = preactivations(current.network(), point)[layer]
        slope = model.activations[layer](inside, 1)
        left.append(1.0 / (model.right[layer] * model.outer[layer] * slope))
    return replace(model, left=tuple(left))


def consistency_defect(model: ReparametrisedNetwork, point: Vector) -> float:
    """Largest relative difference of a left diagonal entry to the one that the others ask for."""
    wanted = with_consistent_left(model, point)
    pairs = zip(model.left[1:], wanted.left[1:], strict=True)
    return max((float(np.max(np.abs(one / other - 1.0))) for one, other in pairs), default=0.0)
