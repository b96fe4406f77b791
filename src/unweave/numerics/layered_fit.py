"""Levenberg-Marquardt on networks of any depth, on all layers or on some.

Starts of deep networks are often several percent off, where the undamped step leads astray: no step may
change a parameter by more than half the size of its neuron. All parameters are damped alike, because
they count in relative units: with Marquardt's scaling by the columns of the Jacobian, parameters that
hardly matter escaped, and fewer starts led to the solution.
"""

from collections.abc import Callable, Collection

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64

from unweave.activations import IDENTITY
from unweave.arrays import Points, Values, root_mean_square
from unweave.networks.network import Network
from unweave.networks.parameters import LayeredJacobian, ParameterVector
from unweave.numerics.refined import Refinement

Solver = Callable[[float], Float64[np.ndarray, "parameters"]]

# Damping after the first failure of an undamped step, its growth after every other, and its decay.
FIRST_DAMPING, GROWTH, DECAY = 1e-3, 4.0, 0.15
# Below this the next step is undamped, for quadratic convergence.
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-6, 1e8
# Largest change of a parameter in one step, in relative units.
LARGEST_STEP = 0.5
# Gain of a step, relative to the residual, below which nothing is left to be gained.
LEAST_GAIN = 1e-9
# Largest relative step that is nothing but rounding.
ROUNDING_STEP = 1e-14


def refine_layers(
    network: Network,
    points: Points,
    values: Values,
    *,
    floor: float,
    layers: Collection[int] | None,
    steps: int,
    orthogonal_limit: int,
) -> Refinement:
    """Fit the parameters of some layers (all if None) to the answers, others held fixed.

    Guarantees: the residual never grows; quadratic convergence near an exact solution.
    """
    residuals = values - network(points)
    history, damping, accepted, has_converged = [root_mean_square(residuals)], 0.0, 0, False
    is_bending = _is_bending(network, layers)
    solve = None
    for _ in range(steps):
        if solve is None:
            solve = _solver(LayeredJacobian(network, points, layers=layers), residuals, orthogonal_limit)
        step = solve(damping)
        is_sound = np.all(np.isfinite(step)) and float(np.max(np.abs(step[is_bending]), initial=0.0)) <= LARGEST_STEP
        trial = ParameterVector(network).moved(step) if is_sound else network
        trial_residuals = values - trial(points)
        gain = history[-1] - root_mean_square(trial_residuals)
        if not gain > 0:
            has_converged = history[-1] <= 3 * floor or float(np.max(np.abs(step))) < ROUNDING_STEP
            if has_converged or damping > LARGEST_DAMPING:
                break
            damping = max(GROWTH * damping, FIRST_DAMPING)
            continue
        network, residuals, solve, accepted = trial, trial_residuals, None, accepted + 1
        history.append(root_mean_square(residuals))
        damping = 0.0 if DECAY * damping < SMALLEST_DAMPING else DECAY * damping
        is_at_floor = history[-1] <= 0.5 * floor or (history[-1] <= 2 * floor and gain < 0.5 * history[-2])
        if is_at_floor or (damping == 0.0 and gain < LEAST_GAIN * history[-2]):
            has_converged = True
            break
    return Refinement(network, history[-1], accepted, has_converged, tuple(history))


def _is_bending(network: Network, layers: Collection[int] | None) -> Bool[np.ndarray, "parameters"]:
    """Which parameters the values do not depend on linearly: large steps of the others do no harm."""
    last = len(network.layers) - 1
    vector = ParameterVector(network)
    if network.layers[last].activation != IDENTITY:
        return np.ones(vector.count, dtype=bool)
    if layers is not None and set(layers) <= {last}:
        return np.zeros(vector.count, dtype=bool)
    # The offset and the skip; output weights are multiplied with hidden values that move, too.
    affine = network.outputs + (0 if network.skip is None else network.skip.size)
    return np.arange(vector.count) < vector.count - affine


def _solver(jacobian: LayeredJacobian, residuals: Values, orthogonal_limit: int) -> Solver:
    if jacobian.count <= orthogonal_limit:
        solve = _orthogonal_solver(jacobian.dense(), residuals)
    else:
        solve = _normal_solver(*jacobian.normal_equations(residuals))

    def scattered(damping: float) -> np.ndarray:
        step = np.zeros(len(jacobian.is_free))
        step[jacobian.is_free] = solve(damping)
        return step

    return scattered


def _orthogonal_solver(jacobian: np.ndarray, residuals: Values) -> Solver:
    """One factorisation serves every damping: the damped problem has the size of the triangle."""
    right = np.concatenate([residuals.ravel(), np.zeros(len(jacobian) - residuals.size)])
    factor, triangle = np.linalg.qr(jacobian)
    target = factor.T @ right
    size = np.linalg.norm(triangle) / np.sqrt(len(target))

    def solve(damping: float) -> np.ndarray:
        if damping == 0.0:
            return np.linalg.lstsq(triangle, target, rcond=1e-15)[0]
        rows = np.vstack([triangle, np.sqrt(damping) * size * np.eye(len(target))])
        damped_factor, damped = np.linalg.qr(rows)
        return scipy.linalg.solve_triangular(damped, damped_factor[: len(target)].T @ target)

    return solve


def _normal_solver(gram: np.ndarray, target: np.ndarray) -> Solver:
    """Cholesky of the normal equations: half the digits, but every step starts from an exact residual."""
    size = float(np.mean(np.diag(gram)))

    def solve(damping: float) -> np.ndarray:
        for ridge in (damping, max(damping, 1e-14), max(damping, 1e-11), max(damping, 1e-8)):
            damped = gram.copy()
            damped[np.diag_indices_from(damped)] += ridge * size
            try:
                factor = scipy.linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            return scipy.linalg.cho_solve(factor, target)
        return np.full(len(target), np.nan)

    return solve
