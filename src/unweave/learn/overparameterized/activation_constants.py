"""What the theory needs to know about an activation: bounds of its slope and curvature, and their Gaussian means.

For a standard Gaussian z and a scale s: ``mu(s) = E g'(s z)``, ``gamma(s) = E g''(s z) = E[g'(s z) z] / s``. The
theory of local linear convergence asks that mu vanishes everywhere or nowhere, and gamma nowhere (case a) or everywhere
(case b).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unweave.activations import Activation
from unweave.exceptions import InvalidInput

# Gauss-Legendre panels that get finer towards 0 by this factor resolve a slope that changes there on any scale; the
# Gaussian density leaves nothing beyond the last edge.
PANEL_NODES, PANEL_RATIO, FINEST_EDGE, LAST_EDGE = 24, 2.0, 1e-9, 12.0
# Oscillations are resolved by panels at most this wide in the argument of the activation.
WIDEST_PANEL = 2.0
# Scales on which "nowhere zero" is looked at: the norms of hidden weights that one meets.
SCALES = np.geomspace(0.05, 20.0, 25)
# Means below this are zero: the panels leave about 1e-15.
ZERO = 1e-12


def mean_slope(activation: Activation, scale: float) -> float:
    """``mu(s) = E g'(s z)``."""
    z, density = _gaussian_rule(activation, _checked(scale))
    return float(density @ activation(scale * z, 1))


def mean_curvature(activation: Activation, scale: float) -> float:
    """``gamma(s) = E[g'(s z) z] / s``, which needs no second derivative, so that it is right for kinks, too."""
    z, density = _gaussian_rule(activation, _checked(scale))
    return float(density @ (activation(scale * z, 1) * z)) / scale


def slope_variance(activation: Activation, scale: float) -> float:
    """Variance of ``g'(s z)``: zero for a linear activation, whose Jacobian has the rank of the inputs only."""
    z, density = _gaussian_rule(activation, _checked(scale))
    slopes = activation(scale * z, 1)
    return float(density @ (slopes - density @ slopes) ** 2)


@dataclass(frozen=True)
class ActivationConstants:
    """Constants of an activation.

    Args:
        slope_bound: B, the largest absolute slope; infinite for z^2.
        curvature_bound: the largest absolute second derivative; infinite at a kink.
        at_zero: the value at 0.
        case: "a" (mean curvature nowhere zero), "b" (everywhere zero), or "outside" of the assumption.
        reason: why, if it is outside.
    """

    slope_bound: float
    curvature_bound: float
    at_zero: float
    case: str
    reason: str


@lru_cache(maxsize=64)
def activation_constants(activation: Activation) -> ActivationConstants:
    """Constants and the case of the theory's assumption, looked at over the scales that one meets."""
    bounds = activation.supremum(1), activation.supremum(2) if activation.is_smooth else np.inf
    case, reason = _case(activation, *bounds)
    return ActivationConstants(float(bounds[0]), float(bounds[1]), float(activation(np.zeros(1))[0]), case, reason)


def _case(activation: Activation, slope_bound: float, curvature_bound: float) -> tuple[str, str]:
    if not np.isfinite(curvature_bound):
        return (
            "outside",
            "it has no second derivative at its kinks; the theory needs one, as softplus(beta) has",
        )
    if max(slope_variance(activation, scale) for scale in SCALES) <= ZERO:
        return "outside", "its slope is constant, so the Jacobian has no more rank than the inputs"
    slopes = np.array([mean_slope(activation, scale) for scale in SCALES])
    curvatures = np.array([mean_curvature(activation, scale) for scale in SCALES])
    if not _vanishes(slopes) and not _has_one_sign(slopes):
        return "outside", "its mean slope changes sign"
    if not np.isfinite(slope_bound):
        return "outside", "its slope is not bounded"
    if _vanishes(curvatures):
        return "b", ""
    return ("a", "") if _has_one_sign(curvatures) else ("outside", "its mean curvature changes sign")


def _vanishes(means: np.ndarray) -> bool:
    return bool(np.all(np.abs(means) <= ZERO))


def _has_one_sign(means: np.ndarray) -> bool:
    # A mean may decay below the zero level at large scales (the sine's is exp(-s^2/2)) without changing its sign.
    seen = means[np.abs(means) > ZERO]
    return bool(np.all(seen > 0) or np.all(seen < 0))


def _checked(scale: float) -> float:
    if not (np.isfinite(scale) and scale > 0):
        raise InvalidInput(f"a scale needs to be positive and finite, got {scale}.")
    return scale


def _gaussian_rule(activation: Activation, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, and weights times the Gaussian density; panels end at kinks."""
    graded = np.geomspace(FINEST_EDGE, LAST_EDGE, int(np.log(LAST_EDGE / FINEST_EDGE) / np.log(PANEL_RATIO)) + 1)
    panels = int(min(np.ceil(LAST_EDGE * scale / WIDEST_PANEL), 2_000))
    half = np.concatenate([graded, np.linspace(0.0, LAST_EDGE, max(panels, 8) + 1)])
    kinks = np.array([kink / scale for kink in activation.breaks(3) if abs(kink) < LAST_EDGE * scale])
    edges = np.unique(np.concatenate([-half, half, kinks]))
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    z = (middles[:, None] + halves[:, None] * nodes).ravel()
    return z, (halves[:, None] * weights).ravel() * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
