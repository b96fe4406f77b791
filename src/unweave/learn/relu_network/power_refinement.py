"""Tensor power iteration for directions that are not orthogonal.

Let ``T = sum_i c_i w_i (x) ... (x) w_i`` have order ``k >= 2l + 1``. For orthonormal directions the power step is
``w <- T(., w, ..., w)``. Here the other axes are contracted with duals instead: tensors D_i of order l and D'_i of
order ``k - 1 - l`` with ``<D_i, w_j (x) ...> = 1`` for ``i = j`` and 0 otherwise. Then ``T(., D_i, D'_i) = c_i w_i``,
and because both duals are nearly orthogonal to the other terms, one step squares the error of the directions.
"""

from collections.abc import Sequence
from math import factorial

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms
from unweave.numerics.symmetric_tensors import Tensor, flattened, packed_powers


def power_step(tensors: Sequence[Tensor], directions: Atoms, *, order: int) -> Atoms:
    """One step on all directions at once, with every tensor weighted by its coefficients and ``1 / k!``.

    Args:
        tensors: symmetric, of orders k of at least ``2 order + 1``, with the same directions.
        directions: unit vectors near the true ones, up to sign, one per row.
        order: the l from which on the powers of the directions are linearly independent.

    Assumes: powers of this order are linearly independent. A coefficient that vanishes in one tensor is no loss if it
        does not in another: its image there has no weight.
    Guarantees: the true directions are fixed points for exact tensors, with quadratic convergence nearby.
    """
    moved = np.zeros_like(directions)
    for tensor in tensors:
        rest = tensor.ndim - 1 - order
        images = np.einsum(
            "apq,pi,qi->ia",
            flattened(tensor, (1, order, rest)),
            _duals(directions, order),
            _duals(directions, rest),
            optimize=True,
        )
        coefficients = np.einsum("ia,ia->i", images, directions)
        moved += coefficients[:, None] * images / factorial(tensor.ndim)
    sizes = np.linalg.norm(moved, axis=1, keepdims=True)
    # A direction that no tensor sees stays where it is.
    return np.where(sizes > 0, moved / np.where(sizes > 0, sizes, 1.0), directions)


def _duals(directions: Atoms, order: int) -> Float64[np.ndarray, "packed neurons"]:
    """Packed tensors whose inner products with the powers of the directions are those of the unit matrix."""
    return np.linalg.pinv(packed_powers(directions, order))
