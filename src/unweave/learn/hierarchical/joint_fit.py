"""Joint second-order training of all levels: Levenberg-Marquardt with restarts. Heuristic, verified afterwards.

On exact labels it ends at the floor of float64 arithmetic. Starts alternate between all levels at once and level by
level (each new level joins the ones below, and none is ever frozen): where one way gets stuck, the other often
does not.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.special import expit

from unweave.arrays import PerPoint, Points
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Parameters, Student
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.numerics.least_squares import Policy, Solver, Step, minimise, normal_solver

# Rows of a Jacobian that are held at a time.
BLOCK_ROWS = 2_000
# Starts are random, so that the first steps need damping. A run whose loss falls by a millionth per step creeps along a
# valley; eight dampings, 4^8 apart, without a step that lowers the loss are a minimum or rounding.
DAMPING = Policy(tries=8, growth=4.0, decay=0.2, gain_tol=3e-6, patience=3).always_damped(first=1e-2, least=1e-14)


@runtime_checkable
class Loss(Protocol):
    """A loss per point, convex in the output."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        ...

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        ...

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        ...


class SquaredLoss:
    """``(output - label)^2``, the loss of regression."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        return (outputs - labels) ** 2

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        return 2 * (outputs - labels)

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        return np.full(len(labels), 2.0) + 0 * outputs


class LogisticLoss:
    """``log(1 + exp(-label output))`` for labels of +1 and -1."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        return np.logaddexp(0.0, -labels * outputs)

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        return -labels * expit(-labels * outputs)

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        chances = expit(-labels * outputs)
        return chances * (1 - chances)


class Descent(NamedTuple):
    """One run of Levenberg-Marquardt: where it ended, and its loss after every step."""

    vector: Parameters
    losses: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class HierarchicalFit:
    """What a fit found.

    Args:
        network: the best of all starts.
        student: its shape, and `vector` its parameters, in units in which labels have variance 1.
        vector: see `student`.
        relative_loss: mean loss of the best start, relative to that of the best constant.
        start_losses: the same for every start.
        steps: accepted steps of all starts together.
    """

    network: QuadraticDenseNet
    student: Student
    vector: Parameters
    relative_loss: float
    start_losses: tuple[float, ...]
    steps: int


@dataclass(frozen=True)
class JointLevenbergMarquardt:
    """Train all levels at once by damped Gauss-Newton.

    Args:
        steps: largest number of accepted steps of a run.
        restarts: largest number of starts. They go on until labels are met exactly: bad minima are few, and several
            starts in a row may end in the same one.
        start_size: size of random features of a single level, when inputs have size 1.
        exact_tol: relative loss at which nothing is left to learn, and no further start is made.
        damping: how steps are damped; its number of steps is that above.
        decay: weight of the squared parameters, relative to the loss of the best constant.
        probing_starts: that decide whether squares add or subtract; the wrong choice leaves a far larger loss.
    """

    steps: int = 120
    restarts: int = 10
    start_size: float = 0.3
    exact_tol: float = 1e-24
    damping: Policy = DAMPING
    decay: float = 0.0
    probing_starts: int = 2

    def __call__(
        self,
        student: Student,
        points: Points,
        labels: PerPoint,
        *,
        rng: np.random.Generator,
        loss: Loss | None = None,
    ) -> HierarchicalFit:
        """Fit all levels jointly.

        Args:
            student: the shape of the network; its coefficients refer to labels of variance 1.
            points: inputs.
            labels: real numbers, or signs for a logistic loss.
            rng: randomness of the starts.
            loss: squared if omitted.
        """
        loss = SquaredLoss() if loss is None else loss
        is_squared = isinstance(loss, SquaredLoss)
        unit = (float(np.std(labels)) or 1.0) if is_squared else 1.0
        problem = _Problem(student, points, labels / unit, loss, self)
        best, losses, steps = None, [], 0
        for number in range(self.restarts):
            run = self._staged(problem, rng) if number % 2 else self._joint(problem, rng)
            losses.append(run.losses[-1] / problem.unit_loss)
            steps += len(run.losses) - 1
            if best is None or run.losses[-1] < best.losses[-1]:
                best = run
            if losses[-1] <= 1e3 * self.exact_tol:
                break
        assert best is not None
        network = student.network(best.vector, unit=unit)
        relative = best.losses[-1] / problem.unit_loss
        return HierarchicalFit(network, student, best.vector, relative, tuple(losses), steps)

    def _joint(self, problem: "_Problem", rng: np.random.Generator) -> Descent:
        return problem.descend(problem.student.random_start(rng, problem.points, size=self.start_size))

    def _staged(self, problem: "_Problem", rng: np.random.Generator) -> Descent:
        """Lower levels first; every later stage moves all levels that are there."""
        student, vector = problem.student, None
        start = student.random_start(rng, problem.points, size=self.start_size)
        below = None
        for level in range(FIRST_LEVEL, student.wiring.depth):
            low = student.lower(level)
            fresh = low.random_start(rng, problem.points, size=self.start_size)
            begin = fresh if below is None or vector is None else low.raised(below, vector, fresh)
            vector, below = problem.of(low).descend(begin).vector, low
        return problem.descend(start if below is None or vector is None else student.raised(below, vector, start))


