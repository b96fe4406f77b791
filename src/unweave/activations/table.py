"""What is known about scalar activations, and the table of them: one entry each.

An entry holds values, derivatives, tails and symmetries. What these are, and the longer derivatives, is in `formulas`;
activations that carry a number are in `families`, Hermite coefficients in `integrals`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from jaxtyping import Float64
from scipy import special

from unweave.activations.formulas import (
    GAUSSIAN_DERIVATIVES,
    GELU_DERIVATIVES,
    HARD_SIGMOID_DERIVATIVES,
    HARD_TANH_DERIVATIVES,
    SIGMOID_DERIVATIVES,
    SOFTPLUS_DERIVATIVES,
    Array,
    Derivatives,
    Reflection,
    Tail,
    elu_derivatives,
    mish_derivative,
    silu_derivative,
)
from unweave.exceptions import InvalidInput

# Arguments that tell whether a function bends between its breaks, or vanishes on one side.
PROBES = np.array([0.1, 0.7, 1.3, 2.9, 11.0])


@dataclass(frozen=True)
class Rewriting:
    """The law ``g(t) = outer base(inner t) + offset`` that expresses an activation by a simpler one."""

    base: "Activation"
    inner: float
    outer: float
    offset: float


@dataclass(frozen=True, eq=False)
class Activation:
    """Describe the scalar function that a layer applies to every neuron, with all that is known about it.

    Args:
        name: how it is written in files and on the command line.
        derivatives: the function and its first three derivatives (between breaks, where it has some).
        reflection: how it behaves under ``t -> -t``: what makes the sign of a neuron undetermined (alone, up to a
            constant, or up to an affine part). None if nothing of the kind holds, so that a neuron has a sign.
        tails: the lines that it approaches for ``t -> -inf`` and ``t -> inf``; None if it does not.
        kinks: where the slope jumps, in ascending order.
        curvature_jumps: where the slope is continuous and the second derivative jumps, in ascending order.
        jumps: where the values jump, in ascending order.
        homogeneity: ``p`` if ``g(r t) = r^p g(t)`` for every r > 0.
        period: the period, for a periodic activation.
        rewriting: a simpler activation that gives the same networks, if there is one.
        inverse: the argument of a value, in closed form, if there is one.
        is_tried_late: whether it is tried only where nothing else fits, if the activation is not given: so it costs
            the networks of other activations nothing.
    """

    name: str
    derivatives: Derivatives
    reflection: Reflection | None = None
    tails: tuple[Tail, Tail] | None = None
    kinks: tuple[float, ...] = ()
    curvature_jumps: tuple[float, ...] = ()
    jumps: tuple[float, ...] = ()
    homogeneity: int | None = None
    period: float | None = None
    rewriting: Rewriting | None = None
    inverse: Callable[[Array], Array] | None = None
    is_tried_late: bool = False

    def __call__(self, t: Array, order: int = 0) -> Array:
        """Value (`order` 0) or derivative (`order` 1 to 3) at every entry of `t`."""
        return self.derivatives[order](np.asarray(t, dtype=np.float64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        # Pickled by name, as in files: estimators that hold a network travel between processes.
        from unweave.activations.families import activation_named

        return activation_named, (self.name,)

    def breaks(self, order: int) -> tuple[float, ...]:
        """List where the derivative of this order, or a lower one, does not exist; in ascending order."""
        places = (self.jumps, self.kinks, self.curvature_jumps)[: order + 1]
        return tuple(sorted(place for kind in places for place in kind))

    @property
    def is_smooth(self) -> bool:
        """Tell whether the three derivatives exist everywhere."""
        return not self.breaks(3)

    @property
    def is_piecewise_linear(self) -> bool:
        """Tell whether it is linear between breaks."""
        return not self.is_smooth and not np.any(self(np.concatenate([-PROBES, PROBES]), 2))

    @property
    def is_curved(self) -> bool:
        """Tell whether its second derivative depends on the argument, so that Hessians tell its neurons apart."""
        return self.homogeneity is None and not self.is_piecewise_linear

    @property
    def vanishes_below(self) -> bool:
        """Tell whether it is zero for negative arguments, as step and relu are."""
        return not np.any(self(-PROBES))

    @property
    def reflected_slope(self) -> float:
        """Return the slope of the affine part that changing the sign of a neuron leaves; 0 if there is none."""
        return 0.0 if self.reflection is None else self.reflection.slope

    @property
    def bend(self) -> float:
        """Return the change of slope from one tail to the other; 0 if it has no tails."""
        return 0.0 if self.tails is None else self.tails[1].slope - self.tails[0].slope

    @property
    def corner(self) -> float:
        """Return the argument at which its two tails meet; 0 if they do not."""
        return 0.0 if self.tails is None or not self.bend else (self.tails[0].offset - self.tails[1].offset) / self.bend

    def hermite_coefficients(
        self, degree: int, *, scale: float = 1.0, bias: float = 0.0, order: int = 0
    ) -> Float64[Array, "degrees"]:
        """Compute coefficients ``E[g^(order)(scale Z + bias) h_r(Z)]`` for r = 0 to `degree`, Z standard normal.

        The polynomials ``h_r = He_r / sqrt(r!)`` are orthonormal.

        Raises:
            InvalidInput: for an `order` of which the derivative is a measure: above 0 if there are jumps, above 1 if
                there are kinks, above 2 if the second derivative jumps.
        """
        # Imported late: integrals are of activations.
        from unweave.activations.integrals import hermite_coefficients

        return hermite_coefficients(self, degree, scale=scale, bias=bias, order=order)

    def supremum(self, order: int) -> float:
        """Return the largest absolute value of the derivative of this order between breaks (infinite if unbounded)."""
        return _supremum(self, order)


@lru_cache(maxsize=64)
def _supremum(activation: Activation, order: int) -> float:
    """Maximum over a fine grid; suprema of the activations are attained in |t| < 12, at a break or at infinity."""
    if activation.homogeneity is not None and order < activation.homogeneity:
        return float("inf")
    if order == 0 and activation.tails is not None and any(tail.slope for tail in activation.tails):
        return float("inf")
    if (law := activation.rewriting) is not None and order > 0:
        return abs(law.outer * law.inner**order) * _supremum(law.base, order)
    t = np.linspace(-40.0, 40.0, 320_001)
    return float(np.max(np.abs(activation(t, order))))


def hermite_polynomials(t: Array, degree: int) -> Float64[Array, "degrees points"]:
    """Orthonormal probabilists' Hermite polynomials of degrees 0 to `degree` at the points `t`."""
    rows = [np.ones_like(t), np.asarray(t, dtype=np.float64)]
    for r in range(1, degree):
        rows.append((t * rows[r] - np.sqrt(r) * rows[r - 1]) / np.sqrt(r + 1))
    return np.array(rows[: degree + 1])


