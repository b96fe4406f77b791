"""Levenberg-Marquardt with one equation per sample: the default for activations that have no lifted form.

An over-parameterised network has more parameters than samples, so the Gauss-Newton step is solved in the Gram matrix
of the Jacobian, which the Khatri-Rao structure gives at once. With fewer parameters than samples the same step comes
from the normal equations of the parameters.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.certificates import certify_zero_error
from unweave.learn.overparameterized.jacobian import Parameters, TrainingPoint

# Below the least damping the ridge is lost in rounding; above the largest, a step changes nothing.
LEAST_DAMPING, LARGEST_DAMPING, DAMPING_FACTOR = 1e-15, 1e10, 10.0


@dataclass(frozen=True, eq=False)
class Fit:
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
    """Settings of damped Gauss-Newton.

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

    def __call__(self, start: TrainingPoint) -> Fit:
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
        point, damping, losses = start, self.damping, [start.loss]
        system = _system(point)
        for _ in range(self.steps):
            if self._is_done(point) or damping > LARGEST_DAMPING:
                break
            step = _damped_step(point, system, damping)
            trial = point.moved(step) if np.all(np.isfinite(step)) else point
            if trial.loss < losses[-1]:
                point, damping, system = trial, max(damping / DAMPING_FACTOR, LEAST_DAMPING), _system(trial)
                losses.append(point.loss)
            else:
                damping *= DAMPING_FACTOR
        return Fit(point, np.array(losses), self._is_done(point))

    def _is_done(self, point: TrainingPoint) -> bool:
        return point.loss <= self.loss_tol or certify_zero_error(point).is_zero


def _system(point: TrainingPoint) -> np.ndarray:
    """The Gram matrix over samples, or over parameters if these are fewer."""
    if point.samples <= point.parameters:
        return point.gram()
    jacobian = point.dense_jacobian()
    return jacobian.T @ jacobian


def _damped_step(point: TrainingPoint, system: np.ndarray, damping: float) -> Parameters:
    """``-J (J^T J + ridge)^-1 r = -(J J^T + ridge)^-1 J r``, from the smaller system; NaN if it is not definite."""
    size = len(system)
    ridge = damping * max(float(np.trace(system)) / size, np.finfo(float).tiny)
    try:
        factor = scipy.linalg.cho_factor(system + ridge * np.eye(size), overwrite_a=True)
    except np.linalg.LinAlgError:
        return np.full(point.parameters, np.nan)
    if point.samples <= point.parameters:
        return -point.pull_back(scipy.linalg.cho_solve(factor, point.residuals))
    return -scipy.linalg.cho_solve(factor, point.pull_back(point.residuals))
