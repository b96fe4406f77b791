"""Training a network of squares: the loss, its derivatives, exact line search, and the matrix in which it is convex.

With fixed output weights v the network ``f(x) = sum_l v_l <w_l, x>^2`` is the quadratic form ``x^T M x`` of the
matrix ``M = W^T diag(v) W``, and the loss ``|r|^2 / (2 n)`` with the residuals ``r_i = f(x_i) - y_i`` is a convex
function of M. Its gradient in M is the residual matrix ``R = (1/n) sum_i r_i x_i x_i^T``, from which everything
else is made, so that a gradient or a product with the Hessian costs ``n d^2 + k d^2`` for n points, d inputs and k
neurons. Points are rows here; ``A(M)_i = x_i^T M x_i`` is the map of quadratic forms. Along a line of weights the
residuals are ``r + t a + t^2 b``, so that the best step is the root of a cubic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import acos, copysign, cos, isfinite, pi, sqrt

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, PerPoint, Points, as_float64, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.samples.sources import DistinctRows

Labels = PerPoint
OutputWeights = PerNeuron
Matrix = Float64[np.ndarray, "inputs inputs"]
# Of points that are compared up to multiples: as many as floats have, less those that roundings on the way may cost.
DIGITS = 10


def best_step(
    residuals: PerPoint,
    slopes: PerPoint,
    bends: PerPoint,
) -> float:
    """The t that minimises ``|r + t a + t^2 b|^2``; 0 if nothing is better than staying."""
    bb, ab, ra = float(bends @ bends), float(slopes @ bends), float(residuals @ slopes)
    middle = float(slopes @ slopes) + 2.0 * float(residuals @ bends)

    def gain(t: float) -> float:
        return -t * (2.0 * ra + t * (middle + t * (2.0 * ab + t * bb)))

    steps = real_roots((2.0 * bb, 3.0 * ab, middle, ra))
    return max((0.0, *steps), key=gain)


def real_roots(
    coefficients: tuple[float, float, float, float], *, steps: int = 20, change_tol: float = 1e-15
) -> Sequence[float]:
    """Real roots of a polynomial of degree three at most; none if it is constant.

    Args:
        coefficients: the highest first.
        steps: largest number of Newton steps after the closed form, which loses digits when roots differ much in size.
            Digits double, so that five take one digit to sixteen, and a double root gains one bit per step; chosen.
        change_tol: relative change of a root at which they end: a few roundings of one number.
    """
    cubic, square, linear, constant = coefficients
    starts = [-constant / linear] if linear != 0.0 else []
    if cubic != 0.0:
        starts += _cubic_roots(square / cubic, linear / cubic, constant / cubic)
    elif square != 0.0 and linear**2 >= 4 * square * constant:
        spread = linear + copysign(sqrt(linear**2 - 4 * square * constant), linear)
        starts += [-spread / (2 * square), *([-2 * constant / spread] if spread != 0.0 else [])]
    roots = (_polished(coefficients, start, steps, change_tol) for start in starts)
    return [root for root in roots if isfinite(root)]


def _cubic_roots(square: float, linear: float, constant: float) -> list[float]:
    """Cardano's formula for ``t^3 + square t^2 + linear t + constant``."""
    shift = square / 3.0
    p = linear - 3.0 * shift**2
    q = constant - shift * linear + 2.0 * shift**3
    inside = (q / 2.0) ** 2 + (p / 3.0) ** 3
    if inside > 0.0 or p >= 0.0:
        u = float(np.cbrt(-q / 2.0 - copysign(sqrt(max(inside, 0.0)), q)))
        return [u - (p / (3.0 * u) if u != 0.0 else 0.0) - shift]
    radius = sqrt(-p / 3.0)
    angle = acos(min(1.0, max(-1.0, -q / (2.0 * radius**3)))) / 3.0
    return [2.0 * radius * cos(angle - 2.0 * pi * turn / 3.0) - shift for turn in range(3)]


