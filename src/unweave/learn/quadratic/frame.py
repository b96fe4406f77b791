"""Coordinates in which samples are trained and judged: centred where the class of networks allows it, and white.

A network of squares whose neurons have biases stays one under every affine map of its inputs, and one without biases
under every linear map. So inputs may be shifted and scaled until rounding does no harm, and weights be carried back.
What a float can't carry over is counted: every white coordinate has a bound of its rounding error.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerPoint, Points, Vector, root_mean_square
from unweave.learn.quadratic.problem import Labels

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Frame:
    """Samples in good units, and the way back.

    Args:
        points: white; a last column of ones stands for biases.
        labels: of root mean square 1.
        blur: bound of the rounding error of every point, as a distance; infinite if there are directions of which
            it can't be told whether the inputs have them.
        forth: from centred inputs to white coordinates.
        centre: of the inputs; zeros without biases.
        unit: of the labels.
        has_biases: whether there is a column of ones.
    """

    points: Float64[np.ndarray, "points coordinates"]
    labels: Labels
    blur: PerPoint
    forth: Float64[np.ndarray, "rank inputs"]
    centre: Vector
    unit: float
    has_biases: bool

    @classmethod
    def of(
        cls,
        points: Points,
        labels: Labels,
        *,
        has_biases: bool,
        sizes: PerPoint | None = None,
        absent: float = 4.0,
        present: float = 32.0,
        enough: float = 1e-13,
    ) -> "Frame":
        """Centre if there are biases, scale columns, drop directions that the points lack, and whiten.

        Args:
            points: one per row.
            labels: one per point.
            has_biases: whether neurons have biases.
            sizes: of the points, by which they, their constants among them, are multiplied; labels are theirs.
            absent: singular values of inputs up to this many roundings of a typical row are those of columns that
                depend on each other: twice the 2.1 that were the most in 19,330 planted dependences.
            present: from this many roundings of the largest one on, or as many as there are rows or columns, which is
                the usual bound of their rounding errors, a direction is there; between the two it can't be told.
            enough: rounding errors of white coordinates up to this, relative to the largest or 1, are left as they are;
                above, products are taken in longer floats. Chosen: 450 roundings of one number, which inputs that do
                not nearly agree stay below.
        """
        centre, shifted = _centred(points) if has_biases else (np.zeros(points.shape[1]), points)
        shifted = shifted if sizes is None else shifted * sizes[:, None]
        largest = np.max(np.abs(shifted), axis=0).astype(float)
        # Powers of two, by which division is exact.
        scales = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))
        scaled = shifted / scales
        _, values, right = np.linalg.svd(scaled.astype(float), full_matrices=False)
        kept = values > max(present, *points.shape) * EPS * values[0]
        is_absent = values <= absent * EPS * typical_size(np.linalg.norm(scaled.astype(float), axis=1))
        to_white = right[kept] * (np.sqrt(len(points)) / values[kept])[:, None]
        white, blur = _product(scaled, to_white, enough)
        blur = blur if np.all(kept | is_absent) else np.full(len(points), np.inf)
        if has_biases or white.shape[1] == 0:
            # Points that are all zero keep one direction, so that there is a problem.
            white = np.column_stack([white, (np.ones(len(points)) if sizes is None else sizes) * has_biases])
        unit = root_mean_square(labels) or 1.0
        return cls(white, labels / unit, blur, to_white / scales, centre, unit, has_biases)

    @classmethod
    def standardised(
        cls, points: Points, labels: Labels, *, has_biases: bool, sizes: PerPoint | None = None
    ) -> "Frame":
        """Centre if there are biases, and scale columns to mean square 1: the units in which forms are shrunk.

        White coordinates would make the faint directions of columns that nearly agree as cheap as all others.
        """
        centre, shifted = _centred(points) if has_biases else (np.zeros(points.shape[1]), points)
        scales = np.sqrt(np.mean(shifted**2, axis=0)).astype(float)
        scales = np.where(scales > 0, scales, 1.0)
        found = (shifted / scales).astype(float)
        lost = float(np.finfo(shifted.dtype).eps) * np.linalg.norm(points / scales, axis=1)
        blur = 2 * EPS * np.linalg.norm(found, axis=1) + lost
        if has_biases:
            found = np.column_stack([found, np.ones(len(points))])
        if sizes is not None:
            found = sizes[:, None] * found
            blur = sizes * blur + EPS * np.linalg.norm(found, axis=1)
        unit = root_mean_square(labels) or 1.0
        return cls(found, labels / unit, blur, np.diag(1 / scales), centre, unit, has_biases)

    @property
    def lacks_directions(self) -> bool:
        """Whether the points lack directions, along which weights are zero."""
        return len(self.forth) < self.forth.shape[1]

    def outside(self, weights: Float64[np.ndarray, "neurons coordinates"]) -> Atoms:
        """Weights in the units of the samples, with a last column for biases if there are any."""
        rows = np.sqrt(self.unit) * weights[:, : len(self.forth)] @ self.forth
        if not self.has_biases:
            return rows
        return np.column_stack([rows, np.sqrt(self.unit) * weights[:, -1] - rows @ self.centre])


def typical_size(sizes: PerPoint) -> float:
    """Norm of all points if none stood out: one far point must not make the others look like rounding errors."""
    there = sizes[sizes > 0]
    return float(np.median(there) * np.sqrt(len(there))) if len(there) else 0.0


def _centred(points: Points) -> tuple[np.ndarray, np.ndarray]:
    """The mean is taken off in long floats, which keep digits that columns which nearly agree differ by."""
    centre = np.where(np.ptp(points, axis=0) == 0, points[0], points.mean(axis=0))
    shifted = points.astype(np.longdouble) - centre
    # A second time, since the first mean has rounding errors as large as the inputs make them.
    rest = np.where(np.ptp(points, axis=0) == 0, 0.0, shifted.mean(axis=0).astype(float))
    return centre + rest, shifted - rest


def _product(points: np.ndarray, matrix: np.ndarray, enough: float) -> tuple[Points, PerPoint]:
    """Points times a transposed matrix, and a bound of the error of every row: in long floats if it cancels much."""
    plain = points.astype(float)
    found, sizes = plain @ matrix.T, np.linalg.norm(np.abs(plain) @ np.abs(matrix).T, axis=1)
    terms = 2.0 + np.sqrt(matrix.shape[1])
    blur = terms * EPS * sizes
    if np.max(blur, initial=0.0) <= enough * max(1.0, float(np.max(np.abs(found), initial=0.0))):
        return found, blur
    longer = np.asarray(points, dtype=np.longdouble) @ matrix.T.astype(np.longdouble)
    found = longer.astype(float)
    return found, terms * float(np.finfo(np.longdouble).eps) * sizes + EPS * np.linalg.norm(found, axis=1)
