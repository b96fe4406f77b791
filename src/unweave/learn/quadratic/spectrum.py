"""Singular values of the squares of the points, on which every guarantee for networks of squares rests.

The packed squares ``x x^T`` of the points are the rows of a matrix with ``D = d (d + 1) / 2`` columns, whose
singular values are those of the Khatri-Rao product of the points with themselves. Arbitrary labels can be fitted
exactly if and only if its rank is the number of points.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Points, pack_squares, packed_size
from unweave.exceptions import InvalidInput

# Singular values below this, relative to the largest, are zero.
RANK_TOL = 1e-10
# Eigenvalues of a Gram matrix have errors of about 1e-15 of the largest: down to this their square roots have six
# digits, below only a singular value decomposition will do.
GRAM_TOL = 1e-9
# Rank up to which the spectrum is computed (half a minute), and numbers that the squares of all points may take
# (1.6 GB); larger problems are trained without a spectrum.
LARGEST_RANK = 5_000
MOST_NUMBERS = 2e8


@dataclass(frozen=True, eq=False)
class SquareSpectrum:
    """Singular values of the squares of the points.

    Args:
        largest: the largest singular value.
        smallest: the smallest one that is not zero.
        rank: how many are not zero.
        samples: number of points.
        dimension: of the space of symmetric matrices.
        basis: orthonormal basis of the values that quadratic forms can take at the points; None if they can take all.
    """

    largest: float
    smallest: float
    rank: int
    samples: int
    dimension: int
    basis: Float64[np.ndarray, "points rank"] | None

    @classmethod
    def of(cls, points: Points) -> "SquareSpectrum":
        """Compute the spectrum, from the Gram matrix if it is well conditioned and else from the squares.

        Raises:
            InvalidInput: if the squares do not fit in memory.
        """
        samples, dimension = len(points), packed_size(points.shape[1])
        if not is_affordable(points):
            raise InvalidInput(
                f"SquareSpectrum needs a rank of up to {LARGEST_RANK} and up to {MOST_NUMBERS:.0e} numbers, got "
                f"{samples} points with {dimension} products of two inputs each: take fewer points."
            )
        if samples <= dimension:
            values = scipy.linalg.eigvalsh((points @ points.T) ** 2)
            if values[0] > GRAM_TOL * values[-1] > 0:
                return cls(np.sqrt(values[-1]), np.sqrt(values[0]), samples, samples, dimension, None)
        return cls._of_squares(pack_squares(points))

    @classmethod
    def _of_squares(cls, squares: Float64[np.ndarray, "points packed"]) -> "SquareSpectrum":
        samples, dimension = squares.shape
        if samples > dimension:
            values, vectors = scipy.linalg.eigh(squares.T @ squares)
            if values[0] > GRAM_TOL * values[-1] > 0:
                # One more orthogonalisation takes away what the Gram matrix has lost.
                basis = np.linalg.qr(squares @ (vectors / np.sqrt(values)))[0]
                return cls(np.sqrt(values[-1]), np.sqrt(values[0]), dimension, samples, dimension, basis)
        left, values, _ = np.linalg.svd(squares, full_matrices=False)
        rank = int(np.count_nonzero(values > RANK_TOL * values[0]))
        smallest = float(values[rank - 1]) if rank > 0 else 0.0
        return cls(float(values[0]), smallest, rank, samples, dimension, None if rank == samples else left[:, :rank])

    @property
    def fits_all_labels(self) -> bool:
        """Whether a quadratic form can take any values at the points."""
        return self.rank == self.samples

    @property
    def determines_matrix(self) -> bool:
        """Whether the values at the points determine a quadratic form."""
        return self.rank == self.dimension

    @property
    def condition(self) -> float:
        """Largest over smallest non-zero singular value."""
        return self.largest / self.smallest if self.smallest > 0 else np.inf

    def coordinates(self, residuals: Float64[np.ndarray, "points"]) -> Float64[np.ndarray, "rank"]:
        """The part of the residuals that quadratic forms can change, in an orthonormal basis."""
        return residuals if self.basis is None else self.basis.T @ residuals


def is_affordable(points: Points) -> bool:
    """Whether the squares of the points fit in memory and their spectrum into the time."""
    rank = min(len(points), packed_size(points.shape[1]))
    return rank <= LARGEST_RANK and len(points) * rank <= MOST_NUMBERS
