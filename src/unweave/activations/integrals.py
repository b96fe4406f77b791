"""Integrals of activations against Hermite polynomials under the Gaussian density."""

import numpy as np
from jaxtyping import Float64
from scipy import special

from unweave.activations.formulas import Array
from unweave.activations.table import Activation, hermite_polynomials
from unweave.exceptions import InvalidInput

# The trapezoidal rule converges exponentially for functions analytic in a strip; this spacing and
# range leave nothing above 1e-15 for every smooth activation here with scales up to 4, degree to 60.
QUADRATURE_RANGE = 20.0
QUADRATURE_SPACING = 1.0 / 64.0
# Gauss-Legendre panels for functions that are smooth between breaks only: as exact on the same range.
PANEL_WIDTH, PANEL_NODES = 0.5, 20


def hermite_coefficients(
    activation: Activation, degree: int, *, scale: float, bias: float, order: int
) -> Float64[Array, "degrees"]:
    """Compute ``E[g^(order)(scale Z + bias) h_r(Z)]``, see `Activation.hermite_coefficients`."""
    if order > 0 and activation.breaks(order - 1):
        highest = next(each for each in range(order) if activation.breaks(each))
        raise InvalidInput(
            f"{activation} has Hermite coefficients up to order {highest} only: the next derivative is a measure."
        )
    if activation.is_smooth:
        t = np.arange(-QUADRATURE_RANGE, QUADRATURE_RANGE + QUADRATURE_SPACING / 2, QUADRATURE_SPACING)
        density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * QUADRATURE_SPACING
    elif activation.is_piecewise_linear:
        return _piecewise_hermite(activation, degree, scale=scale, bias=bias, order=order)
    else:
        t, density = _panels([(place - bias) / scale for place in activation.breaks(3)] if scale else [])
    return hermite_polynomials(t, degree) @ (density * activation(scale * t + bias, order))


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
