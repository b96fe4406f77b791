"""Symmetric tensors of any order: different entries, powers of vectors, flattenings, directions that explain them.

A symmetric tensor of order k is an array of shape ``(inputs,) * k``. Its different entries are those of the ascending
multi-indices ``i1 <= ... <= ik``, in lexicographic order; a series holds those of the orders 0 to some degree one after
the other. In this order all indices that begin with i follow each other, and their tails are the last ones of order
k - 1: products of coordinates are built block by block, without a table of indices.

Packed tensors hold the different entries times the square roots of how often they occur: the Euclidean inner product
of packed tensors is the inner product of the full ones, so norms, singular values and least squares agree. For order 2
this is the layout of `unweave.arrays.pack`.

Tensors ``T_k`` of a shallow network are ``sum_i c_ki w_i (x) ... (x) w_i``, with directions in common and coefficients
of their own. `fit_directions` eliminates the coefficients (variable projection), so only the directions are searched;
orders are weighted by ``1 / k!``, which makes the sum the squared error of the function that the tensors expand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, sqrt
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float64, Int

from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import InvalidInput
from unweave.numerics.least_squares import Policy, Solver, Step, minimise

Tensor = Float64[np.ndarray, "..."]
# Undamped steps converge fast; one that fails is repeated with a damping relative to the largest eigenvalue. Near a
# minimum steps gain more than 1e-9 of the misfit until they are rounding, which is eps for directions of length 1.
DAMPING = Policy(
    growth=6.0,
    decay=0.15,
    negligible_damping=1e-6,
    largest_damping=1e6,
    gain_tol=1e-9,
    step_tol=float(np.finfo(float).eps),
)


def entry_count(inputs: int, order: int) -> int:
    """Number of different entries of a symmetric tensor."""
    return comb(inputs + order - 1, order)


def series_count(inputs: int, degree: int) -> int:
    """Number of entries of a series: the polynomials of that degree have this dimension."""
    return comb(inputs + degree, degree)


def order_slice(inputs: int, order: int) -> slice:
    """Where an order lies in a series."""
    first = series_count(inputs, order - 1) if order else 0
    return slice(first, series_count(inputs, order))


@lru_cache(maxsize=64)
def multi_indices(inputs: int, order: int) -> Int[np.ndarray, "entries order"]:
    """The ascending indices of an order, as rows."""
    rows = list(combinations_with_replacement(range(inputs), order))
    return np.array(rows, dtype=np.int64).reshape(len(rows), order)


def positions(indices: Int[np.ndarray, "entries order"], inputs: int) -> Int[np.ndarray, "entries"]:
    """Where indices lie among the entries of their order; they need not be ascending."""
    ascending = np.sort(indices, axis=1)
    order = ascending.shape[1]
    place = np.zeros(len(ascending), dtype=np.int64)
    for tail in range(order, 0, -1):
        begins = suffix_starts(inputs, tail) - suffix_starts(inputs, tail - 1)
        place += begins[ascending[:, order - tail]]
    return place


@lru_cache(maxsize=64)
def multiplicities(inputs: int, order: int) -> Float64[np.ndarray, "entries"]:
    """How often every entry appears in the full tensor."""
    indices = multi_indices(inputs, order)
    # The product of the factorials of all counts is that of every index's place among its equals.
    place, product = np.ones(len(indices)), np.ones(len(indices))
    for lower, upper in zip(indices.T[:-1], indices.T[1:], strict=True):
        place = np.where(lower == upper, place + 1, 1.0)
        product *= place
    return factorial(order) / product


def factorials(inputs: int, degree: int) -> Float64[np.ndarray, "features"]:
    """``prod_i n_i!`` for every entry of a series, which is the variance of the feature ``He``."""
    return np.concatenate([factorial(order) / multiplicities(inputs, order) for order in range(degree + 1)])


@lru_cache(maxsize=16)
def full_positions(inputs: int, order: int) -> np.ndarray:
    """For every entry of the full tensor, where it lies among the different ones."""
    grid = np.indices((inputs,) * order, dtype=np.int64).reshape(order, inputs**order).T
    return positions(grid, inputs).reshape((inputs,) * order)


@lru_cache(maxsize=256)
def suffix_starts(inputs: int, order: int) -> Int[np.ndarray, "inputs"]:
    """Among the entries of an order, the first index that has no coordinate below i, for every i."""
    if order == 0:
        return np.zeros(inputs, dtype=np.int64)
    return np.array([entry_count(inputs, order) - entry_count(inputs - i, order) for i in range(inputs)])


@lru_cache(maxsize=64)
def _flat_positions(inputs: int, order: int) -> Int[np.ndarray, "packed"]:
    """Where the packed entries stand in the flattened full tensor; ascending."""
    return multi_indices(inputs, order) @ inputs ** np.arange(order - 1, -1, -1, dtype=np.int64)


def pack_tensor(tensor: Tensor) -> Float64[np.ndarray, "packed"]:
    """Packed entries of a symmetric tensor; of equal entries the one with ascending indices is taken."""
    return flattened(tensor, (tensor.ndim,))


def unpack_tensors(packed: Float64[np.ndarray, "tensors packed"], inputs: int, order: int) -> np.ndarray:
    """Full tensors of packed ones, the first axis in front."""
    entries = packed / np.sqrt(multiplicities(inputs, order))
    return entries[:, full_positions(inputs, order)]


def flattened(tensor: Tensor, orders: tuple[int, ...]) -> np.ndarray:
    """Merge groups of consecutive axes of a symmetric tensor into one packed axis each.

    Args:
        tensor: of shape ``(inputs,) * k``, symmetric.
        orders: how many axes each group has; ``(l, l, 1)`` makes a tensor of order ``2l + 1`` one of order three.

    Raises:
        InvalidInput: if the axes differ in length, or the groups do not add up to their number.

    Guarantees: up to isometries of its axes this is the flattening of the full tensor, with the same singular values.
    """
    if len(set(tensor.shape)) > 1 or sum(orders) != tensor.ndim or min(orders, default=0) < 0:
        raise InvalidInput(
            f"groups of {orders} axes need a tensor with as many axes of one length, got {tensor.shape}."
        )
    inputs = tensor.shape[0] if tensor.ndim else 1
    result = tensor.reshape([inputs**order for order in orders])
    for axis, order in enumerate(orders):
        weights = np.sqrt(multiplicities(inputs, order))
        shape = [len(weights) if other == axis else 1 for other in range(len(orders))]
        result = np.take(result, _flat_positions(inputs, order), axis=axis) * weights.reshape(shape)
    return result


def packed_powers(vectors: Atoms, order: int) -> Float64[np.ndarray, "neurons packed"]:
    """The tensors ``w (x) ... (x) w`` of every row w, packed."""
    rows = multi_indices(vectors.shape[1], order)
    weights = np.sqrt(multiplicities(vectors.shape[1], order))
    powers = np.tile(weights, (len(vectors), 1))
    for column in rows.T:
        powers *= vectors[:, column]
    return powers


def packed_power_derivatives(vectors: Atoms, order: int) -> Float64[np.ndarray, "neurons inputs packed"]:
    """Derivatives of `packed_powers` of every row in its entries."""
    rows = multi_indices(vectors.shape[1], order)
    weights = np.sqrt(multiplicities(vectors.shape[1], order))
    entries = np.arange(len(rows))
    derivatives = np.zeros((*vectors.shape, len(rows)))
    for position in range(order):
        others = np.tile(weights, (len(vectors), 1))
        for column in np.delete(rows, position, axis=1).T:
            others *= vectors[:, column]
        # No pair of index and entry appears twice for one position.
        derivatives[:, rows[:, position], entries] += others
    return derivatives


def power_coefficients(tensor: Tensor, directions: Atoms) -> PerNeuron:
    """Coefficients c of ``sum_i c_i w_i (x) ... (x) w_i`` nearest to a symmetric tensor (least squares).

    Assumes: the powers of the directions of this order are linearly independent; otherwise the shortest
        coefficients are returned.
    """
    powers = packed_powers(directions, tensor.ndim).T
    return np.linalg.lstsq(powers, pack_tensor(tensor), rcond=None)[0]


def leading_directions(
    packed: Float64[np.ndarray, "tensors packed"], inputs: int, order: int
) -> tuple[Float64[np.ndarray, "tensors inputs"], Float64[np.ndarray, "tensors"]]:
    """Unit vector whose power is nearest to a multiple of each tensor, and how near it is.

    Returns:
        The leading left singular vectors of the tensors as matrices of `inputs` rows, and the share of the squared
        norm that their singular values explain: 1 for a power, and for a sum of two orthogonal ones 1/2.
    """
    matrices = unpack_tensors(packed, inputs, order).reshape(len(packed), inputs, inputs ** (order - 1))
    left, values, _ = np.linalg.svd(matrices, full_matrices=False)
    sizes = np.sum(values**2, axis=1)
    return left[:, :, 0], values[:, 0] ** 2 / np.where(sizes > 0, sizes, 1.0)


@dataclass(frozen=True)
class DirectionFit:
    """Fitted directions and how the fit went.

    Args:
        directions: unit vectors, one per row.
        misfit: square root of ``sum_k |T_k - fit|^2 / k!``, relative to that of the tensors.
        start_misfit: the same before the first step.
        steps: accepted steps.
        has_converged: whether the last step changed nothing any more.
    """

    directions: Atoms
    misfit: float
    start_misfit: float
    steps: int
    has_converged: bool


def misfit_of(tensors: Sequence[Tensor], directions: Atoms, *, rank_tol: float = 1e-12) -> float:
    """What the best coefficients leave of the tensors, weighted as in `DirectionFit`; see `fit_directions`."""
    problem = _Directions(tensors, _packed(tensors), rank_tol)
    size = _norm(problem.packed)
    return problem.loss(problem.residuals(directions)) / size if size > 0 else 0.0


def fit_directions(
    tensors: Sequence[Tensor], directions: Atoms, *, steps: int = 60, rank_tol: float = 1e-12
) -> DirectionFit:
    """Minimise the misfit over the directions by damped Gauss-Newton steps.

    Args:
        tensors: symmetric, of any orders of at least 2.
        directions: where to start, unit vectors.
        steps: largest number of attempted steps.
        rank_tol: singular values of the powers, and eigenvalues of the normal equations, below this share of the
            largest are taken for zero. Chosen: some thousand eps, the rounding that sums over the entries leave.

    Guarantees: the misfit never grows; a local minimum, of which the start decides.
    """
    problem = _Directions(tensors, _packed(tensors), rank_tol)
    size = _norm(problem.packed) or 1.0
    found = minimise(problem, directions, replace(DAMPING, attempts=steps if len(directions) else 0))
    start, end = found.losses[0] / size, found.losses[-1] / size
    return DirectionFit(found.point, end, start, found.steps, found.has_converged)


class _Projection(NamedTuple):
    """Residual of one order, the orthonormal basis it is orthogonal to, and the coefficients."""

    residual: np.ndarray
    basis: np.ndarray
    coefficients: PerNeuron


@dataclass(frozen=True, eq=False)
class _Directions:
    """The least-squares problem over unit vectors, with coefficients eliminated (Kaufman's approximation)."""

    tensors: Sequence[Tensor]
    packed: list[np.ndarray]
    rank_tol: float

    def residuals(self, point: Atoms, /) -> list[_Projection]:
        pairs = zip(self.packed, self.tensors, strict=True)
        return [_projected(part, point, tensor.ndim, self.rank_tol) for part, tensor in pairs]

    def loss(self, residuals: list[_Projection], /) -> float:
        return _norm([each.residual for each in residuals])

    def solver(self, point: Atoms, residuals: list[_Projection], /) -> Solver:
        """Leave out the smallest eigenvalues of the normal equations: a scale per direction, at least."""
        gram, target = np.zeros((point.size, point.size)), np.zeros(point.size)
        for tensor, (residual, basis, coefficients) in zip(self.tensors, residuals, strict=True):
            derivatives = coefficients[:, None, None] * packed_power_derivatives(point, tensor.ndim)
            rows = derivatives.reshape(point.size, -1)
            rows = rows - (rows @ basis) @ basis.T
            gram += rows @ rows.T
            target += rows @ residual
        values, vectors = scipy.linalg.eigh(gram)
        largest = float(values[-1])
        is_seen = values > self.rank_tol * largest
        values, vectors = values[is_seen], vectors[:, is_seen]
        along = vectors.T @ target
        return lambda damping: vectors @ (along / (values + damping * largest))

    def moved(self, point: Atoms, step: Step, /) -> Atoms:
        trial = point + step.reshape(point.shape)
        return trial / np.linalg.norm(trial, axis=1, keepdims=True)


def _packed(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    return [pack_tensor(tensor) / sqrt(factorial(tensor.ndim)) for tensor in tensors]


def _norm(parts: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(sum(np.sum(part**2) for part in parts)))


def _projected(packed: np.ndarray, directions: Atoms, order: int, rank_tol: float) -> _Projection:
    left, values, right = np.linalg.svd(packed_powers(directions, order).T, full_matrices=False)
    kept = values > rank_tol * float(np.max(values, initial=0.0))
    basis = left[:, kept]
    inside = basis.T @ packed
    return _Projection(packed - basis @ inside, basis, right[kept].T @ (inside / values[kept]))
