"""Levenberg-Marquardt on the parameters of a network of any depth, to the float64 floor.

Small systems are factorised; large ones of shallow networks are solved by conjugate gradients with products only and a
preconditioner that knows the Hermite expansion of the network.

Starts of deep networks are often several percent off, where the undamped step leads astray: no step may
change a parameter by more than half the size of its neuron. All parameters are damped alike, because
they count in relative units: with Marquardt's scaling by the columns of the Jacobian, parameters that
hardly matter escaped, and fewer starts led to the solution.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY
from unweave.arrays import Points, Values
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.parameters import (
    JacobianOperator,
    LayeredJacobian,
    ParameterVector,
    is_shallow,
    shallow_jacobian,
    with_gauge,
)
from unweave.numerics.conjugate_gradients import (
    MATRIX_FREE,
    HermitePreconditioner,
    MatrixFree,
    conjugate_gradients,
)
from unweave.numerics.least_squares import (
    FitToAnswers,
    FloorRules,
    Policy,
    Solver,
    Step,
    minimise,
    normal_solver,
    orthogonal_solver,
    scattered,
)


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


@dataclass(frozen=True, eq=False)
class NetworkFit(FitToAnswers[Network]):
    """The least-squares problem of a network, in the relative units of `ParameterVector`.

    Args:
        points: where answers are known.
        values: the answers.
        solver_at: linearises at a network, given its residuals; steps have one entry per parameter.
        largest_steps: of every parameter; infinite where the values depend on it linearly.
    """

    solver_at: Callable[[Network, Values], Solver]
    largest_steps: float | Float64[np.ndarray, "parameters"] = np.inf

    def solver(self, point: Network, residuals: Values, /) -> Solver:
        """Linearise the values of the network in its parameters."""
        return self.solver_at(point, residuals)

    def moved(self, point: Network, step: Step, /) -> Network | None:
        """Change the parameters, unless one would change too much."""
        return ParameterVector(point).moved(step) if np.all(np.abs(step) <= self.largest_steps) else None

    def refined(self, start: Network, policy: Policy, *, floor: float = 0.0, target: float = 0.0) -> Refinement:
        """Fit from a network that is near enough, down to the noise `floor` of the answers or a `target`."""
        found = minimise(self, start, policy, floor=floor, target=target)
        return Refinement(found.point, found.losses[-1], found.steps, found.has_converged, found.losses)


# A relative step of 1e-14 is rounding, and so is a gain of 1e-9 of the residual: quadratic convergence gains more.
SHALLOW = Policy(revived_damping=1e-8, negligible_damping=1e-8, largest_damping=1e7, gain_tol=1e-9, step_tol=1e-14)
# Normal equations and conjugate gradients leave half the digits, which a smaller damping does not change.
SHALLOW_NORMAL = replace(SHALLOW, revived_damping=1e-6)
# A step of conjugate gradients leaves 1e-5 of the residual, or what rounding allows: one that gains little, and one
# after residuals below twice the floor, would only cost its seconds.
MATRIX_FREE_STEPS = replace(SHALLOW_NORMAL, gain_tol=0.1, floors=FloorRules(sure=2.0))
# Farther starts need more damping, in finer steps (measured on planted networks of two to four layers, 3 % off). Gains
# are small under damping, too: they end a fit without damping only.
DEEP = Policy(growth=4.0, decay=0.15, negligible_damping=1e-6, gain_tol=1e-9, gain_damping=0.0, step_tol=1e-14)


@dataclass(frozen=True, kw_only=True)
class DeepRules:
    """Limits of the refinement of deep networks.

    Args:
        steps: largest number of attempted steps: starts may be farther off than those of shallow ones.
        limit: parameters up to which the normal equations are factorised.
        largest_step: change of a parameter in one step, in units of its neuron. Chosen: half the neuron is as far as a
            linear model of it can be right.
    """

    steps: int = 120
    limit: int = 12_000
    largest_step: float = 0.5

    def largest_steps(self, network: Network, layers: Collection[int] | None) -> Float64[np.ndarray, "parameters"]:
        """Bound parameters that the values do not depend on linearly: large steps of the others do no harm."""
        last = len(network.layers) - 1
        vector = ParameterVector(network)
        bounds = np.full(vector.count, self.largest_step)
        if network.layers[last].activation == IDENTITY:
            # The offset and the skip; output weights are multiplied with hidden values that move, too.
            affine = network.outputs + (0 if network.skip is None else network.skip.size)
            is_last_alone = layers is not None and set(layers) <= {last}
            bounds[slice(None) if is_last_alone else slice(vector.count - affine, None)] = np.inf
        return bounds


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Settings of the default refinement.

    Args:
        steps: largest number of attempted steps.
        orthogonal_limit: parameters up to which steps are solved by an orthogonal factorisation.
        dense_limit: parameters up to which the normal equations are factorised; above, matrix-free.
        matrix_free: how steps are solved above that.
        matrix_free_steps: largest number of attempted steps there: starts that lead to the solution took four, and
            each of the others takes seconds.
        deep: how deep networks are fitted.
    """

    steps: int = 40
    orthogonal_limit: int = 1_200
    dense_limit: int = 2_500
    matrix_free: MatrixFree = MATRIX_FREE
    matrix_free_steps: int = 12
    deep: DeepRules = field(default_factory=DeepRules)

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
                layer, or more parameters of a deep network than its `limit`.

        Assumes: the answers determine the parameters (full column rank of the Jacobian).
        Guarantees: quadratic convergence near an exact solution; the residual never grows.
        """
        free = network.parameters if layers is None else int(np.sum(ParameterVector(network).of_layers(layers)))
        if values.size < free:
            raise InvalidInput(f"refinement needs at least {free} numbers for as many parameters, got {values.size}.")
        if layers is None and is_shallow(network):
            return self._shallow(network, points, values, floor=floor)
        if free > self.deep.limit:
            raise InvalidInput(
                f"refinement of deep networks holds matrices of up to {self.deep.limit} parameters, got {free}: "
                "refine some layers at a time, or raise deep.limit."
            )
        return self._layered(network, points, values, floor=floor, layers=layers)

    def _shallow(self, network: Network, points: Points, values: Values, *, floor: float) -> Refinement:
        def solver_at(current: Network, residuals: Values) -> Solver:
            nonlocal near, preconditioner
            right = with_gauge(current, residuals)
            if current.parameters > self.dense_limit:
                change = np.max(np.abs(ParameterVector(near).step_to(current)))
                if preconditioner is None or change > self.matrix_free.renewed:
                    near = current
                    preconditioner = HermitePreconditioner(near, points, rules=self.matrix_free.preconditioner)
                return self._matrix_free_solver(current, points, right, preconditioner, floor=floor)
            jacobian = shallow_jacobian(current, points)
            if is_orthogonal:
                return orthogonal_solver(jacobian, right)
            gram = jacobian.T @ jacobian
            return normal_solver(gram, jacobian.T @ right, float(np.max(np.diag(gram))))

        near, preconditioner = network, None
        is_orthogonal = network.parameters <= self.orthogonal_limit
        is_large = network.parameters > self.dense_limit
        steps = min(self.steps, self.matrix_free_steps) if is_large else self.steps
        policy = SHALLOW if is_orthogonal else MATRIX_FREE_STEPS if is_large else SHALLOW_NORMAL
        policy = replace(policy, attempts=steps)
        return NetworkFit(points, values, solver_at).refined(network, policy, floor=floor)

    def _matrix_free_solver(
        self,
        network: Network,
        points: Points,
        residuals: np.ndarray,
        preconditioner: HermitePreconditioner,
        *,
        floor: float,
    ) -> Solver:
        """Conjugate gradients on the least-squares problem, preconditioned by the Hermite expansion."""
        operator = JacobianOperator(network, points, precision=np.float32)

        def solve(damping: float) -> np.ndarray:
            return conjugate_gradients(
                operator,
                preconditioner,
                residuals,
                damping=damping * len(points),
                floor=floor,
                rules=self.matrix_free,
            )

        return solve

    def _layered(
        self, network: Network, points: Points, values: Values, *, floor: float, layers: Collection[int] | None
    ) -> Refinement:
        """Fit the parameters of some layers (all if None), others held fixed."""

        def solver_at(current: Network, residuals: Values) -> Solver:
            jacobian = LayeredJacobian(current, points, layers=layers)
            if jacobian.count <= self.orthogonal_limit:
                rows = jacobian.dense()
                right = np.concatenate([residuals.ravel(), np.zeros(len(rows) - residuals.size)])
                return scattered(orthogonal_solver(rows, right), jacobian.is_free)
            gram, target = jacobian.normal_equations(residuals)
            return scattered(normal_solver(gram, target, float(np.mean(np.diag(gram)))), jacobian.is_free)

        problem = NetworkFit(points, values, solver_at, self.deep.largest_steps(network, layers))
        return problem.refined(network, replace(DEEP, attempts=self.deep.steps), floor=floor)
