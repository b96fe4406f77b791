"""Local search that does not stop at saddles: one loop for every way to take a step."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unweave.arrays import Atoms
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.saddles import BlockEscape, Escape, LanczosEscape

EscapeRule = Callable[[QuadraticProblem, State, np.random.Generator], Escape | None]

# A gradient this small against the square root of what is above the optimum calls for a look at the curvature: near
# a global optimum with independent rows the ratio is at least of the order of the smallest singular value of the rows.
SADDLE_RATIO = 1e-3
# Steps between two such looks at least; doubled whenever there was nothing to see.
STEPS_BETWEEN_LOOKS = 10
# Steps in a row without progress before a search ends: the loss falls by less than rounding, and the gradient, whose
# rounding errors are smaller, has not fallen by a percent either.
STALLED_STEPS = 20
LOSS_PROGRESS, GRADIENT_PROGRESS = 1e-15, 0.99


class Status(Enum):
    """How a search ended."""

    OPTIMAL = "the loss is within the tolerance of the global optimum"
    SECOND_ORDER_POINT = "no step and no direction of negative curvature lowers the loss any more"
    OUT_OF_STEPS = "the steps were used up"


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights found by a search and how it got there.

    Args:
        weights: one row per neuron.
        loss: half of the mean square residual.
        status: how the search ended.
        steps: how many were taken, escapes included.
        escapes: curvature of the direction of every escape from a saddle; 0 for random moves.
        history: loss before every step, and after the last.
    """

    weights: Atoms
    loss: float
    status: Status
    steps: int
    escapes: tuple[float, ...]
    history: tuple[float, ...]


@runtime_checkable
class Stepper(Protocol):
    """A way to take one step, with a memory that an escape forgets."""

    def first_memory(self) -> Any:
        """What is remembered before the first step and after an escape."""
        ...

    def advance(self, test: OptimalityTest, state: State, memory: Any, /) -> tuple[State, Any]:
        """The next state, which is the same one if there is no better, and what to remember."""
        ...


def default_escape() -> BlockEscape:
    """Closed form first, Lanczos where it does not apply."""
    return BlockEscape(fallback=LanczosEscape())


@dataclass(frozen=True)
class Search:
    """Limits of a search.

    Args:
        steps: largest number of steps.
        gap_tol: loss above the lower bound of the optimum at which the search ends.
        escape: how saddles are found and left.
    """

    steps: int
    gap_tol: float
    escape: EscapeRule

    def __call__(self, stepper: Stepper, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> Trained:
        """Step until the optimum, a point of second order, or the end of the steps."""
        problem, memory = test.problem, stepper.first_memory()
        state, history, escapes = problem.at(start), [], []
        progress, wait, next_look, status = _Progress.at(state), STEPS_BETWEEN_LOOKS, 0, Status.OUT_OF_STEPS
        for step in range(self.steps):
            history.append(state.loss)
            gap = test.gap(state)
            if gap <= self.gap_tol:
                status = Status.OPTIMAL
                break
            if progress.is_stalled or (step >= next_look and progress.gradient <= SADDLE_RATIO * np.sqrt(gap)):
                moved, curvature = self._escaped(problem, state, rng)
                if moved.loss < state.loss:
                    state, memory, progress = moved, stepper.first_memory(), _Progress.at(moved)
                    wait, next_look = STEPS_BETWEEN_LOOKS, step + STEPS_BETWEEN_LOOKS
                    escapes.append(curvature)
                    continue
                if progress.is_stalled:
                    status = Status.SECOND_ORDER_POINT
                    break
                wait, next_look = 2 * wait, step + 2 * wait
            before = state
            state, memory = stepper.advance(test, state, memory)
            progress = progress.after(before, state)
        else:
            history.append(state.loss)
        return Trained(state.weights, state.loss, status, len(history) - 1, tuple(escapes), tuple(history))

    def _escaped(self, problem: QuadraticProblem, state: State, rng: np.random.Generator) -> tuple[State, float]:
        escape = self.escape(problem, state, rng)
        return (state, 0.0) if escape is None else (problem.moved(state, escape.direction), escape.curvature)


@dataclass(frozen=True)
class _Progress:
    """Norm of the last gradient, the smallest so far, and steps without progress."""

    gradient: float
    smallest: float
    stalled: int

    @classmethod
    def at(cls, state: State) -> "_Progress":
        size = float(np.linalg.norm(state.gradient))
        return cls(size, size, 0)

    @property
    def is_stalled(self) -> bool:
        return self.stalled >= STALLED_STEPS

    def after(self, before: State, state: State) -> "_Progress":
        size = float(np.linalg.norm(state.gradient))
        has_moved = before.loss - state.loss > LOSS_PROGRESS * before.loss or size < GRADIENT_PROGRESS * self.smallest
        # A stepper that returns its state has nothing more to offer.
        stalled = 0 if has_moved else STALLED_STEPS if state is before else self.stalled + 1
        return _Progress(size, min(size, self.smallest), stalled)
