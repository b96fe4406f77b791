"""Joint second-order training of all levels: Levenberg-Marquardt with restarts. Heuristic, verified afterwards.

On exact labels it ends at the floor of float64 arithmetic. Starts alternate between all levels at once and level by
level (each new level joins the ones below, and none is ever frozen): where one way gets stuck, the other often
does not.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.learn.hierarchical.losses import Loss, SquaredLoss
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Parameters, Student
from unweave.networks.quadratic.wiring import FIRST_LEVEL

# Rows of a Jacobian that are held at a time.
BLOCK_ROWS = 2_000
FIRST_DAMPING, LEAST_DAMPING, MOST_TRIES = 1e-2, 1e-14, 8
# Gains below this share of the loss, three times in a row, end a run: it creeps along a valley.
LEAST_GAIN, PATIENCE = 1e-6, 3


class Run(NamedTuple):
    """One run of Levenberg-Marquardt: where it ended, and its loss after every step."""

    vector: Parameters
    losses: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class NewtonFit:
    """What a fit found.

    Args:
        network: the best of all starts.
        student: its shape, and `vector` its parameters, in units in which labels have variance 1.
        vector: see `student`.
        relative_loss: mean loss of the best start, relative to that of the best constant.
        start_losses: the same for every start.
        is_staged: whether the best start went level by level.
        steps: accepted steps of all starts together.
    """

    network: QuadraticDenseNet
    student: Student
    vector: Parameters
    relative_loss: float
    start_losses: tuple[float, ...]
    is_staged: bool
    steps: int


@dataclass(frozen=True)
class JointNewton:
    """Settings of the second-order training.

    Args:
        steps: largest number of accepted steps of a run.
        restarts: largest number of starts. They go on until labels are met exactly: bad minima are few, and several
            starts in a row may end in the same one.
        start_size: size of random features of a single level, when inputs have size 1.
        exact_tol: relative loss at which nothing is left to learn, and no further start is made.
        decay: weight of the squared parameters, relative to the loss of the best constant.
    """

    steps: int = 120
    restarts: int = 10
    start_size: float = 0.3
    exact_tol: float = 1e-24
    decay: float = 0.0

    def __call__(
        self,
        student: Student,
        points: Points,
        labels: Float64[np.ndarray, "points"],
        *,
        rng: np.random.Generator,
        loss: Loss | None = None,
    ) -> NewtonFit:
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
        best, best_number, losses, steps = None, 0, [], 0
        for number in range(self.restarts):
            run = self._staged(problem, rng) if number % 2 else self._joint(problem, rng)
            losses.append(run.losses[-1] / problem.unit_loss)
            steps += len(run.losses) - 1
            if best is None or run.losses[-1] < best.losses[-1]:
                best, best_number = run, number
            if losses[-1] <= 1e3 * self.exact_tol:
                break
        assert best is not None
        network = student.network(best.vector, unit=unit)
        relative = best.losses[-1] / problem.unit_loss
        return NewtonFit(network, student, best.vector, relative, tuple(losses), best_number % 2 == 1, steps)

    def _joint(self, problem: "_Problem", rng: np.random.Generator) -> Run:
        return problem.descend(problem.student.random_start(rng, problem.points, size=self.start_size))

    def _staged(self, problem: "_Problem", rng: np.random.Generator) -> Run:
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
    settings: JointNewton

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

    def descend(self, vector: Parameters) -> Run:
        """Levenberg-Marquardt; the loss never grows."""
        losses, damping, creeping = [self.total(vector)], FIRST_DAMPING, 0
        floor = self.settings.exact_tol * self.unit_loss
        while len(losses) <= self.settings.steps and losses[-1] > floor and creeping < PATIENCE:
            matrix, gradient = self.normal_equations(vector)
            for _ in range(MOST_TRIES):
                trial = vector - _damped_step(matrix, gradient, damping)
                value = self.total(trial)
                if value < losses[-1]:
                    break
                damping *= 4
            else:
                break
            vector, damping = trial, max(damping / 5, LEAST_DAMPING)
            creeping = creeping + 1 if value > (1 - LEAST_GAIN) * losses[-1] else 0
            losses.append(value)
        return Run(vector, tuple(losses))


def _damped_step(matrix: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    """Solve in units in which the diagonal is 1, since parameters of different levels differ widely in size."""
    diagonal = np.diag(matrix)
    scale = 1 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny + 1e-14 * diagonal.max(initial=0.0)))
    scaled = matrix * scale[:, None] * scale
    for extra in (0.0, 1e-12, 1e-9, 1e-6):
        try:
            factor = scipy.linalg.cho_factor(scaled + (damping + extra) * np.eye(len(scaled)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return scale * scipy.linalg.cho_solve(factor, scale * gradient, check_finite=False)
    return scale * np.linalg.lstsq(scaled, scale * gradient, rcond=1e-12)[0]