def _polished(coefficients: tuple[float, float, float, float], root: float, steps: int, change_tol: float) -> float:
    cubic, square, linear, constant = coefficients
    for _ in range(steps):
        slope = (3.0 * cubic * root + 2.0 * square) * root + linear
        if slope == 0.0 or not isfinite(slope):
            break
        change = (((cubic * root + square) * root + linear) * root + constant) / slope
        root -= change
        if abs(change) <= change_tol * abs(root):
            break
    return root


@dataclass(frozen=True, eq=False)
class State:
    """A point of the search, and what follows from it.

    Args:
        problem: that is solved.
        weights: one row per neuron.
        matrix: of the quadratic form of the network.
        residuals: prediction minus label.
    """

    problem: "QuadraticProblem"
    weights: Atoms
    matrix: Matrix
    residuals: Labels

    @cached_property
    def residual_matrix(self) -> Matrix:
        """Gradient of the loss in `matrix`."""
        return self.problem.weighted_squares(self.residuals) / self.problem.samples

    @cached_property
    def gradient(self) -> Atoms:
        """Gradient of the loss in the weights."""
        return 2.0 * self.problem.output_weights[:, None] * (self.weights @ self.residual_matrix)

    @cached_property
    def loss(self) -> float:
        """Half of the mean square of the residuals."""
        return self.problem.loss_of(self.residuals)


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """Samples and the fixed output weights of a network of squares.

    Args:
        points: one input per row.
        labels: one per point.
        output_weights: one per neuron; only the hidden weights are trained.

    Raises:
        InvalidInput: if shapes do not fit, a number is not finite, or there is no output weight but zeros.
    """

    points: Points
    labels: Labels
    output_weights: OutputWeights

    def __post_init__(self) -> None:
        points = as_float64(self.points, name="points", ndim=2)
        labels = as_float64(self.labels, name="labels", ndim=1)
        if len(labels) != len(points) or points.size == 0:
            raise InvalidInput(
                f"QuadraticProblem needs one label per point and at least one of each, got points of shape "
                f"{points.shape} and {len(labels)} labels."
            )
        signs = as_float64(self.output_weights, name="output_weights", ndim=1)
        if not np.any(signs):
            raise InvalidInput(
                f"QuadraticProblem needs at least one output weight that is not zero, got {len(signs)} zeros: "
                "such neurons have no influence on the output."
            )

    @property
    def samples(self) -> int:
        """Number of points."""
        return len(self.points)

    @cached_property
    def directions(self) -> int:
        """Number of points without those that are multiples of others, whose squares are multiples, too."""
        units = np.max(np.abs(self.points), axis=0)
        points = self.points / np.where(units > 0, units, 1.0)
        # A side that no plane of symmetry has: entries of equal size would leave the sign to rounding.
        sides = np.sign(points @ np.random.default_rng(0).standard_normal(self.inputs))
        sizes = sides * np.linalg.norm(points, axis=1)
        return DistinctRows.of(np.round(points / np.where(sizes == 0, 1.0, sizes)[:, None], DIGITS)).count

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.points.shape[1]

    @property
    def neurons(self) -> int:
        """Number of neurons, those without influence included."""
        return len(self.output_weights)

    @cached_property
    def positive(self) -> np.ndarray:
        """Indices of the neurons with positive output weights."""
        return np.flatnonzero(self.output_weights > 0)

    @cached_property
    def negative(self) -> np.ndarray:
        """Indices of the neurons with negative output weights."""
        return np.flatnonzero(self.output_weights < 0)

    @cached_property
    def span(self) -> int:
        """Dimension of the span of the points: the number of inputs, unless they lack directions."""
        values = np.linalg.svd(self.points, compute_uv=False)
        return int(np.count_nonzero(values > max(self.points.shape) * np.finfo(float).eps * values[0]))

    @property
    def largest_output_weight(self) -> float:
        """Of all absolute values."""
        return float(np.max(np.abs(self.output_weights)))

    def form_values(self, matrix: Matrix) -> Labels:
        """The quadratic form of a symmetric matrix at every point: ``A(M)``."""
        return np.sum((self.points @ matrix) * self.points, axis=1)

    def weighted_squares(self, factors: Labels) -> Matrix:
        """``sum_i z_i x_i x_i^T``, the adjoint of `form_values`."""
        return (self.points.T * factors) @ self.points

    def matrix_of(self, weights: Atoms) -> Matrix:
        """The matrix of the quadratic form of a network with these weights."""
        return (weights.T * self.output_weights) @ weights

    def at(self, weights: Atoms) -> State:
        """Loss and first derivatives at these weights."""
        matrix = self.matrix_of(weights)
        return State(self, weights, matrix, self.form_values(matrix) - self.labels)

    def loss_of(self, residuals: Labels) -> float:
        """Half of the mean square."""
        return float(residuals @ residuals) / (2 * self.samples)

    def slopes(self, weights: Atoms, direction: Atoms) -> Labels:
        """Derivative of the predictions along a direction: the transposed Jacobian, applied."""
        mixed = (weights.T * self.output_weights) @ direction
        return self.form_values(mixed + mixed.T)

    def pull_back(self, weights: Atoms, factors: Labels) -> Atoms:
        """The Jacobian of the predictions, applied to one number per point."""
        return 2.0 * self.output_weights[:, None] * (weights @ self.weighted_squares(factors))

    def hessian_product(self, state: State, direction: Atoms) -> Atoms:
        """The Hessian of the loss in the weights, times a direction."""
        bent = 2.0 * self.output_weights[:, None] * (direction @ state.residual_matrix)
        return bent + self.pull_back(state.weights, self.slopes(state.weights, direction)) / self.samples

    def curvature(self, state: State, direction: Atoms) -> float:
        """The quadratic form of the Hessian at a direction, which need not have unit length."""
        slopes = self.slopes(state.weights, direction)
        bent = 2.0 * float(np.sum(self.matrix_of(direction) * state.residual_matrix))
        return bent + float(slopes @ slopes) / self.samples

    def moved(self, state: State, direction: Atoms) -> State:
        """The best point on the line through a state, found exactly: the loss on a line is a quartic."""
        slopes = self.slopes(state.weights, direction)
        bends = self.form_values(self.matrix_of(direction))
        return self.at(state.weights + best_step(state.residuals, slopes, bends) * direction)

    def mirrored(self) -> "QuadraticProblem":
        """The same problem with the signs of labels and output weights flipped: same weights, same losses."""
        return replace(self, labels=-self.labels, output_weights=-self.output_weights)


