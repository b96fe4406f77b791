"""The population risk between two relu networks in closed form [awasthi, Prop. 3.6], and as the series printed there.

Networks are those of `unweave.learn.relu_network.units`, with an affine part if they have one. For unit directions with
``r = <w, w'>``, ``s = sqrt(1 - r^2)`` and the bivariate normal distribution function ``Phi_2``,

    E[relu(<w, x> + b) relu(<w', x> + c)] = (b c + r) Phi_2(b, c; r) + c phi(b) Phi((c - r b) / s)
                                            + b phi(c) Phi((b - r c) / s) + s^2 phi_2(b, c; r),

so that the risk needs neither samples nor a series. Rounding leaves errors near 1e-16 of the squares in the
networks, and 1e-8 in the root of the risk.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64
from scipy.special import ndtr, owens_t

from unweave.arrays import Atoms, PerNeuron, Vector
from unweave.learn.relu_network.units import relu_coefficient, unit_parameters
from unweave.networks.network import Network

Square = Float64[np.ndarray, "neurons others"]
# Directions whose product is this near to 1 or -1 are the same or opposite: what the formulas lose there is below it.
PARALLEL = 1e-14


def population_risk(one: Network, other: Network) -> float:
    """Give ``E[(f(x) - g(x))^2]`` of two shallow relu networks for standard Gaussian inputs.

    Raises:
        InvalidInput: as `unit_parameters`.
    """
    difference = _difference(one, other)
    weights, biases = difference.output_weights, difference.biases
    across = weights @ relu_products(difference.directions, biases, difference.directions, biases) @ weights
    with_slope = 2 * (weights * relu_coefficient(1, biases)) @ (difference.directions @ difference.slope)
    with_offset = 2 * difference.offset * (weights @ relu_coefficient(0, biases))
    affine = difference.slope @ difference.slope + difference.offset**2
    return max(float(across + with_slope + with_offset + affine), 0.0)


def risk_by_order(one: Network, other: Network, *, highest: int) -> Float64[np.ndarray, "orders"]:
    """Give the terms ``|T_k - f_k|^2 / k!`` of the risk, k = 0 to `highest`, as [awasthi, Prop. 3.6] prints them.

    Raises:
        InvalidInput: as `unit_parameters`.
    """
    difference = _difference(one, other)
    directions = difference.directions
    cosines = directions @ directions.T
    terms = []
    for order in range(highest + 1):
        coefficients = difference.output_weights * relu_coefficient(order, difference.biases)
        term = coefficients @ cosines**order @ coefficients
        if order == 0:
            term = (coefficients.sum() + difference.offset) ** 2
        if order == 1:
            term = np.sum((coefficients @ directions + difference.slope) ** 2)
        terms.append(term / factorial(order))
    return np.array(terms)


def relu_products(
    directions: Atoms,
    biases: PerNeuron,
    others: Float64[np.ndarray, "others inputs"],
    other_biases: Float64[np.ndarray, "others"],
) -> Square:
    """Give ``E[relu(<w, x> + b) relu(<w', x> + c)]`` for all pairs of unit directions."""
    cosines = np.clip(directions @ others.T, -1.0, 1.0)
    b, c = np.broadcast_arrays(biases[:, None], other_biases)
    is_same, is_opposite = cosines > 1 - PARALLEL, cosines < -1 + PARALLEL
    r = np.where(is_same | is_opposite, 0.0, cosines)
    s = np.sqrt(1 - r**2)
    joint = np.exp(-(b**2 - 2 * r * b * c + c**2) / (2 * s**2)) / (2 * np.pi * s)
    apart = (b * c + r) * bivariate_cdf(b, c, r) + s**2 * joint
    apart += c * scipy.stats.norm.pdf(b) * ndtr((c - r * b) / s) + b * scipy.stats.norm.pdf(c) * ndtr((b - r * c) / s)
    return np.where(is_same, _same(b, c), np.where(is_opposite, _opposite(b, c), apart))


def bivariate_cdf(h: Square, k: Square, correlation: Square) -> Square:
    """Give ``Pr[X <= h, Y <= k]`` of standard normal variables with a correlation in (-1, 1), by Owen's function."""
    s = np.sqrt(1 - correlation**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(h == 0.0, np.copysign(np.inf, k), (k - correlation * h) / (h * s))
        other = np.where(k == 0.0, np.copysign(np.inf, h), (h - correlation * k) / (k * s))
    jump = np.where((h * k > 0) | ((h * k == 0) & (h + k >= 0)), 0.0, 0.5)
    value = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, one) - owens_t(k, other) - jump
    return np.where((h == 0) & (k == 0), 0.25 + np.arcsin(correlation) / (2 * np.pi), value)


@dataclass(frozen=True, eq=False)
class _Units:
    """A network as sums of units and an affine function."""

    directions: Atoms
    biases: PerNeuron
    output_weights: PerNeuron
    slope: Vector
    offset: float


def _difference(one: Network, other: Network) -> _Units:
    first, second = _units(one), _units(other)
    return _Units(
        np.vstack([first.directions, second.directions]),
        np.concatenate([first.biases, second.biases]),
        np.concatenate([first.output_weights, -second.output_weights]),
        first.slope - second.slope,
        first.offset - second.offset,
    )


def _units(network: Network) -> _Units:
    slope = np.zeros(network.inputs) if network.skip is None else network.skip[0]
    return _Units(*unit_parameters(network), slope, float(network.layers[1].biases[0]))


def _same(b: Square, c: Square) -> Square:
    """``E[relu(t + b) relu(t + c)]``."""
    low, high = np.minimum(b, c), np.maximum(b, c)
    return (1 + b * c) * ndtr(low) + high * scipy.stats.norm.pdf(low)


def _opposite(b: Square, c: Square) -> Square:
    """``E[relu(t + b) relu(-t + c)]``."""
    inside = (b * c - 1) * (ndtr(c) - ndtr(-b)) + b * scipy.stats.norm.pdf(c) + c * scipy.stats.norm.pdf(b)
    return np.where(b + c > 0, inside, 0.0)
