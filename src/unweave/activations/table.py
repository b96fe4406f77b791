"""The table of activations: one entry each, found by name, and the families that carry a number."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from unweave.activations.activation import Activation, Array, Derivatives, Reflection, Rewriting, Tail
from unweave.exceptions import InvalidInput


def sigmoid_derivatives(t: Array) -> tuple[Array, Array, Array, Array]:
    """The sigmoid and its first three derivatives."""
    s = special.expit(t)
    slope = s * special.expit(-t)
    return s, slope, slope * (1 - 2 * s), slope * (1 - 6 * slope)


def normal_density(t: Array) -> Array:
    """The standard normal density."""
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def tanh_slope(t: Array) -> Array:
    """The derivative of tanh."""
    # 1 - tanh^2 cancels in the tails; the product of two sigmoids does not, written with one exponential.
    decay = np.exp(-2.0 * np.abs(t))
    return 4.0 * decay / (1.0 + decay) ** 2


def silu_derivative(t: Array, order: int) -> Array:
    """A derivative of ``t sigmoid(t)``."""
    derivatives = sigmoid_derivatives(t)
    return t * derivatives[order] + (order * derivatives[order - 1] if order else 0.0)


def mish_derivative(t: Array, order: int) -> Array:
    """A derivative of ``t tanh(softplus(t))``, by the product rule."""
    derivatives = _tanh_of_softplus(t)
    return t * derivatives[order] + (order * derivatives[order - 1] if order else 0.0)


def _tanh_of_softplus(t: Array) -> tuple[Array, Array, Array, Array]:
    """``T = tanh(log(1 + e^t)) = ((1 + e^t)^2 - 1) / ((1 + e^t)^2 + 1)`` and its first three derivatives."""
    # Numerator and denominator in powers of exp(-|t|), which does not overflow.
    small = np.exp(-np.abs(t))
    is_positive = t > 0
    numerator = np.where(is_positive, 1 + 2 * small, small * (small + 2))
    denominator = numerator + np.where(is_positive, 2 * small**2, 2.0)
    value = numerator / denominator
    # 1 - T^2.
    rest = 4 * np.where(is_positive, small**2, 1.0) * (1 + small) ** 2 / denominator**2
    s, q = special.expit(t), special.expit(-t)
    third = s * q * (1 - 2 * s) - 6 * value * s**2 * q + (4 * value**2 - 2 * rest) * s**3
    return value, rest * s, rest * (s * q - 2 * value * s**2), rest * third


def elu_derivatives(alpha: float, scale: float = 1.0) -> Derivatives:
    """``scale t`` for positive and ``scale alpha (exp(t) - 1)`` for negative arguments, and its derivatives."""
    upper = scale * alpha

    def value(t: Array) -> Array:
        return np.where(t > 0, scale * t, upper * np.expm1(np.minimum(t, 0.0)))

    def derivative(t: Array, positive: float) -> Array:
        return np.where(t > 0, positive, upper * np.exp(np.minimum(t, 0.0)))

    return value, partial(derivative, positive=scale), *(partial(derivative, positive=0.0) for _ in range(2))


# Constants of Klambauer et al. (2017), with which the values of wide layers keep mean 0 and variance 1.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
# Tails of activations that replace relu.
RELU_TAILS = (Tail(0.0), Tail(1.0))

TANH = Activation(
    "tanh",
    (
        np.tanh,
        tanh_slope,
        lambda t: -2.0 * np.tanh(t) * tanh_slope(t),
        lambda t: tanh_slope(t) * (4.0 - 6.0 * tanh_slope(t)),
    ),
    Reflection(sign=-1),
    (Tail(0.0, -1.0), Tail(0.0, 1.0)),
    inverse=np.arctanh,
)
SIGMOID = Activation(
    "sigmoid",
    (
        special.expit,
        lambda t: sigmoid_derivatives(t)[1],
        lambda t: sigmoid_derivatives(t)[2],
        lambda t: sigmoid_derivatives(t)[3],
    ),
    Reflection(sign=-1, offset=1.0),
    (Tail(0.0, 0.0), Tail(0.0, 1.0)),
    rewriting=Rewriting(base=TANH, inner=0.5, outer=0.5, offset=0.5),
    inverse=special.logit,
)
SOFTPLUS = Activation(
    "softplus",
    (
        lambda t: np.logaddexp(0.0, t),
        special.expit,
        lambda t: sigmoid_derivatives(t)[1],
        lambda t: sigmoid_derivatives(t)[2],
    ),
    Reflection(sign=1, slope=-1.0),
    RELU_TAILS,
)
GELU = Activation(
    "gelu",
    (
        lambda t: t * special.ndtr(t),
        lambda t: special.ndtr(t) + t * normal_density(t),
        lambda t: (2.0 - t**2) * normal_density(t),
        lambda t: (t**3 - 4.0 * t) * normal_density(t),
    ),
    Reflection(sign=1, slope=-1.0),
    RELU_TAILS,
)
ERF = Activation(
    "erf",
    (
        special.erf,
        lambda t: 2.0 / np.sqrt(np.pi) * np.exp(-(t**2)),
        lambda t: -4.0 * t / np.sqrt(np.pi) * np.exp(-(t**2)),
        lambda t: (8.0 * t**2 - 4.0) / np.sqrt(np.pi) * np.exp(-(t**2)),
    ),
    Reflection(sign=-1),
    (Tail(0.0, -1.0), Tail(0.0, 1.0)),
    inverse=special.erfinv,
)
SILU = Activation(
    "silu",
    tuple(partial(silu_derivative, order=order) for order in range(4)),
    Reflection(sign=1, slope=-1.0),
    RELU_TAILS,
)
SIN = Activation(
    "sin",
    (np.sin, np.cos, lambda t: -np.sin(t), lambda t: -np.cos(t)),
    Reflection(sign=-1),
    period=2 * np.pi,
)
GAUSSIAN = Activation(
    "gaussian",
    (
        lambda t: np.exp(-(t**2)),
        lambda t: -2.0 * t * np.exp(-(t**2)),
        lambda t: (4.0 * t**2 - 2.0) * np.exp(-(t**2)),
        lambda t: (12.0 * t - 8.0 * t**3) * np.exp(-(t**2)),
    ),
    Reflection(sign=1),
    (Tail(0.0), Tail(0.0)),
)
RELU = Activation(
    "relu",
    (lambda t: np.maximum(t, 0.0), lambda t: (t > 0).astype(np.float64), np.zeros_like, np.zeros_like),
    Reflection(sign=1, slope=-1.0),
    RELU_TAILS,
    homogeneity=1,
    kinks=(0.0,),
)
HARD_TANH = Activation(
    "hard_tanh",
    (
        lambda t: np.clip(t, -1.0, 1.0),
        lambda t: (np.abs(t) < 1).astype(np.float64),
        np.zeros_like,
        np.zeros_like,
    ),
    Reflection(sign=-1),
    (Tail(0.0, -1.0), Tail(0.0, 1.0)),
    kinks=(-1.0, 1.0),
)
HARD_SIGMOID = Activation(
    "hard_sigmoid",
    (
        lambda t: np.clip(t / 6.0 + 0.5, 0.0, 1.0),
        lambda t: np.where(np.abs(t) < 3, 1.0 / 6.0, 0.0),
        np.zeros_like,
        np.zeros_like,
    ),
    Reflection(sign=-1, offset=1.0),
    (Tail(0.0, 0.0), Tail(0.0, 1.0)),
    kinks=(-3.0, 3.0),
    rewriting=Rewriting(base=HARD_TANH, inner=1.0 / 3.0, outer=0.5, offset=0.5),
)
MISH = Activation(
    "mish",
    tuple(partial(mish_derivative, order=order) for order in range(4)),
    tails=RELU_TAILS,
    is_tried_late=True,
)
ELU = Activation(
    "elu",
    elu_derivatives(1.0),
    tails=(Tail(0.0, -1.0), Tail(1.0)),
    curvature_jumps=(0.0,),
    is_tried_late=True,
)
SELU = Activation(
    "selu",
    elu_derivatives(SELU_ALPHA, SELU_SCALE),
    tails=(Tail(0.0, -SELU_SCALE * SELU_ALPHA), Tail(SELU_SCALE)),
    kinks=(0.0,),
    is_tried_late=True,
)
QUADRATIC = Activation(
    "quadratic",
    (np.square, lambda t: 2.0 * t, lambda t: np.full_like(t, 2.0), np.zeros_like),
    Reflection(sign=1),
    homogeneity=2,
)
IDENTITY = Activation(
    "identity",
    (np.array, np.ones_like, np.zeros_like, np.zeros_like),
    Reflection(sign=-1),
    (Tail(1.0), Tail(1.0)),
    homogeneity=1,
    inverse=np.positive,
)
# Not among the named ones that pipelines try: its networks have no slopes, and its lengths mean nothing.
STEP = Activation(
    "step",
    (lambda t: (t >= 0).astype(np.float64), np.zeros_like, np.zeros_like, np.zeros_like),
    Reflection(sign=-1, offset=1.0),
    (Tail(0.0, 0.0), Tail(0.0, 1.0)),
    homogeneity=0,
    jumps=(0.0,),
)


def _positive(number: float, family: str, name: str) -> float:
    number = float(number)
    if not (np.isfinite(number) and number > 0):
        raise InvalidInput(f"{family} needs a positive finite {name}, got {number}.")
    return number


def softplus(beta: float) -> Activation:
    """The activation ``log(1 + exp(beta t)) / beta``."""
    beta = _positive(beta, "softplus", "beta")
    if beta == 1.0:
        return SOFTPLUS
    scaled = tuple((lambda t, order=order: beta ** (order - 1) * SOFTPLUS(beta * t, order)) for order in range(4))
    return Activation(
        f"softplus({beta!r})",
        scaled,
        Reflection(sign=1, slope=-1.0),
        RELU_TAILS,
        rewriting=Rewriting(base=SOFTPLUS, inner=beta, outer=1.0 / beta, offset=0.0),
    )


def leaky_relu(slope: float) -> Activation:
    """The activation ``max(t, slope t)``: relu for a slope of 0, the absolute value for one of -1."""
    slope = float(slope)
    if not -1.0 <= slope < 1.0:
        raise InvalidInput(f"leaky_relu needs a slope from -1 to below 1, got {slope}.")
    if slope == 0.0:
        return RELU
    return Activation(
        f"leaky_relu({slope!r})",
        (
            lambda t: np.maximum(t, slope * t),
            lambda t: np.where(t > 0, 1.0, slope),
            np.zeros_like,
            np.zeros_like,
        ),
        Reflection(sign=1, slope=-(1.0 + slope)),
        (Tail(slope), Tail(1.0)),
        homogeneity=1,
        kinks=(0.0,),
    )


def elu(alpha: float) -> Activation:
    """The activation ``t`` for positive and ``alpha (exp(t) - 1)`` for negative arguments."""
    alpha = _positive(alpha, "elu", "alpha")
    if alpha == 1.0:
        return ELU
    is_selu = alpha == SELU_ALPHA
    return Activation(
        f"elu({alpha!r})",
        elu_derivatives(alpha),
        tails=(Tail(0.0, -alpha), Tail(1.0)),
        kinks=(0.0,),
        rewriting=Rewriting(base=SELU, inner=1.0, outer=1.0 / SELU_SCALE, offset=0.0) if is_selu else None,
    )


# The slope that the large frameworks take if none is given.
LEAKY_RELU = leaky_relu(0.01)

# In the order in which they are tried, where several may be.
NAMED = {
    activation.name: activation
    for activation in (
        *(TANH, SIGMOID, SOFTPLUS, GELU, ERF, SILU, SIN, GAUSSIAN, MISH, ELU, SELU),
        *(RELU, LEAKY_RELU, HARD_TANH, HARD_SIGMOID, QUADRATIC, IDENTITY),
    )
}
# Families with the name of their number.
FAMILIES = {"softplus": (softplus, "beta"), "leaky_relu": (leaky_relu, "slope"), "elu": (elu, "alpha")}


def inverse_of(activation: Activation) -> Callable[[Array], Array]:
    """The inverse function of an activation that can be undone in closed form.

    Raises:
        InvalidInput: if it can't.
    """
    if activation.inverse is None:
        known = sorted(name for name, other in NAMED.items() if other.inverse is not None)
        raise InvalidInput(f"{activation} can't be undone: known are {', '.join(known)}.")
    return activation.inverse


def activation_named(name: str) -> Activation:
    """Look an activation up by name; some carry a number, as `softplus(2.0)`, `leaky_relu(0.1)` and `elu(0.5)` do.

    Raises:
        InvalidInput: if there is none of this name.
    """
    named = {**NAMED, "leaky_relu": LEAKY_RELU, STEP.name: STEP}
    if name in named:
        return named[name]
    family, _, number = name.partition("(")
    if family in FAMILIES and number.endswith(")"):
        try:
            value = float(number[:-1])
        except ValueError as error:
            raise InvalidInput(f"{family} needs a number in its parentheses, got {name!r}.") from error
        return FAMILIES[family][0](value)
    families = ", ".join(f"{family}({number})" for family, (_, number) in FAMILIES.items())
    raise InvalidInput(f"unknown activation {name!r}: use one of {', '.join(NAMED)}, step, or a number in {families}.")


def base_of(activation: Activation) -> Activation:
    """The simplest activation that gives the same networks."""
    while activation.rewriting is not None:
        activation = activation.rewriting.base
    return activation


def equivalent_names(activation: Activation) -> tuple[str, ...]:
    """Names of the other known activations that give the same networks (sigmoid for tanh)."""
    base = base_of(activation)
    return tuple(name for name, other in NAMED.items() if base_of(other) == base and other != activation)


def simplest_activations(may_be: Callable[[Activation], bool]) -> tuple[Activation, ...]:
    """Give the activations of the table that may be it, without those that only write the same networks otherwise."""
    return tuple(each for each in NAMED.values() if each.rewriting is None and may_be(each))
