"""The parameters of a network as one vector in relative units, and the Jacobian of its values in them."""

from unweave.networks.parameters.layered import LayeredJacobian, dense_jacobian, gauges, with_gauge
from unweave.networks.parameters.vector import JacobianOperator, ParameterVector, is_shallow, scale_directions

__all__ = [
    "JacobianOperator",
    "LayeredJacobian",
    "ParameterVector",
    "dense_jacobian",
    "gauges",
    "is_shallow",
    "scale_directions",
    "with_gauge",
]
