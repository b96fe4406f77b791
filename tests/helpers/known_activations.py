"""All named activations, and some others of every family with a parameter."""

from unweave.activations import NAMED, elu, leaky_relu, softplus
from unweave.activations.table import SELU_ALPHA

LEAKY = [leaky_relu(0.3), leaky_relu(-0.4), leaky_relu(-1.0)]
ALL = [*NAMED.values(), softplus(2.5), softplus(0.3), *LEAKY, elu(0.5), elu(SELU_ALPHA)]
BROKEN = [activation for activation in ALL if not activation.is_smooth]
KINKED = [activation for activation in ALL if activation.is_piecewise_linear]
