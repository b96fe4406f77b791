"""Fit the hidden neurons of a shallow network, with output weights and affine part eliminated from the problem.

The answers of a shallow network are linear in its output weights and in an affine part. For given neurons least squares
solves for both, so that only weights and biases of the neurons are searched for (variable projection, Golub and Pereyra
1973, with the derivative of Kaufman 1975). Without the affine part, which is most of a smooth function, the residuals
show what tells neurons apart; and activations with ``g(-z) = g(z) - z`` have no wrong sign to get stuck at.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points, Values, root_mean_square
from unweave.numerics.least_squares import Solver, Step, normal_solver, orthogonal_solver

# One row per neuron: its weights, then its bias.
Neurons = Float64[np.ndarray, "neurons lifted"]
# LAPACK itself: for so small systems SciPy's checks around it take longer than the solution.
(_solve_triangle,) = scipy.linalg.get_lapack_funcs(("trtrs",), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Projected:
    """What least squares makes of some neurons.

    Args:
        arguments: of every neuron at every point.
        columns: values of the neurons, the points and ones.
        coefficients: of the columns, one column per output.
        residuals: what they leave of the answers.
        basis: orthonormal columns with the same span.
    """

    arguments: Float64[np.ndarray, "points neurons"]
    columns: Float64[np.ndarray, "points columns"]
    coefficients: Float64[np.ndarray, "columns outputs"]
    residuals: Values
    basis: Float64[np.ndarray, "points columns"]


@dataclass(frozen=True, eq=False)
class ProjectedFit:
    """The least-squares problem of the neurons alone.

    Args:
        points: where answers are known.
        values: the answers.
        activation: of the neurons.
        largest_step: change of a weight or bias in one step, in standard units; chosen: neurons that jump farther have
            left the domain.
        gone: size of a neuron's values, relative to the largest, up to which it has left the domain; chosen, far below
            rounding.
        ridge: keeps coefficients finite where columns depend on each other; a few digits above rounding.
        least_share: every number is damped by at least this share of what the most important one is damped by.
        near: residual below which steps are solved orthogonally: with normal equations, at half the digits, fits of
            neurons that nearly replace each other ended at 1e-6 to 1e-8.
        well_damped: damping from which on normal equations, at half the digits, give the same step to 1e-8: most steps
            of a fit are damped more, and an orthogonal solution takes three times as long.
    """

    points: Points
    values: Values
    activation: Activation
    largest_step: float = 5.0
    gone: float = 1e-30
    ridge: float = 1e-14
    least_share: float = 1e-10
    near: float = 1e-3
    well_damped: float = 1e-8

    @cached_property
    def lifted(self) -> Float64[np.ndarray, "points lifted"]:
        """The points with a one at the end."""
        return lift(self.points)

    def residuals(self, point: Neurons, /) -> Projected:
        """Solve for output weights and affine part."""
        arguments = self.lifted @ point.T
        columns = np.hstack([self.activation(arguments), self.lifted])
        sizes = np.max(np.abs(columns), axis=0)
        if not np.all(np.isfinite(sizes)):
            unknown = np.full((len(sizes), self.values.shape[1]), np.nan)
            return Projected(arguments, columns, unknown, np.full_like(self.values, np.nan), columns)
        # A neuron that has left the domain takes no part, instead of one with an enormous output weight.
        sizes[sizes <= self.gone * np.max(sizes)] = np.inf
        damped = np.vstack([columns / sizes, self.ridge * np.eye(len(sizes))])
        factor, triangle = np.linalg.qr(damped)
        basis = factor[: len(columns)]
        # The ridge keeps the triangle regular.
        scaled, _ = _solve_triangle(triangle, basis.T @ self.values)
        coefficients = scaled / sizes[:, None]
        return Projected(arguments, columns, coefficients, self.values - columns @ coefficients, basis)

    def loss(self, residuals: Projected, /) -> float:
        """Their root mean square."""
        return root_mean_square(residuals.residuals)

    def solver(self, point: Neurons, residuals: Projected, /) -> Solver:
        """Linearise in the neurons, with output weights that follow."""
        moves = self._moves(residuals)
        pulls = np.repeat(residuals.coefficients[: len(point)], point.shape[1], axis=0)
        # The Jacobian has a row per point and output, but outputs differ in their weights alone.
        gram = (moves.T @ moves) * (pulls @ pulls.T)
        target = np.einsum("po,po->p", moves.T @ residuals.residuals, pulls)
        powers = np.diagonal(gram)
        units = powers + self.least_share * float(np.max(powers, initial=0.0)) + np.finfo(float).tiny
        normal = normal_solver(gram, target, units, ridges=(0.0,))
        if self.loss(residuals) > self.near:
            return normal
        sizes, orthogonal = np.sqrt(units), None

        def solve(damping: float) -> Step:
            nonlocal orthogonal
            if damping >= self.well_damped:
                return normal(damping)
            if orthogonal is None:
                jacobian = (moves[:, None, :] * pulls.T[None]).reshape(-1, moves.shape[1])
                orthogonal = orthogonal_solver(jacobian / sizes, residuals.residuals.ravel())
            return orthogonal(damping) / sizes

        return solve

    def moved(self, point: Neurons, step: Step, /) -> Neurons | None:
        """Change the neurons, unless one would change too much."""
        return point + step.reshape(point.shape) if np.all(np.abs(step) <= self.largest_step) else None

    def _moves(self, projected: Projected) -> Float64[np.ndarray, "points parameters"]:
        """Derivatives of the neurons' values, without what output weights can make of them."""
        slopes = self.activation(projected.arguments, 1)
        moves = (slopes[:, :, None] * self.lifted[:, None, :]).reshape(len(self.lifted), -1)
        moves -= projected.basis @ (projected.basis.T @ moves)
        return moves


def lift(points: Points) -> Float64[np.ndarray, "points lifted"]:
    """Points with a one at the end, which the bias multiplies."""
    return np.hstack([points, np.ones((len(points), 1))])
