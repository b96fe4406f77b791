"""Exact line search for networks of squares: along a line the residuals are ``r + t a + t^2 b``."""

from collections.abc import Sequence
from math import acos, copysign, cos, isfinite, pi, sqrt

import numpy as np
from jaxtyping import Float64

# Newton steps after the closed form of a cubic's roots, which loses digits when the roots differ much in size;
# as a rule the second changes nothing any more.
POLISHING_STEPS = 20


def best_step(
    residuals: Float64[np.ndarray, "points"],
    slopes: Float64[np.ndarray, "points"],
    bends: Float64[np.ndarray, "points"],
) -> float:
    """The t that minimises ``|r + t a + t^2 b|^2``; 0 if nothing is better than staying."""
    bb, ab, ra = float(bends @ bends), float(slopes @ bends), float(residuals @ slopes)
    middle = float(slopes @ slopes) + 2.0 * float(residuals @ bends)

    def gain(t: float) -> float:
        return -t * (2.0 * ra + t * (middle + t * (2.0 * ab + t * bb)))

    steps = real_roots((2.0 * bb, 3.0 * ab, middle, ra))
    return max((0.0, *steps), key=gain)


def real_roots(coefficients: tuple[float, float, float, float]) -> Sequence[float]:
    """Real roots of a polynomial of degree three at most, highest coefficient first; none if it is constant."""
    cubic, square, linear, constant = coefficients
    starts = [-constant / linear] if linear != 0.0 else []
    if cubic != 0.0:
        starts += _cubic_roots(square / cubic, linear / cubic, constant / cubic)
    elif square != 0.0 and linear**2 >= 4 * square * constant:
        spread = linear + copysign(sqrt(linear**2 - 4 * square * constant), linear)
        starts += [-spread / (2 * square), *([-2 * constant / spread] if spread != 0.0 else [])]
    roots = (_polished(coefficients, start) for start in starts)
    return [root for root in roots if isfinite(root)]


def _cubic_roots(square: float, linear: float, constant: float) -> list[float]:
    """Cardano's formula for ``t^3 + square t^2 + linear t + constant``."""
    shift = square / 3.0
    p = linear - 3.0 * shift**2
    q = constant - shift * linear + 2.0 * shift**3
    inside = (q / 2.0) ** 2 + (p / 3.0) ** 3
    if inside > 0.0 or p >= 0.0:
        u = float(np.cbrt(-q / 2.0 - copysign(sqrt(max(inside, 0.0)), q)))
        return [u - (p / (3.0 * u) if u != 0.0 else 0.0) - shift]
    radius = sqrt(-p / 3.0)
    angle = acos(min(1.0, max(-1.0, -q / (2.0 * radius**3)))) / 3.0
    return [2.0 * radius * cos(angle - 2.0 * pi * turn / 3.0) - shift for turn in range(3)]


def _polished(coefficients: tuple[float, float, float, float], root: float) -> float:
    cubic, square, linear, constant = coefficients
    for _ in range(POLISHING_STEPS):
        slope = (3.0 * cubic * root + 2.0 * square) * root + linear
        if slope == 0.0 or not isfinite(slope):
            break
        change = (((cubic * root + square) * root + linear) * root + constant) / slope
        root -= change
        if abs(change) <= 1e-15 * abs(root):
            break
    return root
