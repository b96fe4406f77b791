"""Moments by least squares on all Hermite features: every order is freed of the variance of all others at once."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.samples.hermite.control import Control, residual_of
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.label_moments import block_rows_for
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.hermite.multi_indices import factorials, hermite_features, series_count
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows, Statistic


@dataclass(frozen=True, eq=False)
class FittedMoments:
    """Moments that a regression found.

    Args:
        moments: the orders 0 to the degree of the regression.
        residual_rms: what the polynomial does not explain of the labels, with the degrees of freedom taken off.
    """

    moments: HermiteMoments
    residual_rms: float


@dataclass(frozen=True, eq=False)
class HermiteRegression(Statistic[FittedMoments]):
    """Least squares of the labels on all normalised features ``He_alpha / sqrt(alpha!)`` up to a degree.

    The Gram matrix of the features is near the identity once there are many more rows than features; solving with it
    instead of with the identity is what takes the variance of the explained part away.

    Cost per row, with ``F = binom(rank + degree, degree)``: ``F^2`` operations for the symmetric product and about
    ``3 F`` for the features. Memory: ``F^2`` numbers per half, so F up to about 2000 (rank 10, degree 4: 1001).

    Args:
        coordinates: in which the inputs are standard Gaussian.
        degree: the highest order.
        control: a polynomial that is subtracted from the labels first; useful if it knows more coordinates.

    Guarantees: the bias is of order 1/N; the error of order k has the variance of the residual, not of the labels.
    Error bars from halves do not see the bias: with 70 features it is half of the error of order 3 at 4000 rows, and a
    quarter at 32 000.
    """

    coordinates: Coordinates
    degree: int
    control: Control | None = None

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"a regression needs degree 1 or more, got {self.degree}.")

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.coordinates.inputs

    @property
    def features(self) -> int:
        """Number of features."""
        return series_count(self.coordinates.rank, self.degree)

    @property
    def block_rows(self) -> int:
        """Rows whose features stay in the cache."""
        return block_rows_for(self.features)

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Gram matrix of the features, their products with the labels, and the square of the labels."""
        left = residual_of(self.control, points, labels, half=half)
        features = hermite_features(self.coordinates.rows_of(points), self.degree)
        return features @ features.T, features @ left, np.array([left @ left])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> FittedMoments:
        """The solution of the normal equations.

        Raises:
            InvalidInput: if there are not more rows than features, in a half, too.
        """
        gram, products, square = sums
        count = int(rows.sum())
        if count <= self.features:
            raise InvalidInput(
                f"a regression on {self.features} features needs more rows than that in each half, got {count}: "
                "give more rows, or lower the degree or the dimension of the subspace."
            )
        scale = np.sqrt(factorials(self.coordinates.rank, self.degree))
        try:
            normalised = cho_solve(cho_factor(gram / np.outer(scale, scale)), products / scale)
        except LinAlgError as error:
            raise InvalidInput(
                "the features are linearly dependent on these rows: the inputs are not Gaussian."
            ) from error
        explained = float(normalised @ (products / scale))
        residual = np.sqrt(max(float(square[0]) - explained, 0.0) / (count - self.features))
        moments = HermiteMoments(self.coordinates.rank, self.degree, normalised * scale)
        if self.control is not None:
            moments = moments.plus(self.control.moments_in(self.coordinates, rows))
        return FittedMoments(moments, float(residual))
