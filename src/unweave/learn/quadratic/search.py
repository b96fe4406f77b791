"""Local search that does not stop at saddles: one loop for gradient descent, conjugate gradients and trust regions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unweave.arrays import Atoms
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.saddles import BlockEscape, Escape, LanczosEscape

EscapeRule = Callable[[QuadraticProblem, State, np.random.Generator], Escape | None]


class Ending(Enum):
    """How a search ended."""

    OPTIMAL = "the loss is within the tolerance of the global optimum"
    SECOND_ORDER_POINT = "no step and no direction of negative curvature lowers the loss any more"
    OUT_OF_STEPS = "the steps were used up"


@dataclass(frozen=True, eq=False)
class TrainedWeights:
    """Weights found by a search and how it got there.

    Args:
        weights: one row per neuron.
        loss: half of the mean square residual.
        ending: how the search ended.
        escapes: curvature of the direction of every escape from a saddle; 0 for random moves.
        history: loss before every step, and after the last.
    """

    weights: Atoms
    loss: float
    ending: Ending
    escapes: tuple[float, ...]
    history: tuple[float, ...]

    @property
    def steps(self) -> int:
        """How many were taken, escapes included."""
        return len(self.history) - 1


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


@dataclass(frozen=True, kw_only=True)
class SearchRules:
    """When a search looks for negative curvature, and when it has come to its end.

    Args:
        saddle_ratio: a gradient this small against the square root of what is above the optimum calls for a look at the
            curvature: near a global optimum with independent rows the ratio is at least of the order of the smallest
            singular value of the rows.
        between_looks: steps between two such looks at least; doubled whenever there was nothing to see.
        most_stalled: steps in a row without progress before a search ends.
        rounding: of a loss, relative to it: a few units of its last digit. What falls by less makes no progress.
        gradient_progress: factor by which a gradient has to fall where the loss does not: its rounding errors are
            smaller, so that a percent still shows.
    """

    saddle_ratio: float = 1e-3
    between_looks: int = 10
    most_stalled: int = 20
    rounding: float = 1e-15
    gradient_progress: float = 0.99


@dataclass(frozen=True)
class Search:
    """Limits of a search.

    Args:
        steps: largest number of steps.
        gap_tol: loss above the lower bound of the optimum at which the search ends.
        escape: how saddles are found and left.
        rules: when they are looked for, and when there is no progress.
    """

    steps: int
    gap_tol: float
    escape: EscapeRule
    rules: SearchRules

    def __call__(
        self, stepper: Stepper, start: Atoms, test: OptimalityTest, rng: np.random.Generator
    ) -> TrainedWeights:
        """Step until the optimum, a point of second order, or the end of the steps."""
        problem, rules, memory = test.problem, self.rules, stepper.first_memory()
        state, history, escapes = problem.at(start), [], []
        progress, wait, next_look, ending = _Progress.at(state, rules), rules.between_looks, 0, Ending.OUT_OF_STEPS
        for step in range(self.steps):
            history.append(state.loss)
            gap = test.gap(state)
            if gap <= self.gap_tol:
                ending = Ending.OPTIMAL
                break
            if progress.is_stalled or (step >= next_look and progress.gradient <= rules.saddle_ratio * np.sqrt(gap)):
                moved, curvature = self._escaped(problem, state, rng)
                if moved.loss < state.loss:
                    state, memory, progress = moved, stepper.first_memory(), _Progress.at(moved, rules)
                    wait, next_look = rules.between_looks, step + rules.between_looks
                    escapes.append(curvature)
                    continue
                if progress.is_stalled:
                    ending = Ending.SECOND_ORDER_POINT
                    break
                wait, next_look = 2 * wait, step + 2 * wait
            before = state
            state, memory = stepper.advance(test, state, memory)
            progress = progress.after(before, state)
        else:
            history.append(state.loss)
        return TrainedWeights(state.weights, state.loss, ending, tuple(escapes), tuple(history))

    def _escaped(self, problem: QuadraticProblem, state: State, rng: np.random.Generator) -> tuple[State, float]:
        escape = self.escape(problem, state, rng)
        return (state, 0.0) if escape is None else (problem.moved(state, escape.direction), escape.curvature)


@dataclass(frozen=True)
class _Progress:
    """Norm of the last gradient, the smallest so far, and steps without progress."""

    gradient: float
    smallest: float
    stalled: int
    rules: SearchRules

    @classmethod
    def at(cls, state: State, rules: SearchRules) -> "_Progress":
        size = float(np.linalg.norm(state.gradient))
        return cls(size, size, 0, rules)

    @property
    def is_stalled(self) -> bool:
        return self.stalled >= self.rules.most_stalled

    def after(self, before: State, state: State) -> "_Progress":
        size, rules = float(np.linalg.norm(state.gradient)), self.rules
        has_fallen = before.loss - state.loss > rules.rounding * before.loss
        has_moved = has_fallen or size < rules.gradient_progress * self.smallest
        # A stepper that returns its state has nothing more to offer.
        stalled = 0 if has_moved else rules.most_stalled if state is before else self.stalled + 1
        return _Progress(size, min(size, self.smallest), stalled, rules)


@dataclass(frozen=True)
class SteepestDescent:
    """Train by gradient descent, by default with the exact step along every gradient.

    Args:
        steps: largest number of steps.
        gap_tol: loss above the optimum at which it ends: a hundredth of the gap that is certified as none, for labels
            of root mean square 1.
        step: a fixed length of the steps, in units of the gradient; None to minimise along it exactly.
        escape: how saddles are found and left.
        rules: when they are looked for, and when there is no progress.
    """

    steps: int = 100_000
    gap_tol: float = 1e-12
    step: float | None = None
    escape: EscapeRule = field(default_factory=default_escape)
    rules: SearchRules = field(default_factory=SearchRules)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape, self.rules)(self, start, test, rng)

    def first_memory(self) -> None:
        """Remember nothing."""

    def advance(self, test: OptimalityTest, state: State, _memory: None, /) -> tuple[State, None]:
        """Take one step down the gradient."""
        if self.step is None:
            return test.problem.moved(state, -state.gradient), None
        return test.problem.at(state.weights - self.step * state.gradient), None


@dataclass(frozen=True, eq=False)
class _Conjugate:
    gradient: Atoms
    direction: Atoms


@dataclass(frozen=True)
class ConjugateGradients:
    """Train by Polak and Ribiere's conjugate gradients with the exact step along every direction.

    Arguments as in `SteepestDescent`.
    """

    steps: int = 20_000
    gap_tol: float = SteepestDescent.gap_tol
    escape: EscapeRule = field(default_factory=default_escape)
    rules: SearchRules = field(default_factory=SearchRules)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape, self.rules)(self, start, test, rng)

    def first_memory(self) -> _Conjugate | None:
        """Begin with the gradient."""
        return None

    def advance(self, test: OptimalityTest, state: State, memory: _Conjugate | None, /) -> tuple[State, _Conjugate]:
        """Take one step along the conjugate direction, or along the gradient if that one does not go down."""
        direction = -state.gradient
        if memory is not None and (square := float(np.sum(memory.gradient**2))) > 0.0:
            share = max(0.0, float(np.sum(state.gradient * (state.gradient - memory.gradient))) / square)
            conjugate = direction + share * memory.direction
            direction = conjugate if float(np.sum(conjugate * state.gradient)) < 0.0 else direction
        return test.problem.moved(state, direction), _Conjugate(state.gradient, direction)


@dataclass(frozen=True, kw_only=True)
class BallRule:
    """How the ball of a trust region follows the ratio of true to predicted decrease, with the usual numbers.

    Args:
        poor: ratio below which the ball shrinks.
        good: ratio above which it grows.
        acceptable: ratio above which a step is taken.
        shrinking: factor of the radius after a poor step.
        growth: factor of the radius after a good step that ends at the boundary.
    """

    poor: float = 0.25
    good: float = 0.75
    acceptable: float = 0.1
    shrinking: float = 0.25
    growth: float = 2.0

    def next_radius(self, radius: float, *, ratio: float, length: float) -> float:
        """The radius after a step of some length."""
        if ratio < self.poor:
            return self.shrinking * min(radius, length)
        return self.growth * radius if ratio > self.good and length > 0.99 * radius else radius


@dataclass(frozen=True)
class TrustRegion:
    """Train by Newton steps within a ball, solved by Steihaug's and Toint's conjugate gradients.

    Args:
        steps: largest number of attempted steps.
        gap_tol: as in `SteepestDescent`.
        radius: of the first ball.
        solve_steps: largest number of Hessian products per step.
        escape: how saddles are found and left; negative curvature met on the way is followed to the boundary anyway.
        ball: how the radius changes, and which steps are taken.
        rules: when saddles are looked for, and when there is no progress.
    """

    steps: int = 1_000
    gap_tol: float = SteepestDescent.gap_tol
    radius: float = 1.0
    solve_steps: int = 500
    escape: EscapeRule = field(default_factory=default_escape)
    ball: BallRule = field(default_factory=BallRule)
    rules: SearchRules = field(default_factory=SearchRules)

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start."""
        return Search(self.steps, self.gap_tol, self.escape, self.rules)(self, start, test, rng)

    def first_memory(self) -> float:
        """Begin with the radius of the first ball."""
        return self.radius

    def advance(self, test: OptimalityTest, state: State, memory: float, /) -> tuple[State, float]:
        """Shrink the ball until the model is right enough for a step inside it."""
        problem, radius = test.problem, memory
        while radius > np.finfo(float).eps * (1e-8 + float(np.linalg.norm(state.weights))):
            step, product = self._model_minimum(problem, state, radius)
            predicted = -float(np.sum(step * (state.gradient + 0.5 * product)))
            trial = problem.at(state.weights + step)
            # Below rounding, the ratio of two decreases has to read as one: Newton's step is right there.
            rounding = self.rules.rounding * state.loss
            ratio = (state.loss - trial.loss + rounding) / (predicted + rounding) if predicted > 0.0 else 0.0
            radius = self.ball.next_radius(radius, ratio=ratio, length=float(np.linalg.norm(step)))
            if ratio > self.ball.acceptable:
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
