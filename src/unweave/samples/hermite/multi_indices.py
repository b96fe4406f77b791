"""Symmetric tensors and polynomials by their different entries, in one order of multi-indices for all.

The packed layout of order k holds one entry per ascending index ``i_1 <= .. <= i_k``, in lexicographic order; a packed
series holds the orders 0 to some degree one after the other. In this order all indices that begin with i follow each
other, and their tails are the last ones of order k - 1: products are built block by block, without a table of indices.
"""

from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from jaxtyping import Float64, Int
from scipy import sparse

# One row per coordinate: every step of building features then runs through contiguous memory.
Rows = Float64[np.ndarray, "rank points"]
Directions = Float64[np.ndarray, "directions rank"]
Features = Float64[np.ndarray, "features points"]


def entry_count(inputs: int, order: int) -> int:
    """Number of different entries of a symmetric tensor."""
    return comb(inputs + order - 1, order)


def series_count(inputs: int, degree: int) -> int:
    """Number of entries of a packed series: the polynomials of that degree have this dimension."""
    return comb(inputs + degree, degree)


def order_slice(inputs: int, order: int) -> slice:
    """Where an order lies in a packed series."""
    first = series_count(inputs, order - 1) if order else 0
    return slice(first, series_count(inputs, order))


@lru_cache(maxsize=64)
def multi_indices(inputs: int, order: int) -> Int[np.ndarray, "entries order"]:
    """The ascending indices of an order, as rows."""
    rows = list(combinations_with_replacement(range(inputs), order))
    return np.array(rows, dtype=np.int64).reshape(len(rows), order)


def positions(indices: Int[np.ndarray, "entries order"], inputs: int) -> Int[np.ndarray, "entries"]:
    """Where indices lie in the packed layout of their order; they need not be ascending."""
    ascending = np.sort(indices, axis=1)
    order = ascending.shape[1]
    place = np.zeros(len(ascending), dtype=np.int64)
    for tail in range(order, 0, -1):
        begins = _suffix_starts(inputs, tail) - _suffix_starts(inputs, tail - 1)
        place += begins[ascending[:, order - tail]]
    return place


@lru_cache(maxsize=64)
def factorials(inputs: int, degree: int) -> Float64[np.ndarray, "features"]:
    """``prod_i n_i!`` for every entry of a packed series, which is the variance of the feature ``He``."""
    return np.array(
        [
            prod(factorial(int(n)) for n in np.unique(row, return_counts=True)[1])
            for order in range(degree + 1)
            for row in multi_indices(inputs, order)
        ],
        dtype=np.float64,
    )


def multiplicities(inputs: int, order: int) -> Float64[np.ndarray, "entries"]:
    """How often every packed entry appears in the full tensor."""
    return factorial(order) / factorials(inputs, order)[order_slice(inputs, order)]


@lru_cache(maxsize=16)
def full_positions(inputs: int, order: int) -> np.ndarray:
    """For every entry of the full tensor, where it lies in the packed one."""
    grid = np.indices((inputs,) * order, dtype=np.int64).reshape(order, inputs**order).T
    return positions(grid, inputs).reshape((inputs,) * order)


def monomials(rows: Rows, degree: int, *, scale: np.ndarray | None = None) -> Features:
    """All monomials up to a degree, times `scale` at every point: one multiplication per number."""
    return _features(rows, degree, scale=scale, is_hermite=False)


def hermite_features(rows: Rows, degree: int) -> Features:
    """All entries of ``He_0 .. He_degree``, by the three-term recurrence in the leading coordinate."""
    return _features(rows, degree, scale=None, is_hermite=True)


@lru_cache(maxsize=16)
def hermite_from_monomials(inputs: int, degree: int) -> sparse.csr_array:
    """The matrix H of ``He_alpha(z) = sum_beta H[alpha, beta] z^beta`` for packed series."""
    indices = [tuple(index.tolist()) for order in range(degree + 1) for index in multi_indices(inputs, order)]
    place_of = {index: place for place, index in enumerate(indices)}
    terms = [(row, place_of[lower], value) for row, index in enumerate(indices) for lower, value in _expansion(index)]
    rows, columns, values = zip(*terms, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=(len(indices), len(indices)))


@lru_cache(maxsize=16)
def product_places(inputs: int, left: int, right: int) -> Int[np.ndarray, "left right"]:
    """Where the product of two monomials, up to the degrees `left` and `right`, lies in the series of their sum."""
    places = np.empty((series_count(inputs, left), series_count(inputs, right)), dtype=np.int64)
    for a in range(left + 1):
        for b in range(right + 1):
            one, other = multi_indices(inputs, a), multi_indices(inputs, b)
            joined = np.concatenate([np.repeat(one, len(other), axis=0), np.tile(other, (len(one), 1))], axis=1)
            block = order_slice(inputs, a + b).start + positions(joined, inputs)
            places[order_slice(inputs, a), order_slice(inputs, b)] = block.reshape(len(one), len(other))
    return places


def _features(rows: Rows, degree: int, *, scale: np.ndarray | None, is_hermite: bool) -> Features:
    inputs, points = rows.shape
    features = np.empty((series_count(inputs, degree), points))
    features[0] = 1.0 if scale is None else scale
    for order in range(1, degree + 1):
        place, end = order_slice(inputs, order).start, order_slice(inputs, order - 1).stop
        starts = end - entry_count(inputs, order - 1) + _suffix_starts(inputs, order - 1)
        for coordinate in range(inputs):
            block = features[place : place + end - starts[coordinate]]
            np.multiply(features[starts[coordinate] : end], rows[coordinate], out=block)
            if is_hermite and order > 1:
                counts = _leading_counts(inputs, order - 1, coordinate)
                lower = order_slice(inputs, order - 2).stop - len(counts)
                block[: len(counts)] -= counts[:, None] * features[lower : lower + len(counts)]
            place += len(block)
    return features


@lru_cache(maxsize=256)
def _suffix_starts(inputs: int, order: int) -> Int[np.ndarray, "inputs"]:
    """In the packed layout of an order, the first index that has no coordinate below i, for every i."""
    if order == 0:
        return np.zeros(inputs, dtype=np.int64)
    return np.array([entry_count(inputs, order) - entry_count(inputs - i, order) for i in range(inputs)])


@lru_cache(maxsize=4096)
def _leading_counts(inputs: int, order: int, coordinate: int) -> Float64[np.ndarray, "entries"]:
    """How often `coordinate` appears in the indices of an order that begin with it."""
    indices = multi_indices(inputs, order)
    return np.sum(indices[indices[:, 0] == coordinate] == coordinate, axis=1).astype(np.float64)


def _expansion(index: tuple[int, ...]) -> list[tuple[tuple[int, ...], float]]:
    """The monomials of ``He`` at an index, with coefficients."""
    terms: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    for coordinate in sorted(set(index)):
        n = index.count(coordinate)
        powers = [
            ((coordinate,) * (n - 2 * j), (-1) ** j * factorial(n) / (2**j * factorial(j) * factorial(n - 2 * j)))
            for j in range(n // 2 + 1)
        ]
        terms = [(head + tail, one * other) for head, one in terms for tail, other in powers]
    return terms
