"""Exact derivatives of the activations whose formulas are longer than a line; none cancels or overflows far out."""

from functools import partial

import numpy as np
from scipy import special

from unweave.activations.activation import Array, Derivatives


def sigmoid_derivatives(t: Array) -> tuple[Array, Array, Array, Array]:
    """The sigmoid and its first three derivatives."""
    s = special.expit(t)
    slope = special.expit(t) * special.expit(-t)
    return s, slope, slope * (1 - 2 * s), slope * (1 - 6 * slope)


def normal_density(t: Array) -> Array:
    """The standard normal density."""
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def tanh_slope(t: Array) -> Array:
    """The derivative of tanh."""
    # 1 - tanh^2 cancels in the tails; the product of two sigmoids does not.
    return 4.0 * special.expit(2 * t) * special.expit(-2 * t)


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
