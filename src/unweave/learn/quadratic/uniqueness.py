"""Proof that no other semidefinite matrix has the values of an optimal one at the points, though samples are few.

An optimal M of low rank is the only semidefinite matrix with its values if some ``Y = sum_i z_i x_i x_i^T`` vanishes on
the range of M and is positive definite on its complement, and no nonzero matrix ``Q B^T + B Q^T``, Q a basis of the
range, is zero at all points.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import pack, pack_squares, unpack
from unweave.learn.quadratic.problem import Matrix, QuadraticProblem, WhiteUnits


@dataclass(frozen=True, kw_only=True)
class UniquenessRules:
    """Limits of the proof.

    Args:
        range_tol: eigenvalues below this, relative to the largest, do not belong to the range of an optimal matrix.
            Rounding left 2e-15 at most in 795 planted forms of rank one and two, whose own eigenvalues were 8e-3 and
            more; the margin is for searches that have not converged to rounding.
        rank_tol: singular values of tangents, and of dual matrices that can be reached, below this share of the largest
            are zero: as for the squares of points (`SpectrumRules`). Those of the 795 planted forms were 0.13 and more.
        dual_margin: smallest eigenvalue of a dual matrix on the complement, relative to the largest, that proves
            something. Rounding leaves 1e-15 times the condition of the squares, so 1e-9 for the largest that is not
            warned of (`conditions`); a thousand times that. The 795 planted forms had 0.14 and more.
        blurred: rounding errors of squares, relative to the largest, from which on eigenvalues prove nothing: a
            thousandth of `dual_margin`.
        projections: alternating projections before the search for a dual matrix is given up; chosen: all of the 795
            planted forms were proven.
    """

    range_tol: float = 1e-7
    rank_tol: float = 1e-10
    dual_margin: float = 1e-6
    blurred: float = 1e-9
    projections: int = 200


@dataclass(frozen=True)
class Uniqueness:
    """Evidence that one semidefinite matrix alone has the values of an optimal one.

    Args:
        rank: of the matrix.
        tangent: smallest singular value, relative to the largest, of the values of matrices ``Q B^T + B Q^T``.
        margin: smallest over largest eigenvalue of the dual matrix on the complement of the range.
        is_proven: whether both numbers are above rounding.
    """

    rank: int
    tangent: float
    margin: float
    is_proven: bool


def semidefinite_uniqueness(problem: QuadraticProblem, matrix: Matrix, *, rules: UniquenessRules) -> Uniqueness:
    """Look for a proof that no other semidefinite matrix has the values of this one at the points."""
    whitening = WhiteUnits.of(problem)
    if whitening.problem.inputs < problem.inputs:
        # Anything can be added in directions that the points lack.
        return Uniqueness(int(np.linalg.matrix_rank(matrix, hermitian=True)), 0.0, 0.0, False)
    values, vectors = scipy.linalg.eigh(whitening.back.T @ matrix @ whitening.back)
    size = np.abs(values)
    inside = size > rules.range_tol * max(np.max(size), np.finfo(float).tiny)
    along = whitening.problem.points @ vectors[:, inside]
    across = whitening.problem.points @ vectors[:, ~inside]
    rank = int(np.count_nonzero(inside))
    tangents = _tangent_values(along, across)
    tangent = _relative_smallest(tangents) if tangents.shape[1] else 1.0
    if not tangent > rules.rank_tol:
        return Uniqueness(rank, tangent, 0.0, False)
    margin = 1.0 if rank == problem.inputs else _dual_margin(tangents, across, rules)
    return Uniqueness(rank, tangent, margin, bool(margin > rules.dual_margin))


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


def _dual_margin(
    tangents: Float64[np.ndarray, "points tangents"], across: Float64[np.ndarray, "points rest"], rules: UniquenessRules
) -> float:
    """Best margin of matrices that vanish on the range, by alternating projections towards those above the identity."""
    free = scipy.linalg.null_space(tangents.T) if tangents.shape[1] else np.eye(len(tangents))
    reachable = pack_squares(across).T @ free
    if reachable.shape[1] == 0:
        return 0.0
    basis, sizes, _ = np.linalg.svd(reachable, full_matrices=False)
    basis = basis[:, sizes > rules.rank_tol * max(sizes[0], np.finfo(float).tiny)]
    target, best = pack(np.eye(across.shape[1])), 0.0
    for _ in range(rules.projections):
        found = unpack(basis @ (basis.T @ target), across.shape[1])
        values, vectors = scipy.linalg.eigh(found)
        if values[-1] <= 0:
            break
        best = max(best, float(values[0] / values[-1]))
        if best > rules.dual_margin:
            break
        target = pack((vectors * np.maximum(values, 1.0)) @ vectors.T)
    return best
