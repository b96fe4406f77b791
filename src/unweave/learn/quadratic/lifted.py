"""Direct training of networks of squares in the space of symmetric matrices, where the loss is convex.

If the output weights reach every symmetric matrix, the optimum is a least-squares solution and the weights are read
off its eigenvectors. If they have one sign, it is a least-squares solution among the semidefinite matrices.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, lsmr

from unweave.arrays import Atoms, pack_squares, unpack
from unweave.learn.quadratic.problem import Labels, Matrix, OutputWeights, QuadraticProblem
from unweave.learn.quadratic.spectrum import is_affordable

# Rounds that take away what the factorised Gram matrix has lost.
REFINEMENTS = 3
# Relative residual of a full-rank system above which its Gram matrix was too ill conditioned after all.
GRAM_RESIDUAL = 1e-12
LSMR_TOL = 1e-14
# Singular values of the squares below this, relative to the largest, are taken for zero: inputs whose scales differ
# by a factor of 1e5 are still told from none.
LSTSQ_TOL = 1e-13


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A symmetric matrix written as ``W^T diag(v) W``, as far as the signs of v allow.

    Args:
        weights: one row per neuron; neurons that are not needed have zeros.
        left_out: absolute eigenvalues for which there was no neuron of their sign, largest first.
    """

    weights: Atoms
    left_out: np.ndarray


def factorise(matrix: Matrix, output_weights: OutputWeights) -> Factorisation:
    """One neuron per eigenvector, the largest eigenvalues of either sign first."""
    values, vectors = scipy.linalg.eigh(matrix)
    weights, left_out = np.zeros((len(output_weights), len(matrix))), []
    for sign in (1.0, -1.0):
        order = [index for index in np.argsort(-sign * values) if sign * values[index] > 0]
        rows = np.flatnonzero(sign * output_weights > 0)
        for row, index in zip(rows, order, strict=False):
            weights[row] = np.sqrt(values[index] / output_weights[row]) * vectors[:, index]
        left_out += [abs(float(values[index])) for index in order[len(rows) :]]
    return Factorisation(weights, np.sort(left_out)[::-1])


@dataclass(frozen=True)
class LiftedLeastSquares:
    """Least squares over all symmetric matrices: the solution of smallest Frobenius norm.

    Args:
        ridge: weight of half the squared Frobenius norm that is added to the sum of squares; 0 for none.
    """

    ridge: float = 0.0

    def __call__(self, problem: QuadraticProblem) -> Matrix:
        """The matrix.

        Guarantees: the global optimum over networks with at least d neurons of each sign, up to rounding.
        """
        if not is_affordable(problem.points):
            return self._iterative(problem)
        if problem.samples <= problem.inputs * (problem.inputs + 1) // 2:
            solution = self._dual(problem)
            if solution is not None:
                return solution
        return self._primal(problem)

    def _dual(self, problem: QuadraticProblem) -> Matrix | None:
        """From one factor per point; None if the squares of the points are dependent."""
        gram = (problem.points @ problem.points.T) ** 2
        gram.flat[:: len(gram) + 1] += self.ridge
        try:
            factor = scipy.linalg.cho_factor(gram, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        factors = np.zeros(problem.samples)
        for _ in range(REFINEMENTS):
            left = self._remainder(problem, factors)
            factors += scipy.linalg.cho_solve(factor, left, check_finite=False)
        left = self._remainder(problem, factors)
        is_solved = np.linalg.norm(left) <= GRAM_RESIDUAL * np.linalg.norm(problem.labels)
        return problem.weighted_squares(factors) if is_solved else None

    def _remainder(self, problem: QuadraticProblem, factors: Labels) -> Labels:
        return problem.labels - problem.form_values(problem.weighted_squares(factors)) - self.ridge * factors

    def _primal(self, problem: QuadraticProblem) -> Matrix:
        squares = pack_squares(problem.points)
        labels = problem.labels
        if self.ridge > 0.0:
            squares = np.vstack([squares, np.sqrt(self.ridge) * np.eye(squares.shape[1])])
            labels = np.concatenate([labels, np.zeros(squares.shape[1])])
        return unpack(np.linalg.lstsq(squares, labels, rcond=LSTSQ_TOL)[0], problem.inputs)

    def _iterative(self, problem: QuadraticProblem) -> Matrix:
        size = problem.inputs**2

        def forwards(vector: np.ndarray) -> np.ndarray:
            return problem.form_values(vector.reshape(problem.inputs, problem.inputs))

        def backwards(factors: np.ndarray) -> np.ndarray:
            return problem.weighted_squares(factors).ravel()

        operator = LinearOperator(  # pyright: ignore[reportCallIssue]
            (problem.samples, size),
            matvec=forwards,  # pyright: ignore[reportCallIssue]
            rmatvec=backwards,  # pyright: ignore[reportCallIssue]
            dtype=np.float64,  # pyright: ignore[reportCallIssue]
        )
        found = lsmr(operator, problem.labels, damp=self.ridge**0.5, atol=LSMR_TOL, btol=LSMR_TOL, maxiter=10 * size)[0]
        matrix = found.reshape(problem.inputs, problem.inputs)
        return 0.5 * (matrix + matrix.T)