@dataclass(frozen=True, eq=False)
class WhiteUnits:
    """Units in which points have the identity as second moments, without directions that they lack, and labels rms 1.

    ``x = back z`` and ``w' = w back / sqrt(unit)``: the set of networks is the same, training is much faster.

    Args:
        problem: the same samples in the new units.
        back: from the new coordinates to the old ones.
        forth: its pseudo-inverse.
        unit: of the labels.
    """

    problem: QuadraticProblem
    back: Float64[np.ndarray, "inputs rank"]
    forth: Float64[np.ndarray, "rank inputs"]
    unit: float

    @classmethod
    def of(cls, problem: QuadraticProblem) -> "WhiteUnits":
        """Whiten the points of a problem; means are kept, because squares have no bias to make up for them."""
        left, values, right = np.linalg.svd(problem.points, full_matrices=False)
        kept = values > max(problem.points.shape) * np.finfo(float).eps * values[0]
        # Points that are all zero keep one direction, so that there is a problem.
        kept[0] = True
        scale = np.where(values[kept] > 0, values[kept], 1.0) / np.sqrt(problem.samples)
        points = problem.points @ (right[kept] / scale[:, None]).T if values[0] > 0 else 0.0 * left[:, :1]
        unit = root_mean_square(problem.labels) or 1.0
        inside = replace(problem, points=points, labels=problem.labels / unit)
        return cls(inside, right[kept].T * scale, right[kept] / scale[:, None], unit)

    def inside(self, weights: Atoms) -> Float64[np.ndarray, "neurons rank"]:
        """Weights in the new units."""
        return weights @ self.back / np.sqrt(self.unit)

    def outside(self, weights: Float64[np.ndarray, "neurons rank"]) -> Atoms:
        """Weights in the old units, zero along directions that the points lack."""
        return weights @ self.forth * np.sqrt(self.unit)