class _Problem(NamedTuple):
    """A student with its samples."""

    student: Student
    points: Points
    labels: np.ndarray
    loss: Loss
    settings: JointLevenbergMarquardt

    def of(self, student: Student) -> "_Problem":
        return self._replace(student=student)

    @property
    def unit_loss(self) -> float:
        """Loss of the best constant: the unit of relative losses."""
        mean = float(np.mean(self.labels))
        constant = mean
        if not isinstance(self.loss, SquaredLoss):
            share = np.clip((1 + mean) / 2, 1e-12, 1 - 1e-12)
            constant = float(np.log(share / (1 - share)))
        value = float(np.mean(self.loss.values(np.full(len(self.labels), constant), self.labels)))
        return value if value > 0 else 1.0

    def total(self, vector: Parameters) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.loss.values(self.student.outputs(vector, self.points), self.labels)
            value = float(np.mean(values)) + self.penalty * float(vector @ vector)
        return value if np.isfinite(value) else np.inf

    @property
    def penalty(self) -> float:
        return self.settings.decay * self.unit_loss

    def normal_equations(self, vector: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton matrix and gradient, both halved, summed block by block."""
        size = self.student.parameters
        matrix, gradient = self.penalty * np.eye(size), self.penalty * vector
        for start in range(0, len(self.points), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            outputs = self.student.outputs(vector, self.points[rows])
            jacobian = self.student.jacobian(vector, self.points[rows])
            curvatures = self.loss.curvatures(outputs, self.labels[rows]) / (2 * len(self.points))
            slopes = self.loss.slopes(outputs, self.labels[rows]) / (2 * len(self.points))
            matrix += jacobian.T @ (curvatures[:, None] * jacobian)
            gradient += jacobian.T @ slopes
        return matrix, gradient

    def descend(self, vector: Parameters) -> Descent:
        """Levenberg-Marquardt; the loss never grows."""
        policy = replace(self.settings.damping, steps=self.settings.steps)
        found = minimise(_DescentProblem(self), vector, policy, target=self.settings.exact_tol * self.unit_loss)
        return Descent(found.point, found.losses)


@dataclass(frozen=True, eq=False)
class _DescentProblem:
    """The fit of one vector, its residuals summed up in the loss at once."""

    problem: _Problem

    def residuals(self, point: Parameters, /) -> float:
        return self.problem.total(point)

    def loss(self, residuals: float, /) -> float:
        return residuals

    def solver(self, point: Parameters, _residuals: float, /) -> Solver:
        """Damp in units of the diagonal, since parameters of different levels differ widely in size."""
        matrix, gradient = self.problem.normal_equations(point)
        diagonal = np.diag(matrix)
        units = np.maximum(diagonal, np.finfo(float).tiny + 1e-14 * diagonal.max(initial=0.0))
        return normal_solver(matrix, -gradient, units, ridges=(0.0, 1e-12, 1e-9, 1e-6))

    def moved(self, point: Parameters, step: Step, /) -> Parameters:
        return point + step
