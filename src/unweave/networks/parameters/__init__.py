"""The parameters of a network as one vector in relative units, and the Jacobian of its values in them."""

from unweave.networks.parameters.dense import dense_jacobian, gauges, with_gauge
from unweave.networks.parameters.layered import LayeredJacobian
from unweave.networks.parameters.shallow import JacobianOperator, scale_directions
from unweave.networks.parameters.vector import ParameterVector, is_shallow

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
