"""First-order training of networks of squares: gradient descent and conjugate gradients, with escapes from saddles."""

from dataclasses import dataclass, field

import numpy as np

from unweave.arrays import Atoms
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import State
from unweave.learn.quadratic.search import EscapeRule, Search, Trained, default_escape

# Loss above the optimum at which training ends.
GAP_TOL = 1e-12


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent, by default with the exact step along every gradient.

    Args:
        steps: largest number of steps.
        gap_tol: loss above the optimum at which it ends.
        step: a fixed length of the steps, in units of the gradient; None to minimise along it exactly.
        escape: how saddles are found and left.
    """

    steps: int = 100_000
    gap_tol: float = GAP_TOL
    step: float | None = None
    escape: EscapeRule = field(default_factory=default_escape)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> Trained:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape)(self, start, test, rng)

    def first_memory(self) -> None:
        """There is nothing to remember."""

    def advance(self, test: OptimalityTest, state: State, _memory: None, /) -> tuple[State, None]:
        """One step down the gradient."""
        if self.step is None:
            return test.problem.moved(state, -state.gradient), None
        return test.problem.at(state.weights - self.step * state.gradient), None


@dataclass(frozen=True, eq=False)
class _Conjugate:
    gradient: Atoms
    direction: Atoms


@dataclass(frozen=True)
class ConjugateGradients:
    """Polak and Ribiere's conjugate gradients with the exact step along every direction.

    Arguments as in `GradientDescent`.
    """

    steps: int = 20_000
    gap_tol: float = GAP_TOL
    escape: EscapeRule = field(default_factory=default_escape)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> Trained:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape)(self, start, test, rng)

    def first_memory(self) -> _Conjugate | None:
        """Begin with the gradient."""
        return None

    def advance(self, test: OptimalityTest, state: State, memory: _Conjugate | None, /) -> tuple[State, _Conjugate]:
        """One step along the conjugate direction, or along the gradient if that one does not go down."""
        direction = -state.gradient
        if memory is not None and (square := float(np.sum(memory.gradient**2))) > 0.0:
            share = max(0.0, float(np.sum(state.gradient * (state.gradient - memory.gradient))) / square)
            conjugate = direction + share * memory.direction
            direction = conjugate if float(np.sum(conjugate * state.gradient)) < 0.0 else direction
        return test.problem.moved(state, direction), _Conjugate(state.gradient, direction)
