"""A first layer and the shallow network above it, joined to one network."""

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.exceptions import StageFailed
from unweave.networks.network import Layer, Network


def join(first: Layer, upper: Network) -> Network:
    """The network that applies `upper` to the values of `first`.

    Under relu these values are positive, so that neurons with positive weights are linear there: an affine part
    of `upper` becomes neurons that are always active.

    Raises:
        StageFailed: if `upper` has an affine part and the first layer is not one of relu.
    """
    hidden, output = upper.layers
    if upper.skip is None:
        return Network((first, hidden, output))
    if first.activation != RELU or hidden.activation != RELU:
        raise StageFailed(f"an affine part above a layer of {first.activation} can't be written without a skip.")
    always, outgoing = _positive_factors(upper.skip)
    return Network(
        (
            first,
            Layer(np.vstack([hidden.weights, always]), np.append(hidden.biases, np.zeros(len(always))), RELU),
            Layer(np.hstack([output.weights, outgoing]), output.biases, output.activation),
        )
    )


def _positive_factors(
    slopes: Float64[np.ndarray, "outputs inputs"],
) -> tuple[Float64[np.ndarray, "neurons inputs"], Float64[np.ndarray, "outputs neurons"]]:
    """Slopes as a product of outgoing weights with positive ones, by few neurons."""
    outputs, inputs = slopes.shape
    if 2 * outputs >= inputs:
        return np.eye(inputs), slopes
    parts, signs = np.vstack([np.maximum(slopes, 0.0), np.maximum(-slopes, 0.0)]), np.eye(outputs)
    is_used = np.any(parts > 0.0, axis=1)
    return parts[is_used], np.hstack([signs, -signs])[:, is_used]
