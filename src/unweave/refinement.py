"""From a network nearby to the exact one: Levenberg-Marquardt on answers, to the float64 floor.

Dense factorisations for small networks, matrix-free least squares (LSMR with a block preconditioner)
where the Jacobian does not fit. The document's gradient descent on the shifts is kept as a reference.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.exceptions import InvalidInput
from unweave.networks import Network
from unweave.parameters import JacobianOperator, ParameterVector, dense_jacobian

Solver = Callable[[float], Float64[np.ndarray, "parameters"]]


@dataclass(frozen=True)
class Refinement:
    """A refined network and how it got there.

    Args:
        network: the best network found.
        residual: root mean square of its residuals on the answers it was fitted to.
        steps: accepted steps.
        has_converged: whether the last step changed nothing any more.
        history: residual before every step, and after the last.
    """

    network: Network
    residual: float
    steps: int
    has_converged: bool
    history: tuple[float, ...]


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Settings of the default refinement.

    Args:
        steps: largest number of attempted steps.
        orthogonal_limit: parameters up to which steps are solved by an orthogonal factorisation.
        dense_limit: parameters up to which the normal equations are factorised; above, matrix-free.
        solve_tol: relative accuracy of a matrix-free step.
        solve_steps: largest number of iterations of a matrix-free step.
    """

    steps: int = 40
    orthogonal_limit: int = 1_200
    dense_limit: int = 5_000
    solve_tol: float = 1e-6
    solve_steps: int = 400

    def __call__(self, network: Network, points: Points, values: Values, *, floor: float) -> Refinement:
        """Fit all parameters to the answers.

        Args:
            network: a shallow network, close enough for its residuals to lead to the solution.
            points: where answers are known.
            values: the answers.
            floor: noise of one answer; below it there is nothing left to fit.

        Raises:
            InvalidInput: if there are fewer numbers in the answers than parameters.

        Assumes: the answers determine the parameters (full column rank of the Jacobian).
        Guarantees: quadratic convergence near an exact solution; the residual never grows.
        """
        if values.size < network.parameters:
            raise InvalidInput(
                f"refinement needs at least {network.parameters} numbers for as many parameters, got {values.size}."
            )
        residuals = values - network(points)
        history, damping, steps, has_converged = [_rms(residuals)], 0.0, 0, False
        solve = None
        for _ in range(self.steps):
            if solve is None:
                solve = self._solver(network, points, residuals.ravel())
            step = solve(damping)
            trial = ParameterVector(network).moved(step) if np.all(np.isfinite(step)) else network
            trial_residuals = values - trial(points)
            gain = history[-1] - _rms(trial_residuals)
            if not gain > 0:
                has_converged = history[-1] <= 3 * floor or float(np.max(np.abs(step))) < 1e-14
                if has_converged or damping > 1e6:
                    break
                damping = max(10 * damping, 1e-8 if network.parameters <= self.orthogonal_limit else 1e-6)
                continue
            network, residuals, solve, steps = trial, trial_residuals, None, steps + 1
            history.append(_rms(residuals))
            damping = 0.0 if damping < 1e-7 else 0.1 * damping
            if gain < 1e-3 * history[-2] and (history[-1] <= 3 * floor or gain < 1e-9 * history[-2]):
                has_converged = True
                break
        return Refinement(network, history[-1], steps, has_converged, tuple(history))

    def _solver(self, network: Network, points: Points, residuals: np.ndarray) -> Solver:
        if network.parameters <= self.orthogonal_limit:
            return _orthogonal_solver(dense_jacobian(network, points), residuals)
        if network.parameters <= self.dense_limit:
            return _normal_solver(dense_jacobian(network, points), residuals)
        return _matrix_free_solver(
            network, points, residuals, relative_tol=self.solve_tol, iterations=self.solve_steps
        )


