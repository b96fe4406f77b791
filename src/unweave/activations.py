"""Scalar activations: values, derivatives, Hermite coefficients and the symmetries they cause.

Every activation here satisfies a reflection law ``g(-t) = sign g(t) + slope t + offset``: it is
what makes the sign of a neuron undetermined (alone, up to a constant, or up to an affine part).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float64
from scipy import special

from unweave.exceptions import InvalidInput

Array = np.ndarray
Derivatives = tuple[Callable[[Array], Array], ...]

# The trapezoidal rule converges exponentially for functions analytic in a strip; this spacing and
# range leave nothing above 1e-15 for every smooth activation here with scales up to 4, degree to 60.
QUADRATURE_RANGE = 20.0
QUADRATURE_SPACING = 1.0 / 64.0


@dataclass(frozen=True)
class Reflection:
    """The law ``g(-t) = sign g(t) + slope t + offset``."""

    sign: int
    slope: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True)
class Rewriting:
    """The law ``g(t) = outer base(inner t) + offset`` that expresses an activation by a simpler one."""

    base: "Activation"
    inner: float
    outer: float
    offset: float


@dataclass(frozen=True, eq=False)
class Activation:
    """A scalar function applied to every neuron of a layer, with all that is known about it.

    Args:
        name: how it is written in files and on the command line.
        derivatives: the function and its first three derivatives.
        reflection: how it behaves under ``t -> -t``.
        kinks: where a piecewise-linear activation bends, in ascending order; none for a smooth one.
        homogeneity: ``p`` if ``g(r t) = r^p g(t)`` for every r > 0.
        period: the period, for a periodic activation.
        rewriting: a simpler activation that gives the same networks, if there is one.
    """

    name: str
    derivatives: Derivatives
    reflection: Reflection
    kinks: tuple[float, ...] = ()
    homogeneity: int | None = None
    period: float | None = None
    rewriting: Rewriting | None = None

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
        return activation_named, (self.name,)

    @property
    def is_smooth(self) -> bool:
        """Whether the three derivatives exist everywhere."""
        return not self.kinks

    def hermite_coefficients(
        self, degree: int, *, scale: float = 1.0, bias: float = 0.0, order: int = 0
    ) -> Float64[Array, "degrees"]:
        """Coefficients ``E[g^(order)(scale Z + bias) h_r(Z)]`` for r = 0 to `degree`, Z standard normal.

        The polynomials ``h_r = He_r / sqrt(r!)`` are orthonormal.

        Raises:
            InvalidInput: for an `order` above 1 if there are kinks.
        """
        if not self.is_smooth:
            return _piecewise_hermite(self, degree, scale=scale, bias=bias, order=order)
        t = np.arange(-QUADRATURE_RANGE, QUADRATURE_RANGE + QUADRATURE_SPACING / 2, QUADRATURE_SPACING)
        density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * QUADRATURE_SPACING
        return hermite_polynomials(t, degree) @ (density * self(scale * t + bias, order))

    def supremum(self, order: int) -> float:
        """Largest absolute value of the derivative of this order (infinite if unbounded)."""
        return _supremum(self, order)


def hermite_polynomials(t: Array, degree: int) -> Float64[Array, "degrees points"]:
    """Orthonormal probabilists' Hermite polynomials of degrees 0 to `degree` at the points `t`."""
    rows = [np.ones_like(t), np.asarray(t, dtype=np.float64)]
    for r in range(1, degree):
        rows.append((t * rows[r] - np.sqrt(r) * rows[r - 1]) / np.sqrt(r + 1))
    return np.array(rows[: degree + 1])


