"""Control variates: polynomials that are subtracted from the labels, and added back to the moments."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.sources import Labels
from unweave.samples.sums import HalfRows, Halved

# How well axes of a subspace must be combinations of the axes of the control, relative to their size.
INSIDE_TOL = 1e-8


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
    """

    coordinates: Coordinates
    even: HermiteMoments
    odd: HermiteMoments

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
        if gap > INSIDE_TOL * np.abs(coordinates.axes).max() or not np.array_equal(
            self.coordinates.origin, coordinates.origin
        ):
            raise InvalidInput(
                "moments with a control need the coordinates of the control, or a subspace `within` them."
            )
        return basis


def residual_of(control: Control | None, points: Points, labels: Labels, *, half: int) -> Labels:
    """Labels without the polynomial of a control, if there is one."""
    return labels if control is None else control.residual(points, labels, half=half)
