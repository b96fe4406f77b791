"""Mean and covariance of the inputs, and the scale of the labels: the first pass."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Vector
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.label_moments import block_rows_for
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows, Statistic


@dataclass(frozen=True, eq=False)
class InputSummary:
    """First and second moments of the rows.

    Args:
        mean: of the inputs.
        covariance: of the inputs, with division by the number of rows.
        label_mean: of the labels.
        label_rms: root mean square of the labels about zero.
    """

    mean: Vector
    covariance: Float64[np.ndarray, "inputs inputs"]
    label_mean: float
    label_rms: float

    def coordinates(self) -> Coordinates:
        """The coordinates in which mean and covariance are those of a standard Gaussian."""
        return Coordinates.whitening(self.mean, self.covariance)


@dataclass(frozen=True, eq=False)
class InputMoments(Statistic[InputSummary]):
    """Mean and covariance of inputs, and the size of labels.

    Cost per row: ``inputs^2`` operations. Memory: ``inputs^2`` numbers per half.

    Args:
        origin: a point near the mean, such as the first row: a covariance loses ``(mean - origin)^2 / variance``
            times the precision of float64. Zeros will do for inputs that are roughly centred.
    """

    origin: Vector

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return len(self.origin)

    @property
    def block_rows(self) -> int:
        """Rows that stay in the cache."""
        return block_rows_for(self.inputs)

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:  # noqa: ARG002 - both halves alike
        """Sums of inputs and their products, of labels and their squares."""
        shifted = points - self.origin
        return shifted.sum(axis=0), shifted.T @ shifted, np.array([labels.sum(), labels @ labels])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> InputSummary:
        """Means, with the square of the mean taken off the products."""
        total, products, (label_sum, label_square) = sums
        count = rows.sum()
        mean = total / count
        covariance = products / count - np.outer(mean, mean)
        return InputSummary(
            self.origin + mean, covariance, float(label_sum / count), float(np.sqrt(label_square / count))
        )
