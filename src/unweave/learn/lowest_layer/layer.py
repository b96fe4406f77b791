"""The lowest layer itself: rows, thresholds and the kind of unit."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import STEP
from unweave.arrays import Atoms, Points
from unweave.learn.lowest_layer.units import ThresholdUnit
from unweave.networks.network import Layer, Network
from unweave.samples.hermite.coordinates import Coordinates

Scalars = Float64[np.ndarray, "neurons"]


@dataclass(frozen=True, eq=False)
class LowestLayer:
    """Units ``u(<row, x> - threshold)``.

    Args:
        rows: unit vectors, one per unit, that point to where the unit is active.
        thresholds: one per unit.
        coefficients: of each unit when it is active alone; NaN where it is not known.
        unit: the function u.
    """

    rows: Atoms
    thresholds: Scalars
    coefficients: Scalars
    unit: ThresholdUnit

    def arguments(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """``<row, x> - threshold`` of every sample and unit."""
        return points @ self.rows.T - self.thresholds

    def values(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """The units at every sample."""
        return self.unit(self.arguments(points))

    def pulled_back(self, coordinates: Coordinates) -> "LowestLayer":
        """The same units in the inputs x, if this layer is in the coordinates ``z = axes^T (x - origin)``.

        Rows are scaled to unit length again. A relu takes the scale into its coefficient; for a sigmoid the scale
        matters, so that its rows keep the length that the coordinates give them.
        """
        rows = self.rows @ coordinates.axes.T
        thresholds = self.thresholds + rows @ coordinates.origin
        if self.unit.name == "sigmoid":
            return LowestLayer(rows, thresholds, self.coefficients, self.unit)
        sizes = np.linalg.norm(rows, axis=1)
        coefficients = self.coefficients * sizes if self.unit.name == "relu" else self.coefficients
        return LowestLayer(rows / sizes[:, None], thresholds / sizes, coefficients, self.unit)

    @property
    def network(self) -> Network:
        """The layer as a network with one output per unit."""
        activation = STEP if self.unit.name == STEP.name else self.unit.smooth
        return Network((Layer(self.rows, -self.thresholds, activation),))
