"""Simultaneous diagonalisation (Jennrich's algorithm): rank-one terms of a tensor with symmetric slices.

The tensor is ``T = sum_i u_i (x) u_i (x) z_i`` with linearly independent ``u_i`` and pairwise non-parallel ``z_i``.
Contracted with random vectors along its last axis it gives matrices ``A = U D U^T`` and ``B = U D' U^T``, and the
eigenvectors of ``A B^-1`` are the ``u_i``. Each ``u_i`` may be a power of a vector: flattened moments of any order
have this form, which is how more terms than inputs become linearly independent.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import pack, pack_squares
from unweave.exceptions import InvalidInput
from unweave.numerics.matrix_subspace import gap_after, rank_at_gap

Array = np.ndarray


@dataclass(frozen=True)
class RankOneTerms:
    """Terms ``u_i (x) u_i (x) z_i`` of a tensor, and what supports them.

    Args:
        factors: the unit vectors u_i, one per row.
        last_factors: the vectors z_i, by least squares.
        residual: norm of what the terms leave, relative to the tensor.
        singular_values: of the tensor as a matrix ``entries x (entries slices)``, for the rank.
        noise: singular value that errors of the tensor explain.
        condition: condition number of the matrix of factors.
        denominator_condition: condition number of the matrix B of the draw that was kept.
        complex_pairs: eigenvalues of that draw that came in conjugate pairs; above 0 errors are large.
        draws: random contractions that were tried.
        rejected: those of them whose B was too ill-conditioned.
        joint_steps: accepted steps of the joint diagonalisation of all slices.
    """

    factors: Float64[np.ndarray, "rank entries"]
    last_factors: Float64[np.ndarray, "rank slices"]
    residual: float
    singular_values: Float64[np.ndarray, "values"]
    noise: float
    condition: float
    denominator_condition: float
    complex_pairs: int
    draws: int
    rejected: int
    joint_steps: int

    @property
    def rank(self) -> int:
        """Number of terms."""
        return len(self.factors)

    @property
    def gap(self) -> float:
        """Ratio of the last singular value inside to the first outside (infinite if there is none)."""
        return gap_after(self.singular_values, self.rank)


@dataclass(frozen=True)
class _Draw:
    """Eigenvectors of one random contraction, in the column space of the tensor."""

    vectors: Array
    residual: float
    condition: float
    pairs: int
    steps: int = 0


@dataclass(frozen=True)
class Jennrich:
    """Settings of the simultaneous diagonalisation [awasthi, Thm. 1.5].

    Args:
        draws: random contractions; the one whose terms leave the smallest residual is kept, which is a better
            guide than the gap of the eigenvalues.
        worst_condition: condition number of the denominator above which a draw is rejected.
        joint_steps: steps of the joint diagonalisation of all slices that starts from the best draw.
        largest_step: norm that such a step is shortened to, so that it stays invertible: any below 1 does.
        parallel_tol: terms whose last factors are parallel up to this can't be rotated into each other by the slices;
            chosen, above rounding.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    draws: int = 20
    worst_condition: float = 1e10
    joint_steps: int = 30
    largest_step: float = 0.5
    parallel_tol: float = 1e-12

    def __call__(
        self,
        tensor: Float64[np.ndarray, "entries entries slices"],
        rng: np.random.Generator,
        *,
        rank: int | None = None,
        floor: float = 0.0,
        anchor: Float64[np.ndarray, "entries entries"] | None = None,
    ) -> RankOneTerms:
        """Find the terms of `tensor`.

        Args:
            tensor: with symmetric slices; slight asymmetry is averaged out.
            rng: for the contractions.
            rank: number of terms; found from the largest gap of the singular values if omitted.
            floor: singular value that errors of the tensor explain; such are never counted.
            anchor: a matrix ``sum_i c_i u_i u_i^T`` with all c_i away from zero to take as every denominator, if
                one is known better than the slices.

        Raises:
            InvalidInput: if `rank` exceeds the size of the tensor.

        Assumes: independent u_i and pairwise non-parallel z_i.
        Guarantees: exact terms of an exact tensor, with probability 1; errors in proportion to those of the
            tensor, times powers of the condition numbers [awasthi, Thm. 1.5].
        """
        if rank is not None and not 0 <= rank <= len(tensor):
            raise InvalidInput(f"a tensor with slices of size {len(tensor)} can't have rank={rank}: lower the rank.")
        symmetric = 0.5 * (tensor + tensor.transpose(1, 0, 2))
        basis, values = _column_space(symmetric)
        rounding = np.finfo(float).eps * max(tensor.shape) * float(np.max(values, initial=0.0))
        noise = max(floor, rounding)
        found = rank_at_gap(values, noise) if rank is None else rank
        basis = basis[:, :found]
        slices = _compressed(np.einsum("ia,ijs,jb->sab", basis, symmetric, basis, optimize=True))
        denominator = None if anchor is None else basis.T @ (0.5 * (anchor + anchor.T)) @ basis
        best, rejected = self._best_draw(slices, denominator, rng) if found else (_empty_draw(), 0)
        best = self._jointly_diagonalised(best, slices)
        factors = np.ascontiguousarray((basis @ best.vectors).T)
        last, residual = _last_factors(factors, symmetric)
        return RankOneTerms(
            factors=factors,
            last_factors=last,
            residual=residual,
            singular_values=values,
            noise=noise,
            condition=_condition(factors),
            denominator_condition=best.condition,
            complex_pairs=best.pairs,
            draws=self.draws if found else 0,
            rejected=rejected,
            joint_steps=best.steps,
        )

    def _best_draw(self, slices: Array, denominator: Array | None, rng: np.random.Generator) -> tuple[_Draw, int]:
        """The draw with the smallest residual; if all denominators are too ill-conditioned, the best of these."""
        drawn = [_drawn(slices, denominator, rng) for _ in range(self.draws)]
        sound = [draw for draw in drawn if draw.condition <= self.worst_condition]
        return min(sound or drawn, key=lambda draw: draw.residual), len(drawn) - len(sound)

    def _jointly_diagonalised(self, draw: _Draw, slices: Array) -> _Draw:
        """Make all slices as diagonal as possible at once, starting from one draw; never a larger residual.

        Every step solves the linearised problem for each pair of terms in closed form (fast Frobenius diagonalisation).
        """
        for step in range(self.joint_steps if len(draw.vectors) > 1 else 0):
            inverse, _, rank, _ = np.linalg.lstsq(draw.vectors, np.eye(len(draw.vectors)), rcond=None)
            if rank < len(inverse):
                break
            change = self._diagonalising_step(inverse @ slices @ inverse.T)
            # ``V <- (I + W) V`` for the inverse V of the vectors.
            moved = scipy.linalg.solve((np.eye(len(inverse)) + change).T, draw.vectors.T).T
            moved = moved / np.linalg.norm(moved, axis=0)
            residual = _unexplained(moved, slices)
            if not residual < draw.residual:
                break
            draw = _Draw(moved, residual, draw.condition, draw.pairs, step + 1)
        return draw

    def _diagonalising_step(self, matrices: Float64[Array, "slices rank rank"]) -> Float64[Array, "rank rank"]:
        """The W that minimises the off-diagonal part of ``D + W D + D W^T + E`` over all slices D + E."""
        diagonals = np.einsum("sii->si", matrices)
        products = diagonals.T @ diagonals
        # leaks[i, j] = sum_s E_s[i, j] D_s[j]
        leaks = np.einsum("sij,sj->ij", matrices, diagonals)
        sizes = np.diag(products)
        determinants = np.outer(sizes, sizes) - products**2
        is_fixed = determinants <= self.parallel_tol * np.outer(sizes, sizes)
        raw = products * leaks.T - sizes[:, None] * leaks
        change = np.where(is_fixed, 0.0, raw / np.where(is_fixed, 1.0, determinants))
        np.fill_diagonal(change, 0.0)
        return change * min(1.0, self.largest_step / max(float(np.linalg.norm(change)), np.finfo(float).tiny))


