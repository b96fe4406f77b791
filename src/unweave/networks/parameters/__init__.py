"""The parameters of a network as one vector in relative units, and the Jacobian of its values in them."""

from unweave.networks.parameters.layered import LayeredJacobian, dense_jacobian
from unweave.networks.parameters.vector import (
    JacobianOperator,
    ParameterVector,
    gauges,
    hidden_shift,
    is_shallow,
    scale_directions,
    shallow_jacobian,
    twin_distance,
    with_gauge,
)

__all__ = [
    "JacobianOperator",
    "LayeredJacobian",
    "ParameterVector",
    "dense_jacobian",
    "gauges",
    "hidden_shift",
    "is_shallow",
    "scale_directions",
    "shallow_jacobian",
    "twin_distance",
    "with_gauge",
]
