"""Orthonormal rows under an even activation, without any threshold [goel, Thm. 10, with its constant corrected].

On the sphere, with ``y_i`` the squares of the coordinates along the rows,
``E[f h_4(z)] = sum_i a_i y_i^2 + sum_{i<j} g_ij y_i y_j`` with ``a_i = u_4 sum_{S containing i} c_S u_0^(|S| - 1)`` and
``g_ij = sqrt 6 u_2^2 sum_{S containing i, j} c_S u_0^(|S| - 2)``. Maxima of the absolute value are single rows.
"""

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerPoint, Points
from unweave.learn.lowest_layer.directions import WhitenedPower
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate


def even_rows(
    points: Points,
    labels: PerPoint,
    rng: np.random.Generator,
    *,
    rank: int,
    coefficient_4: float,
) -> Atoms:
    """Rows from the moment of order 4, one after the other in the complement of those before; signs are arbitrary.

    Args:
        points: standard Gaussian samples.
        labels: one per sample.
        rng: for the starts.
        rank: number of rows.
        coefficient_4: Hermite coefficient of order 4 of the activation; only its sign is used.

    Assumes: orthonormal rows, and `row_margin` above zero for every pair.
    """
    inputs = points.shape[1]
    source = ArraySource(points, labels - labels.mean())
    moments = accumulate(source, LabelMoments(Coordinates.identity(inputs), 4)).finalise().whole
    # Orthonormal rows are white already.
    found = WhitenedPower()(np.eye(inputs), moments.tensor(4), rng, rank=inputs, sign=int(np.sign(coefficient_4)))
    strongest = np.argsort(-found.values)[:rank]
    return found.directions[strongest]


def row_margin(single: float, other: float, both: float, *, coefficients: Float64[np.ndarray, "degrees"]) -> float:
    """By how much the condition of the theorem holds for two rows; negative if it does not.

    Args:
        single: ``sum_{S containing i} c_S u_0^|S|``.
        other: the same for the other row.
        both: the same for sets that contain both.
        coefficients: normalised Hermite coefficients of the activation, orders 0 to 4.
    """
    zeroth, _, second, _, fourth = coefficients
    return float(single + other - np.sqrt(6) * second**2 / (zeroth * fourth) * both)
