"""The steps of `unweave.numerics.power_steps` compiled by JAX, for `subspace_power.py --jax` to compare with.

All starts are in flight at once, and finished ones are filled up by others, so that every call has the same shape
and is compiled once.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from unweave._kernels import double_precision
from unweave.arrays import upper_triangle
from unweave.numerics.power_steps import RULES, Ascent, SphereRules


def ascend(starts: np.ndarray, columns: np.ndarray, *, is_complement: bool, step: float, steps: int) -> Ascent:
    """Take a fixed number of power steps from every start."""
    with double_precision():
        moved = _ascend(starts, columns, *_layout(starts.shape[1]), step, steps, is_complement=is_complement)
        return Ascent(*map(np.asarray, moved), steps)


def polish(
    starts: np.ndarray,
    columns: np.ndarray,
    *,
    rules: SphereRules = RULES,
    is_complement: bool,
    residual_tol: float,
    steps: int,
) -> Ascent:
    """Take damped Gauss-Newton steps until every start has converged."""
    layout, taken = _layout(starts.shape[1]), 0
    # Points, damping, 1 - Phi, residuals.
    state = [np.array(starts), np.full(len(starts), rules.first_damping), *np.full((2, len(starts)), np.inf)]
    with double_precision():
        while taken < steps and len(rows := np.flatnonzero(state[3] > residual_tol)):
            filled = np.resize(rows, len(starts))
            moved = _polish(
                state[0][filled], state[1][filled], columns, *layout, is_complement=is_complement, rules=rules
            )
            for array, part in zip(state, moved, strict=True):
                array[rows] = np.asarray(part)[: len(rows)]
            taken += rules.steps_per_look
    return Ascent(state[0], state[2], state[3], taken)


def _layout(inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows, columns, weights = upper_triangle(inputs)
    position = np.empty((inputs, inputs), dtype=np.int32)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows.astype(np.int32), columns.astype(np.int32), weights, position


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


def _gauss_newton_step(u, damping, image, defect, columns, position, weights, is_complement, longest):
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
    return move * jnp.minimum(1.0, longest / jnp.maximum(length, 1e-300))


@partial(jax.jit, static_argnames=("is_complement", "rules"))
def _polish(u, damping, columns, rows, cols, weights, position, *, is_complement, rules):
    def project(u):
        return _projection(u, columns, rows, cols, weights, position, is_complement)

    def one(_, state):
        u, damping = state
        defect, image, residual = project(u)
        at = u, damping, image, defect
        move = _gauss_newton_step(*at, columns, position, weights, is_complement, rules.longest_step)
        trial = _normalise(u + move)
        trial_defect, _, trial_residual = project(trial)
        # At the rounding floor of 1 - Phi only the residual still tells better from worse.
        tied = jnp.abs(trial_defect - defect) <= rules.tied_defects
        better = (trial_defect < defect) & ~tied | tied & (trial_residual < residual)
        fallback = jnp.where(tied[:, None], u, _normalise(u + 4.0 * image))
        return jnp.where(better[:, None], trial, fallback), jnp.where(better, *rules.factors) * damping

    u, damping = jax.lax.fori_loop(0, rules.steps_per_look, one, (u, damping))
    defect, _, residual = project(u)
    return u, damping, defect, residual
