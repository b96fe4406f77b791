"""Activations as units ``u(<w, x> - t)`` with a threshold: step, relu and sigmoid, and their Hermite coefficients.

With the threshold t a unit is active on the half space ``<w, x> >= t``, rarely so for large t. Coefficients are
``E[u(g - t) h_k(g)]`` for standard normal g and orthonormal polynomials ``h_k = He_k / sqrt(k!)``:

    step     Phi(-t),               then  He_{k-1}(t) phi(t) / sqrt(k!)
    relu     phi(t) - t Phi(-t),  Phi(-t),  then  He_{k-2}(t) phi(t) / sqrt(k!)
    sigmoid  by quadrature

They change sign: that of order 4 at t = sqrt 3 (step), 1 (relu) and 3.03 (sigmoid), that of order 3 at 1 (step), 0
(relu) and 1.76 (sigmoid). Nobody may take them for positive.
"""

from math import factorial, sqrt

import numpy as np
from jaxtyping import Float64
from scipy.optimize import root_scalar

from unweave.activations import RELU, SIGMOID, STEP, Activation
from unweave.exceptions import InvalidInput, entry_named

# Thresholds are searched up to here: beyond, a step is active once in 1e9 samples.
LARGEST_THRESHOLD = 6.0
# Absolute error of a threshold that is found as a root.
ROOT_TOL = 1e-12
# Below this the ratio of coefficients 3 and 2 of a sigmoid does not grow with the threshold any more.
SMALLEST_SIGMOID_THRESHOLD = 0.5

UNITS = {unit.name: unit for unit in (STEP, RELU, SIGMOID)}


def unit_named(name: str) -> Activation:
    """Look a unit up by name.

    Raises:
        InvalidInput: if there is none.
    """
    return entry_named(name, UNITS, kind="unit")


def unit_coefficients(unit: Activation, threshold: float, degree: int) -> Float64[np.ndarray, "degrees"]:
    """Normalised Hermite coefficients of orders 0 to `degree`."""
    return unit.hermite_coefficients(degree, bias=-float(threshold))


def monic_coefficients(unit: Activation, threshold: float, degree: int) -> Float64[np.ndarray, "degrees"]:
    """``E[u(g - t) He_k(g)]``: coefficients for polynomials that are not normalised, as in Hermite moments."""
    return unit_coefficients(unit, threshold, degree) * [sqrt(factorial(k)) for k in range(degree + 1)]


def threshold_of_ratio(unit: Activation, ratio: float) -> float:
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

    low, high = SMALLEST_SIGMOID_THRESHOLD, 2 * LARGEST_THRESHOLD
    if excess(low) >= 0:
        return low
    return high if excess(high) <= 0 else float(root_scalar(excess, bracket=(low, high), xtol=ROOT_TOL).root)
