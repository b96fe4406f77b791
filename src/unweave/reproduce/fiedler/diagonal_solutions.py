"""Diagonals for which a reparametrised network is the network itself [fiedler, Prop. 4.3], known only to who knows it.

Scales of known directions may be undone before the next matrix (first solution) or after the activation (second one).
At a solution the left diagonals follow from the others.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from unweave.arrays import Vector
from unweave.identification.peeling.reparametrised import Diagonals, ReparametrisedNetwork, fixed_matrices
from unweave.networks.network import Network
from unweave.reproduce.fiedler.entangled import entangled_weights, preactivations


def exact_solution(
    network: Network,
    point: Vector,
    *,
    orders: tuple[Int[np.ndarray, "_"], ...],
    scales: Diagonals,
    is_scaled_outside: bool,
) -> ReparametrisedNetwork:
    """The diagonals for which the model is a known network [fiedler, Prop. 4.3].

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
