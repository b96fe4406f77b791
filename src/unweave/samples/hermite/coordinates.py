"""The coordinates in which inputs are standard Gaussian, and fewer of them inside the active subspace.

Hermite tensors are equivariant: for orthonormal columns U, ``He_k(z)(U, .., U) = He_k(U^T z)``. Moments in the
coordinates of a subspace are therefore the projections of the moments, exactly and with no bias.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.linalg import solve_triangular

from unweave.arrays import Points, Vector
from unweave.exceptions import InvalidInput
from unweave.samples.hermite.multi_indices import Rows

# How far columns of a basis may be from orthonormal: they come from eigenvectors in float64.
ORTHONORMAL_TOL = 1e-8


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map ``z = axes^T (x - origin)``.

    Args:
        origin: the mean of the inputs.
        axes: one column per coordinate.
    """

    origin: Vector
    axes: Float64[np.ndarray, "inputs rank"]

    @classmethod
    def identity(cls, inputs: int) -> "Coordinates":
        """The inputs as they are."""
        return cls(np.zeros(inputs), np.eye(inputs))

    @classmethod
    def whitening(cls, mean: Vector, covariance: Float64[np.ndarray, "inputs inputs"]) -> "Coordinates":
        """Coordinates of mean zero and covariance one: ``z = L^{-1} (x - mean)`` with ``L L^T`` the covariance.

        Raises:
            InvalidInput: if the covariance is not positive definite.
        """
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError as error:
            raise InvalidInput(
                "the covariance of the inputs needs to be positive definite: "
                "drop inputs that are constant or combinations of others, or give more rows."
            ) from error
        return cls(mean, solve_triangular(factor, np.eye(len(mean)), lower=True).T)

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.axes.shape[0]

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.axes.shape[1]

    def within(self, basis: Float64[np.ndarray, "rank smaller"]) -> "Coordinates":
        """Coordinates inside the subspace that orthonormal columns span.

        Raises:
            InvalidInput: if the columns are not orthonormal; projected moments would be wrong.
        """
        if basis.shape[0] != self.rank:
            raise InvalidInput(f"a basis needs {self.rank} rows here, got {basis.shape[0]}.")
        if not np.allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=ORTHONORMAL_TOL):
            raise InvalidInput("a basis of the active subspace needs orthonormal columns.")
        return Coordinates(self.origin, self.axes @ basis)

    def rows_of(self, points: Points) -> Rows:
        """The coordinates of points, one row per coordinate."""
        return self.axes.T @ (points - self.origin).T

    def pulled_back(
        self, weights: Float64[np.ndarray, "neurons rank"], biases: Float64[np.ndarray, "neurons"]
    ) -> tuple[Float64[np.ndarray, "neurons inputs"], Float64[np.ndarray, "neurons"]]:
        """Weights and biases for the inputs of units that were found in these coordinates."""
        original = weights @ self.axes.T
        return original, biases - original @ self.origin
