"""How large the error of a moment will be, and how many rows it takes to make it small enough."""

from math import ceil, factorial

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import InvalidInput


def hermite_square_norms(
    square_lengths: Float64[np.ndarray, "points"], *, rank: int, order: int
) -> Float64[np.ndarray, "points"]:
    """``|He_k(z)|^2``, the squared Frobenius norm, from ``|z|^2`` alone.

    The series ``sum_k t^k |He_k(z)|^2 / k! = (1 - t^2)^{-n/2} exp(t |z|^2 / (1 + t))`` is Mehler's kernel at equal
    points. Its logarithm has the derivative ``n t / (1 - t^2) + |z|^2 / (1 + t)^2``, which gives its coefficients
    one after the other.
    """
    coefficients = [np.ones_like(square_lengths)]
    for k in range(1, order + 1):
        slopes = [(rank if j % 2 else 0) + (-1) ** j * (j + 1) * square_lengths for j in range(k)]
        coefficients.append(np.sum([s * c for s, c in zip(slopes, reversed(coefficients), strict=True)], axis=0) / k)
    return factorial(order) * coefficients[order]


def expected_error(
    labels: Float64[np.ndarray, "points"],
    square_lengths: Float64[np.ndarray, "points"],
    *,
    rank: int,
    order: int,
    rows: int,
) -> float:
    """Root mean square of the Frobenius error of ``T_k`` from `rows` rows, judged by a pilot.

    Args:
        labels: of the pilot, with the polynomial of a control or regression already subtracted.
        square_lengths: ``|z|^2`` of the pilot.
        rank: number of coordinates.
        order: k.
        rows: how many rows there will be.

    Guarantees: an upper bound in expectation; ``|T_k|^2 / rows``, which is small beside it, is not taken off.
    """
    norms = hermite_square_norms(square_lengths, rank=rank, order=order)
    return float(np.sqrt(np.mean(labels**2 * norms) / rows))


def rows_needed(
    labels: Float64[np.ndarray, "points"],
    square_lengths: Float64[np.ndarray, "points"],
    *,
    rank: int,
    order: int,
    error: float,
) -> int:
    """Rows for which `expected_error` is `error`.

    Raises:
        InvalidInput: if `error` is not positive.
    """
    if not error > 0:
        raise InvalidInput(f"an error to reach must be positive, got {error}.")
    one = expected_error(labels, square_lengths, rank=rank, order=order, rows=1)
    return max(1, ceil((one / error) ** 2))
