"""Saddles of the loss of networks of squares: found by Lanczos or in closed form, and left along negative curvature.

At a saddle the output-weighted rows of one sign are linearly dependent: there is an a, supported on the neurons of
that sign, with ``W^T diag(v) a = 0``. Along ``a b^T`` the predictions do not change to first order, and the
curvature is exactly ``2 (a^T diag(v) a) (b^T R b)``: negative if v and b^T R b have opposite signs. Taking all such
pairs at once makes the step a gradient step in the space where the loss is convex.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from unweave.arrays import Atoms
from unweave.learn.quadratic.problem import QuadraticProblem, State


@dataclass(frozen=True, eq=False)
class Escape:
    """A direction along which the loss bends down.

    Args:
        direction: of unit length.
        curvature: the Hessian's quadratic form there, negative.
    """

    direction: Atoms
    curvature: float


@dataclass(frozen=True, kw_only=True)
class EigenpairSearch:
    """How the smallest eigenvalue of a Hessian is looked for; its sign is evaluated afterwards, whatever was found.

    Args:
        dense_weights: up to so many weights the Hessian is formed: three times the twenty vectors that Lanczos keeps by
            default, so that below it saves next to nothing. Chosen.
        steps: largest number of restarts; chosen, to end the search.
        tol: relative residual at which the search ends. The error of the eigenvalue is of the order of its square, far
            below rounding.
        loose_tol: the same in a second search, where the first has not ended because many eigenvalues are near the
            smallest: any combination of their vectors will do, so two digits are enough.
        loose_rounds: restarts of the second search, in units of `steps`; chosen, as it has to end.
    """

    dense_weights: int = 60
    steps: int = 300
    tol: float = 1e-9
    loose_tol: float = 1e-2
    loose_rounds: int = 50

    def vector(self, operator: LinearOperator, rng: np.random.Generator) -> np.ndarray:
        """The vector, by Lanczos from a random start."""
        start = rng.standard_normal(operator.shape[0])
        try:
            return _lanczos(operator, start, self.steps, self.tol)
        except ArpackNoConvergence:
            return _lanczos(operator, start, self.loose_rounds * self.steps, self.loose_tol)


EIGENPAIR_SEARCH = EigenpairSearch()


@dataclass(frozen=True)
class LanczosEscape:
    """Saddle detection by the smallest eigenvalue of the Hessian, from products with it alone.

    Args:
        curvature_tol: eigenvalues above minus this, relative to the largest absolute one, are not negative.
        search: how the smallest one is found.
    """

    curvature_tol: float = 1e-10
    search: EigenpairSearch = EIGENPAIR_SEARCH

    def __call__(self, problem: QuadraticProblem, state: State, rng: np.random.Generator) -> Escape | None:
        """The direction of most negative curvature, or None if there is none."""
        value, vector = smallest_eigenpair(problem, state, rng, search=self.search)
        size = 2.0 * problem.largest_output_weight * float(np.linalg.norm(state.residual_matrix, 2))
        return Escape(vector, value) if value < -self.curvature_tol * size else None


@dataclass(frozen=True)
class BlockEscape:
    """Saddle detection in closed form: all dependent rows against all eigenvectors of the residual matrix.

    Args:
        pairs: largest number of pairs per sign; 1 is the direction in the proof of [soltanolkotabi, Thm. 2.1], None
            takes all.
        curvature_tol: as in `LanczosEscape`.
        fallback: asked where no rows are dependent; None to rely on the closed form.
        dependence_tol: singular values of the weighted rows of one sign below this, relative to the largest, count as a
            dependence. The curvature of every direction is evaluated before it is used, so that a wrong count costs a
            direction, not the truth.
    """

    pairs: int | None = None
    curvature_tol: float = 1e-10
    fallback: LanczosEscape | None = None
    dependence_tol: float = 1e-3

    def __call__(self, problem: QuadraticProblem, state: State, rng: np.random.Generator) -> Escape | None:
        """A direction of negative curvature, or None if neither this nor the fallback finds one."""
        direction = self._direction(problem, state)
        length = float(np.linalg.norm(direction))
        if length > 0.0:
            direction = direction / length
            curvature = problem.curvature(state, direction)
            size = 2.0 * problem.largest_output_weight * float(np.linalg.norm(state.residual_matrix, 2))
            if curvature < -self.curvature_tol * size:
                return Escape(direction, curvature)
        return None if self.fallback is None else self.fallback(problem, state, rng)

    def _direction(self, problem: QuadraticProblem, state: State) -> Atoms:
        values, vectors = scipy.linalg.eigh(state.residual_matrix)
        direction = np.zeros_like(state.weights)
        # Positive output weights go down along negative eigenvalues, the most negative first, and vice versa.
        for rows, order in ((problem.positive, 1), (problem.negative, -1)):
            slopes, along = order * values[::order], vectors[:, ::order]
            useful = int(np.count_nonzero(slopes < 0))
            if len(rows) == 0 or useful == 0:
                continue
            null = dependent_rows(problem.output_weights[rows], state.weights[rows], tol=self.dependence_tol)
            count = min(null.shape[1], useful, useful if self.pairs is None else self.pairs)
            pairs = null[:, :count] * np.sqrt(-slopes[:count])
            direction[rows] += pairs @ along[:, :count].T
        return direction


def dependent_rows(
    output_weights: Float64[np.ndarray, "rows"], weights: Float64[np.ndarray, "rows inputs"], *, tol: float
) -> Float64[np.ndarray, "rows null"]:
    """Combinations a with ``W^T diag(v) a = 0`` and ``a^T diag(|v|) a' = 0 or 1``; the best one if none is exact."""
    _, values, right = np.linalg.svd((weights.T * output_weights), full_matrices=True)
    padded = np.concatenate([values, np.zeros(len(right) - len(values))])
    is_dependent = padded <= tol * values[0]
    null = right[is_dependent].T if np.any(is_dependent) else right[-1:].T
    gram = (null.T * np.abs(output_weights)) @ null
    return scipy.linalg.solve_triangular(np.linalg.cholesky(gram), null.T, lower=True).T


def smallest_eigenpair(
    problem: QuadraticProblem, state: State, rng: np.random.Generator, *, search: EigenpairSearch = EIGENPAIR_SEARCH
) -> tuple[float, Atoms]:
    """Smallest eigenvalue of the Hessian of the loss in the weights and its unit eigenvector.

    Guarantees: the value is the Hessian's quadratic form at the vector, so that a negative one is never an artefact.
    """
    shape, size = state.weights.shape, state.weights.size

    def product(vector: np.ndarray) -> np.ndarray:
        return problem.hessian_product(state, vector.reshape(shape)).ravel()

    if size <= search.dense_weights:
        vector = scipy.linalg.eigh(np.array([product(row) for row in np.eye(size)]))[1][:, 0]
    else:
        operator = LinearOperator(  # pyright: ignore[reportCallIssue]
            (size, size),
            matvec=product,  # pyright: ignore[reportCallIssue]
            dtype=np.float64,  # pyright: ignore[reportCallIssue]
        )
        vector = search.vector(operator, rng)
    unit = vector.reshape(shape) / np.linalg.norm(vector)
    return problem.curvature(state, unit), unit


def _lanczos(operator: LinearOperator, start: np.ndarray, steps: int, tol: float) -> np.ndarray:
    return eigsh(operator, k=1, which="SA", v0=start, maxiter=steps, tol=tol)[1][:, 0]  # pyright: ignore[reportArgumentType]
