"""Hermite moments of labels: polynomials, symmetric tensors, control variates, and all orders up to 6 in one pass.

A control is a polynomial that is subtracted from the labels and whose moments are added back, which takes its variance
away. Moments are measured by one matrix product per block of rows.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import factorial

import numpy as np
from jaxtyping import Float64, Int
from scipy import sparse

from unweave.arrays import PerPoint, Points
from unweave.exceptions import InvalidInput
from unweave.numerics.symmetric_tensors import (
    entry_count,
    factorials,
    full_positions,
    multi_indices,
    multiplicities,
    order_slice,
    positions,
    series_count,
    suffix_starts,
)
from unweave.samples.hermite.inputs import Coordinates, CoordinateStatistic, Directions, Rows
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows, Halved

# Above this order raw moments lose digits when they are turned into Hermite moments, and variances explode.
HIGHEST_ORDER = 6

Features = Float64[np.ndarray, "features points"]


def monomials(rows: Rows, degree: int, *, scale: np.ndarray | None = None) -> Features:
    """All monomials up to a degree, times `scale` at every point: one multiplication per number."""
    return _features(rows, degree, scale=scale, is_hermite=False)


def hermite_features(rows: Rows, degree: int) -> Features:
    """All entries of ``He_0 .. He_degree``, by the three-term recurrence in the leading coordinate."""
    return _features(rows, degree, scale=None, is_hermite=True)


def _features(rows: Rows, degree: int, *, scale: np.ndarray | None, is_hermite: bool) -> Features:
    inputs, points = rows.shape
    features = np.empty((series_count(inputs, degree), points))
    features[0] = 1.0 if scale is None else scale
    for order in range(1, degree + 1):
        place, end = order_slice(inputs, order).start, order_slice(inputs, order - 1).stop
        starts = end - entry_count(inputs, order - 1) + suffix_starts(inputs, order - 1)
        for coordinate in range(inputs):
            block = features[place : place + end - starts[coordinate]]
            np.multiply(features[starts[coordinate] : end], rows[coordinate], out=block)
            if is_hermite and order > 1:
                counts = _leading_counts(inputs, order - 1, coordinate)
                lower = order_slice(inputs, order - 2).stop - len(counts)
                block[: len(counts)] -= counts[:, None] * features[lower : lower + len(counts)]
            place += len(block)
    return features


@lru_cache(maxsize=4096)
def _leading_counts(inputs: int, order: int, coordinate: int) -> Float64[np.ndarray, "entries"]:
    """How often `coordinate` appears in the indices of an order that begin with it."""
    indices = multi_indices(inputs, order)
    return np.sum(indices[indices[:, 0] == coordinate] == coordinate, axis=1).astype(np.float64)


@lru_cache(maxsize=16)
def hermite_from_monomials(inputs: int, degree: int) -> sparse.csr_array:
    """The matrix H of ``He_alpha(z) = sum_beta H[alpha, beta] z^beta`` for packed series."""
    indices = [tuple(index.tolist()) for order in range(degree + 1) for index in multi_indices(inputs, order)]
    place_of = {index: place for place, index in enumerate(indices)}
    terms = [(row, place_of[lower], value) for row, index in enumerate(indices) for lower, value in _expansion(index)]
    rows, columns, values = zip(*terms, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=(len(indices), len(indices)))


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


@dataclass(frozen=True, eq=False)
class HermiteMoments:
    """Symmetric tensors ``T_k = E[y He_k(z)]``, k = 0 to `degree`, un-normalised.

    Args:
        rank: dimension of the coordinates z.
        degree: the highest order.
        packed: the different entries of all orders (a series, see `symmetric_tensors`).
    """

    rank: int
    degree: int
    packed: Float64[np.ndarray, "features"]

    def __post_init__(self) -> None:
        needed = series_count(self.rank, self.degree)
        if len(self.packed) != needed:
            raise InvalidInput(
                f"moments up to order {self.degree} in {self.rank} coordinates have {needed} entries, "
                f"got {len(self.packed)}."
            )

    def entries(self, order: int) -> Float64[np.ndarray, "entries"]:
        """The different entries of one order."""
        if not 0 <= order <= self.degree:
            raise InvalidInput(f"these moments have the orders 0 to {self.degree}, got order={order}.")
        return self.packed[order_slice(self.rank, order)]

    def tensor(self, order: int) -> Float64[np.ndarray, "..."]:
        """The full symmetric tensor, with ``rank^order`` entries."""
        return np.asarray(self.entries(order)[full_positions(self.rank, order)])

    def norm(self, order: int) -> float:
        """Frobenius norm of the full tensor, without forming it."""
        return float(np.sqrt(multiplicities(self.rank, order) @ self.entries(order) ** 2))

    def contracted(self, order: int, directions: Directions, *, open_modes: int) -> Float64[np.ndarray, "..."]:
        """For every direction v the tensor ``T_k(., .., ., v, .., v)`` with `open_modes` modes open."""
        tensors = np.broadcast_to(self.tensor(order), (len(directions), *(self.rank,) * order))
        for _ in range(order - open_modes):
            tensors = np.einsum("d...i,di->d...", tensors, directions)
        return np.array(tensors)

    def projected(self, basis: Float64[np.ndarray, "rank smaller"]) -> "HermiteMoments":
        """The moments ``T_k(U, .., U)`` in the coordinates ``U^T z``, for orthonormal columns U."""
        parts = []
        for order in range(self.degree + 1):
            tensor = self.tensor(order)
            for _ in range(order):
                # The first mode is taken and comes back as the last: after all modes the order is as before.
                tensor = np.tensordot(tensor, basis, axes=(0, 0))
            indices = multi_indices(basis.shape[1], order)
            parts.append(np.asarray(tensor[tuple(indices.T)]).reshape(len(indices)))
        return HermiteMoments(basis.shape[1], self.degree, np.concatenate(parts))

    def up_to(self, degree: int) -> "HermiteMoments":
        """The moments of the lower orders only."""
        self.entries(degree)
        return HermiteMoments(self.rank, degree, self.packed[: series_count(self.rank, degree)])

    def plus(self, other: "HermiteMoments", *, share: float = 1.0) -> "HermiteMoments":
        """These moments with `share` times others added, whose missing orders count as zero."""
        packed = self.packed.copy()
        kept = min(len(packed), len(other.packed))
        packed[:kept] += share * other.packed[:kept]
        return HermiteMoments(self.rank, self.degree, packed)

    def series(self, rows: Rows) -> PerPoint:
        """The polynomial ``sum_k <T_k, He_k(z)> / k!`` at points given by their coordinates.

        Written as ``m_l(z)^T C m_r(z)`` with monomials up to half the degree: one matrix product of
        ``2 F_l F_r`` operations per point, where ``F_l = binom(rank + l, l)``.
        """
        right = self.degree - self.degree // 2
        features = monomials(rows, right)
        return np.einsum("fp,fp->p", features[: len(self._product_form)], self._product_form @ features)

    @cached_property
    def _product_form(self) -> Float64[np.ndarray, "left right"]:
        """Coefficients of products of monomials; equal products share theirs equally."""
        left = self.degree // 2
        conversion = hermite_from_monomials(self.rank, self.degree)
        coefficients = conversion.T @ (self.packed / factorials(self.rank, self.degree))
        places = product_places(self.rank, left, self.degree - left)
        shares = np.bincount(places.ravel(), minlength=len(coefficients))
        return (coefficients / shares)[places]


@dataclass(frozen=True, eq=False)
class Control:
    """A polynomial for each half of the rows, by its Hermite moments.

    The moments of ``y - p`` have the variance of what p does not explain: degree 2 leaves 2.3 % of the energy of a
    ReLU with bias 0, and 18 % with bias -1. Adding the moments of p back makes them the moments of y again; for an
    order above the degree of p there is nothing to add.

    Args:
        coordinates: those of the polynomials. Moments may be measured in the same or inside a subspace of them: then
            the polynomial also takes away what lies outside of the subspace.
        even: subtracted from labels of even rows.
        odd: subtracted from labels of odd rows.
        inside_tol: how well axes of a subspace must be combinations of the axes of the control, relative to their size:
            about the root of the rounding of one number, while axes that are leave near 1e-15. Chosen.
    """

    coordinates: Coordinates
    even: HermiteMoments
    odd: HermiteMoments
    inside_tol: float = 1e-8

    def __post_init__(self) -> None:
        if not self.even.rank == self.odd.rank == self.coordinates.rank or self.even.degree != self.odd.degree:
            raise InvalidInput(
                "polynomials of a control need the same degree, and the coordinates they are given with."
            )

    @classmethod
    def shared(cls, coordinates: Coordinates, moments: HermiteMoments) -> "Control":
        """The same polynomial for all rows; if it was fitted to them there is a bias of order 1/N."""
        return cls(coordinates, moments, moments)

    @classmethod
    def crossed(cls, coordinates: Coordinates, moments: Halved[HermiteMoments]) -> "Control":
        """For each half the polynomial that was fitted to the other: no bias, at twice the variance of the fit.

        Assumes: this pass sees the rows in the same halves as the pass before.
        """
        return cls(coordinates, moments.odd, moments.even)

    def residual(self, points: Points, labels: Labels, *, half: int) -> Labels:
        """Labels without the polynomial of their half."""
        polynomial = (self.even, self.odd)[half]
        return labels - polynomial.series(self.coordinates.rows_of(points))

    def moments_in(self, coordinates: Coordinates, rows: HalfRows) -> HermiteMoments:
        """The moments of what was subtracted, averaged over rows of both halves.

        Raises:
            InvalidInput: if `coordinates` are not inside those of the control.
        """
        share = rows / np.sum(rows)
        packed = share[0] * self.even.packed + share[1] * self.odd.packed
        mean = HermiteMoments(self.even.rank, self.even.degree, packed)
        return mean if coordinates is self.coordinates else mean.projected(self._basis_of(coordinates))

    def _basis_of(self, coordinates: Coordinates) -> np.ndarray:
        basis = np.linalg.lstsq(self.coordinates.axes, coordinates.axes)[0]
        gap = np.abs(self.coordinates.axes @ basis - coordinates.axes).max()
        if gap > self.inside_tol * np.abs(coordinates.axes).max() or not np.array_equal(
            self.coordinates.origin, coordinates.origin
        ):
            raise InvalidInput(
                "moments with a control need the coordinates of the control, or a subspace `within` them."
            )
        return basis


def residual_of(control: Control | None, points: Points, labels: Labels, *, half: int) -> Labels:
    """Labels without the polynomial of a control, if there is one."""
    return labels if control is None else control.residual(points, labels, half=half)


@dataclass(frozen=True, eq=False)
class LabelMoments(CoordinateStatistic[HermiteMoments]):
    """All moments ``T_0 .. T_order`` of labels, or of what a control leaves of them.

    The monomials m of half the order are multiplied with each other: ``sum_n y_n m(z_n) m(z_n)^T`` holds every raw
    moment up to the order, and raw moments become Hermite moments once, at the end.

    Cost per row, with ``F_l = binom(rank + l, l)``: an even order 2 l takes ``F_l^2`` operations, because rows of
    positive and of negative labels give one symmetric product each, whose lower half BLAS does not compute; an odd
    order 2 l + 1 takes ``2 F_l F_{l+1}``. Building features takes ``F_l`` multiplications. For rank 20, order 4:
    231^2 = 53 361 operations. Memory: ``F_l^2`` numbers per half.

    Args:
        coordinates: in which the inputs are standard Gaussian.
        order: the highest order, 1 to 6.
        control: the polynomial that is subtracted from the labels first.
    """

    order: int
    control: Control | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.order <= HIGHEST_ORDER:
            raise InvalidInput(f"moments of labels have orders 1 to {HIGHEST_ORDER}, got order={self.order}.")

    @property
    def features(self) -> int:
        """Numbers that are computed from a row."""
        return series_count(self.coordinates.rank, self._degrees[1])

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Products of monomials, weighted with the labels."""
        weights = residual_of(self.control, points, labels, half=half)
        left, right = self._degrees
        if left < right:
            features = monomials(self.coordinates.rows_of(points), right)
            weighted = features[: series_count(self.coordinates.rank, left)] * weights
            return (weighted @ features.T,)
        return (
            self._weighted_square(points[weights > 0], weights[weights > 0])
            - self._weighted_square(points[weights < 0], -weights[weights < 0]),
        )

    def moments_from(self, sums: Arrays, rows: HalfRows) -> HermiteMoments:
        """Raw moments, averaged over equal products, as Hermite moments."""
        rank = self.coordinates.rank
        places = product_places(rank, *self._degrees).ravel()
        raw = np.bincount(places, weights=sums[0].ravel()) / np.bincount(places) / rows.sum()
        moments = HermiteMoments(rank, self.order, hermite_from_monomials(rank, self.order) @ raw)
        return moments if self.control is None else moments.plus(self.control.moments_in(self.coordinates, rows))

    @property
    def _degrees(self) -> tuple[int, int]:
        return self.order // 2, self.order - self.order // 2

    def _weighted_square(self, points: Points, weights: Labels) -> np.ndarray:
        """``sum_n w_n m(z_n) m(z_n)^T`` for positive weights: features carry their square roots from the start."""
        features = monomials(self.coordinates.rows_of(points), self._degrees[1], scale=np.sqrt(weights))
        return features @ features.T
