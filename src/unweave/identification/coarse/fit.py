"""Least squares for neurons under noise: output weights follow, and every step costs one product of a table.

The answers are linear in output weights, offset and affine part, which are solved for; what the neurons can change
beyond these is a Schur complement (variable projection, Golub and Pereyra 1973, Kaufman 1975). Normal equations do:
noise leaves fewer digits than they lose.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Vector
from unweave.numerics.least_squares import Policy, Solver, minimise

# One row per neuron: its weights, then its bias.
Neurons = Float64[np.ndarray, "neurons lifted"]
Columns = Float64[np.ndarray, "points columns"]


@dataclass(frozen=True)
class Shape:
    """What neurons are made of while they are searched for.

    Args:
        name: of the activation.
        value: of a neuron at its argument.
        slope: the derivative of that.
        has_affine_part: whether an affine part is fitted beside the neurons: a kink looks the same from both sides but
            for that, so that no neuron has the wrong sign.
    """

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    has_affine_part: bool


@dataclass(frozen=True, eq=False)
class Fitted:
    """Neurons with the output weights that suit them.

    Args:
        neurons: weights and biases.
        coefficients: of the neurons, of one, and of the inputs if there is an affine part.
        squares: sum of squared residuals.
    """

    neurons: Neurons
    coefficients: Vector
    squares: float

    @property
    def width(self) -> int:
        """Number of neurons."""
        return len(self.neurons)

    @property
    def parameters(self) -> int:
        """Number of free numbers."""
        return self.neurons.size + len(self.coefficients)


@dataclass(frozen=True, eq=False)
class NoisyFit:
    """The least-squares problem.

    Args:
        points: where answers are known.
        values: the answers.
        shape: of the neurons.
        ridge: relative, on normal equations: keeps coefficients finite where columns depend on each other.
        policy: how steps are damped, relative to the power of each number, and when they end; chosen. Small gains end a
            fit after three steps in a row.
    """

    points: Points
    values: PerPoint
    shape: Shape
    ridge: float = 1e-10
    policy: Policy = field(
        default_factory=lambda: Policy(
            growth=6.0, decay=0.2, tries=7, patience=3, largest_damping=np.inf
        ).always_damped(first=1e-2, least=1e-12)
    )

    def columns(self, neurons: Neurons) -> Columns:
        """Tables that the answers are linear in."""
        values = self.shape.value(self._arguments(neurons))
        affine = [self.points] if self.shape.has_affine_part else []
        return np.hstack([values, np.ones((len(values), 1)), *affine])

    def solved(self, neurons: Neurons) -> Fitted:
        """Solve for output weights."""
        columns = self.columns(neurons)
        coefficients = self._solve(columns.T @ columns, columns.T @ self.values)
        return Fitted(neurons, coefficients, float(np.sum((self.values - columns @ coefficients) ** 2)))

    def left(self, fitted: Fitted) -> PerPoint:
        """What is left of the answers."""
        return self.values - self.columns(fitted.neurons) @ fitted.coefficients

    def __call__(self, neurons: Neurons, *, steps: int, gain: float, target: float = 0.0) -> Fitted:
        """Fit neurons.

        Args:
            neurons: to begin with.
            steps: at most.
            gain: relative, of the squares, below which steps count as idle.
            target: sum of squares at which to end.
        """
        if not len(neurons):
            return self.solved(neurons)
        policy = replace(self.policy, steps=steps, gain_tol=self.policy.patience * gain)
        return minimise(self, neurons, policy, target=target).residuals

    def residuals(self, point: Neurons) -> Fitted:
        """Solve for output weights, once per attempted step."""
        return self.solved(point)

    def loss(self, residuals: Fitted) -> float:
        """The sum of their squares."""
        return residuals.squares

    def moved(self, point: Neurons, step: Vector) -> Neurons:
        """Add a step."""
        return point + step.reshape(point.shape)

    def solver(self, point: Neurons, residuals: Fitted) -> Solver:
        """Solve normal equations by Cholesky factors, damped in proportion to the power of each number."""
        gram, slope = self._projected(point, residuals.coefficients)
        powers = np.diag(gram) + 1e-12 * float(np.max(np.diag(gram))) + np.finfo(float).tiny

        def solve(damping: float) -> Vector:
            try:
                factor = scipy.linalg.cho_factor(gram + np.diag(damping * powers), check_finite=False)
            except np.linalg.LinAlgError:
                return np.full(len(slope), np.nan)
            return scipy.linalg.cho_solve(factor, slope, check_finite=False)

        return solve

    def _projected(self, neurons: Neurons, coefficients: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Normal equations of the neurons, without what output weights can make of them."""
        lifted, arguments = self._lifted, self._arguments(neurons)
        pulls = self.shape.slope(arguments) * coefficients[: len(neurons)]
        moves = (pulls[:, :, None] * lifted[:, None, :]).reshape(len(lifted), -1)
        columns = self.columns(neurons)
        cross = columns.T @ moves
        gram = moves.T @ moves - cross.T @ self._solve(columns.T @ columns, cross)
        return gram, moves.T @ (self.values - columns @ coefficients)

    def _solve(self, gram: np.ndarray, right: np.ndarray) -> np.ndarray:
        sizes = np.sqrt(np.diag(gram)) + np.finfo(float).tiny
        scaled = gram / np.outer(sizes, sizes) + self.ridge * np.eye(len(sizes))
        sided = right / (sizes if right.ndim == 1 else sizes[:, None])
        solution = scipy.linalg.solve(scaled, sided, assume_a="pos", check_finite=False)
        return solution / (sizes if right.ndim == 1 else sizes[:, None])

    def _arguments(self, neurons: Neurons) -> Float64[np.ndarray, "points neurons"]:
        return self.points @ neurons[:, :-1].T + neurons[:, -1]

    @property
    def _lifted(self) -> Float64[np.ndarray, "points lifted"]:
        return np.hstack([self.points, np.ones((len(self.points), 1))])