def _piecewise_hermite(activation: Activation, degree: int, *, scale: float, bias: float, order: int) -> Array:
    """Closed form: a piecewise-linear function is affine plus one relu per kink, times its change of slope."""
    if order > 1:
        raise InvalidInput(
            f"{activation} has Hermite coefficients of order 0 and 1 only: its second derivative is a measure."
        )
    kinks = np.array(activation.kinks)
    slopes = activation(np.concatenate([[kinks[0] - 1], (kinks[1:] + kinks[:-1]) / 2, [kinks[-1] + 1]]), 1)
    value = activation(kinks)[0] + slopes[0] * (bias - kinks[0])
    affine = [value, slopes[0] * scale] if order == 0 else [slopes[0], 0.0]
    coefficients = np.concatenate([affine, np.zeros(max(degree - 1, 0))])[: degree + 1]
    for kink, bend in zip(kinks, np.diff(slopes), strict=True):
        coefficients += bend * _relu_hermite(degree, scale=scale, bias=bias - float(kink), order=order)
    return coefficients


def _relu_hermite(degree: int, *, scale: float, bias: float, order: int) -> Array:
    """Closed form: integrate ``He_r phi = (-1)^r phi^(r)`` by parts once or twice."""
    if scale == 0.0:
        return np.concatenate([[max(bias, 0.0) if order == 0 else float(bias > 0)], np.zeros(degree)])
    size, kink = abs(scale), -bias / abs(scale)
    density = np.exp(-0.5 * kink**2) / np.sqrt(2 * np.pi)
    mass = special.ndtr(-kink)
    he = hermite_polynomials(np.array([kink]), max(degree, 1))[:, 0]
    r = np.arange(degree + 1)
    coefficients = np.empty(degree + 1)
    if order == 0:
        coefficients[:2] = np.array([size * density + bias * mass, size * mass])[: degree + 1]
        coefficients[2:] = size * density * he[: degree - 1] / np.sqrt(r[2:] * (r[2:] - 1)) if degree >= 2 else 0.0
    else:
        coefficients[0] = mass
        coefficients[1:] = density * he[:degree] / np.sqrt(r[1:])
    # A negative scale mirrors Z, and h_r(-Z) = (-1)^r h_r(Z).
    return coefficients * np.where(r % 2 == 1, np.sign(scale), 1.0)


@lru_cache(maxsize=64)
def _supremum(activation: Activation, order: int) -> float:
    """Maximum over a fine grid; suprema of the smooth activations are attained in |t| < 12 or at infinity."""
    if activation.homogeneity is not None and order < activation.homogeneity:
        return float("inf")
    if order == 0 and activation.reflection.slope != 0.0:
        return float("inf")
    if (law := activation.rewriting) is not None and order > 0:
        return abs(law.outer * law.inner**order) * _supremum(law.base, order)
    t = np.linspace(-40.0, 40.0, 320_001)
    return float(np.max(np.abs(activation(t, order))))


def _sigmoid_derivatives(t: Array) -> tuple[Array, Array, Array, Array]:
    s = special.expit(t)
    slope = special.expit(t) * special.expit(-t)
    return s, slope, slope * (1 - 2 * s), slope * (1 - 6 * slope)


def _normal_density(t: Array) -> Array:
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def _tanh_slope(t: Array) -> Array:
    # 1 - tanh^2 cancels in the tails; the product of two sigmoids does not.
    return 4.0 * special.expit(2 * t) * special.expit(-2 * t)


def _silu_derivative(t: Array, order: int) -> Array:
    derivatives = _sigmoid_derivatives(t)
    return t * derivatives[order] + (order * derivatives[order - 1] if order else 0.0)


