"""Fit a network from a random start: wider than needed, with damping that follows the Jacobian.

A student that is wider than its teacher has no bad valleys to speak of: random starts mostly end at the exact
function, where exact widths mostly get stuck. At such a solution the Jacobian has no full rank; Marquardt's damping in
units of its columns keeps the steps short where nothing is determined and long where it is.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from unweave.arrays import Points, Values, root_mean_square
from unweave.networks.network import Network
from unweave.networks.parameters import LayeredJacobian, ParameterVector
from unweave.numerics.refined import Refinement

FIRST_DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = 1e-3, 1e-15, 1e6
GROWTH, DECAY, SLOW_DECAY = 4.0, 0.1, 0.4
# A step that leaves less than this share of the residual has earned the faster decay.
GOOD_STEP = 0.8
# Every parameter is damped by at least this share of what the most important one is damped by.
LEAST_SHARE = 1e-8


@dataclass(frozen=True)
class WideFit:
    """Settings of a fit from far away.

    Args:
        steps: largest number of accepted steps.
        patience: steps after which the residual must have fallen by a tenth, or the start is given up.
    """

    steps: int = 200
    patience: int = 40

    def __call__(
        self,
        network: Network,
        points: Points,
        values: Values,
        *,
        target: float,
        is_first_exact: bool,
    ) -> Refinement:
        """Fit until the residual is below `target`, nothing helps, or the steps are used up.

        The weights of the first layer stay as they are, and its biases, too, if `is_first_exact`.

        Guarantees: the residual never grows; heuristic otherwise.
        """
        residuals = values - network(points)
        history, damping, has_converged = [root_mean_square(residuals)], FIRST_DAMPING, False
        layers = range(1, len(network.layers)) if is_first_exact else None
        while len(history) <= self.steps and damping < LARGEST_DAMPING:
            jacobian = LayeredJacobian(network, points, layers=layers)
            gram, gradient = jacobian.normal_equations(residuals)
            is_free = jacobian.is_free.copy()
            is_free[: network.layers[0].weights.size] = False
            kept = is_free[jacobian.is_free]
            gram, gradient = gram[np.ix_(kept, kept)], gradient[kept]
            trial = None
            while trial is None and damping < LARGEST_DAMPING:
                step = np.zeros(len(is_free))
                step[is_free] = _damped(gram, gradient, damping)
                trial = ParameterVector(network).moved(step) if np.all(np.isfinite(step)) else None
                if trial is None or not root_mean_square(values - trial(points)) < history[-1]:
                    trial, damping = None, GROWTH * damping
            if trial is None:
                break
            network, residuals = trial, values - trial(points)
            history.append(root_mean_square(residuals))
            damping = max(damping * (DECAY if history[-1] < GOOD_STEP * history[-2] else SLOW_DECAY), SMALLEST_DAMPING)
            if history[-1] <= target:
                has_converged = True
                break
            if len(history) > self.patience and history[-1] > 0.9 * history[-1 - self.patience]:
                break
        return Refinement(network, history[-1], len(history) - 1, has_converged, tuple(history))


def _damped(gram: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    sizes = np.diag(gram)
    damped = gram + damping * np.diag(sizes + LEAST_SHARE * np.max(sizes))
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(damped, check_finite=False), gradient)
    except np.linalg.LinAlgError:
        return np.full(len(gradient), np.nan)
