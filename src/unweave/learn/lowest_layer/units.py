"""Activations as units ``u(<w, x> - t)`` with a threshold: step, relu and sigmoid, and their Hermite coefficients.

With the threshold t a unit is active on the half space ``<w, x> >= t``, rarely so for large t. Coefficients are
``E[u(g - t) h_k(g)]`` for standard normal g and orthonormal polynomials ``h_k = He_k / sqrt(k!)``:

    step     Phi(-t),               then  He_{k-1}(t) phi(t) / sqrt(k!)
    relu     phi(t) - t Phi(-t),  Phi(-t),  then  He_{k-2}(t) phi(t) / sqrt(k!)
    sigmoid  by quadrature

They change sign: that of order 4 at t = sqrt 3 (step), 1 (relu) and 3.03 (sigmoid), that of order 3 at 1 (step), 0
(relu) and 1.76 (sigmoid). Nobody may take them for positive.
"""

from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import RELU, SIGMOID, STEP, Activation
from unweave.exceptions import InvalidInput, entry_named

UNITS = {unit.name: unit for unit in (STEP, RELU, SIGMOID)}


@dataclass(frozen=True, kw_only=True)
class ThresholdRules:
    """Where thresholds are looked for.

    Args:
        largest: of a threshold, and of the ratio of coefficients it is read from: beyond, a step is active once in 1e9
            samples (``Phi(-6)``).
        largest_sigmoid: of a sigmoid, which is never quiet; chosen: its ratio tends to 1, and is 0.9999 here.
        smallest_sigmoid: of a sigmoid; chosen: its ratio grows with positive thresholds from a pole at 0, near which
            errors decide it.
        root_tol: absolute error of a threshold that is found as a root; chosen: far below any error of the samples.
    """

    largest: float = 6.0
    largest_sigmoid: float = 12.0
    smallest_sigmoid: float = 0.5
    root_tol: float = 1e-12


THRESHOLD_RULES = ThresholdRules()


def unit_named(name: str) -> Activation:
    """Look a unit up by name.

    Raises:
        InvalidInput: if there is none.
    """
    return entry_named(name, UNITS, kind="activation of units with thresholds")


def unit_coefficients(unit: Activation, threshold: float, degree: int) -> Float64[np.ndarray, "degrees"]:
    """Normalised Hermite coefficients of orders 0 to `degree`."""
    return unit.hermite_coefficients(degree, bias=-float(threshold))


def monic_coefficients(unit: Activation, threshold: float, degree: int) -> Float64[np.ndarray, "degrees"]:
    """``E[u(g - t) He_k(g)]``: coefficients for polynomials that are not normalised, as in Hermite moments."""
    return unit_coefficients(unit, threshold, degree) * [sqrt(factorial(k)) for k in range(degree + 1)]


def threshold_of_ratio(unit: Activation, ratio: float, *, rules: ThresholdRules = THRESHOLD_RULES) -> float:
    """The threshold at which coefficient 3 is `ratio` times coefficient 2, both not normalised.

    For relu that is the ratio itself, for step the positive root of ``t - 1/t = ratio``.

    Raises:
        InvalidInput: for a ratio that is not finite.
    """
    if not np.isfinite(ratio):
        raise InvalidInput(f"a threshold needs a finite ratio of coefficients, got {ratio}.")
    if unit == RELU:
        return float(ratio)
    if unit == STEP:
        return float(ratio + np.sqrt(ratio**2 + 4.0)) / 2.0

    def excess(threshold: float) -> float:
        _, _, second, third = monic_coefficients(unit, threshold, 3)
        return third / second - ratio

    low, high = rules.smallest_sigmoid, rules.largest_sigmoid
    if excess(low) >= 0:
        return low
    return (
        high
        if excess(high) <= 0
        else float(scipy.optimize.root_scalar(excess, bracket=(low, high), xtol=rules.root_tol).root)
    )
