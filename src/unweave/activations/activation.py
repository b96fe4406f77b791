"""What is known about a scalar activation: values, derivatives, tails, symmetries, Hermite coefficients."""

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
# Gauss-Legendre panels for functions that are smooth between breaks only: as exact on the same range.
PANEL_WIDTH, PANEL_NODES = 0.5, 20
# Arguments that tell whether a function bends between its breaks, or vanishes on one side.
PROBES = np.array([0.1, 0.7, 1.3, 2.9, 11.0])


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


@dataclass(frozen=True)
class Tail:
    """The line ``slope t + offset`` that an activation approaches at one end."""

    slope: float
    offset: float = 0.0

    def __call__(self, t: Array) -> Array:
        """Values of the line."""
        return self.slope * t + self.offset


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
        from unweave.activations.table import activation_named

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
        if order > 0 and self.breaks(order - 1):
            highest = next(each for each in range(order) if self.breaks(each))
            raise InvalidInput(
                f"{self} has Hermite coefficients up to order {highest} only: the next derivative is a measure."
            )
        if self.is_smooth:
            t = np.arange(-QUADRATURE_RANGE, QUADRATURE_RANGE + QUADRATURE_SPACING / 2, QUADRATURE_SPACING)
            density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * QUADRATURE_SPACING
        elif self.is_piecewise_linear:
            return _piecewise_hermite(self, degree, scale=scale, bias=bias, order=order)
        else:
            t, density = _panels([(place - bias) / scale for place in self.breaks(3)] if scale else [])
        return hermite_polynomials(t, degree) @ (density * self(scale * t + bias, order))

    def supremum(self, order: int) -> float:
        """Return the largest absolute value of the derivative of this order between breaks (infinite if unbounded)."""
        return _supremum(self, order)


def hermite_polynomials(t: Array, degree: int) -> Float64[Array, "degrees points"]:
    """Orthonormal probabilists' Hermite polynomials of degrees 0 to `degree` at the points `t`."""
    rows = [np.ones_like(t), np.asarray(t, dtype=np.float64)]
    for r in range(1, degree):
        rows.append((t * rows[r] - np.sqrt(r) * rows[r - 1]) / np.sqrt(r + 1))
    return np.array(rows[: degree + 1])


def _panels(breaks: list[float]) -> tuple[Array, Array]:
    """Nodes that no panel has a break between, and their weights times the Gaussian density."""
    inside = [place for place in breaks if abs(place) < QUADRATURE_RANGE]
    edges = np.unique(np.concatenate([np.arange(-QUADRATURE_RANGE, QUADRATURE_RANGE + 0.1, PANEL_WIDTH), inside]))
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    halves = np.diff(edges)[:, None] / 2
    t = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * nodes).ravel()
    return t, (halves * weights).ravel() * np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def _piecewise_hermite(activation: Activation, degree: int, *, scale: float, bias: float, order: int) -> Array:
    """Closed form: a piecewise-linear function is affine plus one relu or step per break, times its change there."""
    breaks = np.array(activation.breaks(1))
    slopes = activation(np.concatenate([[breaks[0] - 1], (breaks[1:] + breaks[:-1]) / 2, [breaks[-1] + 1]]), 1)
    changes = np.diff(slopes)
    before = activation(breaks[:1])[0]
    if activation.jumps:
        # Steps are slopes of relu.
        before, after = activation(breaks[0] + np.array([-1.0, 1.0]))
        changes, order = np.array([after - before]), order + 1
        affine = [before, 0.0]
    else:
        value = before + slopes[0] * (bias - breaks[0])
        affine = [value, slopes[0] * scale] if order == 0 else [slopes[0], 0.0]
    coefficients = np.concatenate([affine, np.zeros(max(degree - 1, 0))])[: degree + 1]
    for place, change in zip(breaks, changes, strict=True):
        coefficients += change * _relu_hermite(degree, scale=scale, bias=bias - float(place), order=order)
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
    """Maximum over a fine grid; suprema of the activations are attained in |t| < 12, at a break or at infinity."""
    if activation.homogeneity is not None and order < activation.homogeneity:
        return float("inf")
    if order == 0 and activation.tails is not None and any(tail.slope for tail in activation.tails):
        return float("inf")
    if (law := activation.rewriting) is not None and order > 0:
        return abs(law.outer * law.inner**order) * _supremum(law.base, order)
    t = np.linspace(-40.0, 40.0, 320_001)
    return float(np.max(np.abs(activation(t, order))))
