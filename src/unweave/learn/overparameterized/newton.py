"""Levenberg-Marquardt with one equation per sample: the default for activations that have no lifted form.

An over-parameterised network has more parameters than samples, so the Gauss-Newton step is solved in the Gram matrix
of the Jacobian, which the Khatri-Rao structure gives at once. With fewer parameters than samples the same step comes
from the normal equations of the parameters.
"""

from dataclasses import dataclass, replace

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.certificates import certify_zero_error
from unweave.learn.overparameterized.jacobian import TrainingPoint
from unweave.numerics.least_squares import Policy, Solver, Step, Stop, minimise, normal_solver

# Below the least damping the ridge is lost in rounding; above the largest, a step changes nothing.
DAMPING = Policy(largest_damping=1e10).always_damped(first=1e-2, least=1e-15)


@dataclass(frozen=True, eq=False)
class TrainingFit:
    """A training that has ended.

    Args:
        point: the last and best point.
        losses: at the start and after every step.
        has_converged: whether the loss is low enough.
    """

    point: TrainingPoint
    losses: np.ndarray
    has_converged: bool

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return len(self.losses) - 1


@dataclass(frozen=True)
class GramLevenbergMarquardt:
    """Train by damped Gauss-Newton on the Gram matrix.

    Args:
        steps: largest number of attempted steps.
        loss_tol: a loss that is low enough; training also ends when every residual is rounding noise.
        damping: of the first step, relative to the mean eigenvalue of the Gram matrix.
        equation_limit: largest number of equations that are factorised.
    """

    steps: int = 300
    loss_tol: float = 0.0
    damping: float = 1e-2
    equation_limit: int = 6_000

    def __call__(self, start: TrainingPoint) -> TrainingFit:
        """Train from a start.

        Raises:
            InvalidInput: if both samples and parameters exceed `equation_limit`.

        Guarantees: the loss never grows; quadratic convergence where the Jacobian has full rank and the loss goes to
            zero.
        """
        equations = min(start.samples, start.parameters)
        if equations > self.equation_limit:
            raise InvalidInput(
                f"Levenberg-Marquardt factorises at most {self.equation_limit} equations, got {start.samples} samples "
                f"and {start.parameters} parameters: use GradientDescent, or raise equation_limit."
            )
        policy = replace(DAMPING, attempts=self.steps, first_damping=self.damping)
        found = minimise(GramProblem(), start, policy, target=self.loss_tol, is_solved=_is_exact)
        return TrainingFit(found.point, np.array(found.losses), found.stop is Stop.SOLVED)


def _is_exact(point: TrainingPoint) -> bool:
    return certify_zero_error(point).is_zero


class GramProblem:
    """The least-squares problem over training points, which know their own residuals."""

    def residuals(self, point: TrainingPoint, /) -> TrainingPoint:
        """Give the point back, which evaluates its residuals when they are needed."""
        return point

    def loss(self, residuals: TrainingPoint, /) -> float:
        """Take half the mean squared residual."""
        return residuals.loss

    def solver(self, point: TrainingPoint, _residuals: TrainingPoint, /) -> Solver:
        """Solve ``(J^T J + ridge)^-1 J^T r = J^T (J J^T + ridge)^-1 r`` from the smaller system."""
        system = _system(point)
        unit = max(float(np.trace(system)) / len(system), np.finfo(float).tiny)
        if point.samples > point.parameters:
            return normal_solver(system, -point.pull_back(point.residuals), unit, ridges=(0.0,))
        solve = normal_solver(system, point.residuals, unit, ridges=(0.0,))
        return lambda damping: -point.pull_back(solve(damping))

    def moved(self, point: TrainingPoint, step: Step, /) -> TrainingPoint:
        """Change the trained parameters."""
        return point.moved(step)


def _system(point: TrainingPoint) -> np.ndarray:
    """The Gram matrix over samples, or over parameters if these are fewer."""
    if point.samples <= point.parameters:
        return point.gram()
    jacobian = point.dense_jacobian()
    return jacobian.T @ jacobian
