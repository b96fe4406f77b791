"""Rows of a lowest layer to some degrees: from cumulants of quiet samples, or from moments of labels."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Atoms, Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.cumulants import hermite_cumulants, with_mean
from unweave.learn.lowest_layer.threshold_scalars import OrientedRows, oriented_by_cumulants, oriented_by_moments
from unweave.learn.lowest_layer.units import ThresholdUnit
from unweave.learn.lowest_layer.whitened_power import PowerRows, WhitenedPower
from unweave.numerics.tensor_fit import fit_directions, misfit_of
from unweave.samples.engines import accumulate
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.label_moments import LabelMoments
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import Halved

Labels = Float64[np.ndarray, "points"]
Read = Callable[[HermiteMoments], HermiteMoments]
# An eigenvalue of order 2 counts as that of a row if it is this many times the noise.
EIGENVALUE_FACTOR = 3.0
# Down to so many times the noise it may be one.
DOUBTFUL_FACTOR = 1.0
# Rows up to which order 4 is used: its derivatives take rank^6 / 24 numbers.
LARGEST_RANK_OF_ORDER_4 = 16


@dataclass(frozen=True, eq=False)
class Start:
    """Rows from tensors, with what speaks for them.

    Args:
        source: where the tensors came from.
        order: of the power iteration whose result was kept.
        units: rows, thresholds and coefficients in the coordinates of the samples.
        noise_angles: half the angle between what the two halves of the samples say, in radians, for every row.
        bias_angles: distance of every row between the power iterations of different orders, in radians.
        eigenvalue_ratio: smallest eigenvalue of order 2 in units of its noise.
        most_rows: eigenvalues of order 2 that may be more than noise.
        is_definite: whether order 2 has one sign.
        misfit: relative misfit of the tensors by powers of the rows.
        agreement: smallest share of random starts that ended at a row that was taken.
    """

    source: str
    order: int
    units: OrientedRows
    noise_angles: Float64[np.ndarray, "neurons"]
    bias_angles: Float64[np.ndarray, "neurons"]
    eigenvalue_ratio: float
    most_rows: int
    is_definite: bool
    misfit: float
    agreement: float

    @property
    def angle(self) -> float:
        """Median over the rows of both errors together, in radians: an estimate, not a bound."""
        return float(np.median(np.hypot(self.noise_angles, self.bias_angles)))


def quiet_start(
    points: Points, is_active: Bool[np.ndarray, "points"], rng: np.random.Generator, *, rank: int | None
) -> Start:
    """Rows from the cumulants of the quiet samples, which fill ``<w_i, x> < t_i`` for all i.

    What stands above the units does not matter here, and products of units leave no bias if rows are orthogonal.

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        is_active: whether any unit is active.
        rng: for power iteration.
        rank: number of rows; eigenvalues above the noise if None.

    Raises:
        InvalidInput: if no eigenvalue stands out, or they differ in sign.
    """
    active = float(np.mean(is_active))
    # The rarer of the two classes has the smaller variance; a constant changes order 0 only.
    labels = (float(active > 0.5) - is_active).astype(np.float64)
    start = _start(
        points,
        labels,
        rng,
        rank=rank,
        read=lambda moments: hermite_cumulants(with_mean(moments, 1.0 - active)),
        orient=oriented_by_cumulants,
    )
    return replace(start, source="cumulants of quiet samples")


def moment_start(
    points: Points, labels: Labels, unit: ThresholdUnit, rng: np.random.Generator, *, rank: int | None
) -> Start:
    """Rows from the Hermite moments of the labels, as the document has them.

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        labels: without their offset.
        unit: whose thresholds are looked for.
        rng: for power iteration.
        rank: number of rows; eigenvalues above the noise if None.

    Raises:
        InvalidInput: if no eigenvalue stands out, or they differ in sign.
    """
    start = _start(
        points,
        labels,
        rng,
        rank=rank,
        read=lambda moments: moments,
        orient=lambda moments, rows: oriented_by_moments(moments, rows, unit),
    )
    return replace(start, source="moments of labels")


def _start(
    points: Points,
    labels: Labels,
    rng: np.random.Generator,
    *,
    rank: int | None,
    read: Read,
    orient: Callable[[HermiteMoments, Atoms], OrientedRows],
) -> Start:
    source, everywhere = ArraySource(points, labels), Coordinates.identity(points.shape[1])
    low = accumulate(source, LabelMoments(everywhere, 2)).finalise().of(read)
    basis, ratio, most_rows = _subspace(low, rank)
    order = 4 if basis.shape[1] <= LARGEST_RANK_OF_ORDER_4 else 3
    inside = accumulate(source, LabelMoments(everywhere.within(basis), order)).finalise().of(read)
    powered = _power_rows(inside.whole, rng)
    tensors = _tensors(inside.whole)
    misfits = {k: misfit_of(tensors, found.rows) for k, found in powered.items()}
    best = min(misfits, key=lambda k: misfits[k])
    fit = fit_directions(tensors, powered[best].rows)
    even, odd = (fit_directions(_tensors(half), fit.directions).directions for half in (inside.even, inside.odd))
    others = [found.rows for k, found in powered.items() if k != best] or [powered[best].rows]
    units = orient(inside.whole, fit.directions)
    return Start(
        source="",
        order=best,
        units=replace(units, rows=units.rows @ basis.T),
        noise_angles=0.5 * _angles(even, odd),
        bias_angles=np.min([nearest_angles(fit.directions, rows) for rows in others], axis=0),
        eigenvalue_ratio=ratio,
        most_rows=most_rows,
        is_definite=powered[best].whitening.is_definite,
        misfit=fit.misfit,
        agreement=float(np.min(powered[best].agreement)),
    )


def _subspace(low: Halved[HermiteMoments], rank: int | None) -> tuple[Float64[np.ndarray, "inputs rank"], float, int]:
    """Leading eigenvectors of order 2 of the sign that dominates, the last eigenvalue and how many may be rows."""
    second = low.whole.tensor(2)
    sign = 1.0 if np.trace(second) >= 0 else -1.0
    values, vectors = np.linalg.eigh(sign * second)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = float(np.linalg.norm(low.noise(lambda moments: moments.tensor(2)), ord=2)) or np.finfo(float).tiny
    if rank is None:
        rank = int(np.count_nonzero(values > EIGENVALUE_FACTOR * noise))
    if not 1 <= rank <= len(values):
        raise InvalidInput(
            f"rows show themselves as eigenvalues of the moment of order 2 above {EIGENVALUE_FACTOR:.0f} times its "
            f"noise, and as many as inputs at most: the largest is {values[0] / noise:.1f} times, rank={rank} of "
            f"{len(values)}: give more samples, or fewer rows."
        )
    return vectors[:, :rank], float(values[rank - 1] / noise), int(np.count_nonzero(values > DOUBTFUL_FACTOR * noise))


def _power_rows(moments: HermiteMoments, rng: np.random.Generator) -> dict[int, PowerRows]:
    """Power iterations of all orders there are."""
    second = moments.tensor(2)
    return {
        order: WhitenedPower()(second, moments.tensor(order), rng, rank=moments.rank)
        for order in range(3, moments.degree + 1)
    }


def _tensors(moments: HermiteMoments) -> list[np.ndarray]:
    return [moments.tensor(order) for order in range(2, moments.degree + 1)]


def _angles(rows: Atoms, others: Atoms) -> Float64[np.ndarray, "neurons"]:
    """Angles between rows of the same number, up to sign."""
    return np.arccos(np.clip(np.abs(np.einsum("ni,ni->n", rows, others)), 0.0, 1.0))


def nearest_angles(rows: Atoms, others: Float64[np.ndarray, "more inputs"]) -> Float64[np.ndarray, "neurons"]:
    """Angle of every row to the nearest of some others, up to sign."""
    return np.arccos(np.clip(np.max(np.abs(rows @ others.T), axis=1), 0.0, 1.0))
