"""Fit the parameters of a network to known answers, and what such a refinement returns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values, root_mean_square
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector
from unweave.numerics.least_squares import Policy, Solver, Step, minimise


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
class NetworkFit:
    """The least-squares problem of a network, in the relative units of `ParameterVector`.

    Args:
        points: where answers are known.
        values: the answers.
        solver_at: linearises at a network, given its residuals; steps have one entry per parameter.
        largest_steps: of every parameter; infinite where the values depend on it linearly.
    """

    points: Points
    values: Values
    solver_at: Callable[[Network, Values], Solver]
    largest_steps: float | Float64[np.ndarray, "parameters"] = np.inf

    def residuals(self, point: Network, /) -> Values:
        """Subtract the values of the network from the answers."""
        return self.values - point(self.points)

    def loss(self, residuals: Values, /) -> float:
        """Take the root mean square."""
        return root_mean_square(residuals)

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