def tanh_slope(t: Array) -> Array:
    """The derivative of tanh."""
    # 1 - tanh^2 cancels in the tails; the product of two sigmoids does not, written with one exponential.
    decay = np.exp(-2.0 * np.abs(t))
    return 4.0 * decay / (1.0 + decay) ** 2


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
    SIGMOID_DERIVATIVES,
    Reflection(sign=-1, offset=1.0),
    (Tail(0.0, 0.0), Tail(0.0, 1.0)),
    rewriting=Rewriting(base=TANH, inner=0.5, outer=0.5, offset=0.5),
    inverse=special.logit,
)
SOFTPLUS = Activation(
    "softplus",
    SOFTPLUS_DERIVATIVES,
    Reflection(sign=1, slope=-1.0),
    RELU_TAILS,
)
GELU = Activation(
    "gelu",
    GELU_DERIVATIVES,
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
    GAUSSIAN_DERIVATIVES,
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
    HARD_TANH_DERIVATIVES,
    Reflection(sign=-1),
    (Tail(0.0, -1.0), Tail(0.0, 1.0)),
    kinks=(-1.0, 1.0),
)
HARD_SIGMOID = Activation(
    "hard_sigmoid",
    HARD_SIGMOID_DERIVATIVES,
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


def inverse_of(activation: Activation) -> Callable[[Array], Array]:
    """The inverse function of an activation that can be undone in closed form.

    Raises:
        InvalidInput: if it can't.
    """
    if activation.inverse is None:
        known = sorted(name for name, other in NAMED.items() if other.inverse is not None)
        raise InvalidInput(f"{activation} can't be undone: known are {', '.join(known)}.")
    return activation.inverse


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