def _empty_draw() -> _Draw:
    return _Draw(np.empty((0, 0)), residual=0.0, condition=1.0, pairs=0)


def _column_space(tensor: Array) -> tuple[Array, Array]:
    """Left singular vectors and singular values of the tensor as a matrix with all slices side by side."""
    unfolded = tensor.reshape(len(tensor), -1)
    tall = unfolded.shape[1] > len(unfolded)
    # The triangular factor of the transpose has the same left singular vectors.
    matrix = np.asarray(np.linalg.qr(unfolded.T, mode="r")).T if tall else unfolded
    left, values, _ = np.linalg.svd(matrix)
    return left, values


def _compressed(slices: Float64[Array, "slices rank rank"]) -> Float64[Array, "few rank rank"]:
    """Fewer slices with the same sums of squares: an orthogonal change of the last axis changes no draw's law."""
    rank = slices.shape[1]
    if rank == 0 or len(slices) <= rank * rank:
        return slices
    triangle = np.asarray(np.linalg.qr(slices.reshape(len(slices), -1), mode="r"))
    return triangle.reshape(-1, rank, rank)


def _drawn(slices: Array, denominator: Array | None, rng: np.random.Generator) -> _Draw:
    above, below = rng.standard_normal((2, len(slices)))
    numerator = np.tensordot(above, slices, axes=1)
    matrix = np.tensordot(below, slices, axes=1) if denominator is None else denominator
    condition = _condition(matrix)
    # (B^-1 A)^T = A B^-1 for symmetric matrices; least squares also serves a singular B.
    ratio = np.linalg.lstsq(matrix, numerator, rcond=None)[0].T
    eigenvalues, eigenvectors = np.linalg.eig(ratio)
    vectors, pairs = _real_vectors(eigenvalues, eigenvectors)
    return _Draw(vectors, _unexplained(vectors, slices), condition, pairs)


