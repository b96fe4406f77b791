"""What exact moments of a known relu network are, and what they do not show: where [awasthi, Alg. 1] begins.

Conventions are those of `unweave.learn.relu_network.units`.
"""

import numpy as np
from scipy.special import ndtr

from unweave.arrays import PerNeuron
from unweave.learn.relu_network.units import normal_density, relu_coefficient, unit_parameters
from unweave.networks.network import Network
from unweave.numerics.symmetric_tensors import packed_powers, unpack_tensors


def hermite_tensors(network: Network, *, highest: int) -> tuple[np.ndarray, ...]:
    """Give the exact Hermite tensors of orders 0 to `highest` of a shallow relu network, weights of any length.

    Raises:
        InvalidInput: as `unit_parameters`.
    """
    directions, biases, output_weights = unit_parameters(network)
    tensors = []
    for order in range(highest + 1):
        packed = (output_weights * relu_coefficient(order, biases)) @ packed_powers(directions, order)
        tensors.append(unpack_tensors(packed[None], network.inputs, order)[0])
    tensors[0] = np.asarray(tensors[0] + network.layers[1].biases[0])
    if network.skip is not None and highest >= 1:
        tensors[1] = tensors[1] + network.skip[0]
    return tuple(tensors)


def affine_error(biases: PerNeuron) -> PerNeuron:
    """``E[(relu(t + b) - l(t))^2]`` with ``l(t) = t + b`` for positive and 0 for negative biases.

    For large biases of either sign the neuron is an affine function but for this error, and its parameters are not
    seen in the moments: 0.0058 at 2, 2e-4 at 3 and 3e-6 at 4.
    """
    return (1.0 + biases**2) * ndtr(-np.abs(biases)) - np.abs(biases) * normal_density(biases)
