"""Least squares over semidefinite matrices: direct training of networks of squares whose outputs have one sign.

Accelerated projected gradients find the optimal matrix roughly and, more to the point, its rank; Newton steps on a
factor of that rank finish. The duality gap decides when to end and whether the rank was right.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from unweave.learn.quadratic.lifted import factorise
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import Matrix, QuadraticProblem, Whitening
from unweave.learn.quadratic.trust_region import TrustRegion

# Projected steps between two attempts to finish; each round does twice as many as the one before.
FIRST_ROUND = 100
# Relative eigenvalues at which the rank is cut, in turn: small ones fade slowly when the optimum lacks them.
RANK_CUTS = (1e-2, 1e-4, 1e-8)
FINISHING_STEPS = 40
# Power iteration on the squares converges within a few steps, since they have a common part; the rest is safety.
POWER_STEPS, POWER_SAFETY = 30, 1.05


@dataclass(frozen=True, eq=False)
class SemidefiniteFit:
    """A semidefinite matrix and how close it is to the best.

    Args:
        matrix: semidefinite.
        loss: half of the mean square residual.
        gap: upper bound of how much that is above the optimum.
        steps: projected gradient steps.
        has_converged: whether the gap is within the tolerance.
    """

    matrix: Matrix
    loss: float
    gap: float
    steps: int
    has_converged: bool


@dataclass(frozen=True)
class LiftedSemidefinite:
    """Least squares over the semidefinite matrices, of the sign of the output weights.

    Args:
        steps: largest number of projected gradient steps.
        gap_tol: duality gap at which it ends, relative to the mean square of the labels.
    """

    steps: int = 30_000
    gap_tol: float = 1e-13

    def __call__(self, problem: QuadraticProblem) -> SemidefiniteFit:
        """The matrix, negative semidefinite if the output weights are negative.

        Guarantees: the loss is within `gap` of the optimum over networks with at least d neurons of this sign.
        """
        if len(problem.positive) == 0:
            fit = self(problem.mirrored())
            return replace(fit, matrix=-fit.matrix)
        whitening = Whitening.of(replace(problem, output_weights=np.ones(problem.inputs)))
        fit = self._fitted(whitening.problem)
        matrix = whitening.unit * whitening.forth.T @ fit.matrix @ whitening.forth
        return replace(fit, matrix=matrix, loss=whitening.unit**2 * fit.loss, gap=whitening.unit**2 * fit.gap)

    def _fitted(self, problem: QuadraticProblem) -> SemidefiniteFit:
        test = OptimalityTest.of(problem)
        best = _judged(test, np.zeros((problem.inputs, problem.inputs)))
        taken, round_steps, matrix = 0, FIRST_ROUND, best.matrix
        while best.gap > self.gap_tol and taken < self.steps:
            matrix = _projected_descent(test, matrix, round_steps)
            taken, round_steps = taken + round_steps, 2 * round_steps
            candidates = [*_finished(test, matrix, self.gap_tol), _judged(test, matrix), best]
            # Where many matrices are optimal, the one of lowest rank is the simplest network.
            optimal = (fit for fit in candidates if fit.gap <= self.gap_tol)
            best = next(optimal, min(candidates, key=lambda fit: fit.loss))
        return replace(best, steps=taken, has_converged=best.gap <= self.gap_tol)


def _judged(test: OptimalityTest, matrix: Matrix) -> SemidefiniteFit:
    state = test.problem.at(factorise(matrix, test.problem.output_weights).weights)
    return SemidefiniteFit(state.matrix, state.loss, test.gap(state), 0, False)


def _projected_descent(test: OptimalityTest, matrix: Matrix, steps: int) -> Matrix:
    """Nesterov's accelerated gradients with projection, restarted whenever the momentum points uphill."""
    problem = test.problem
    step = problem.samples / _largest_square(test) ** 2
    ahead, momentum = matrix, 1.0
    for _ in range(steps):
        residuals = problem.form_values(ahead) - problem.labels
        slope = problem.weighted_squares(residuals) / problem.samples
        following = _semidefinite_part(ahead - step * slope)
        if float(np.sum((ahead - following) * (following - matrix))) > 0.0:
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = following + (momentum - 1.0) / next_momentum * (following - matrix)
        matrix, momentum = following, next_momentum
    return matrix


def _finished(test: OptimalityTest, matrix: Matrix, gap_tol: float) -> list[SemidefiniteFit]:
    """Newton steps on factors of the ranks that the matrix might have, lowest first, until one is optimal.

    Superfluous rows of a factor shrink only slowly, but they do shrink: what is found is cut once more.
    """
    fits: dict[int, SemidefiniteFit] = {}
    for _ in range(2):
        for rank in sorted(_possible_ranks(matrix) - set(fits)):
            fits[rank] = _finished_at_rank(test, matrix, rank)
            if fits[rank].gap <= gap_tol:
                break
        matrix = fits[max(fits)].matrix if fits else matrix
    return [fits[rank] for rank in sorted(fits)]


def _possible_ranks(matrix: Matrix) -> set[int]:
    values = np.linalg.eigvalsh(matrix)
    return {int(np.count_nonzero(values > cut * values[-1])) for cut in RANK_CUTS} - {0}


def _finished_at_rank(test: OptimalityTest, matrix: Matrix, rank: int) -> SemidefiniteFit:
    problem = replace(test.problem, output_weights=np.ones(rank))
    newton = TrustRegion(steps=FINISHING_STEPS, gap_tol=0.0, escape=lambda *_: None)
    start = factorise(matrix, problem.output_weights).weights
    found = newton(start, replace(test, problem=problem), np.random.default_rng(0))
    return _judged(test, problem.matrix_of(found.weights))


def _semidefinite_part(matrix: Matrix) -> Matrix:
    values, vectors = scipy.linalg.eigh(matrix)
    kept = values > 0
    return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T


def _largest_square(test: OptimalityTest) -> float:
    """Largest singular value of the squares of the points, by power iteration where there is no spectrum."""
    if test.spectrum is not None:
        return test.spectrum.largest
    matrix = np.eye(test.problem.inputs)
    for _ in range(POWER_STEPS):
        matrix = test.problem.weighted_squares(test.problem.form_values(matrix / np.linalg.norm(matrix)))
    return float(np.sqrt(np.linalg.norm(matrix))) * POWER_SAFETY
