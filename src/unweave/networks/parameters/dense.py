"""The Jacobian of a network of any depth as one matrix, with the rows that fix the scales of its neurons."""

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.networks.network import Network
from unweave.networks.parameters.layered import LayeredJacobian
from unweave.networks.parameters.shallow import shallow_jacobian
from unweave.networks.parameters.vector import is_shallow


def gauges(network: Network) -> int:
    """How many scales are free: one per hidden neuron with a homogeneous activation."""
    return sum(layer.neurons for layer in network.layers[:-1] if layer.activation.homogeneity is not None)


def with_gauge(network: Network, residuals: Values) -> Float64[np.ndarray, "rows"]:
    """The right-hand side that belongs to the rows of the Jacobian: no step changes the scale of a neuron."""
    return np.concatenate([residuals.ravel(), np.zeros(gauges(network))])


def dense_jacobian(network: Network, points: Points) -> Float64[np.ndarray, "rows parameters"]:
    """Jacobian of all values (point by point, output by output) in the relative parameters, then the gauge."""
    return shallow_jacobian(network, points) if is_shallow(network) else LayeredJacobian(network, points).dense()
