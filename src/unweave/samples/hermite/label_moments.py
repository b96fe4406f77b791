"""Moments of all orders up to 6 by one matrix product per block of rows."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.samples.hermite.control import Control, residual_of
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.hermite.multi_indices import hermite_from_monomials, monomials, product_places, series_count
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows, Statistic

# Numbers of a block of features: 8 MB, the fastest of 2^17 to 2^22 with 231 features.
BLOCK_NUMBERS = 2**20
# Fewer rows than this make matrix products slow.
LEAST_BLOCK_ROWS = 256
# Above this order raw moments lose digits when they are turned into Hermite moments, and variances explode.
HIGHEST_ORDER = 6


def block_rows_for(features: int) -> int:
    """Rows per block so that the features of a block stay in the cache."""
    return max(LEAST_BLOCK_ROWS, BLOCK_NUMBERS // features)


@dataclass(frozen=True, eq=False)
class LabelMoments(Statistic[HermiteMoments]):
    """All moments ``T_0 .. T_order`` of labels, or of what a control leaves of them.

    The monomials m of half the order are multiplied with each other: ``sum_n y_n m(z_n) m(z_n)^T`` holds every raw
    moment up to the order, and raw moments become Hermite moments once, at the end.

    Cost per row, with ``F_l = binom(rank + l, l)``: an even order 2 l takes ``F_l^2`` operations, because rows of
    positive and of negative labels give one symmetric product each, whose lower half BLAS does not compute; an odd
    order 2 l + 1 takes ``2 F_l F_{l+1}``. Building features takes ``F_l`` multiplications. For rank 20, order 4:
    231^2 = 53 361 operations. Memory: ``F_l^2`` numbers per half.

    Args:
        coordinates: in which the inputs are standard Gaussian.
        order: the highest order, 1 to 6.
        control: the polynomial that is subtracted from the labels first.
    """

    coordinates: Coordinates
    order: int
    control: Control | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.order <= HIGHEST_ORDER:
            raise InvalidInput(f"moments of labels have orders 1 to {HIGHEST_ORDER}, got order={self.order}.")

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.coordinates.inputs

    @property
    def block_rows(self) -> int:
        """Rows whose features stay in the cache."""
        return block_rows_for(series_count(self.coordinates.rank, self._degrees[1]))

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Products of monomials, weighted with the labels."""
        weights = residual_of(self.control, points, labels, half=half)
        left, right = self._degrees
        if left < right:
            features = monomials(self.coordinates.rows_of(points), right)
            weighted = features[: series_count(self.coordinates.rank, left)] * weights
            return (weighted @ features.T,)
        return (
            self._weighted_square(points[weights > 0], weights[weights > 0])
            - self._weighted_square(points[weights < 0], -weights[weights < 0]),
        )

    def moments_from(self, sums: Arrays, rows: HalfRows) -> HermiteMoments:
        """Raw moments, averaged over equal products, as Hermite moments."""
        rank = self.coordinates.rank
        places = product_places(rank, *self._degrees).ravel()
        raw = np.bincount(places, weights=sums[0].ravel()) / np.bincount(places) / rows.sum()
        moments = HermiteMoments(rank, self.order, hermite_from_monomials(rank, self.order) @ raw)
        return moments if self.control is None else moments.plus(self.control.moments_in(self.coordinates, rows))

    @property
    def _degrees(self) -> tuple[int, int]:
        return self.order // 2, self.order - self.order // 2

    def _weighted_square(self, points: Points, weights: Labels) -> np.ndarray:
        """``sum_n w_n m(z_n) m(z_n)^T`` for positive weights: features carry their square roots from the start."""
        features = monomials(self.coordinates.rows_of(points), self._degrees[1], scale=np.sqrt(weights))
        return features @ features.T
