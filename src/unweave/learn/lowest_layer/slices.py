"""Inputs with few values: can samples tell one half space from several that each hold for some of the values?

Samples with such inputs lie on slices, one for every combination of their values. On a slice with c other inputs the
boundary of a half space is a hyperplane with c numbers of its own, so that k slices show ``k c`` numbers. One half
space has ``c + r`` of them, if the slices span r dimensions. Only what is left over checks that it is one.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import PointMask, Points
from unweave.result import Diagnostic, at_least


@dataclass(frozen=True, eq=False)
class Slices:
    """Values of inputs that have few.

    Args:
        values: of these inputs, one row per sample.
        others: number of the other inputs.
        fewest: samples next to a half space that a slice needs to show where it is cut; chosen.
    """

    values: Float64[np.ndarray, "points discrete"]
    others: int
    fewest: int = 5

    @classmethod
    def of(cls, points: Points, *, most_values: int = 8) -> "Slices":
        """Find these inputs; the one with most values counts as continuous if all have few.

        Args:
            points: samples.
            most_values: an input with more of them is as good as a continuous one; chosen.
        """
        counts = np.array([len(np.unique(column)) for column in points.T])
        is_discrete = counts <= most_values
        if np.all(is_discrete):
            is_discrete[np.argmax(counts)] = False
        return cls(points[:, is_discrete], int(np.count_nonzero(~is_discrete)))

    def __getitem__(self, chosen: PointMask) -> "Slices":
        return replace(self, values=self.values[chosen])

    def check(self, near: Bool[np.ndarray, "points neurons"]) -> list[Diagnostic]:
        """Check that slices show more numbers than every half space has.

        Args:
            near: whether a sample lies next to the boundary of a half space.

        Returns:
            Nothing if no input has few values.
        """
        if not self.values.shape[1]:
            return []
        return [
            at_least(
                "numbers of a half space that slices of inputs with few values check",
                min(self._spare(self.values[side]) for side in near.T),
                1,
                "every half space that holds for one of the values alone would look the same, so that these may be "
                "several: give samples with other values of these inputs",
            )
        ]

    def _spare(self, values: Float64[np.ndarray, "near discrete"]) -> int:
        slices, counts = np.unique(values, axis=0, return_counts=True)
        slices = slices[counts >= self.fewest]
        if not len(slices):
            return 0
        dimensions = int(np.linalg.matrix_rank(slices - slices[0]))
        return (len(slices) - 1) * self.others - dimensions
