"""What entries of the table of activations are made of: a law of reflection, tails, and the longer derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

Array = np.ndarray
Derivatives = tuple[Callable[[Array], Array], ...]


@dataclass(frozen=True)
class Reflection:
    """The law ``g(-t) = sign g(t) + slope t + offset``."""

    sign: int
    slope: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True)
class Tail:
    """The line ``slope t + offset`` that an activation approaches at one end."""

    slope: float
    offset: float = 0.0

    def __call__(self, t: Array) -> Array:
        """Values of the line."""
        return self.slope * t + self.offset


def sigmoid_derivatives(t: Array) -> tuple[Array, Array, Array, Array]:
    """The sigmoid and its first three derivatives."""
    s = special.expit(t)
    slope = s * special.expit(-t)
    return s, slope, slope * (1 - 2 * s), slope * (1 - 6 * slope)


def normal_density(t: Array) -> Array:
    """The standard normal density."""
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


SIGMOID_DERIVATIVES: Derivatives = (
    special.expit,
    lambda t: sigmoid_derivatives(t)[1],
    lambda t: sigmoid_derivatives(t)[2],
    lambda t: sigmoid_derivatives(t)[3],
)
SOFTPLUS_DERIVATIVES: Derivatives = (
    lambda t: np.logaddexp(0.0, t),
    special.expit,
    lambda t: sigmoid_derivatives(t)[1],
    lambda t: sigmoid_derivatives(t)[2],
)
HARD_TANH_DERIVATIVES: Derivatives = (
    lambda t: np.clip(t, -1.0, 1.0),
    lambda t: (np.abs(t) < 1).astype(np.float64),
    np.zeros_like,
    np.zeros_like,
)
HARD_SIGMOID_DERIVATIVES: Derivatives = (
    lambda t: np.clip(t / 6.0 + 0.5, 0.0, 1.0),
    lambda t: np.where(np.abs(t) < 3, 1.0 / 6.0, 0.0),
    np.zeros_like,
    np.zeros_like,
)
GELU_DERIVATIVES: Derivatives = (
    lambda t: t * special.ndtr(t),
    lambda t: special.ndtr(t) + t * normal_density(t),
    lambda t: (2.0 - t**2) * normal_density(t),
    lambda t: (t**3 - 4.0 * t) * normal_density(t),
)
GAUSSIAN_DERIVATIVES: Derivatives = (
    lambda t: np.exp(-(t**2)),
    lambda t: -2.0 * t * np.exp(-(t**2)),
    lambda t: (4.0 * t**2 - 2.0) * np.exp(-(t**2)),
    lambda t: (12.0 * t - 8.0 * t**3) * np.exp(-(t**2)),
)


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
