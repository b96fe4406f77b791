"""What the experiments of [goel] plant, and how far found rows are from true ones."""

from collections.abc import Callable

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, PerPoint, Points, Vector
from unweave.networks.planted import any_of, pairs_only, sum_and_pairs

UPPER: dict[str, Callable[[Points], Points]] = {
    "sum": lambda values: np.sum(values, axis=1, keepdims=True),
    "OR": any_of,
    "sum and pairs": sum_and_pairs,
    "pairs only": pairs_only,
}
# A row that none was found for.
MISSED = 90.0


def orthonormal_rows(rng: np.random.Generator, *, rows: int, inputs: int) -> Atoms:
    """Plant random orthonormal rows."""
    return np.linalg.qr(rng.standard_normal((inputs, rows)))[0].T


def labels_of(points: Points, rows: Atoms, *, unit: Activation, threshold: float, upper: str) -> PerPoint:
    """Give the labels ``P(u(<w_1, x> - t), ..)`` for one of the functions P of the table."""
    return UPPER[upper](unit(points @ rows.T - threshold))[:, 0]


def turned(row: Vector, angle: float, rng: np.random.Generator) -> Vector:
    """Give a unit vector at this angle in radians to a unit row, in a random direction."""
    across = rng.standard_normal(len(row))
    across -= (across @ row) * row
    return np.cos(angle) * row + np.sin(angle) * across / np.linalg.norm(across)


def row_angles(truth: Atoms, found: Float64[np.ndarray, "found inputs"], *, is_signed: bool) -> PerNeuron:
    """Measure the angle in degrees of every true row to its own found one; 90 where there is none."""
    cosines = truth @ found.T if is_signed else np.abs(truth @ found.T)
    mine, its = scipy.optimize.linear_sum_assignment(-cosines)
    angles = np.full(len(truth), MISSED)
    signs = np.where((truth[mine] * found[its]).sum(axis=1) < 0, -1.0, 1.0)[:, None] if not is_signed else 1.0
    distances = np.linalg.norm(truth[mine] - signs * found[its], axis=1)
    angles[mine] = np.degrees(2 * np.arcsin(np.clip(distances / 2, 0.0, 1.0)))
    return angles
