"""Stochastic gradient descent for networks of squares, with noise if asked for [soltanolkotabi, Thm. 2.2]."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Atoms
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.search import Ending, TrainedWeights


@dataclass(frozen=True)
class StochasticDescent:
    """Train by steps along the gradients of a few samples, drawn anew for every step.

    Args:
        steps: largest number of steps.
        batch: samples per step.
        gap_tol: loss above the optimum at which it ends, looked at once per pass over the samples.
        step: of the first pass, relative to the inverse of the largest curvature of the loss at the start, for one
            sample and in proportion for more; halved whenever a pass has doubled the loss.
        noise: standard deviation of Gaussian noise in every step, relative to its length; 0 for plain descent.
    """

    steps: int = 200_000
    batch: int = 4
    gap_tol: float = 1e-12
    step: float = 0.05
    noise: float = 0.0

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start.

        Guarantees: none here; where a network explains all labels the noise of the batches ends with the loss.
        """
        problem, weights = test.problem, start
        state = problem.at(start)
        length = self.step * self.batch / largest_curvature(problem, start)
        per_pass = max(1, problem.samples // self.batch)
        history, ending = [], Ending.OUT_OF_STEPS
        for _ in range(self.steps // per_pass):
            history.append(state.loss)
            if test.gap(state) <= self.gap_tol:
                ending = Ending.OPTIMAL
                break
            moved = self._passed(problem, weights, length, per_pass, rng)
            trial = problem.at(moved)
            if not trial.loss <= 2.0 * state.loss:
                length *= 0.5
                continue
            weights, state = moved, trial
        else:
            history.append(state.loss)
        return TrainedWeights(weights, state.loss, ending, (), tuple(history))

    def _passed(
        self, problem: QuadraticProblem, weights: Atoms, length: float, steps: int, rng: np.random.Generator
    ) -> Atoms:
        """The weights after one pass over as many samples as there are."""
        heights = 2.0 * problem.output_weights[:, None]
        for _ in range(steps):
            rows = rng.integers(problem.samples, size=self.batch)
            points, hidden = problem.points[rows], problem.points[rows] @ weights.T
            residuals = hidden**2 @ problem.output_weights - problem.labels[rows]
            step = length / self.batch * heights * ((hidden * residuals[:, None]).T @ points)
            if self.noise > 0.0:
                spread = self.noise * np.linalg.norm(step) / np.sqrt(step.size)
                step = step + spread * rng.standard_normal(step.shape)
            weights = weights - step
        return weights


def largest_curvature(problem: QuadraticProblem, weights: Atoms, *, rounds: int = 30) -> float:
    """Largest absolute eigenvalue of the Hessian, nearly, by power iteration."""
    state = problem.at(weights)
    vector, size = np.random.default_rng(0).standard_normal(weights.shape), 0.0
    for _ in range(rounds):
        vector = problem.hessian_product(state, vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
    return size
