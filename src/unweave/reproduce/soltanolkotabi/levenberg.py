"""Levenberg-Marquardt for networks of squares in Gram form: one system with a row per sample, whatever the width.

The Jacobian of the predictions in the weights is a Khatri-Rao product, so that its Gram matrix is an entrywise
product of two small ones, ``4 (X W^T diag(v)^2 W X^T) o (X X^T)``. Where quadratic forms can't take all values at the
points, the system is written in a basis of the values that they can take.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Atoms
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.search import GAP_TOL, EscapeRule, Search, TrainedWeights, default_escape

LARGEST_DAMPING = 1e8
SMALLEST_DAMPING = 1e-15
# Rounding errors of a loss, relative to it.
ROUNDING = 1e-15


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Damped Gauss-Newton steps, solved in the space of the samples.

    Args:
        steps: largest number of accepted steps.
        gap_tol: loss above the optimum at which it ends.
        damping: of the first step, relative to the mean eigenvalue of the Gram matrix.
        escape: how saddles are found and left: where the gradient vanishes there is no Gauss-Newton step either.
    """

    steps: int = 500
    gap_tol: float = GAP_TOL
    damping: float = 1e-2
    escape: EscapeRule = field(default_factory=default_escape)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape)(self, start, test, rng)

    def first_memory(self) -> float:
        """The damping of the first step."""
        return self.damping

    def advance(self, test: OptimalityTest, state: State, memory: float, /) -> tuple[State, float]:
        """Raise the damping until the loss falls, then lower it for the next step."""
        problem, damping = test.problem, memory
        basis = None if test.spectrum is None else test.spectrum.basis
        gram = jacobian_gram(problem, state.weights)
        gram = gram if basis is None else basis.T @ gram @ basis
        residuals = state.residuals if basis is None else basis.T @ state.residuals
        mean = float(np.trace(gram)) / len(gram)
        while mean > 0.0 and damping < LARGEST_DAMPING:
            factors = _solved(gram, damping * mean, residuals)
            if factors is not None:
                outer = factors if basis is None else basis @ factors
                trial = problem.at(state.weights - problem.pull_back(state.weights, outer))
                if _is_better(trial, state):
                    return trial, max(0.1 * damping, SMALLEST_DAMPING)
            damping *= 10.0
        return state, self.damping


def jacobian_gram(problem: QuadraticProblem, weights: Atoms) -> Float64[np.ndarray, "points points"]:
    """Inner products of the gradients of the predictions at all pairs of points."""
    slopes = 2.0 * problem.output_weights * (problem.points @ weights.T)
    return (slopes @ slopes.T) * (problem.points @ problem.points.T)


def _is_better(trial: State, state: State) -> bool:
    """Whether the loss has fallen or, where rounding hides that, the gradient has."""
    if trial.loss < state.loss:
        return True
    is_level = trial.loss <= (1.0 + ROUNDING) * state.loss
    return is_level and float(np.linalg.norm(trial.gradient)) < 0.9 * float(np.linalg.norm(state.gradient))


def _solved(gram: np.ndarray, shift: float, residuals: np.ndarray) -> np.ndarray | None:
    try:
        factor = scipy.linalg.cho_factor(gram + shift * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return None
    return scipy.linalg.cho_solve(factor, residuals)
