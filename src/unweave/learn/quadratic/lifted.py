"""Direct training of networks of squares in the space of symmetric matrices, where the loss is convex.

If the output weights reach every symmetric matrix, the optimum is a least-squares solution and the weights are read
off its eigenvectors. If they have one sign, it is a least-squares solution among the semidefinite matrices: accelerated
projected gradients find the optimal matrix roughly and, more to the point, its rank; Newton steps on a factor of that
rank finish. The duality gap decides when to end and whether the rank was right.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, lsmr

from unweave.arrays import Atoms, pack_squares, unpack
from unweave.learn.quadratic.optimality import OptimalityTest, SpectrumRules, SquareSpectrum
from unweave.learn.quadratic.problem import Labels, Matrix, OutputWeights, QuadraticProblem, WhiteUnits
from unweave.learn.quadratic.search import TrustRegion


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
        gram_residual: relative residual of a full-rank system above which its Gram matrix was too ill conditioned
            after all.
        lstsq_tol: singular values of the squares below this, relative to the largest, are taken for zero: inputs
            whose scales differ by a factor of 1e5 are still told from none.
        refinements: rounds that take away what the factorised Gram matrix has lost.
        lsmr_tol: relative tolerances of iterations, where squares are not written down.
        spectrum: up to which size squares are written down.
    """

    ridge: float = 0.0
    gram_residual: float = 1e-12
    lstsq_tol: float = 1e-13
    refinements: int = 3
    lsmr_tol: float = 1e-14
    spectrum: SpectrumRules = field(default_factory=SpectrumRules)

    def __call__(self, problem: QuadraticProblem, spectrum: SquareSpectrum | None = None) -> Matrix:
        """The matrix, from the factorisation that gave the spectrum of the squares if there is one.

        Guarantees: the global optimum over networks with at least d neurons of each sign, up to rounding.
        """
        if spectrum is not None and spectrum.solve is not None and self.ridge == 0.0:
            return self._factorised(problem, spectrum)
        if not self.spectrum.allow(problem.points):
            return self._iterative(problem)
        if problem.samples <= problem.inputs * (problem.inputs + 1) // 2:
            solution = self._dual(problem)
            if solution is not None:
                return solution
        return self._primal(problem)

    def _factorised(self, problem: QuadraticProblem, spectrum: SquareSpectrum) -> Matrix:
        assert spectrum.solve is not None
        matrix = np.zeros((problem.inputs, problem.inputs))
        for _ in range(self.refinements):
            left = problem.labels - problem.form_values(matrix)
            matrix = matrix + unpack(spectrum.solve @ spectrum.coordinates(left), problem.inputs)
        return matrix

    def _dual(self, problem: QuadraticProblem) -> Matrix | None:
        """From one factor per point; None if the squares of the points are dependent."""
        gram = (problem.points @ problem.points.T) ** 2
        gram.flat[:: len(gram) + 1] += self.ridge
        try:
            factor = scipy.linalg.cho_factor(gram, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        factors = np.zeros(problem.samples)
        for _ in range(self.refinements):
            left = self._remainder(problem, factors)
            factors += scipy.linalg.cho_solve(factor, left, check_finite=False)
        left = self._remainder(problem, factors)
        is_solved = np.linalg.norm(left) <= self.gram_residual * np.linalg.norm(problem.labels)
        return problem.weighted_squares(factors) if is_solved else None

    def _remainder(self, problem: QuadraticProblem, factors: Labels) -> Labels:
        return problem.labels - problem.form_values(problem.weighted_squares(factors)) - self.ridge * factors

    def _primal(self, problem: QuadraticProblem) -> Matrix:
        squares = pack_squares(problem.points)
        labels = problem.labels
        if self.ridge > 0.0:
            squares = np.vstack([squares, np.sqrt(self.ridge) * np.eye(squares.shape[1])])
            labels = np.concatenate([labels, np.zeros(squares.shape[1])])
        return unpack(np.linalg.lstsq(squares, labels, rcond=self.lstsq_tol)[0], problem.inputs)

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
        tol = self.lsmr_tol
        found = lsmr(operator, problem.labels, damp=self.ridge**0.5, atol=tol, btol=tol, maxiter=10 * size)[0]
        matrix = found.reshape(problem.inputs, problem.inputs)
        return 0.5 * (matrix + matrix.T)


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


def _stay(*_: object) -> None:
    """Escape from no saddle."""


@dataclass(frozen=True)
class LiftedSemidefinite:
    """Least squares over the semidefinite matrices, of the sign of the output weights.

    Args:
        steps: largest number of projected gradient steps.
        gap_tol: duality gap at which it ends, relative to the mean square of the labels.
        spectrum: which singular values of squares count in the gap.
        first_round: projected steps before the first attempt to finish; each round does twice as many as the one
            before, so that at most half of all steps come after what would have been enough.
        rank_cuts: relative eigenvalues at which the rank is cut, in turn: small ones fade slowly when the optimum lacks
            them.
        finish: Newton steps that finish at a rank. They escape from nothing, since the next round goes on anyway.
        power_steps: of power iteration for the largest singular value of the squares, where they are not written down.
            It converges within a few, since squares have a common part, the identity; the rest is safety. Chosen.
        power_safety: factor of what it finds, which is from below: steps that are 10 % shorter than they might be cost
            less than steps that are too long. Chosen.
    """

    steps: int = 30_000
    gap_tol: float = 1e-13
    spectrum: SpectrumRules = field(default_factory=SpectrumRules)
    first_round: int = 100
    rank_cuts: tuple[float, ...] = (1e-2, 1e-4, 1e-8)
    finish: TrustRegion = field(default_factory=lambda: TrustRegion(steps=40, gap_tol=0.0, escape=_stay))
    power_steps: int = 30
    power_safety: float = 1.05

    def __call__(self, problem: QuadraticProblem) -> SemidefiniteFit:
        """The matrix, negative semidefinite if the output weights are negative.

        Guarantees: the loss is within `gap` of the optimum over networks with at least d neurons of this sign.
        """
        if len(problem.positive) == 0:
            fit = self(problem.mirrored())
            return replace(fit, matrix=-fit.matrix)
        whitening = WhiteUnits.of(replace(problem, output_weights=np.ones(problem.inputs)))
        fit = self._fitted(whitening.problem)
        matrix = whitening.unit * whitening.forth.T @ fit.matrix @ whitening.forth
        return replace(fit, matrix=matrix, loss=whitening.unit**2 * fit.loss, gap=whitening.unit**2 * fit.gap)

    def _fitted(self, problem: QuadraticProblem) -> SemidefiniteFit:
        test = OptimalityTest.of(problem, rules=self.spectrum)
        best = _judged(test, np.zeros((problem.inputs, problem.inputs)))
        taken, round_steps, matrix = 0, self.first_round, best.matrix
        while best.gap > self.gap_tol and taken < self.steps:
            matrix = _projected_descent(test.problem, matrix, round_steps, largest=self._largest_square(test))
            taken, round_steps = taken + round_steps, 2 * round_steps
            candidates = [*self._finished(test, matrix), _judged(test, matrix), best]
            # Where many matrices are optimal, the one of lowest rank is the simplest network.
            optimal = (fit for fit in candidates if fit.gap <= self.gap_tol)
            best = next(optimal, min(candidates, key=lambda fit: fit.loss))
        return replace(best, steps=taken, has_converged=best.gap <= self.gap_tol)

    def _largest_square(self, test: OptimalityTest) -> float:
        """Largest singular value of the squares of the points, by power iteration where there is no spectrum."""
        if test.spectrum is not None:
            return test.spectrum.largest
        matrix = np.eye(test.problem.inputs)
        for _ in range(self.power_steps):
            matrix = test.problem.weighted_squares(test.problem.form_values(matrix / np.linalg.norm(matrix)))
        return float(np.sqrt(np.linalg.norm(matrix))) * self.power_safety

    def _finished(self, test: OptimalityTest, matrix: Matrix) -> list[SemidefiniteFit]:
        """Newton steps on factors of the ranks that the matrix might have, lowest first, until one is optimal.

        Superfluous rows of a factor shrink only slowly, but they do shrink: what is found is cut once more.
        """
        fits: dict[int, SemidefiniteFit] = {}
        for _ in range(2):
            for rank in sorted(self._possible_ranks(matrix) - set(fits)):
                fits[rank] = self._finished_at_rank(test, matrix, rank)
                if fits[rank].gap <= self.gap_tol:
                    break
            matrix = fits[max(fits)].matrix if fits else matrix
        return [fits[rank] for rank in sorted(fits)]

    def _possible_ranks(self, matrix: Matrix) -> set[int]:
        values = np.linalg.eigvalsh(matrix)
        return {int(np.count_nonzero(values > cut * values[-1])) for cut in self.rank_cuts} - {0}

    def _finished_at_rank(self, test: OptimalityTest, matrix: Matrix, rank: int) -> SemidefiniteFit:
        problem = replace(test.problem, output_weights=np.ones(rank))
        start = factorise(matrix, problem.output_weights).weights
        found = self.finish(start, replace(test, problem=problem), np.random.default_rng(0))
        return _judged(test, problem.matrix_of(found.weights))


def _judged(test: OptimalityTest, matrix: Matrix) -> SemidefiniteFit:
    state = test.problem.at(factorise(matrix, test.problem.output_weights).weights)
    return SemidefiniteFit(state.matrix, state.loss, test.gap(state), 0, False)


def _projected_descent(problem: QuadraticProblem, matrix: Matrix, steps: int, *, largest: float) -> Matrix:
    """Nesterov's accelerated gradients with projection, restarted whenever the momentum points uphill.

    Args:
        problem: the samples.
        matrix: from where it starts.
        steps: how many.
        largest: singular value of the squares of the points.
    """
    step = problem.samples / largest**2
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


def _semidefinite_part(matrix: Matrix) -> Matrix:
    values, vectors = scipy.linalg.eigh(matrix)
    kept = values > 0
    return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
