"""Training of networks of squares: directly through the matrix by default, by local search in good units otherwise."""

from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.lifted import LiftedLeastSquares, LiftedSemidefinite, factorise
from unweave.learn.quadratic.optimality import OptimalityTest, SquareSpectrum
from unweave.learn.quadratic.problem import QuadraticProblem, WhiteUnits
from unweave.learn.quadratic.search import Ending, TrainedWeights, TrustRegion


@runtime_checkable
class LocalSolver(Protocol):
    """A search from a start: any of the steppers, or perturbed gradient descent."""

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start."""
        ...


@dataclass(frozen=True)
class DirectTraining:
    """Find the optimal matrix first, then weights that have it.

    Args:
        least_squares: for output weights of both signs.
        semidefinite: for output weights of one sign.
        starts: random starts of a local search, besides the matrix cut to size, where there are too few neurons.
        search: how those are followed.
        negligible: eigenvalues without a neuron of their sign that are rounding errors, relative to the norm of the
            matrix.
    """

    least_squares: LiftedLeastSquares = field(default_factory=LiftedLeastSquares)
    semidefinite: LiftedSemidefinite = field(default_factory=LiftedSemidefinite)
    starts: int = 5
    search: TrustRegion = field(default_factory=lambda: TrustRegion(steps=200, gap_tol=1e-16))
    negligible: float = 1e-12

    def __call__(
        self, problem: QuadraticProblem, rng: np.random.Generator, spectrum: SquareSpectrum | None = None
    ) -> TrainedWeights:
        """Train, with the spectrum of the squares of the points if it is known.

        Guarantees: the global optimum for d neurons of each sign, or d of one sign; else a second-order point, which
            is no worse than the optimal matrix cut to the signs and rank of the output weights.
        """
        is_one_signed = min(len(problem.positive), len(problem.negative)) == 0
        matrix = self.semidefinite(problem).matrix if is_one_signed else self.least_squares(problem, spectrum)
        found = factorise(matrix, problem.output_weights)
        loss = problem.at(found.weights).loss
        if np.sum(found.left_out) <= self.negligible * np.linalg.norm(matrix):
            return TrainedWeights(found.weights, loss, Ending.OPTIMAL, (), (loss,))
        starts = [found.weights, *(None for _ in range(self.starts))]
        searches = [search(problem, self.search, start=start, rng=rng) for start in starts]
        return min(searches, key=lambda trained: trained.loss)


def train(
    problem: QuadraticProblem,
    solver: LocalSolver | DirectTraining | None = None,
    *,
    start: Atoms | None = None,
    rng: np.random.Generator,
    spectrum: SquareSpectrum | None = None,
) -> TrainedWeights:
    """Train the hidden weights of a network of squares.

    Args:
        problem: samples and output weights.
        solver: direct training if omitted.
        start: of a local search, in the units of the samples; random if omitted.
        rng: for random starts and searches for saddles.
        spectrum: of the squares of the points, if it is known: direct training then needs no factorisation of its own.

    Raises:
        InvalidInput: if a start is given that direct training has no use for, or of the wrong shape.
    """
    if solver is None or isinstance(solver, DirectTraining):
        if start is not None:
            raise InvalidInput("direct training needs no start: leave it out, or choose a local solver.")
        return (solver or DirectTraining())(problem, rng, spectrum)
    return search(problem, solver, start=start, rng=rng)


def search(
    problem: QuadraticProblem, solver: LocalSolver, *, start: Atoms | None, rng: np.random.Generator
) -> TrainedWeights:
    """Run a local search in units in which the samples are white, which leaves the set of networks as it is."""
    if start is not None and start.shape != (problem.neurons, problem.inputs):
        raise InvalidInput(f"start needs shape {(problem.neurons, problem.inputs)}, got {start.shape}.")
    whitening = WhiteUnits.of(problem)
    inside = random_start(whitening.problem, rng) if start is None else whitening.inside(start)
    trained = solver(inside, OptimalityTest.of(whitening.problem), rng)
    weights, square = whitening.outside(trained.weights), whitening.unit**2
    history = tuple(square * loss for loss in trained.history)
    return replace(trained, weights=weights, loss=problem.at(weights).loss, history=history)


def random_start(problem: QuadraticProblem, rng: np.random.Generator) -> Atoms:
    """Independent normal weights of variance one over the number of inputs."""
    return rng.standard_normal((problem.neurons, problem.inputs)) / np.sqrt(problem.inputs)
