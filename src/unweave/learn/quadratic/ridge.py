"""Ridge regression on the squares of points: quadratic forms for many penalties from one factorisation.

The penalised loss is ``|A(M) - y|^2 / (2 n) + (ridge / 2) |M|^2`` with the Frobenius norm of M, from which the constant
of the form is left out if points have a last column of ones. It is strictly convex, so that one form alone is optimal.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Points, pack_squares, packed_size, unpack
from unweave.learn.quadratic.optimality import SPECTRUM_RULES, OptimalityTest, SquareSpectrum, square_errors
from unweave.learn.quadratic.problem import Labels, Matrix

Forms = Float64[np.ndarray, "ridges inputs inputs"]
Ridges = Float64[np.ndarray, "ridges"]
# Rows whose squares are written down at a time: they stay in the cache, and memory is that of one Gram matrix.
BLOCK_ROWS = 1_000
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class SquareSums:
    """Sums over points from which every ridge regression on their squares follows.

    Args:
        rows: number of points.
        total: sum of the packed squares.
        gram: sum of their products.
        moments: sum of the packed squares times labels.
        labels: sum of the labels.
    """

    rows: int
    total: Float64[np.ndarray, "packed"]
    gram: Float64[np.ndarray, "packed packed"]
    moments: Float64[np.ndarray, "packed"]
    labels: float

    @classmethod
    def of(cls, points: Points, labels: Labels) -> "SquareSums":
        """Sum block by block."""
        size = packed_size(points.shape[1])
        total, gram, moments = np.zeros(size), np.zeros((size, size)), np.zeros(size)
        for start in range(0, len(points), BLOCK_ROWS):
            squares = pack_squares(points[start : start + BLOCK_ROWS])
            total += squares.sum(axis=0)
            gram += squares.T @ squares
            moments += squares.T @ labels[start : start + BLOCK_ROWS]
        return cls(len(points), total, gram, moments, float(np.sum(labels)))

    def without(self, part: "SquareSums") -> "SquareSums":
        """Sums over the points that are not in a part."""
        return SquareSums(
            self.rows - part.rows,
            self.total - part.total,
            self.gram - part.gram,
            self.moments - part.moments,
            self.labels - part.labels,
        )

    def forms(self, ridges: Ridges, *, inputs: int, has_constant: bool) -> Forms:
        """One optimal form per ridge; of those that are optimal without any, the smallest."""
        matrix, slope = self.gram / self.rows, self.moments / self.rows
        # The last product is the square of the constant, which is 1 unless points have sizes.
        constant = matrix[-1, -1] if has_constant else 1.0
        mean, label = matrix[:, -1] / constant, slope[-1] / constant
        if has_constant:
            matrix, slope = matrix - constant * np.outer(mean, mean), slope - constant * label * mean
        values, vectors = scipy.linalg.eigh(matrix)
        packed = vectors @ _shrunk(values, vectors.T @ slope, ridges)
        forms = unpack(packed.T, inputs)
        if has_constant:
            # The constant has no variance, so that nothing but the means decides it.
            forms[:, -1, -1] = label - mean @ packed
        return forms


def forms_by_rows(points: Points, labels: Labels, ridges: Ridges, *, has_constant: bool) -> Forms:
    """The same as `SquareSums.forms` from one equation per point, for fewer points than products of inputs."""
    gram = (points @ points.T) ** 2
    # The square of the constant, as a direction: without it, what is left of labels and squares has no constant part.
    constant = points[:, -1] ** 2 / np.linalg.norm(points[:, -1] ** 2) if has_constant else np.zeros(len(points))
    mean, label = gram @ constant, float(labels @ constant)
    gram = gram - np.outer(mean, constant) - np.outer(constant, mean)
    gram += float(mean @ constant) * np.outer(constant, constant)
    values, vectors = scipy.linalg.eigh(gram / len(points))
    factors = vectors @ _shrunk(values, vectors.T @ (labels - label * constant), ridges) / len(points)
    factors -= np.outer(constant, constant @ factors)
    forms = np.stack([(points.T * each) @ points for each in factors.T])
    if has_constant:
        forms[:, -1, -1] = (label - mean @ factors) / np.linalg.norm(points[:, -1] ** 2)
    return forms


def _shrunk(values: np.ndarray, parts: np.ndarray, ridges: Ridges) -> np.ndarray:
    """Divide by eigenvalues plus ridge; eigenvalues that are rounding errors count for none."""
    is_none = values <= len(values) * EPS * max(float(values[-1]), np.finfo(float).tiny)
    divisors = np.where(is_none, np.inf, values)[:, None] + ridges
    return parts[:, None] / divisors


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    """Samples of one problem, with sums over them if they are more than the products of two inputs."""

    points: Points
    labels: Labels
    has_constant: bool
    sums: SquareSums | None

    @classmethod
    def of(cls, points: Points, labels: Labels, *, has_constant: bool) -> "RidgeSystem":
        """Sum once what every penalty needs."""
        is_tall = len(points) > packed_size(points.shape[1])
        return cls(points, labels, has_constant, SquareSums.of(points, labels) if is_tall else None)

    def forms(self, ridges: Ridges, *, without: np.ndarray | None = None) -> Forms:
        """Optimal forms, perhaps without the rows of a mask."""
        kept = np.ones(len(self.points), dtype=bool) if without is None else ~without
        if self.sums is None or np.count_nonzero(kept) <= packed_size(self.points.shape[1]):
            return forms_by_rows(self.points[kept], self.labels[kept], ridges, has_constant=self.has_constant)
        sums = (
            self.sums if without is None else self.sums.without(SquareSums.of(self.points[~kept], self.labels[~kept]))
        )
        return sums.forms(ridges, inputs=self.points.shape[1], has_constant=self.has_constant)

    def spectrum(self) -> SquareSpectrum:
        """Singular values of the squares from the Gram matrix: below 1e-6 of the largest they count as zero.

        A penalty takes care of directions that are nearly missing, so that no claim rests on them.
        """
        gram = (self.points @ self.points.T) ** 2 if self.sums is None else self.sums.gram
        values = scipy.linalg.eigvalsh(gram)
        kept = values[values > SPECTRUM_RULES.gram_tol * max(float(values[-1]), np.finfo(float).tiny)]
        ends = (float(np.sqrt(kept[-1])), float(np.sqrt(kept[0]))) if len(kept) else (0.0, 0.0)
        return SquareSpectrum(*ends, len(kept), len(self.points), packed_size(self.points.shape[1]), None)


@dataclass(frozen=True, eq=False)
class RidgeEvidence:
    """A form and how close its penalised loss is to the smallest one.

    Args:
        penalty: ``(ridge / 2) |M|^2`` without the constant.
        slope: gradient of loss plus penalty in the matrix.
        lower_bound: no symmetric matrix has a smaller loss plus penalty.
    """

    penalty: float
    slope: Matrix
    lower_bound: float


def ridge_evidence(test: OptimalityTest, matrix: Matrix, ridge: float, *, has_constant: bool) -> RidgeEvidence:
    """Bound the smallest penalised loss from below by its dual, for all points within their rounding errors.

    Every z, with nothing along the squares of constants if there are any, gives the bound
    ``-<z, y> - (n/2) |z|^2 - |sum_i z_i x_i x_i^T|^2 / (2 ridge)``; residuals over n give the best one.
    """
    problem = test.problem
    residuals = problem.form_values(matrix) - problem.labels
    penalised = _without_constant(matrix, has_constant=has_constant)
    slope = problem.weighted_squares(residuals) / problem.samples + ridge * penalised
    constant = problem.points[:, -1] ** 2 if has_constant else np.zeros(problem.samples)
    share = float(residuals @ constant) / (float(constant @ constant) or 1.0)
    multipliers = (residuals - share * constant) / problem.samples
    squares = np.sum(problem.points**2, axis=1)
    blur = np.zeros(problem.samples) if test.blur is None else test.blur
    errors = square_errors(problem.points, blur) + 4 * EPS * np.sqrt(problem.samples) * squares
    pulled = float(
        np.linalg.norm(_without_constant(problem.weighted_squares(multipliers), has_constant=has_constant))
    ) + float(np.abs(multipliers) @ errors)
    sums = EPS * np.sqrt(problem.samples) * float(np.abs(multipliers) @ np.abs(problem.labels))
    inner = float(multipliers @ problem.labels) + sums
    bound = -inner - 0.5 * problem.samples * float(multipliers @ multipliers) - pulled**2 / (2 * ridge)
    return RidgeEvidence(0.5 * ridge * float(np.sum(penalised**2)), slope, max(0.0, float(bound)))


def _without_constant(matrix: Matrix, *, has_constant: bool) -> Matrix:
    if not has_constant:
        return matrix
    found = matrix.copy()
    found[-1, -1] = 0.0
    return found
