"""How far a network of squares is from the global optimum, from its residual matrix and the squares of the points.

The packed squares ``x x^T`` of the points are the rows of a matrix with ``D = d (d + 1) / 2`` columns, whose
singular values are those of the Khatri-Rao product of the points with themselves; every guarantee rests on them.
Arbitrary labels can be fitted exactly if and only if its rank is the number of points.

If v has at least d entries of each sign, ``W -> M`` reaches every symmetric matrix, and the residual matrix R is the
gradient of a convex function of M: what is above the optimum is exactly the part of the residuals that quadratic
forms can change. If v has one sign and at least d entries, M runs through the semidefinite matrices, and any
z with ``sum_i z_i x_i x_i^T >= 0`` bounds the optimum from below by ``-<z, y> - (n/2) |z|^2``. Both bounds hold for
fewer neurons, too, but are then not attained in general.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, pack_squares, packed_size, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.frame import typical_size
from unweave.learn.quadratic.problem import Labels, Matrix, QuadraticProblem, State

Blur = PerPoint


@dataclass(frozen=True, kw_only=True)
class SpectrumRules:
    """Limits that decide which singular values of the squares of points count.

    Args:
        rank_tol: singular values below this, relative to the largest, are zero, if nothing is known of the errors of
            points. Of 300 sets of points with scales from 0.1 to 10, dependent squares left 7e-17 at most, and
            independent ones had 4e-6 at least.
        absent: if they are known: up to this many roundings of a typical point, singular values are those of squares
            that depend on each other. Of 19,330 planted dependences 99 % left 2.3 roundings or fewer, and the worst 36:
            what is left above is called unresolved, which only withholds claims.
        resolved: bounds of the error above which a singular value is known: from twice the bound on, errors turn no
            more than half of the space (`SquareSpectrum.tilt` is at most 1).
        gram_tol: eigenvalues of a Gram matrix have errors of about 1e-15 of the largest: down to this their square
            roots have six digits, below only a singular value decomposition will do.
        largest_rank: up to which the spectrum is computed: half a minute. Larger problems are trained without.
        most_numbers: that the squares of all points may take: 1.6 GB.
    """

    rank_tol: float = 1e-10
    absent: float = 16.0
    resolved: float = 2.0
    gram_tol: float = 1e-9
    largest_rank: int = 5_000
    most_numbers: float = 2e8

    def allow(self, points: Points) -> bool:
        """Whether the squares of the points fit in memory and their spectrum into the time."""
        rank = min(len(points), packed_size(points.shape[1]))
        return rank <= self.largest_rank and len(points) * rank <= self.most_numbers


SPECTRUM_RULES = SpectrumRules()


@dataclass(frozen=True, eq=False)
class SquareSpectrum:
    """Singular values of the squares of the points.

    Args:
        largest: the largest singular value.
        smallest: the smallest one that is not zero.
        rank: how many are not zero.
        samples: number of points.
        dimension: of the space of symmetric matrices.
        basis: orthonormal basis of the values that quadratic forms can take at the points; None if they can take all.
        error: bound of the rounding errors of the squares.
        is_resolved: whether every singular value is either above these errors or that of an exact dependence.
        solve: from coordinates in `basis` to the packed matrix that has them, where it came with the factorisation.
    """

    largest: float
    smallest: float
    rank: int
    samples: int
    dimension: int
    basis: Float64[np.ndarray, "points rank"] | None
    error: float = 0.0
    is_resolved: bool = True
    solve: Float64[np.ndarray, "dimension dimension"] | None = None

    @classmethod
    def of(cls, points: Points, blur: Blur | None = None, *, rules: SpectrumRules = SPECTRUM_RULES) -> "SquareSpectrum":
        """Compute the spectrum, from the Gram matrix if it is well conditioned and else from the squares.

        Args:
            points: one per row.
            blur: bound of the rounding error of every point; None to trust them.
            rules: which singular values count.

        Raises:
            InvalidInput: if the squares do not fit in memory.
        """
        samples, dimension = len(points), packed_size(points.shape[1])
        if not rules.allow(points):
            raise InvalidInput(
                f"SquareSpectrum needs a rank of up to {rules.largest_rank} and up to {rules.most_numbers:.0e} "
                f"numbers, got {samples} points with {dimension} products of two inputs each: take fewer points."
            )
        if samples <= dimension:
            values = scipy.linalg.eigvalsh((points @ points.T) ** 2)
            if values[0] > rules.gram_tol * values[-1] > 0:
                return cls(np.sqrt(values[-1]), np.sqrt(values[0]), samples, samples, dimension, None)
        if blur is None:
            return cls._of_squares(pack_squares(points), rules)
        sizes = np.sum(points**2, axis=1)
        error = float(np.linalg.norm(square_errors(points, blur)))
        error += np.finfo(float).eps * np.sqrt(max(samples, dimension)) * float(np.linalg.norm(sizes))
        absent = rules.absent * np.finfo(float).eps * typical_size(sizes)
        found = cls._of_squares(pack_squares(points), rules, absent)
        is_resolved = np.isfinite(error) and (found.rank == 0 or found.smallest > rules.resolved * error)
        return replace(found, error=error, is_resolved=bool(is_resolved))

    @classmethod
    def _of_squares(
        cls, squares: Float64[np.ndarray, "points packed"], rules: SpectrumRules, absent: float | None = None
    ) -> "SquareSpectrum":
        samples, dimension = squares.shape
        if samples > dimension:
            values, vectors = scipy.linalg.eigh(squares.T @ squares)
            if values[0] > rules.gram_tol * values[-1] > 0:
                # One more orthogonalisation, by Cholesky, takes away what the Gram matrix has lost.
                frame = vectors / np.sqrt(values)
                basis = squares @ frame
                right = scipy.linalg.solve_triangular(scipy.linalg.cholesky(basis.T @ basis), np.eye(dimension))
                ends = float(np.sqrt(values[-1])), float(np.sqrt(values[0]))
                return cls(*ends, dimension, samples, dimension, basis @ right, solve=frame @ right)
        left, values, _ = np.linalg.svd(squares, full_matrices=False)
        rank = int(np.count_nonzero(values > (rules.rank_tol * values[0] if absent is None else absent)))
        smallest = float(values[rank - 1]) if rank > 0 else 0.0
        return cls(float(values[0]), smallest, rank, samples, dimension, None if rank == samples else left[:, :rank])

    @property
    def fits_all_labels(self) -> bool:
        """Whether a quadratic form can take any values at the points."""
        return self.rank == self.samples

    @property
    def determines_matrix(self) -> bool:
        """Whether the values at the points determine a quadratic form."""
        return self.rank == self.dimension and self.is_resolved

    @property
    def tilt(self) -> float:
        """Bound of the share of what no quadratic form changes that one does change, because of rounding errors.

        For A with rounding errors E, and r orthogonal to its range, the range of A + E holds at most
        ``|E| / (s_min - |E|)`` of r.
        """
        return self.error / (self.smallest - self.error) if self.is_resolved and self.error > 0 else 0.0

    @property
    def condition(self) -> float:
        """Largest over smallest non-zero singular value."""
        return self.largest / self.smallest if self.smallest > 0 else np.inf

    def coordinates(self, residuals: PerPoint) -> Float64[np.ndarray, "rank"]:
        """The part of the residuals that quadratic forms can change, in an orthonormal basis."""
        return residuals if self.basis is None else self.basis.T @ residuals


class Regime(Enum):
    """What theory says about all minima, by the signs of the output weights."""

    TWO_SIGNED = "two-signed"
    ONE_SIGNED = "one-signed"
    NO_GUARANTEE = "no guarantee"


def regime_of(problem: QuadraticProblem) -> Regime:
    """Where [soltanolkotabi, Thm. 2.1] excludes spurious minima: d neurons of each sign, or of one alone.

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
        blur: bound of the rounding error of every point, which all bounds then make up for; None to trust them, which
            a search may do and a certificate may not.
    """

    problem: QuadraticProblem
    regime: Regime
    spectrum: SquareSpectrum | None
    blur: Blur | None = None

    @classmethod
    def of(
        cls, problem: QuadraticProblem, blur: Blur | None = None, *, rules: SpectrumRules = SPECTRUM_RULES
    ) -> "OptimalityTest":
        """Prepare the test."""
        spectrum = SquareSpectrum.of(problem.points, blur, rules=rules) if rules.allow(problem.points) else None
        return cls(problem, regime_of(problem), spectrum, blur)

    @property
    def is_one_signed(self) -> bool:
        """Whether all predictions have one sign, in the number of neurons of any regime."""
        return min(len(self.problem.positive), len(self.problem.negative)) == 0

    def gap(self, state: State) -> float:
        """How much the loss is above a lower bound of the optimum; never negative.

        Guarantees: an upper bound of ``L - L*``, exact if v has d entries of each sign.
        """
        gap = state.loss
        if self.spectrum is not None and not self.spectrum.fits_all_labels and self.spectrum.is_resolved:
            gap = self._two_signed_gap(state, self.spectrum)
        if self.is_one_signed:
            gap = min(gap, max(0.0, state.loss - self.semidefinite_bound(state.residuals)))
        return gap

    def _two_signed_gap(self, state: State, spectrum: SquareSpectrum) -> float:
        """The part of the residuals that quadratic forms can change, at exact points.

        If points have errors, that is at most ``|P r| + tilt |r - P r|`` with the projection P for points as they are,
        and the residuals have errors themselves.
        """
        problem, coordinates = self.problem, spectrum.coordinates(state.residuals)
        if self.blur is None:
            return problem.loss_of(coordinates)
        square, inside = float(state.residuals @ state.residuals), float(np.linalg.norm(coordinates))
        changed = inside + spectrum.tilt * float(np.sqrt(max(0.0, square - inside**2)))
        size, eps = float(np.linalg.norm(state.matrix, 2)), 4 * float(np.finfo(float).eps)
        sums = eps * (size * np.sum(problem.points**2, axis=1) + np.abs(problem.labels))
        errors = float(np.linalg.norm(size * square_errors(problem.points, self.blur) + sums))
        left = max(0.0, float(np.sqrt(max(0.0, square - changed**2))) - errors)
        return (square - left**2) / (2 * problem.samples)

    def semidefinite_bound(self, residuals: Labels) -> float:
        """Lower bound of the loss of all networks with output weights of this sign, from any residuals.

        A multiple of ``z = r + t`` is best for the smallest t that makes ``sum_i z_i x_i x_i^T`` semidefinite; if
        points have errors, for all points within them.
        """
        problem = self.problem if len(self.problem.positive) else self.problem.mirrored()
        residuals = residuals if len(self.problem.positive) else -residuals
        shift = max(0.0, -smallest_relative_eigenvalue(problem, residuals))
        if self.blur is not None:
            shift = _shift_with_errors(problem, residuals, shift, self.blur)
        if not np.isfinite(shift):
            return 0.0
        multipliers = residuals + shift
        inner, square = float(multipliers @ problem.labels), float(multipliers @ multipliers)
        if self.blur is not None:
            inner += (
                np.finfo(float).eps * np.sqrt(problem.samples) * float(np.abs(multipliers) @ np.abs(problem.labels))
            )
        return inner**2 / (2 * problem.samples * square) if inner < 0 and square > 0 else 0.0


def square_errors(points: Points, blur: Blur) -> Blur:
    """Bound of the Frobenius norm of the error of every ``x x^T``."""
    return (2.0 * np.linalg.norm(points, axis=1) + blur) * blur


def _shift_with_errors(problem: QuadraticProblem, residuals: Labels, shift: float, blur: Blur) -> float:
    """A shift that is large enough for all points within their errors; infinite if none is."""
    errors = square_errors(problem.points, blur)
    # Sums of squares have rounding errors of their own.
    errors += np.finfo(float).eps * np.sqrt(problem.samples) * np.sum(problem.points**2, axis=1)
    smallest = float(scipy.linalg.eigvalsh(problem.weighted_squares(np.ones(problem.samples)))[0])
    room = smallest - float(np.sum(errors))
    return (shift * smallest + float(np.abs(residuals) @ errors)) / room if room > 0 else np.inf


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
