"""The lowest layer itself, and how its directions get orientation, threshold and coefficient from Hermite moments.

Dual vectors z_i satisfy ``<w_j, z_i> = 1`` for ``i = j`` and 0 otherwise, so that ``T_k(z_i, .., z_i) = c_i g_k(t_i)``
holds one unit at a time. At the directions themselves it does so for orthonormal ones only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import root_scalar
from scipy.special import log_ndtr

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, Points
from unweave.learn.lowest_layer.units import THRESHOLD_RULES, ThresholdRules, monic_coefficients, threshold_of_ratio
from unweave.networks.network import Layer, Network
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import HermiteMoments


@dataclass(frozen=True, eq=False)
class OrientedUnits:
    """Directions that point to where their units are active.

    Args:
        directions: unit vectors.
        thresholds: one per direction.
        coefficients: of the units in the labels, averaged over what the other units do; NaN where not known.
    """

    directions: Atoms
    thresholds: PerNeuron
    coefficients: PerNeuron


def oriented_by_moments(
    moments: HermiteMoments, directions: Atoms, unit: Activation, *, rules: ThresholdRules = THRESHOLD_RULES
) -> OrientedUnits:
    """Signs from order 1, thresholds from the ratio of orders 3 and 2, coefficients from order 2.

    Args:
        moments: orders 0 to 3 of the labels.
        directions: unit vectors of any sign, linearly independent.
        unit: the units whose coefficients these are.
        rules: where thresholds are looked for.

    Guarantees: the coefficient is ``sum_S c_S u_0^(|S| - 1)`` over all products that contain the unit, where ``u_0`` is
    how often a unit is active: that of the unit alone only for large thresholds.
    """
    first, second, third = _along_duals(moments, directions)
    # A negative coefficient turns the sign of all orders; order 2 shows it, because its factor is positive.
    flips = np.where(first * second >= 0, 1.0, -1.0)
    ratios = flips * third / np.where(second == 0, np.finfo(float).tiny, second)
    ratios = np.clip(ratios, -rules.largest, rules.largest)
    thresholds = np.array([threshold_of_ratio(unit, float(ratio), rules=rules) for ratio in ratios])
    factors = np.array([monic_coefficients(unit, float(t), 2)[2] for t in thresholds])
    return OrientedUnits(flips[:, None] * directions, thresholds, second / factors)


def oriented_by_cumulants(
    cumulants: HermiteMoments, directions: Atoms, *, rules: ThresholdRules = THRESHOLD_RULES
) -> OrientedUnits:
    """Signs and thresholds from the cumulants of the indicator of ``<w_i, x> < t_i`` for all i.

    For one direction they are the derivatives of ``log Phi(t - z)`` at zero: the ratio of orders 2 and 1 is ``t + l``
    with ``l = phi(t) / Phi(t)``, which grows with t.

    Args:
        cumulants: orders 0 to 3.
        directions: unit vectors of any sign, linearly independent.
        rules: where thresholds are looked for.
    """
    first, second, _ = _along_duals(cumulants, directions)
    # Where units are quiet, inputs lie on the other side of the direction.
    flips = np.where(first <= 0, 1.0, -1.0)
    ratios = second / np.where(first == 0, np.finfo(float).tiny, first) * flips
    thresholds = np.array([_threshold_of_truncation(float(ratio), rules) for ratio in ratios])
    return OrientedUnits(flips[:, None] * directions, thresholds, np.full(len(directions), np.nan))


def _along_duals(moments: HermiteMoments, directions: Atoms) -> tuple[PerNeuron, PerNeuron, PerNeuron]:
    duals = np.linalg.pinv(directions).T
    first, second, third = (
        np.array([_at(tensor, dual) for dual in duals]) for tensor in map(moments.tensor, (1, 2, 3))
    )
    return first, second, third


def _at(tensor: np.ndarray, vector: np.ndarray) -> float:
    for _ in range(tensor.ndim):
        tensor = tensor @ vector
    return float(tensor)


def _threshold_of_truncation(ratio: float, rules: ThresholdRules) -> float:
    def excess(threshold: float) -> float:
        return threshold + float(np.exp(-0.5 * threshold**2 - log_ndtr(threshold)) / np.sqrt(2 * np.pi)) - ratio

    low, high = -rules.largest, rules.largest
    if excess(low) >= 0:
        return low
    return high if excess(high) <= 0 else float(root_scalar(excess, bracket=(low, high), xtol=rules.root_tol).root)


@dataclass(frozen=True, eq=False)
class ThresholdLayer:
    """Hold units ``u(<direction, x> - threshold)``.

    Args:
        directions: unit vectors, one per unit, that point to where the unit is active.
        thresholds: one per unit.
        coefficients: of each unit when it is active alone; NaN where it is not known.
        unit: the function u.
    """

    directions: Atoms
    thresholds: PerNeuron
    coefficients: PerNeuron
    unit: Activation

    @classmethod
    def stacked(cls, layers: Sequence["ThresholdLayer"]) -> "ThresholdLayer":
        """Return the units of several layers of one kind as one layer."""
        directions = np.vstack([layer.directions for layer in layers])
        thresholds, coefficients = (
            np.concatenate([getattr(layer, name) for layer in layers]) for name in ("thresholds", "coefficients")
        )
        return cls(directions, thresholds, coefficients, layers[0].unit)

    def arguments(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """Compute ``<direction, x> - threshold`` of every sample and unit."""
        return points @ self.directions.T - self.thresholds

    def values(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """Compute the units at every sample."""
        return self.unit(self.arguments(points))

    def pulled_back(self, coordinates: Coordinates) -> "ThresholdLayer":
        """Return the same units in the inputs x, if this layer is in the coordinates ``z = axes^T (x - origin)``.

        Directions are scaled to unit length again. A relu takes the scale into its coefficient; for a sigmoid the scale
        matters, so that its directions keep the length that the coordinates give them.
        """
        directions = self.directions @ coordinates.axes.T
        thresholds = self.thresholds + directions @ coordinates.origin
        if self.unit.name == "sigmoid":
            return ThresholdLayer(directions, thresholds, self.coefficients, self.unit)
        sizes = np.linalg.norm(directions, axis=1)
        coefficients = self.coefficients * sizes if self.unit.name == "relu" else self.coefficients
        return ThresholdLayer(directions / sizes[:, None], thresholds / sizes, coefficients, self.unit)

    @property
    def network(self) -> Network:
        """Return the layer as a network with one output per unit."""
        return Network((Layer(self.directions, -self.thresholds, self.unit),))
