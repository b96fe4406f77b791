"""Slices of moments of high order along given directions, without ever forming the tensors.

Simultaneous diagonalisation [awasthi, Thm. 1.5] decomposes random combinations of them.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.numerics.symmetric_tensors import full_positions, order_slice, series_count
from unweave.samples.hermite.inputs import CoordinateStatistic, Directions
from unweave.samples.hermite.moments import Control, HermiteMoments, hermite_features, residual_of
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows

# How far a direction may be from unit length.
UNIT_TOL = 1e-8


@dataclass(frozen=True, eq=False)
class TensorSlices:
    """The tensors ``T_k(., .., ., v, .., v)`` for several directions v and all orders up to some.

    Args:
        directions: the directions v, as rows of unit length.
        open_modes: number r of modes that are left open.
        means: ``E[y He_q(<v, z>) He_alpha(z)]`` by alpha (packed, up to degree r), direction and q.
        known: moments of the control, which are still to be added.
    """

    directions: Directions
    open_modes: int
    means: Float64[np.ndarray, "features directions degrees"]
    known: HermiteMoments | None

    @property
    def highest_order(self) -> int:
        """The highest order there is a slice of."""
        return self.open_modes + self.means.shape[2] - 1

    def of_order(self, order: int) -> Float64[np.ndarray, "..."]:
        """The slices of order k, n = k - r of whose modes are contracted, one per direction.

        ``He_{r+n}(z)(v^n) = sum_j (-1)^j j! C(n, j) C(r, j) He_{n-j}(<v, z>) Sym(v^j (x) He_{r-j}(z))``
        """
        if not self.open_modes <= order <= self.highest_order:
            raise InvalidInput(f"there are slices of order {self.open_modes} to {self.highest_order}, got {order}.")
        open_modes, closed = self.open_modes, order - self.open_modes
        rank = self.directions.shape[1]
        total = np.zeros((len(self.directions), *(rank,) * open_modes))
        for j in range(min(open_modes, closed) + 1):
            packed = self.means[order_slice(rank, open_modes - j), :, closed - j].T
            tensors = packed[:, full_positions(rank, open_modes - j)]
            factor = (-1) ** j * factorial(j) * comb(closed, j) * comb(open_modes, j)
            total += factor * _with_vectors(tensors, self.directions, j)
        if self.known is not None and order <= self.known.degree:
            total += self.known.contracted(order, self.directions, open_modes=open_modes)
        return total


@dataclass(frozen=True, eq=False)
class ContractedMoments(CoordinateStatistic[TensorSlices]):
    """Moments contracted with powers of directions until some modes are left open.

    With two open modes these are the matrices of simultaneous diagonalisation, ``T_3(., ., v)`` up to
    ``T_6(., ., v, v, v, v)``; with four the ones for more units than dimensions; with none the numbers
    ``T_j(v, .., v)`` from which outer weights and biases follow. Contractions with a matrix V are combinations of the
    slices of order 4: ``V = sum_s c_s v_s v_s^T``.

    Cost per row, with ``F_r = binom(rank + r, r)`` features, R directions and ``Q = order - r + 1`` polynomials each:
    ``2 F_r R Q`` operations in one matrix product for all slices of all orders, ``2 rank R`` to project on the
    directions and ``3 F_r + 4 R Q`` for features and weights. Memory: ``F_r R Q`` numbers per half.

    Args:
        coordinates: in which the inputs are standard Gaussian.
        directions: unit vectors v, as rows; `random_directions` if there are none yet.
        open_modes: how many modes are left open.
        order: the highest order; all orders from `open_modes` on come with it.
        control: the polynomial that is subtracted from the labels first.
    """

    directions: Directions
    open_modes: int
    order: int
    control: Control | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.open_modes <= self.order:
            raise InvalidInput(f"order {self.order} cannot have {self.open_modes} modes open.")
        if self.directions.shape[1] != self.coordinates.rank:
            raise InvalidInput(f"directions need {self.coordinates.rank} columns, got {self.directions.shape[1]}.")
        if np.abs(np.linalg.norm(self.directions, axis=1) - 1).max(initial=0.0) > UNIT_TOL:
            raise InvalidInput("directions need unit length: the formulas hold for those only.")

    @property
    def features(self) -> int:
        """Numbers that are computed from a row."""
        return series_count(self.coordinates.rank, self.open_modes) + len(self.directions) * self._degrees

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Products of features of the open modes with labels times polynomials of the projections."""
        left = residual_of(self.control, points, labels, half=half)
        rows = self.coordinates.rows_of(points)
        features = hermite_features(rows, self.open_modes)
        weights = _scaled_polynomials(self.directions @ rows, left, self._degrees)
        products = features @ weights.reshape(self._degrees * len(self.directions), len(labels)).T
        return (products.reshape(len(features), self._degrees, len(self.directions)).transpose(0, 2, 1),)

    def moments_from(self, sums: Arrays, rows: HalfRows) -> TensorSlices:
        """Means, from which slices are put together when asked for."""
        known = None if self.control is None else self.control.moments_in(self.coordinates, rows)
        return TensorSlices(self.directions, self.open_modes, sums[0] / rows.sum(), known)

    @property
    def _degrees(self) -> int:
        return self.order - self.open_modes + 1


def random_directions(rng: np.random.Generator, *, rank: int, directions: int) -> Directions:
    """Directions that are uniform on the sphere."""
    vectors = rng.standard_normal((directions, rank))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _scaled_polynomials(
    projections: Float64[np.ndarray, "directions points"], scale: Labels, degrees: int
) -> Float64[np.ndarray, "degrees directions points"]:
    """``scale He_q(projection)`` for q below `degrees`."""
    values = np.empty((degrees, *projections.shape))
    values[0] = scale
    if degrees > 1:
        np.multiply(projections, scale, out=values[1])
    for q in range(1, degrees - 1):
        np.multiply(projections, values[q], out=values[q + 1])
        values[q + 1] -= q * values[q - 1]
    return values


def _with_vectors(tensors: np.ndarray, directions: Directions, count: int) -> np.ndarray:
    """``Sym(v^count (x) T)`` for every direction and its symmetric tensor: the mean over all places for the vectors."""
    for _ in range(count):
        tensors = np.einsum("di,d...->di...", directions, tensors)
    order = tensors.ndim - 1
    places = list(combinations(range(1, order + 1), count))
    return np.mean([np.moveaxis(tensors, range(1, count + 1), place) for place in places], axis=0)
