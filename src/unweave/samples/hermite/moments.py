"""The moments ``T_0 .. T_K``: packed symmetric tensors, and the polynomial whose Hermite coefficients they are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import InvalidInput
from unweave.samples.hermite.multi_indices import (
    Rows,
    factorials,
    full_positions,
    hermite_from_monomials,
    monomials,
    multi_indices,
    multiplicities,
    order_slice,
    product_places,
    series_count,
)

Directions = Float64[np.ndarray, "directions rank"]


@dataclass(frozen=True, eq=False)
class HermiteMoments:
    """Symmetric tensors ``T_k = E[y He_k(z)]``, k = 0 to `degree`, un-normalised.

    Args:
        rank: dimension of the coordinates z.
        degree: the highest order.
        packed: the different entries of all orders (see `multi_indices`).
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

    def flattening(self, order: int, rows: int) -> Float64[np.ndarray, "left right"]:
        """The tensor as a matrix whose rows are the first `rows` modes."""
        return self.tensor(order).reshape(self.rank**rows, -1)

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

    def series(self, rows: Rows) -> Float64[np.ndarray, "points"]:
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