def _rms(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


def _orthogonal_solver(jacobian: np.ndarray, residuals: np.ndarray) -> Solver:
    """One factorisation serves every damping: the damped problem has the size of the triangle."""
    factor, triangle = scipy.linalg.qr(jacobian, mode="economic", overwrite_a=True)
    target = factor.T @ residuals
    scale = np.linalg.norm(triangle, 2)

    def solve(damping: float) -> np.ndarray:
        rows = [triangle] if damping == 0.0 else [triangle, np.sqrt(damping) * scale * np.eye(len(target))]
        right = np.concatenate([target, np.zeros(len(target) * (len(rows) - 1))])
        return scipy.linalg.lstsq(np.vstack(rows), right, cond=1e-15, lapack_driver="gelsy")[0]

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
    network: Network, points: Points, residuals: np.ndarray, *, relative_tol: float, iterations: int
) -> Solver:
    operator = JacobianOperator(network, points)
    precondition, precondition_transposed = _block_preconditioner(network, points)
    preconditioned = scipy.sparse.linalg.LinearOperator(
        operator.shape,
        matvec=lambda step: operator.forward(precondition(np.ravel(step))),
        rmatvec=lambda rows: precondition_transposed(operator.backward(np.ravel(rows))),
        dtype=np.float64,
    )

    def solve(damping: float) -> np.ndarray:
        solution = scipy.sparse.linalg.lsmr(
            preconditioned,
            residuals,
            damp=float(np.sqrt(damping)),
            atol=relative_tol,
            btol=relative_tol,
            conlim=0,
            maxiter=iterations,
        )[0]
        return precondition(solution)

    return solve


def _block_preconditioner(
    network: Network, points: Points
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Orthonormalise the Jacobian's columns within each neuron (weights, bias), on a subset of the points."""
    vector = ParameterVector(network)
    hidden, output = network.layers
    rows = points[: max(4 * (network.inputs + 2), 1024)]
    lifted = np.hstack([rows, np.ones((len(rows), 1))])
    slopes = hidden.activation(hidden.preactivations(rows), 1) * (vector.neuron_sizes * vector.output_sizes)
    grams = np.einsum("pk,pi,pj->kij", slopes**2, lifted, lifted, optimize=True) * (len(points) / len(rows))
    diagonal = np.einsum("kii->ki", grams)
    grams += np.eye(network.inputs + 1) * (1e-10 * diagonal.max(axis=1))[:, None, None]
    factors = np.linalg.cholesky(grams)
    inverse = np.linalg.inv(factors)
    values = hidden.activation(hidden.preactivations(rows)) * vector.output_sizes
    value_norms = np.sqrt(np.mean(values**2, axis=0) * len(points)) + 1e-12
    affine = np.full(vector.count - hidden.neurons * (network.inputs + 1 + network.outputs), np.sqrt(len(points)))
    split = hidden.neurons * network.inputs
    edge = split + hidden.neurons

    def apply(step: np.ndarray, matrices: np.ndarray) -> np.ndarray:
        blocks = np.hstack([step[:split].reshape(hidden.neurons, -1), step[split:edge, None]])
        moved = np.einsum("kij,kj->ki", matrices, blocks)
        tail = np.concatenate([np.tile(value_norms, network.outputs), affine])
        return np.concatenate([moved[:, :-1].ravel(), moved[:, -1], step[edge:] / tail])

    transposed = np.swapaxes(inverse, 1, 2)
    return (lambda step: apply(step, transposed)), (lambda step: apply(step, inverse))


@dataclass(frozen=True)
class ShiftDescent:
    """The document's refinement: gradient descent on the biases alone, weights frozen (3.72).

    Args:
        steps: number of gradient steps.
        rate: step size; one over the largest eigenvalue of the Gauss-Newton matrix if omitted.
    """

    steps: int = 1_000
    rate: float | None = None

    def __call__(self, network: Network, points: Points, values: Values) -> Refinement:
        """Descend ``1/2 mean (f - f_hat)^2`` in the biases of the hidden layer."""
        hidden = network.layers[0]
        pull = network.layers[1].weights
        biases, history = hidden.biases, []
        rate = self.rate
        for _ in range(self.steps):
            current = replace(network, layers=(replace(hidden, biases=biases), network.layers[1]))
            residuals = current(points) - values
            history.append(_rms(residuals))
            slopes = hidden.activation(points @ hidden.weights.T + biases, 1)
            if rate is None:
                columns = (slopes[:, None, :] * pull).reshape(-1, hidden.neurons)
                rate = len(points) / float(np.linalg.norm(columns, 2)) ** 2
            biases = biases - rate * np.mean(slopes * (residuals @ pull), axis=0)
        final = replace(network, layers=(replace(hidden, biases=biases), network.layers[1]))
        history.append(_rms(final(points) - values))
        return Refinement(final, history[-1], self.steps, False, tuple(history))
