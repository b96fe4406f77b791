"""Levenberg-Marquardt on the parameters of a network, to the float64 floor.

Deep networks, and some layers alone, are the business of `layered.py`. For shallow ones: dense
factorisations if they are small; above, conjugate gradients with products only and a preconditioner
that knows the Hermite expansion of the network.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Points, Values, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.parameters import JacobianOperator, ParameterVector, dense_jacobian, is_shallow, with_gauge
from unweave.numerics.conjugate_gradients import HermitePreconditioner, conjugate_gradients
from unweave.numerics.layered_fit import refine_layers
from unweave.numerics.refined import Refinement

Solver = Callable[[float], Float64[np.ndarray, "parameters"]]


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Settings of the default refinement.

    Args:
        steps: largest number of attempted steps.
        orthogonal_limit: parameters up to which steps are solved by an orthogonal factorisation.
        dense_limit: parameters up to which the normal equations are factorised; above, matrix-free.
        solve_steps: largest number of iterations of a matrix-free step.
        deep_steps: largest number of attempted steps for a deep network, whose starts may be farther off.
        deep_limit: parameters up to which the normal equations of a deep network are factorised.
    """

    steps: int = 40
    orthogonal_limit: int = 1_200
    dense_limit: int = 2_500
    solve_steps: int = 250
    deep_steps: int = 120
    deep_limit: int = 12_000

    def __call__(
        self,
        network: Network,
        points: Points,
        values: Values,
        *,
        floor: float,
        layers: Collection[int] | None = None,
    ) -> Refinement:
        """Fit the parameters to the answers.

        Args:
            network: close enough for its residuals to lead to the solution.
            points: where answers are known.
            values: the answers.
            floor: noise of one answer; below it there is nothing left to fit.
            layers: the layers that may change (the output layer is the last, with the skip); all if omitted.

        Raises:
            InvalidInput: if there are fewer numbers in the answers than free parameters, there is no such
                layer, or more parameters of a deep network than `deep_limit`.

        Assumes: the answers determine the parameters (full column rank of the Jacobian).
        Guarantees: quadratic convergence near an exact solution; the residual never grows.
        """
        free = network.parameters if layers is None else int(np.sum(ParameterVector(network).of_layers(layers)))
        if values.size < free:
            raise InvalidInput(f"refinement needs at least {free} numbers for as many parameters, got {values.size}.")
        if layers is None and is_shallow(network):
            return self._shallow(network, points, values, floor=floor)
        if free > self.deep_limit:
            raise InvalidInput(
                f"refinement of deep networks holds matrices of up to {self.deep_limit} parameters, got {free}: "
                "refine some layers at a time, or raise deep_limit."
            )
        return refine_layers(
            network,
            points,
            values,
            floor=floor,
            layers=layers,
            steps=self.deep_steps,
            orthogonal_limit=self.orthogonal_limit,
        )

    def _shallow(self, network: Network, points: Points, values: Values, *, floor: float) -> Refinement:
        residuals = values - network(points)
        history, damping, steps, has_converged = [root_mean_square(residuals)], 0.0, 0, False
        solve = None
        for _ in range(self.steps):
            if solve is None:
                solve = self._solver(network, points, with_gauge(network, residuals), floor)
            step = solve(damping)
            trial = ParameterVector(network).moved(step) if np.all(np.isfinite(step)) else network
            trial_residuals = values - trial(points)
            gain = history[-1] - root_mean_square(trial_residuals)
            if not gain > 0:
                has_converged = history[-1] <= 3 * floor or float(np.max(np.abs(step))) < 1e-14
                if has_converged or damping > 1e6:
                    break
                damping = max(10 * damping, 1e-8 if network.parameters <= self.orthogonal_limit else 1e-6)
                continue
            network, residuals, solve, steps = trial, trial_residuals, None, steps + 1
            history.append(root_mean_square(residuals))
            damping = 0.0 if damping < 1e-7 else 0.1 * damping
            is_at_floor = history[-1] <= 0.5 * floor or (history[-1] <= 2 * floor and gain < 0.5 * history[-2])
            if is_at_floor or gain < 1e-9 * history[-2]:
                has_converged = True
                break
        return Refinement(network, history[-1], steps, has_converged, tuple(history))

    def _solver(self, network: Network, points: Points, residuals: np.ndarray, floor: float) -> Solver:
        if network.parameters <= self.orthogonal_limit:
            return _orthogonal_solver(dense_jacobian(network, points), residuals)
        if network.parameters <= self.dense_limit:
            return _normal_solver(dense_jacobian(network, points), residuals)
        return _matrix_free_solver(network, points, residuals, floor=floor, iterations=self.solve_steps)


def _orthogonal_solver(jacobian: np.ndarray, residuals: np.ndarray) -> Solver:
    """One factorisation serves every damping: the damped problem has the size of the triangle."""
    factor, triangle = np.linalg.qr(jacobian)
    target = factor.T @ residuals
    scale = np.linalg.norm(triangle, 2)

    def solve(damping: float) -> np.ndarray:
        rows = [triangle] if damping == 0.0 else [triangle, np.sqrt(damping) * scale * np.eye(len(target))]
        right = np.concatenate([target, np.zeros(len(target) * (len(rows) - 1))])
        return np.linalg.lstsq(np.vstack(rows), right, rcond=1e-15)[0]

    return solve


def _normal_solver(jacobian: np.ndarray, residuals: np.ndarray) -> Solver:
    """Cholesky of the normal equations: half the digits, but every step starts from an exact residual."""
    gram = jacobian.T @ jacobian
    target = jacobian.T @ residuals
    scale = float(np.max(np.diag(gram)))

    def solve(damping: float) -> np.ndarray:
        for ridge in (damping, max(damping, 1e-14), max(damping, 1e-11), max(damping, 1e-8)):
            try:
                factor = scipy.linalg.cho_factor(gram + ridge * scale * np.eye(len(gram)), overwrite_a=True)
            except np.linalg.LinAlgError:
                continue
            return scipy.linalg.cho_solve(factor, target)
        return np.full(len(target), np.nan)

    return solve


def _matrix_free_solver(
    network: Network, points: Points, residuals: np.ndarray, *, floor: float, iterations: int
) -> Solver:
    """Conjugate gradients on the least-squares problem, preconditioned by the Hermite expansion."""
    operator = JacobianOperator(network, points)
    preconditioner = HermitePreconditioner(network, points)

    def solve(damping: float) -> np.ndarray:
        return conjugate_gradients(
            operator,
            preconditioner,
            residuals,
            damping=damping * len(points),
            floor=floor,
            iterations=iterations,
        )

    return solve
