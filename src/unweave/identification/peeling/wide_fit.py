"""Fit a network from a random start: wider than needed, with damping that follows the Jacobian.

A student that is wider than its teacher has no bad valleys to speak of: random starts mostly end at the exact
function, where exact widths mostly get stuck. At such a solution the Jacobian has no full rank; Marquardt's damping in
units of its columns keeps the steps short where nothing is determined and long where it is.
"""

from dataclasses import dataclass, replace

import numpy as np

from unweave.arrays import Points, Values
from unweave.networks.network import Network
from unweave.networks.parameters import LayeredJacobian
from unweave.numerics.least_squares import FROM_AFAR, Policy, Solver, normal_solver, scattered
from unweave.numerics.network_fit import NetworkFit, Refinement

# At solutions without full rank there is always some damping. The gain is that over all steps of a fit's patience.
DAMPING = replace(FROM_AFAR, gain_tol=0.1)


@dataclass(frozen=True, kw_only=True)
class WideFit:
    """Settings of a fit from far away.

    Args:
        steps: largest number of accepted steps.
        patience: steps after which the residual must have fallen by a tenth, or the start is given up.
        least_share: every parameter is damped by at least this share of what the most important one is damped by.
        damping: how steps are damped; its number of steps and its patience are those above.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    steps: int = 200
    patience: int = 40
    least_share: float = 1e-8
    damping: Policy = DAMPING

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
        layers = range(1, len(network.layers)) if is_first_exact else None

        def solver_at(current: Network, residuals: Values) -> Solver:
            jacobian = LayeredJacobian(current, points, layers=layers)
            gram, gradient = jacobian.normal_equations(residuals)
            is_free = jacobian.is_free.copy()
            is_free[: current.layers[0].weights.size] = False
            kept = is_free[jacobian.is_free]
            gram, gradient = gram[np.ix_(kept, kept)], gradient[kept]
            sizes = np.diag(gram)
            units = sizes + self.least_share * np.max(sizes)
            return scattered(normal_solver(gram, gradient, units, ridges=(0.0,)), is_free)

        policy = replace(self.damping, steps=self.steps, patience=self.patience)
        found = NetworkFit(points, values, solver_at).refined(network, policy, target=target)
        return replace(found, has_converged=found.residual <= target)
