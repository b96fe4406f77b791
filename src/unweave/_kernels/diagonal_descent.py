"""Minibatch gradient descent on the diagonals and shifts of a reparametrised network.

The model is ``y_l = outer_l g_l(right_l M_l (left_l y_{l-1}) + shifts_l)`` with fixed matrices ``M_l``; see
`unweave.identification.peeling.reparametrised`. The outer diagonals are ones, or the inverses of the right ones.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unweave._kernels import double_precision

FUNCTIONS = {
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "erf": jax.scipy.special.erf,
    "gelu": partial(jax.nn.gelu, approximate=False),
    "silu": jax.nn.silu,
    "sin": jnp.sin,
    "gaussian": lambda t: jnp.exp(-(t**2)),
    "identity": lambda t: t,
}


class Diagonals(NamedTuple):
    """What descends: one array per layer, and no left diagonal for the first layer."""

    left: tuple[np.ndarray, ...]
    right: tuple[np.ndarray, ...]
    shifts: tuple[np.ndarray, ...]


def descend(
    diagonals: Diagonals,
    matrices: tuple[np.ndarray, ...],
    names: tuple[str, ...],
    points: np.ndarray,
    values: np.ndarray,
    batches: np.ndarray,
    *,
    rate: float,
    is_inverse_outside: bool,
    averages_outputs: bool,
) -> tuple[Diagonals, float]:
    """One gradient step per row of `batches`, which holds indices of points.

    Returns the diagonals afterwards, and the mean loss over the batches, each before its step.
    """
    with double_precision():
        moved, loss = _descend(
            diagonals, matrices, points, values, batches, rate,
            names=names, is_inverse_outside=is_inverse_outside, averages_outputs=averages_outputs,
        )  # fmt: skip
        return jax.tree.map(np.asarray, moved), float(loss)


def _loss(diagonals, matrices, points, values, names, is_inverse_outside, averages_outputs):
    """Mean over points of the squared error, summed or averaged over outputs."""
    current = points
    for layer, (matrix, name) in enumerate(zip(matrices, names, strict=True)):
        current = current * diagonals.left[layer - 1] if layer else current
        current = FUNCTIONS[name]((current @ matrix.T) * diagonals.right[layer] + diagonals.shifts[layer])
        if is_inverse_outside and layer < len(matrices) - 1:
            current = current / diagonals.right[layer]
    squares = (current - values) ** 2
    return jnp.mean(squares) if averages_outputs else jnp.mean(jnp.sum(squares, axis=1))


@partial(jax.jit, static_argnames=("names", "is_inverse_outside", "averages_outputs"))
def _descend(diagonals, matrices, points, values, batches, rate, *, names, is_inverse_outside, averages_outputs):
    def one(current, rows):
        loss, slopes = jax.value_and_grad(_loss)(
            current, matrices, points[rows], values[rows], names, is_inverse_outside, averages_outputs
        )
        return jax.tree.map(lambda value, slope: value - rate * slope, current, slopes), loss

    moved, losses = jax.lax.scan(one, diagonals, batches)
    return moved, jnp.mean(losses)
