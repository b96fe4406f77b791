"""Fit the hidden neurons of a shallow network, with output weights and affine part eliminated from the problem.

The answers of a shallow network are linear in its output weights and in an affine part. For given neurons least squares
solves for both, so that only weights and biases of the neurons are searched for (variable projection, Golub and Pereyra
1973, with the derivative of Kaufman 1975). Without the affine part, which is most of a smooth function, the residuals
show what tells neurons apart; and activations with ``g(-z) = g(z) - z`` have no wrong sign to get stuck at.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points, Values, root_mean_square
from unweave.numerics.least_squares import Solver, Step, normal_solver, orthogonal_solver

# One row per neuron: its weights, then its bias.
Neurons = Float64[np.ndarray, "neurons lifted"]


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
    """

    points: Points
    values: Values
    activation: Activation
    largest_step: float = 5.0
    gone: float = 1e-30
    ridge: float = 1e-14
    least_share: float = 1e-10
    near: float = 1e-3

    def residuals(self, point: Neurons, /) -> Projected:
        """Solve for output weights and affine part."""
        lifted = lift(self.points)
        arguments = lifted @ point.T
        columns = np.hstack([self.activation(arguments), lifted])
        sizes = np.max(np.abs(columns), axis=0)
        if not np.all(np.isfinite(sizes)):
            unknown = np.full((len(sizes), self.values.shape[1]), np.nan)
            return Projected(arguments, columns, unknown, np.full_like(self.values, np.nan), columns)
        # A neuron that has left the domain takes no part, instead of one with an enormous output weight.
        sizes[sizes <= self.gone * np.max(sizes)] = np.inf
        damped = np.vstack([columns / sizes, self.ridge * np.eye(len(sizes))])
        factor, triangle = np.linalg.qr(damped)
        basis = factor[: len(lifted)]
        scaled = np.linalg.lstsq(triangle, basis.T @ self.values, rcond=1e-15)[0]
        coefficients = scaled / sizes[:, None]
        return Projected(arguments, columns, coefficients, self.values - columns @ coefficients, basis)

    def loss(self, residuals: Projected, /) -> float:
        """Their root mean square."""
        return root_mean_square(residuals.residuals)

    def solver(self, point: Neurons, residuals: Projected, /) -> Solver:
        """Linearise in the neurons, with output weights that follow."""
        jacobian, missing = self._jacobian(point, residuals), residuals.residuals.ravel()
        powers = np.einsum("rp,rp->p", jacobian, jacobian)
        units = powers + self.least_share * float(np.max(powers, initial=0.0)) + np.finfo(float).tiny
        if self.loss(residuals) > self.near:
            return normal_solver(jacobian.T @ jacobian, jacobian.T @ missing, units, ridges=(0.0,))
        sizes = np.sqrt(units)
        solve = orthogonal_solver(jacobian / sizes, missing)
        return lambda damping: solve(damping) / sizes

    def moved(self, point: Neurons, step: Step, /) -> Neurons | None:
        """Change the neurons, unless one would change too much."""
        return point + step.reshape(point.shape) if np.all(np.abs(step) <= self.largest_step) else None

    def _jacobian(self, neurons: Neurons, projected: Projected) -> Float64[np.ndarray, "rows parameters"]:
        """Derivatives of the values, row by row point and output, without what output weights can make of them."""
        lifted, count = lift(self.points), len(neurons)
        slopes = self.activation(projected.arguments, 1)
        moves = (slopes[:, :, None] * lifted[:, None, :]).reshape(len(lifted), -1)
        moves -= projected.basis @ (projected.basis.T @ moves)
        pulls = np.repeat(projected.coefficients[:count], neurons.shape[1], axis=0)
        return (moves[:, None, :] * pulls.T[None]).reshape(-1, moves.shape[1])


def lift(points: Points) -> Float64[np.ndarray, "points lifted"]:
    """Points with a one at the end, which the bias multiplies."""
    return np.hstack([points, np.ones((len(points), 1))])