def _real_vectors(eigenvalues: Array, eigenvectors: Array) -> tuple[Array, int]:
    """Unit columns; a conjugate pair stands for two close real ones, whose plane is kept."""
    columns, pairs = [], 0
    for value, vector in zip(eigenvalues, eigenvectors.T, strict=True):
        if np.imag(value) > 0:
            columns += [vector.real + vector.imag, vector.real - vector.imag]
            pairs += 1
        elif np.imag(value) == 0:
            columns.append(np.real(vector))
    vectors = np.array(columns).T
    return vectors / np.linalg.norm(vectors, axis=0), pairs


def _unexplained(vectors: Array, slices: Array) -> float:
    """Norm of the part of the slices outside the span of the squares of the columns."""
    squares, packed = pack_squares(np.ascontiguousarray(vectors.T)).T, pack(slices).T
    return float(np.linalg.norm(packed - squares @ np.linalg.lstsq(squares, packed, rcond=None)[0]))


def _last_factors(factors: Array, tensor: Array) -> tuple[Array, float]:
    """Least-squares z_i for given u_i, and the relative residual."""
    squares, packed = pack_squares(factors).T, pack(tensor.transpose(2, 0, 1)).T
    last = np.linalg.lstsq(squares, packed, rcond=None)[0] if len(factors) else np.zeros((0, tensor.shape[2]))
    size = float(np.linalg.norm(packed))
    return last, float(np.linalg.norm(packed - squares @ last)) / size if size > 0 else 0.0


def _condition(matrix: Array) -> float:
    values = np.linalg.svd(matrix, compute_uv=False) if matrix.size else np.ones(1)
    return float(values[0] / values[-1]) if values[-1] > 0 else np.inf
