"""Signs of first-layer neurons, and their activation, from gradients on both sides of their kinks.

A gradient of the network is a combination ``sum_k c_k n_k`` of the weights of its first layer. If these are
linearly independent the coefficients are unique, and crossing the hyperplane of neuron k changes only c_k:
from 0 to something for relu, by the ratio of its slopes for leaky relu. The side with the larger
coefficient is the active one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU, Activation, leaky_relu
from unweave.arrays import Vector
from unweave.exceptions import StageFailed
from unweave.networks.network import Layer

# Smallest singular value of unit normals below which they count as dependent: errors hide what is smaller.
DEPENDENT = 1e-6
# Slopes of neurons of one layer that differ by more are different.
SAME_SLOPE = 1e-4
# Slopes are chosen by people: few decimals within the error are no accident.
SLOPE_DECIMALS = 6
SLOPE_ERROR = 1e-8


@dataclass(frozen=True)
class Bend:
    """Gradients on both sides of a kink of one first-layer neuron.

    Args:
        neuron: its number.
        direction: from the one side to the other.
        before, after: the gradients.
    """

    neuron: int
    direction: Vector
    before: Float64[np.ndarray, "outputs inputs"]
    after: Float64[np.ndarray, "outputs inputs"]


def orient(
    normals: Float64[np.ndarray, "neurons inputs"], offsets: Float64[np.ndarray, "neurons"], bends: list[Bend]
) -> Layer:
    """The layer of unit weights on these hyperplanes, with the signs and the activation that the bends show.

    Raises:
        StageFailed: if the weights are linearly dependent, a neuron has no bend, or the neurons do not agree on a
            relu or leaky relu.

    Assumes: no neuron of the layer is missing.
    """
    neurons, inputs = normals.shape
    if neurons > inputs or np.linalg.matrix_rank(normals, tol=DEPENDENT) < neurons:
        raise StageFailed(
            f"{neurons} neurons of the first layer in {inputs} inputs are linearly dependent: their signs, and the "
            "layers above, are not determined by gradients."
        )
    if len({bend.neuron for bend in bends}) < neurons:
        raise StageFailed("some kinks of the first layer were not read well enough to tell the signs of their neurons.")
    dual = np.linalg.pinv(normals)
    signs, slopes = np.zeros(neurons), np.zeros(len(bends))
    for index, bend in enumerate(bends):
        before, after = bend.before @ dual[:, bend.neuron], bend.after @ dual[:, bend.neuron]
        is_forward = np.linalg.norm(after) >= np.linalg.norm(before)
        larger = after if is_forward else before
        slopes[index] = (before @ after) / (larger @ larger)
        forward = np.sign(normals[bend.neuron] @ bend.direction)
        sign = forward if is_forward else -forward
        if signs[bend.neuron] == -sign:
            raise StageFailed(f"neuron {bend.neuron} of the first layer bends both ways: it is no relu neuron.")
        signs[bend.neuron] = sign
    return Layer(signs[:, None] * normals, signs * offsets, _activation_of(slopes))


def _activation_of(slopes: Float64[np.ndarray, "bends"]) -> Activation:
    slope = float(np.median(slopes))
    if np.max(np.abs(slopes - slope)) > SAME_SLOPE or abs(slope) > 1.0 - SAME_SLOPE:
        raise StageFailed(
            f"the neurons of the first layer have slopes between {np.min(slopes):.3g} and {np.max(slopes):.3g} on "
            "their flatter side: they are no layer of relu or leaky relu, or some of it is missing."
        )
    if abs(slope) <= SLOPE_ERROR:
        return RELU
    rounded = round(slope, SLOPE_DECIMALS)
    return leaky_relu(rounded if abs(rounded - slope) <= SLOPE_ERROR else slope)
