"""Trust-region training of networks of squares: Newton steps by conjugate gradients with Hessian products."""

from dataclasses import dataclass, field

import numpy as np

from unweave.arrays import Atoms
from unweave.learn.quadratic.descent import GAP_TOL
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.search import EscapeRule, Search, Trained, default_escape

# The usual constants: ratios of true to predicted decrease below which the region shrinks and above which it grows.
POOR, GOOD, ACCEPTABLE = 0.25, 0.75, 0.1
SHRINKING, GROWTH = 0.25, 2.0
# Rounding errors of a loss, relative to it.
ROUNDING = 1e-15


@dataclass(frozen=True)
class TrustRegion:
    """Newton steps within a ball, solved by Steihaug's and Toint's conjugate gradients.

    Args:
        steps: largest number of attempted steps.
        gap_tol: loss above the optimum at which it ends.
        radius: of the first ball.
        solve_steps: largest number of Hessian products per step.
        escape: how saddles are found and left; negative curvature met on the way is followed to the boundary anyway.
    """

    steps: int = 1_000
    gap_tol: float = GAP_TOL
    radius: float = 1.0
    solve_steps: int = 500
    escape: EscapeRule = field(default_factory=default_escape)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> Trained:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape)(self, start, test, rng)

    def first_memory(self) -> float:
        """The radius of the first ball."""
        return self.radius

    def advance(self, test: OptimalityTest, state: State, memory: float, /) -> tuple[State, float]:
        """Shrink the ball until the model is right enough for a step inside it."""
        problem, radius = test.problem, memory
        while radius > np.finfo(float).eps * (1e-8 + float(np.linalg.norm(state.weights))):
            step, product = self._model_minimum(problem, state, radius)
            predicted = -float(np.sum(step * (state.gradient + 0.5 * product)))
            trial = problem.at(state.weights + step)
            # Below rounding, the ratio of two decreases has to read as one: Newton's step is right there.
            rounding = ROUNDING * state.loss
            ratio = (state.loss - trial.loss + rounding) / (predicted + rounding) if predicted > 0.0 else 0.0
            is_at_boundary = float(np.linalg.norm(step)) > 0.99 * radius
            if ratio < POOR:
                radius = SHRINKING * min(radius, float(np.linalg.norm(step)))
            elif ratio > GOOD and is_at_boundary:
                radius *= GROWTH
            if ratio > ACCEPTABLE:
                return trial, radius
            if predicted <= 0.0:
                break
        return state, self.radius

    def _model_minimum(self, problem: QuadraticProblem, state: State, radius: float) -> tuple[Atoms, Atoms]:
        """A step that lowers the quadratic model within the ball, and its product with the Hessian."""
        step, product = np.zeros_like(state.weights), np.zeros_like(state.weights)
        rest, direction = -state.gradient, -state.gradient
        square = float(np.sum(rest**2))
        # Superlinear convergence needs a residual that falls faster than the gradient.
        enough = square * min(0.25, square**0.5)
        for _ in range(self.solve_steps):
            if square <= enough:
                break
            bent = problem.hessian_product(state, direction)
            curvature = float(np.sum(direction * bent))
            length = square / curvature if curvature > 0.0 else np.inf
            if curvature <= 0.0 or np.linalg.norm(step + length * direction) >= radius:
                length = _to_boundary(step, direction, radius)
                return step + length * direction, product + length * bent
            step, product = step + length * direction, product + length * bent
            rest = rest - length * bent
            previous, square = square, float(np.sum(rest**2))
            direction = rest + (square / previous) * direction
        return step, product


def _to_boundary(step: Atoms, direction: Atoms, radius: float) -> float:
    """The positive t with ``|step + t direction| = radius``."""
    a, b = float(np.sum(direction**2)), float(np.sum(step * direction))
    c = max(0.0, radius**2 - float(np.sum(step**2)))
    root = np.sqrt(b**2 + a * c)
    return float(c / (b + root)) if b > 0 else float((root - b) / a)
