"""Batched ascent of ``Phi(u) = ||P(u u^T)||^2`` on the sphere: power steps and Gauss-Newton steps.

`P` projects on a span of symmetric matrices. The span is given by packed orthonormal columns, either of itself or,
where that is smaller, of its complement (``Phi = 1 - ||P_c(u u^T)||^2``). Everything is written for a block of starts,
as matrix products.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64
from scipy.linalg import lapack

from unweave.arrays import upper_triangle

Starts = Float64[np.ndarray, "starts inputs"]
Numbers = Float64[np.ndarray, "starts"]

# Starts in flight, to bound the memory: 64 to 256 are equally fast at 10 to 50 inputs, 16 takes up to twice as long.
BLOCK = 128


@dataclass(frozen=True)
class SphereRules:
    """How Gauss-Newton steps on the sphere are damped and judged. Heuristic: they decide which atom a start reaches.

    Args:
        first_damping: of every start. Chosen: an eighth of the largest curvature of ``1 - Phi`` at an atom, which is 4.
        longest_step: on the unit sphere. Chosen: half a radian stays on the side of the start.
        tied_defects: differences of ``1 - Phi`` that rounding explains (some 50 eps for numbers of size 1); below them
            only the residual tells better from worse.
        factors: of the damping after a step that lowers ``1 - Phi``, and after one that does not. Chosen: as quick as
            usual for Levenberg-Marquardt, and such that one success outweighs one failure.
        steps_per_look: steps between two looks at who has converged. Chosen: quadratic convergence takes those that
            have down to rounding in as many.
    """

    first_damping: float = 0.5
    longest_step: float = 0.5
    tied_defects: float = 1e-14
    factors: tuple[float, float] = (0.2, 4.0)
    steps_per_look: int = 6


RULES = SphereRules()


class Ascent(NamedTuple):
    """Where the starts ended: points, ``1 - Phi``, stationarity residual and steps taken."""

    points: Starts
    defects: Numbers
    residuals: Numbers
    steps: int


class _Images(NamedTuple):
    """At every point: ``1 - Phi``, ``P(u u^T) u``, the stationarity residual, and ``C_j u`` for every column C_j."""

    defects: Numbers
    images: Starts
    residuals: Numbers
    applied: Float64[np.ndarray, "starts inputs columns"]

    def where(self, chosen: Bool[np.ndarray, "starts"], other: "_Images") -> "_Images":
        """Take the chosen starts from here, the rest from `other`."""
        return _Images(*(_choose(chosen, mine, its) for mine, its in zip(self, other, strict=True)))


def ascend(starts: Starts, columns: np.ndarray, *, is_complement: bool, step: float, steps: int) -> Ascent:
    """Take a fixed number of power steps ``u <- normalise(u + 2 step P(u u^T) u)`` from every start."""
    span = _Span(columns, is_complement=is_complement, inputs=starts.shape[1])
    points, defects, residuals = np.array(starts), np.empty(len(starts)), np.empty(len(starts))
    for first in range(0, len(starts), BLOCK):
        block = slice(first, first + BLOCK)
        u = points[block]
        for _ in range(steps):
            u = _normalise(u + 2.0 * step * span.project(u)[1])
        points[block] = u
        defects[block], _, residuals[block] = span.project(u)
    return Ascent(points, defects, residuals, steps)


def polish(
    starts: Starts,
    columns: np.ndarray,
    *,
    is_complement: bool,
    residual_tol: float,
    steps: int,
    rules: SphereRules = RULES,
) -> Ascent:
    """Take damped Gauss-Newton steps on ``1 - Phi`` until the residual of every start is below `residual_tol`.

    ``1 - Phi`` is a sum of squares that vanishes at the atoms of the span, so the steps converge
    quadratically there. A start that has converged, or has used up its steps, leaves the block of
    those in flight and the next one takes its place. Hundreds of starts move at once, with a damping each and on the
    sphere, hence apart from `numerics.least_squares`.
    """
    span = _Span(columns, is_complement=is_complement, inputs=starts.shape[1])
    points, damping = np.array(starts), np.full(len(starts), rules.first_damping)
    defects, residuals = np.full(len(starts), np.inf), np.full(len(starts), np.inf)
    taken = np.zeros(len(starts), dtype=int)
    waiting = np.arange(len(starts))
    while len(waiting):
        rows, waiting = waiting[:BLOCK], waiting[BLOCK:]
        moved = _advance(span, points[rows], damping[rows], rules)
        points[rows], damping[rows], defects[rows], residuals[rows] = moved
        taken[rows] += rules.steps_per_look
        unfinished = (residuals[rows] > residual_tol) & (taken[rows] < steps)
        waiting = np.concatenate([rows[unfinished], waiting])
    return Ascent(points, defects, residuals, int(np.max(taken, initial=0)))


def _advance(
    span: "_Span", u: Starts, damping: Numbers, rules: SphereRules
) -> tuple[Starts, Numbers, Numbers, Numbers]:
    """Take the steps up to the next look; returns points, damping, ``1 - Phi`` and residuals."""
    here = span.images(u)
    for _ in range(rules.steps_per_look):
        move = _gauss_newton_step(u, damping, here, is_complement=span.is_complement, longest=rules.longest_step)
        trial = _normalise(u + move)
        there = span.images(trial)
        tied = np.abs(there.defects - here.defects) <= rules.tied_defects
        better = (there.defects < here.defects) & ~tied | tied & (there.residuals < here.residuals)
        u_next, next_images = _choose(better, trial, u), there.where(better, here)
        lost = ~better & ~tied
        if np.any(lost):
            u_next[lost] = _normalise(u[lost] + 4.0 * here.images[lost])
            for array, part in zip(next_images, span.images(u_next[lost]), strict=True):
                array[lost] = part
        u, here, damping = u_next, next_images, np.where(better, *rules.factors) * damping
    return u, damping, here.defects, here.residuals


def _gauss_newton_step(u: Starts, damping: Numbers, here: _Images, *, is_complement: bool, longest: float) -> Starts:
    """Step along the sphere; ``8 sum_j (C_j u)(C_j u)^T`` is the Gauss-Newton matrix of ``sum_j (u^T C_j u)^2``.

    In terms of the span itself the same matrix is ``4 I - 8 sum_i (B_i u)(B_i u)^T`` on the tangent space.
    """
    diagonal = np.arange(u.shape[1])
    gram = np.matmul(here.applied, here.applied.transpose(0, 2, 1))
    gram *= 8.0 if is_complement else -8.0
    if not is_complement:
        gram[:, diagonal, diagonal] += 4.0
    along = np.matmul(gram, u[:, :, None])[:, :, 0]
    curvature = np.einsum("ui,ui->u", along, u)
    # gram - along u^T - u along^T + (curvature + 1) u u^T, and the damping.
    across = 0.5 * (curvature + 1.0)[:, None] * u - along
    mixed = across[:, :, None] * u[:, None, :]
    tangent = gram + mixed + mixed.transpose(0, 2, 1)
    tangent[:, diagonal, diagonal] += damping[:, None]
    gradient = 4.0 * (here.images - (1.0 - here.defects)[:, None] * u)
    moves = _solve_definite(tangent, gradient)
    lengths = np.linalg.norm(moves, axis=1, keepdims=True)
    return moves * np.minimum(1.0, longest / np.maximum(lengths, 1e-300))


def _solve_definite(matrices: Float64[np.ndarray, "starts inputs inputs"], right: Starts) -> Starts:
    """Solve for every start; zero where the matrix is not positive definite: the start stays, its damping grows."""
    solutions = np.zeros_like(right)
    for row in range(len(right)):
        _, solution, info = lapack.dposv(matrices[row].T, right[row])  # pyright: ignore[reportAttributeAccessIssue]
        if info == 0:
            solutions[row] = solution
    return solutions


class _Span:
    """The projection, with its columns laid out for the two kinds of products. Lives inside one call only."""

    def __init__(self, columns: np.ndarray, *, is_complement: bool, inputs: int) -> None:
        self.is_complement = is_complement
        self._rows, self._cols, weights = upper_triangle(inputs)
        position = np.empty((inputs, inputs), dtype=int)
        position[self._rows, self._cols] = position[self._cols, self._rows] = np.arange(len(weights))
        self._weighted = columns * weights[:, None]
        # Entry (i, j) of every matrix C_q, as (i, j q) and as (q, i j).
        self._matrices = np.ascontiguousarray((columns / weights[:, None])[position].reshape(inputs, -1))
        self._transposed = np.ascontiguousarray((columns / weights[:, None])[position.ravel()].T)

    def project(self, u: Starts) -> tuple[Numbers, Starts, Numbers]:
        """``1 - Phi``, ``P(u u^T) u`` and the stationarity residual of every row."""
        coefficients = (u[:, self._rows] * u[:, self._cols]) @ self._weighted
        matrices = (coefficients @ self._transposed).reshape(len(u), *2 * u.shape[1:])
        return self._judge(u, coefficients, np.matmul(matrices, u[:, :, None])[:, :, 0])

    def images(self, u: Starts) -> _Images:
        """The same, with the images ``C_j u`` that make a Gauss-Newton matrix."""
        applied = (u @ self._matrices).reshape(*u.shape, -1)
        coefficients = np.matmul(u[:, None, :], applied)[:, 0]
        image = np.matmul(applied, coefficients[:, :, None])[:, :, 0]
        return _Images(*self._judge(u, coefficients, image), applied)

    def _judge(self, u: Starts, coefficients: np.ndarray, image: Starts) -> tuple[Numbers, Starts, Numbers]:
        square = np.einsum("uq,uq->u", coefficients, coefficients)
        defect = square if self.is_complement else 1.0 - square
        image = u - image if self.is_complement else image
        return defect, image, np.linalg.norm(image - (1.0 - defect)[:, None] * u, axis=1)


def _choose(chosen: Bool[np.ndarray, "starts"], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.where(chosen.reshape(-1, *[1] * (one.ndim - 1)), one, other)


def _normalise(vectors: Starts) -> Starts:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
