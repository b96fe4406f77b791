"""How far a network of squares is from the global optimum, from its residual matrix.

If v has at least d entries of each sign, ``W -> M`` reaches every symmetric matrix, and the residual matrix R is the
gradient of a convex function of M: what is above the optimum is exactly the part of the residuals that quadratic
forms can change. If v has one sign and at least d entries, M runs through the semidefinite matrices, and any
z with ``sum_i z_i x_i x_i^T >= 0`` bounds the optimum from below by ``-<z, y> - (n/2) |z|^2``. Both bounds hold for
fewer neurons, too, but are then not attained in general.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import scipy.linalg

from unweave.arrays import root_mean_square
from unweave.learn.quadratic.problem import Labels, Matrix, QuadraticProblem, State
from unweave.learn.quadratic.spectrum import SquareSpectrum, is_affordable


class Regime(Enum):
    """What theory says about all minima, by the signs of the output weights."""

    TWO_SIGNED = "two-signed"
    ONE_SIGNED = "one-signed"
    NO_GUARANTEE = "no guarantee"


def regime_of(problem: QuadraticProblem) -> Regime:
    """Where theory excludes spurious minima: d neurons of each sign, or d of one sign and none of the other.

    For points that span fewer than d dimensions their number counts: the others have no influence.
    """
    positive, negative, needed = len(problem.positive), len(problem.negative), max(problem.span, 1)
    if min(positive, negative) >= needed:
        return Regime.TWO_SIGNED
    if min(positive, negative) == 0 and max(positive, negative) >= needed:
        return Regime.ONE_SIGNED
    return Regime.NO_GUARANTEE


@dataclass(frozen=True, eq=False)
class OptimalityTest:
    """Measures distances to the global optimum of one problem; made once, used at every step.

    Args:
        problem: the samples and output weights.
        regime: where theory puts them.
        spectrum: of the squares of the points; None if they are too many, and then only zero bounds the loss.
    """

    problem: QuadraticProblem
    regime: Regime
    spectrum: SquareSpectrum | None

    @classmethod
    def of(cls, problem: QuadraticProblem) -> "OptimalityTest":
        """Prepare the test."""
        spectrum = SquareSpectrum.of(problem.points) if is_affordable(problem.points) else None
        return cls(problem, regime_of(problem), spectrum)

    @property
    def is_one_signed(self) -> bool:
        """Whether all predictions have one sign, in the number of neurons of any regime."""
        return min(len(self.problem.positive), len(self.problem.negative)) == 0

    def gap(self, state: State) -> float:
        """How much the loss is above a lower bound of the optimum; never negative.

        Guarantees: an upper bound of ``L - L*``, exact if v has d entries of each sign.
        """
        gap = state.loss
        if self.spectrum is not None and not self.spectrum.fits_all_labels:
            gap = self.problem.loss_of(self.spectrum.coordinates(state.residuals))
        if self.is_one_signed:
            gap = min(gap, max(0.0, state.loss - self.semidefinite_bound(state.residuals)))
        return gap

    def semidefinite_bound(self, residuals: Labels) -> float:
        """Lower bound of the loss of all networks with output weights of this sign, from any residuals.

        A multiple of ``z = r + t`` is best for the smallest t that makes ``sum_i z_i x_i x_i^T`` semidefinite.
        """
        problem = self.problem if len(self.problem.positive) else self.problem.mirrored()
        residuals = residuals if len(self.problem.positive) else -residuals
        shift = max(0.0, -smallest_relative_eigenvalue(problem, residuals))
        multipliers = residuals + shift
        inner, square = float(multipliers @ problem.labels), float(multipliers @ multipliers)
        return inner**2 / (2 * problem.samples * square) if inner < 0 and square > 0 else 0.0


def smallest_relative_eigenvalue(problem: QuadraticProblem, factors: Labels) -> float:
    """Smallest t for which ``sum (z_i - t) x_i x_i^T`` is not positive, within the span of the points."""
    moment = problem.weighted_squares(np.ones(problem.samples))
    values, vectors = scipy.linalg.eigh(moment)
    kept = values > problem.inputs * np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
    if not np.any(kept):
        return 0.0
    frame = vectors[:, kept] / np.sqrt(values[kept])
    return float(scipy.linalg.eigvalsh(frame.T @ problem.weighted_squares(factors) @ frame)[0])


def trace_bound(problem: QuadraticProblem, *, is_planted: bool) -> float:
    """Upper bound of the trace of the best semidefinite matrix; infinite if the points lack directions.

    The mean of its quadratic form is ``<M, S> >= lambda_min(S) tr M`` with the second moments S of the points. If
    the form gives the labels, that is their mean. In general the best form is a projection of the labels onto a
    cone, so that its mean square is at most theirs.
    """
    moment = problem.weighted_squares(np.ones(problem.samples)) / problem.samples
    smallest = float(scipy.linalg.eigvalsh(moment)[0])
    mean = abs(float(np.mean(problem.labels))) if is_planted else root_mean_square(problem.labels)
    return mean / smallest if smallest > problem.inputs * np.finfo(float).eps * np.trace(moment) else np.inf


def curvature_bound(problem: QuadraticProblem, residual_matrix: Matrix) -> float:
    """Number that no negative eigenvalue of the Hessian exceeds in absolute value: ``2 max |v| |R|``, by signs.

    The Hessian is ``2 diag(v) x R`` plus a semidefinite matrix.
    """
    values = scipy.linalg.eigvalsh(residual_matrix)
    up = np.max(problem.output_weights, initial=0.0) * max(0.0, -float(values[0]))
    down = np.max(-problem.output_weights, initial=0.0) * max(0.0, float(values[-1]))
    return 2.0 * max(up, down)
