"""Put a shallow network together from directions and fitted profiles."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from unweave.identification.profiles import ProfileFit
from unweave.networks.network import Network
from unweave.numerics.finite_differences import HessianSample


def assemble(
    sample: HessianSample,
    atoms: Float64[np.ndarray, "neurons rank"],
    fit: ProfileFit,
    *,
    outside: Float64[np.ndarray, "outputs inputs"],
) -> Network:
    """Build ``f(x) = c + sum_k a_k g(s_k <u_k, x> + b_k) + B x`` from atoms along the sample's frame.

    The affine remainder ``c + B x`` comes from the values and gradients that were measured along
    with the Hessians; `outside` is the part of B orthogonal to the frame.
    """
    neurons = Network.shallow(
        weights=fit.scales[:, None] * (atoms @ sample.frame.T),
        biases=fit.biases,
        output_weights=fit.curvatures / fit.scales**2,
        offset=np.zeros(sample.values.shape[1]),
        activation=fit.activation,
        skip=np.zeros((sample.values.shape[1], len(sample.frame))),
    )
    gradients = sample.gradients - neurons.gradients(sample.points) @ sample.frame
    slope = np.mean(gradients, axis=0) @ sample.frame.T + outside
    rest = sample.values - neurons(sample.points) - sample.points @ slope.T
    output = replace(neurons.layers[-1], biases=np.mean(rest, axis=0))
    return replace(neurons, layers=(neurons.layers[0], output), skip=slope)


def without_skip(network: Network) -> Network:
    """The same neurons without the affine part."""
    return replace(network, skip=None)
