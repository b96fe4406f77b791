"""Whether the samples determine the quadratic form of an optimal network of squares, beyond counting samples.

Every optimal network takes the same values at the points. If those values determine a symmetric matrix there is
nothing more to say. With output weights of one sign, fewer samples may do: an optimal M of low rank is the only
semidefinite matrix with its values if some ``Y = sum_i z_i x_i x_i^T`` vanishes on the range of M and is positive
definite on its complement, and no nonzero matrix ``Q B^T + B Q^T``, Q a basis of the range, is zero at all points.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import pack, pack_squares, unpack
from unweave.learn.quadratic.problem import Matrix, QuadraticProblem, Whitening
from unweave.learn.quadratic.spectrum import RANK_TOL

# Eigenvalues below this, relative to the largest, do not belong to the range of an optimal matrix.
RANGE_TOL = 1e-7
# Alternating projections before the search for a dual matrix is given up.
PROJECTIONS = 200
# Smallest eigenvalue of the dual matrix on the complement, relative to the largest, that is above all rounding.
DUAL_MARGIN = 1e-6


@dataclass(frozen=True)
class Uniqueness:
    """Evidence that one semidefinite matrix alone has the values of an optimal one.

    Args:
        rank: of the matrix.
        tangent: smallest singular value, relative to the largest, of the values of matrices ``Q B^T + B Q^T``.
        margin: smallest over largest eigenvalue of the dual matrix on the complement of the range.
    """

    rank: int
    tangent: float
    margin: float

    @property
    def is_proven(self) -> bool:
        """Whether both numbers are above rounding."""
        return self.tangent > RANK_TOL and self.margin > DUAL_MARGIN


def semidefinite_uniqueness(problem: QuadraticProblem, matrix: Matrix) -> Uniqueness:
    """Look for a proof that no other semidefinite matrix has the values of this one at the points."""
    whitening = Whitening.of(problem)
    if whitening.problem.inputs < problem.inputs:
        # Anything can be added in directions that the points lack.
        return Uniqueness(int(np.linalg.matrix_rank(matrix, hermitian=True)), 0.0, 0.0)
    values, vectors = scipy.linalg.eigh(whitening.back.T @ matrix @ whitening.back)
    size = np.abs(values)
    inside = size > RANGE_TOL * max(np.max(size), np.finfo(float).tiny)
    along = whitening.problem.points @ vectors[:, inside]
    across = whitening.problem.points @ vectors[:, ~inside]
    rank = int(np.count_nonzero(inside))
    tangents = _tangent_values(along, across)
    tangent = _relative_smallest(tangents) if tangents.shape[1] else 1.0
    if rank == problem.inputs:
        return Uniqueness(rank, tangent, 1.0 if tangent > RANK_TOL else 0.0)
    return Uniqueness(rank, tangent, _dual_margin(tangents, across) if tangent > RANK_TOL else 0.0)


def _tangent_values(
    along: Float64[np.ndarray, "points rank"], across: Float64[np.ndarray, "points rest"]
) -> Float64[np.ndarray, "points tangents"]:
    """Values of an orthonormal basis of the matrices ``Q B^T + B Q^T`` at the points."""
    mixed = np.sqrt(2.0) * along[:, :, None] * across[:, None, :]
    return np.hstack([pack_squares(along), mixed.reshape(len(along), -1)])


def _relative_smallest(matrix: np.ndarray) -> float:
    if matrix.shape[1] > matrix.shape[0]:
        return 0.0
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] > 0 else 0.0


def _dual_margin(tangents: Float64[np.ndarray, "points tangents"], across: Float64[np.ndarray, "points rest"]) -> float:
    """Best margin of matrices that vanish on the range, by alternating projections towards those above the identity."""
    free = scipy.linalg.null_space(tangents.T) if tangents.shape[1] else np.eye(len(tangents))
    reachable = pack_squares(across).T @ free
    if reachable.shape[1] == 0:
        return 0.0
    basis, sizes, _ = np.linalg.svd(reachable, full_matrices=False)
    basis = basis[:, sizes > RANK_TOL * max(sizes[0], np.finfo(float).tiny)]
    target, best = pack(np.eye(across.shape[1])), 0.0
    for _ in range(PROJECTIONS):
        found = unpack(basis @ (basis.T @ target), across.shape[1])
        values, vectors = scipy.linalg.eigh(found)
        if values[-1] <= 0:
            break
        best = max(best, float(values[0] / values[-1]))
        if best > DUAL_MARGIN:
            break
        target = pack((vectors * np.maximum(values, 1.0)) @ vectors.T)
    return best
