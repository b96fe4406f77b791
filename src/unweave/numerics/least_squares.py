"""Damped Gauss-Newton for all fits: a problem gives residuals and steps, a policy says how to damp and when to stop.

A step solves the linearised problem with a damping that grows while steps fail and decays when they succeed
(Levenberg 1944, Marquardt 1963). What the damping multiplies, how the equations are solved (orthogonal, Cholesky,
eigenvectors, conjugate gradients) and which parameters move belongs to the problem.

Some loops stay apart: those that run many small fits as one batch, with a damping each (`identification.profiles`,
`identification.hessians.collinear`, `numerics.power_steps`, `_kernels.landscape`), and the trust region of networks of
squares, whose Hessian products show negative curvature that Gauss-Newton does not see.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64

from unweave.arrays import Points, Values, root_mean_square
from unweave.exceptions import InvalidInput

Step = Float64[np.ndarray, "parameters"]
# From a damping to a step.
Solver = Callable[[float], Step]
Point = TypeVar("Point")
# What is known at a point once its residuals are: the residuals, and all that the next linear system can share.
Residuals = TypeVar("Residuals")
# A point that answers itself, such as a network.
Model = TypeVar("Model", bound=Callable[[Points], Values])

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def ending_after(seconds: float | None) -> Iterator[float | None]:
    """Set the time, inside this context, after which fits end with the best that they have; None for no limit."""
    deadline = None if seconds is None else time.monotonic() + seconds
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


def is_over() -> bool:
    """Say whether the time of the surrounding run is over."""
    deadline = _deadline.get()
    return deadline is not None and time.monotonic() > deadline


@runtime_checkable
class Problem(Protocol[Point, Residuals]):
    """What a fit minimises over its points: networks, directions or plain vectors."""

    def residuals(self, point: Point, /) -> Residuals:
        """Evaluate the residuals, called once per attempted step."""
        ...

    def loss(self, residuals: Residuals, /) -> float:
        """Measure residuals by what has to fall, such as their root mean square; infinite or NaN is a failure."""
        ...

    def solver(self, point: Point, residuals: Residuals, /) -> Solver:
        """Linearise at a point and factorise what serves every damping; NaN in a step says that it was unsolvable."""
        ...

    def moved(self, point: Point, step: Step, /) -> Point | None:
        """Take a finite step; None refuses it, and a larger damping is tried."""
        ...


@dataclass(frozen=True, eq=False)
class FitToAnswers(Generic[Model]):
    """What is the same in every problem whose points are models of answers; steps belong to the model.

    Args:
        points: where answers are known.
        values: the answers.
    """

    points: Points
    values: Values

    def residuals(self, point: Model, /) -> Values:
        """What a model does not explain."""
        return self.values - point(self.points)

    def loss(self, residuals: Values, /) -> float:
        """Their root mean square."""
        return root_mean_square(residuals)


class Stop(Enum):
    """Why a fit ended."""

    SOLVED = "the loss is as low as was asked for"
    FLOOR = "the loss is at the noise of the answers"
    SMALL_GAIN = "steps hardly lower the loss"
    SMALL_STEP = "steps hardly move the point"
    STUCK = "no damping gives a step that lowers the loss"
    LIMIT = "the steps, or the time, are used up"


@dataclass(frozen=True)
class FloorRules:
    """When a loss counts as the noise of the answers, in multiples of the `floor` that a fit is given.

    A fit with half as many parameters as answers leaves ``sqrt(1/2)``, or 0.7, times the noise, and an estimate of the
    noise is rarely off by more than a factor of 2.

    Args:
        stuck: at most this loss has converged if a step fails to lower it. Chosen: the factor of 2 with half as much
            again, since nothing is gained by going on.
        slow: at most this loss has converged if a step gains less than `slow_gain` of it: the factor of 2 itself.
        sure: at most this loss has converged in any case. Chosen: below 0.7, where only an overestimated noise leads.
        slow_gain: see `slow`. Chosen: steps that converge quadratically gain far more than half.
    """

    stuck: float = 3.0
    slow: float = 2.0
    sure: float = 0.5
    slow_gain: float = 0.5


FLOORS = FloorRules()


@dataclass(frozen=True)
class Policy:
    """How a fit is damped and when it ends.

    Args:
        steps: largest number of accepted steps.
        attempts: largest number of attempted steps.
        tries: largest number of attempts at one point.
        first_damping: of the first step; 0 for plain Gauss-Newton.
        revived_damping: least damping after a step that failed.
        growth: factor of the damping after a step that failed.
        decay: factor of the damping after a step that succeeded.
        slow_decay: share of the loss, and the factor after a step that left more of it; as `decay` if omitted.
        negligible_damping: a damping that decays below it becomes `least_damping`.
        least_damping: 0 gives quadratic convergence at exact solutions with a Jacobian of full rank.
        largest_damping: beyond it the fit is stuck.
        gain_tol: the fit ends when the loss has fallen by less than this share over the last `patience` steps.
        patience: see `gain_tol`.
        gain_damping: damping above which a small gain may be due to the damping and does not end the fit.
        step_tol: largest entry of a step, in the units of the problem, that changes nothing any more.
        floors: when the loss counts as the noise of the answers.
    """

    steps: int = 1_000
    attempts: int = 1_000
    tries: int = 1_000
    first_damping: float = 0.0
    revived_damping: float = 1e-3
    growth: float = 10.0
    decay: float = 0.1
    slow_decay: tuple[float, float] | None = None
    negligible_damping: float = 1e-8
    least_damping: float = 0.0
    largest_damping: float = 1e8
    gain_tol: float = 0.0
    patience: int = 1
    gain_damping: float = np.inf
    step_tol: float = 0.0
    floors: FloorRules = FLOORS

    def __post_init__(self) -> None:
        """Refuse settings with which the damping would never end a fit."""
        if not (self.growth > 1.0 and self.first_damping + self.revived_damping > 0.0 and self.patience >= 1):
            raise InvalidInput(
                "damping must grow from a positive number, got "
                f"growth={self.growth}, revived_damping={self.revived_damping}, patience={self.patience}."
            )

    def always_damped(self, *, first: float, least: float) -> "Policy":
        """The same, with a damping from the first step on that falls to the `least` one and never to zero."""
        return replace(self, first_damping=first, revived_damping=0.0, negligible_damping=least, least_damping=least)

    def raised(self, damping: float) -> float:
        """Damp the next attempt after one that failed."""
        return max(self.growth * damping, self.revived_damping)

    def lowered(self, damping: float, share: float) -> float:
        """Damp the next step after one that left `share` of the loss."""
        good_share, slow_decay = self.slow_decay or (np.inf, self.decay)
        lowered = (self.decay if share < good_share else slow_decay) * damping
        return lowered if lowered >= self.negligible_damping else self.least_damping


# Starts are far off: damped from the beginning, and less only slowly where a step leaves more than 0.8 of the loss.
# Heuristic.
FROM_AFAR = Policy(growth=4.0, slow_decay=(0.8, 0.4), largest_damping=1e6).always_damped(first=1e-3, least=1e-15)


@dataclass(frozen=True)
class Solution(Generic[Point, Residuals]):
    """Where a fit ended, and why.

    Args:
        point: the best point, which is the last one.
        residuals: there.
        losses: before every accepted step, and after the last.
        attempts: accepted steps and failed ones.
        stop: why it ended.
    """

    point: Point
    residuals: Residuals
    losses: tuple[float, ...]
    attempts: int
    stop: Stop

    @property
    def steps(self) -> int:
        """Number of accepted steps."""
        return len(self.losses) - 1

    @property
    def has_converged(self) -> bool:
        """Whether it ended because nothing was left to do."""
        return self.stop not in (Stop.STUCK, Stop.LIMIT)


def minimise(
    problem: Problem[Point, Residuals],
    start: Point,
    policy: Policy,
    *,
    floor: float = 0.0,
    target: float = 0.0,
    is_solved: Callable[[Point], bool] | None = None,
) -> Solution[Point, Residuals]:
    """Lower the loss of a problem by damped Gauss-Newton steps.

    Args:
        problem: residuals, steps and moves.
        start: where to begin; its loss must be a number.
        policy: damping and stopping.
        floor: the loss that noise leaves even of the truth.
        target: a loss that is low enough, even at the start.
        is_solved: the same for points whose loss alone does not tell.

    Guarantees: the loss falls with every accepted step; failed ones, with losses of NaN too, leave no trace.
    """
    point, residuals, solve = start, problem.residuals(start), None
    losses, damping, attempts, tries = [problem.loss(residuals)], policy.first_damping, 0, 0
    stop = Stop.SOLVED if losses[0] <= target or (is_solved is not None and is_solved(start)) else None
    while stop is None:
        if attempts == policy.attempts or len(losses) > policy.steps or is_over():
            stop = Stop.LIMIT
            break
        if solve is None:
            solve, tries = problem.solver(point, residuals), 0
        step = solve(damping)
        trial = problem.moved(point, step) if np.all(np.isfinite(step)) else None
        found = None if trial is None else (trial, problem.residuals(trial))
        loss = np.inf if found is None else problem.loss(found[1])
        attempts, tries = attempts + 1, tries + 1
        is_small = bool(np.max(np.abs(step), initial=0.0) < policy.step_tol)
        if found is not None and loss < losses[-1]:
            (point, residuals), solve = found, None
            losses.append(loss)
            damping = policy.lowered(damping, loss / losses[-2])
            is_done = loss <= target or (is_solved is not None and is_solved(point))
            stop = Stop.SOLVED if is_done else _after_success(policy, losses, damping, floor)
        else:
            damping = policy.raised(damping)
            is_stuck = damping > policy.largest_damping or tries == policy.tries
            stop = Stop.FLOOR if losses[-1] <= policy.floors.stuck * floor else Stop.STUCK if is_stuck else None
        stop = Stop.SMALL_STEP if is_small and stop in (None, Stop.STUCK) else stop
    return Solution(point, residuals, tuple(losses), attempts, stop)


def _after_success(policy: Policy, losses: list[float], damping: float, floor: float) -> Stop | None:
    loss, gain, floors = losses[-1], losses[-2] - losses[-1], policy.floors
    if loss <= floors.sure * floor or (loss <= floors.slow * floor and gain < floors.slow_gain * losses[-2]):
        return Stop.FLOOR
    if len(losses) > policy.patience and damping <= policy.gain_damping:
        before = losses[-1 - policy.patience]
        return Stop.SMALL_GAIN if before - loss < policy.gain_tol * before else None
    return None


# LAPACK itself: for small systems SciPy's checks around it take longer than the solution.
_solve_definite, _reciprocal_condition = scipy.linalg.get_lapack_funcs(("posv", "trcon"), dtype=np.float64)


def orthogonal_solver(
    jacobian: Float64[np.ndarray, "rows parameters"],
    residuals: Float64[np.ndarray, "rows"],
    *,
    rank_tol: float = 1e-15,
    full_rank: float = 1e-12,
) -> Solver:
    """Factorise the Jacobian orthogonally, which keeps all digits; a damped problem has the size of the triangle.

    Args:
        jacobian: derivatives of what the residuals are missing, so that steps solve ``jacobian @ step = residuals``.
        residuals: the right-hand side.
        rank_tol: singular values of an undamped problem below this share of the largest are rounding, and no step is
            taken along them: a few eps, which is 2.2e-16, because the triangle itself is exact to no more.
        full_rank: reciprocal condition from which on no singular value is below that: it is at most the number of
            parameters times too large, of which there are a thousand, and the triangle itself solves the problem.

    Returns:
        Solutions for dampings in units of the mean square of the singular values.
    """
    count = jacobian.shape[1]
    triangle, target = _triangle(jacobian, residuals)
    unit = np.linalg.norm(triangle) / np.sqrt(max(count, 1))

    def solve(damping: float) -> Step:
        if not (np.isfinite(unit) and unit > 0.0):
            return np.full(count, np.nan)
        if damping == 0.0 and _reciprocal_condition(triangle)[0] > full_rank:
            return scipy.linalg.solve_triangular(triangle, target)
        if damping == 0.0:
            return np.linalg.lstsq(triangle, target, rcond=rank_tol)[0]
        damped, shifted = _triangle(
            np.vstack([triangle, np.sqrt(damping) * unit * np.eye(count)]), np.append(target, np.zeros(count))
        )
        return scipy.linalg.solve_triangular(damped, shifted)

    return solve


def _triangle(
    matrix: Float64[np.ndarray, "rows parameters"], right: Float64[np.ndarray, "rows"]
) -> tuple[Float64[np.ndarray, "parameters parameters"], Step]:
    """Reduce a least-squares problem to a triangle; as one more column the right side needs no orthogonal factor."""
    count = matrix.shape[1]
    both = np.asarray(np.linalg.qr(np.column_stack([matrix, right]), mode="r"))
    return both[:count, :count], both[:count, count]


def normal_solver(
    gram: Float64[np.ndarray, "parameters parameters"],
    target: Step,
    unit: float | Float64[np.ndarray, "parameters"],
    *,
    ridges: tuple[float, ...] = (0.0, 1e-14, 1e-11, 1e-8),
) -> Solver:
    """Solve normal equations by Cholesky: half the digits, but every step starts from exact residuals.

    Args:
        gram: ``J^T J``.
        target: ``J^T residuals``.
        unit: what a damping of 1 adds to the diagonal, one number or one per parameter.
        ridges: least dampings, tried one after the other while rounding makes the matrix indefinite; by default from
            none to the root of the rounding error.

    Returns:
        Solutions, NaN where no ridge makes the matrix definite.
    """
    count = len(target)

    def solve(damping: float) -> Step:
        for ridge in ridges if count else ():
            damped = gram.copy(order="F")
            damped.T.reshape(-1)[:: count + 1] += max(damping, ridge) * unit
            _, step, failure = _solve_definite(damped, target, overwrite_a=True)
            if failure == 0:
                return step
        return np.full(count, np.nan)

    return solve


def scattered(solve: Solver, is_free: Bool[np.ndarray, "parameters"]) -> Solver:
    """Give steps of the free parameters one entry per parameter, zero for those that are held fixed."""

    def solve_all(damping: float) -> Step:
        step = np.zeros(len(is_free))
        step[is_free] = solve(damping)
        return step

    return solve_all