TANH = Activation(
    "tanh",
    (
        np.tanh,
        _tanh_slope,
        lambda t: -2.0 * np.tanh(t) * _tanh_slope(t),
        lambda t: _tanh_slope(t) * (4.0 - 6.0 * _tanh_slope(t)),
    ),
    Reflection(sign=-1),
)
SIGMOID = Activation(
    "sigmoid",
    (
        special.expit,
        lambda t: _sigmoid_derivatives(t)[1],
        lambda t: _sigmoid_derivatives(t)[2],
        lambda t: _sigmoid_derivatives(t)[3],
    ),
    Reflection(sign=-1, offset=1.0),
    rewriting=Rewriting(base=TANH, inner=0.5, outer=0.5, offset=0.5),
)
SOFTPLUS = Activation(
    "softplus",
    (
        lambda t: np.logaddexp(0.0, t),
        special.expit,
        lambda t: _sigmoid_derivatives(t)[1],
        lambda t: _sigmoid_derivatives(t)[2],
    ),
    Reflection(sign=1, slope=-1.0),
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
)
GELU = Activation(
    "gelu",
    (
        lambda t: t * special.ndtr(t),
        lambda t: special.ndtr(t) + t * _normal_density(t),
        lambda t: (2.0 - t**2) * _normal_density(t),
        lambda t: (t**3 - 4.0 * t) * _normal_density(t),
    ),
    Reflection(sign=1, slope=-1.0),
)
SILU = Activation(
    "silu",
    tuple((lambda t, order=order: _silu_derivative(t, order)) for order in range(4)),
    Reflection(sign=1, slope=-1.0),
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
)
RELU = Activation(
    "relu",
    (lambda t: np.maximum(t, 0.0), lambda t: (t > 0).astype(np.float64), np.zeros_like, np.zeros_like),
    Reflection(sign=1, slope=-1.0),
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
    kinks=(-1.0, 1.0),
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
    homogeneity=1,
)


def softplus(beta: float) -> Activation:
    """The activation ``log(1 + exp(beta t)) / beta``."""
    beta = float(beta)
    if not (np.isfinite(beta) and beta > 0):
        raise InvalidInput(f"softplus needs a positive finite beta, got {beta}.")
    if beta == 1.0:
        return SOFTPLUS
    scaled = tuple((lambda t, order=order: beta ** (order - 1) * SOFTPLUS(beta * t, order)) for order in range(4))
    return Activation(
        f"softplus({beta!r})",
        scaled,
        Reflection(sign=1, slope=-1.0),
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
        homogeneity=1,
        kinks=(0.0,),
    )


# The slope that the large frameworks take if none is given.
LEAKY_RELU = leaky_relu(0.01)

NAMED = {
    activation.name: activation
    for activation in (
        TANH,
        SIGMOID,
        SOFTPLUS,
        ERF,
        GELU,
        SILU,
        SIN,
        GAUSSIAN,
        RELU,
        LEAKY_RELU,
        HARD_TANH,
        QUADRATIC,
        IDENTITY,
    )
}
# Activations that can be undone: values in their range, arguments out.
INVERSES: dict[Activation, Callable[[Array], Array]] = {
    IDENTITY: np.positive,
    TANH: np.arctanh,
    SIGMOID: special.logit,
}
FAMILIES = {"softplus": softplus, "leaky_relu": leaky_relu}


def inverse_of(activation: Activation) -> Callable[[Array], Array]:
    """The inverse function of an activation that can be undone in closed form.

    Raises:
        InvalidInput: if it can't.
    """
    if activation not in INVERSES:
        raise InvalidInput(
            f"{activation} can't be undone: known are {', '.join(sorted(known.name for known in INVERSES))}."
        )
    return INVERSES[activation]


def activation_named(name: str) -> Activation:
    """Look an activation up by name; `softplus(2.0)` carries its beta, `leaky_relu(0.1)` its slope."""
    if name == "leaky_relu":
        return LEAKY_RELU
    if name in NAMED:
        return NAMED[name]
    family, _, number = name.partition("(")
    if family in FAMILIES and number.endswith(")"):
        try:
            value = float(number[:-1])
        except ValueError as error:
            raise InvalidInput(f"{family} needs a number in its parentheses, got {name!r}.") from error
        return FAMILIES[family](value)
    raise InvalidInput(
        f"unknown activation {name!r}: use one of {', '.join(NAMED)}, softplus(beta) or leaky_relu(slope)."
    )
