"""Batched ascent of ``Phi(u) = ||P(u u^T)||^2`` on the sphere: power steps and Gauss-Newton steps.

`P` projects on a span of symmetric matrices. The span is given by packed orthonormal columns,
either of itself or, where that is smaller, of its complement (``Phi = 1 - ||P_c(u u^T)||^2``).
Columns of zeros do no harm, so callers may pad.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unweave._kernels import double_precision, padded_length
from unweave.arrays import upper_triangle

FIRST_DAMPING = 0.5
LONGEST_STEP = 0.5
# Starts in flight per compiled call: few shapes to compile, and an unfinished start holds nobody up.
SMALL_POOL, LARGE_POOL = 32, 128
STEPS_PER_CALL = 6


class Ascent(NamedTuple):
    """Where the starts ended: points, ``1 - Phi``, stationarity residual and steps taken."""

    points: np.ndarray
    defects: np.ndarray
    residuals: np.ndarray
    steps: int


def ascend(starts: np.ndarray, columns: np.ndarray, *, is_complement: bool, step: float, steps: int) -> Ascent:
    """Take a fixed number of power steps ``u <- normalise(u + 2 step P(u u^T) u)`` from every start."""
    layout, padded, pool = _layout(starts.shape[1]), _pad_columns(columns), _pool_size(starts)
    parts = []
    with double_precision():
        for first in range(0, len(starts), pool):
            part = starts[first : first + pool]
            moved = _ascend(_fill(part, pool), padded, *layout, step, steps, is_complement=is_complement)
            parts.append([np.asarray(array)[: len(part)] for array in moved])
    points, defects, residuals = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Ascent(points, defects, residuals, steps)


def polish(starts: np.ndarray, columns: np.ndarray, *, is_complement: bool, residual_tol: float, steps: int) -> Ascent:
    """Damped Gauss-Newton on ``1 - Phi`` until the residual of every start is below `residual_tol`.

    ``1 - Phi`` is a sum of squares that vanishes at the atoms of the span, so the steps converge
    quadratically there. A start that has converged, or has used up its steps, leaves the pool of
    those in flight and the next one takes its place.
    """
    layout, padded, pool = _layout(starts.shape[1]), _pad_columns(columns), _pool_size(starts)
    points, damping = np.array(starts), np.full(len(starts), FIRST_DAMPING)
    defects, residuals = np.full(len(starts), np.inf), np.full(len(starts), np.inf)
    taken = np.zeros(len(starts), dtype=int)
    waiting = np.arange(len(starts))
    with double_precision():
        while len(waiting):
            rows, waiting = waiting[:pool], waiting[pool:]
            moved = _polish(
                _fill(points[rows], pool), _fill(damping[rows], pool), padded, *layout, STEPS_PER_CALL,
                is_complement=is_complement,
            )  # fmt: skip
            points[rows], damping[rows], defects[rows], residuals[rows] = (
                np.asarray(array)[: len(rows)] for array in moved
            )
            taken[rows] += STEPS_PER_CALL
            unfinished = (residuals[rows] > residual_tol) & (taken[rows] < steps)
            waiting = np.concatenate([rows[unfinished], waiting])
    return Ascent(points, defects, residuals, int(np.max(taken, initial=0)))


def _layout(inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows, columns, weights = upper_triangle(inputs)
    position = np.empty((inputs, inputs), dtype=np.int32)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows.astype(np.int32), columns.astype(np.int32), weights, position


def _pad_columns(columns: np.ndarray) -> np.ndarray:
    missing = padded_length(columns.shape[1]) - columns.shape[1]
    return np.pad(columns, ((0, 0), (0, missing)))


def _pool_size(starts: np.ndarray) -> int:
    return SMALL_POOL if len(starts) <= SMALL_POOL else LARGE_POOL


def _fill(rows: np.ndarray, pool: int) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[:1], pool - len(rows), axis=0)])


def _normalise(vectors: jax.Array) -> jax.Array:
    return vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)


def _projection(u, columns, rows, cols, weights, position, is_complement):
    """``1 - Phi``, ``P(u u^T) u`` and the stationarity residual of every row."""
    coefficients = (u[:, rows] * u[:, cols] * weights) @ columns
    matrix = ((coefficients @ columns.T) / weights)[:, position]
    image = jnp.einsum("rij,rj->ri", matrix, u)
    square = jnp.sum(coefficients**2, axis=1)
    defect = square if is_complement else 1.0 - square
    image = u - image if is_complement else image
    residual = jnp.linalg.norm(image - (1.0 - defect)[:, None] * u, axis=1)
    return defect, image, residual


@partial(jax.jit, static_argnames=("is_complement",))
def _ascend(u, columns, rows, cols, weights, position, step, steps, *, is_complement):
    def one(_, u):
        _, image, _ = _projection(u, columns, rows, cols, weights, position, is_complement)
        return _normalise(u + 2.0 * step * image)

    u = jax.lax.fori_loop(0, steps, one, u)
    defect, _, residual = _projection(u, columns, rows, cols, weights, position, is_complement)
    return u, defect, residual


def _gauss_newton_step(u, damping, image, defect, columns, position, weights, is_complement):
    """Tangent step: ``8 sum_j (C_j u)(C_j u)^T`` is the Gauss-Newton matrix of ``sum_j (u^T C_j u)^2``.

    In terms of the span itself the same matrix is ``4 I - 8 sum_i (B_i u)(B_i u)^T`` on the tangent space.
    """
    inputs = u.shape[1]
    matrices = (columns / weights[:, None])[position].reshape(inputs, -1)
    applied = (u @ matrices).reshape(len(u), inputs, columns.shape[1])
    gram = 8.0 * jnp.einsum("riq,rjq->rij", applied, applied)
    gram = gram if is_complement else 4.0 * jnp.eye(inputs) - gram
    along = jnp.einsum("rij,rj->ri", gram, u)
    curvature = jnp.sum(along * u, axis=1)
    outer = u[:, :, None] * u[:, None, :]
    mixed = along[:, :, None] * u[:, None, :]
    tangent = gram - mixed - jnp.swapaxes(mixed, 1, 2) + (curvature + 1.0)[:, None, None] * outer
    tangent = tangent + damping[:, None, None] * jnp.eye(inputs)
    gradient = 4.0 * (image - (1.0 - defect)[:, None] * u)
    factor = jnp.linalg.cholesky(tangent)
    move = jax.scipy.linalg.cho_solve((factor, True), gradient[:, :, None])[:, :, 0]
    move = jnp.where(jnp.isfinite(move), move, 0.0)
    length = jnp.linalg.norm(move, axis=1, keepdims=True)
    return move * jnp.minimum(1.0, LONGEST_STEP / jnp.maximum(length, 1e-300))


@partial(jax.jit, static_argnames=("is_complement",))
def _polish(u, damping, columns, rows, cols, weights, position, steps, *, is_complement):
    def project(u):
        return _projection(u, columns, rows, cols, weights, position, is_complement)

    def one(_, state):
        u, damping = state
        defect, image, residual = project(u)
        move = _gauss_newton_step(u, damping, image, defect, columns, position, weights, is_complement)
        trial = _normalise(u + move)
        trial_defect, _, trial_residual = project(trial)
        # At the rounding floor of 1 - Phi only the residual still tells better from worse.
        tied = jnp.abs(trial_defect - defect) <= 1e-14
        better = (trial_defect < defect) & ~tied | tied & (trial_residual < residual)
        fallback = jnp.where(tied[:, None], u, _normalise(u + 4.0 * image))
        return jnp.where(better[:, None], trial, fallback), jnp.where(better, 0.2 * damping, 4.0 * damping)

    u, damping = jax.lax.fori_loop(0, steps, one, (u, damping))
    defect, _, residual = project(u)
    return u, damping, defect, residual
