"""Cubic regularisation for networks of squares, which comes to second-order points [soltanolkotabi, Thm. 2.2].

Every step is the global minimum of ``g u + u H u / 2 + s |u|^3 / 3`` for the gradient g, the Hessian H and a strength s
that follows the ratio of true to predicted decrease. The minimum has a closed form up to one number, the length r of
the step: ``(H + s r) u = -g`` with ``H + s r`` semidefinite.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Atoms, Vector
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.search import Ending, TrainedWeights

# A gradient component below this share counts as none along the lowest eigenvector: the hard case.
NO_COMPONENT = 1e-12


@dataclass(frozen=True)
class CubicRegularisation:
    """Train by cubically regularised Newton steps with dense Hessians.

    Args:
        steps: largest number of attempted steps.
        gap_tol: loss above the optimum at which it ends.
        strength: of the cubic term at the start.
        gradient_tol: norm of the gradient at which it ends if no curvature is below ``-curvature_tol``.
        curvature_tol: see `gradient_tol`.
    """

    steps: int = 300
    gap_tol: float = 1e-12
    strength: float = 1.0
    gradient_tol: float = 1e-10
    curvature_tol: float = 1e-8

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start.

        Guarantees: with a Lipschitz constant of the Hessian on the way, a gradient of e and a curvature of at least
            ``-sqrt(e)`` after a number of steps of order ``e^(-3/2)`` [nesterov2006].
        """
        del rng
        problem, strength = test.problem, self.strength
        state, history, escapes, ending = problem.at(start), [], [], Ending.OUT_OF_STEPS
        values, vectors = scipy.linalg.eigh(dense_hessian(problem, state))
        for _ in range(self.steps):
            history.append(state.loss)
            if test.gap(state) <= self.gap_tol:
                ending = Ending.OPTIMAL
                break
            if np.linalg.norm(state.gradient) <= self.gradient_tol and values[0] >= -self.curvature_tol:
                ending = Ending.SECOND_ORDER_POINT
                break
            slopes = vectors.T @ state.gradient.ravel()
            step = cubic_minimum(values, slopes, strength)
            predicted = -float(slopes @ step + 0.5 * values @ step**2) - strength / 3.0 * np.linalg.norm(step) ** 3
            trial = problem.at(state.weights + (vectors @ step).reshape(state.weights.shape))
            ratio = (state.loss - trial.loss) / predicted if predicted > 0.0 else 0.0
            strength *= 0.5 if ratio > 0.9 else 1.0 if ratio > 0.1 else 2.0
            if ratio > 0.1:
                # Steps against the curvature are what leaves a saddle.
                escapes += [float(values[0])] if values[0] < -self.curvature_tol else []
                state = trial
                values, vectors = scipy.linalg.eigh(dense_hessian(problem, state))
        else:
            history.append(state.loss)
        return TrainedWeights(state.weights, state.loss, ending, tuple(escapes), tuple(history))


def cubic_minimum(values: Vector, slopes: Vector, strength: float) -> Vector:
    """The global minimum of ``slopes u + sum values u^2 / 2 + strength |u|^3 / 3``, values in ascending order."""
    lowest = max(0.0, -float(values[0]) / strength)
    size = float(np.linalg.norm(slopes))

    def step(length: float) -> Vector:
        shifted = values + strength * length
        return np.divide(-slopes, shifted, out=np.zeros_like(slopes), where=shifted > 0.0)

    is_lowest = values <= values[0] + 1e-12 * max(1.0, abs(values[0]))
    if values[0] <= 0.0 and np.linalg.norm(slopes[is_lowest]) <= NO_COMPONENT * max(size, 1e-300):
        rest = np.where(is_lowest, 0.0, step(lowest))
        left = lowest**2 - float(rest @ rest)
        if left >= 0.0:
            # The hard case: what is missing to the length goes along the lowest eigenvector.
            rest[0] = np.sqrt(left)
            return rest
    if size == 0.0:
        return np.zeros_like(slopes)
    # |u(r)| falls with r and r grows; beyond the second bound the length is below r for certain.
    highest = lowest + np.sqrt(size / strength) + 1e-300

    def excess(length: float) -> float:
        return float(np.linalg.norm(step(length))) - length

    first = lowest + 1e-14 * highest
    if excess(first) <= 0.0:
        return step(first)
    length: float = scipy.optimize.brentq(excess, first, highest, xtol=1e-300)  # pyright: ignore[reportAssignmentType]
    return step(length)


def dense_hessian(problem: QuadraticProblem, state: State) -> Float64[np.ndarray, "weights weights"]:
    """All entries of the Hessian of the loss in the weights, row by row of these."""
    neurons, inputs = state.weights.shape
    heights, samples = problem.output_weights, problem.samples
    bent = 2.0 * np.kron(np.diag(heights), state.residual_matrix)
    slopes = 2.0 * (heights * (problem.points @ state.weights.T))[:, :, None] * problem.points[:, None, :]
    flat = slopes.reshape(samples, neurons * inputs)
    return bent + flat.T @ flat / samples
