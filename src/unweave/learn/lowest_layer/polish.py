"""From directions that are some degrees off to the precision of the data, by what the labels allow."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, Points
from unweave.learn.lowest_layer.halfspace_fits import FIRST_SHARPNESS, HalfspaceProgramme, fit_soft_union
from unweave.learn.lowest_layer.layer import OrientedUnits
from unweave.learn.lowest_layer.local_relu import OUTSIDE, RegressedUnits, regress_units
from unweave.learn.lowest_layer.starts import ACTIVE_NOISE, ReadLabels

Labels = Float64[np.ndarray, "points"]
# Arguments of units of noisy labels count as quiet below this: directions are known less well.
NOISY_OUTSIDE = -0.1
# Passes of linear programmes: another one if the last has left points on the wrong side and moved a direction.
FACE_PASSES, CLEAN_SHARE, STILL_MOVING = 2, 1e-3, 1e-3
# Samples of either side for the smooth fit of all half spaces at once.
SOFT_SAMPLES = 10_000
# Passes of least squares with exact labels, until residuals are this small a share of the spread of the labels.
EXACT_PASSES, EXACT_RESIDUAL = 4, 1e-10
# Residual in units of the spread of exact labels above which they are not affine where a unit is alone.
AFFINE_RESIDUAL = 1e-6
# The same, for fits that show what other units do to the directions.
FARTHER_OUTSIDE = -0.5
# Passes of least squares with noisy labels, each with the offset of the one before.
NOISY_PASSES = 3


@dataclass(frozen=True, eq=False)
class Polished:
    """Units after all polish that the labels allow.

    Args:
        units: directions, thresholds and coefficients.
        offset: value of the labels where all units are quiet.
        regression: the last fit of relu units, None for others.
        is_polished: whether anything was done to the start.
        misplaced: share of the points on the wrong side in the last programme of every half space.
    """

    units: OrientedUnits
    offset: float
    regression: RegressedUnits | None
    is_polished: bool
    misplaced: Float64[np.ndarray, "neurons"]


def polish(
    points: Points,
    labels: Labels,
    read: ReadLabels,
    units: OrientedUnits,
    unit: Activation,
    rng: np.random.Generator,
) -> Polished:
    """Half spaces by linear programmes where labels show who is active, relu units by least squares on top.

    Args:
        points: samples that were used for the start.
        labels: one per sample.
        read: what labels say by themselves.
        units: the start.
        unit: kind of the units.
        rng: chooses samples for the programmes.
    """
    if read.is_active is None:
        return Polished(units, read.offset, None, False, np.zeros(len(units.directions)))
    found, misplaced = polish_faces(points, read.is_active, units, rng)
    if unit.name != "relu":
        return Polished(found, read.offset, None, True, misplaced)
    if read.is_exact:
        fit = _exact_polish(points, labels - read.offset, found)
        units = _kept_if_affine(fit, found, float(np.std(labels)))
        return Polished(units, read.offset, fit, True, misplaced)
    return _noisy_polish(points, labels, read, found, misplaced)


def polish_faces(
    points: Points, is_active: Bool[np.ndarray, "points"], units: OrientedUnits, rng: np.random.Generator
) -> tuple[OrientedUnits, Float64[np.ndarray, "neurons"]]:
    """Fit all half spaces of a union at once, smoothly, then each by linear programmes.

    Returns:
        The half spaces, and the share of misplaced points in the last programme of each.
    """
    directions, thresholds = _soft_polish(points, is_active, units, rng)
    misplaced = np.ones(len(directions))
    for _ in range(FACE_PASSES):
        faces = HalfspaceProgramme()(points, is_active, directions, thresholds, rng)
        directions, thresholds, misplaced = faces.directions, faces.thresholds, faces.misplaced
        if np.max(faces.misplaced) < CLEAN_SHARE or np.max(faces.moved) < STILL_MOVING:
            break
    return OrientedUnits(directions, thresholds, units.coefficients), misplaced


def _soft_polish(
    points: Points, is_active: Bool[np.ndarray, "points"], units: OrientedUnits, rng: np.random.Generator
) -> tuple[Atoms, Float64[np.ndarray, "neurons"]]:
    """All half spaces at once on as many active as quiet samples, for starts whose thresholds are far off."""
    chosen = np.concatenate(
        [
            side if len(side) <= SOFT_SAMPLES else rng.choice(side, SOFT_SAMPLES, replace=False)
            for side in (np.flatnonzero(is_active), np.flatnonzero(~is_active))
        ]
    )
    slopes, offsets = FIRST_SHARPNESS * units.directions, FIRST_SHARPNESS * units.thresholds
    soft = fit_soft_union(points[chosen], is_active[chosen], slopes, offsets)
    return soft.directions, soft.thresholds


def _exact_polish(points: Points, labels: Labels, units: OrientedUnits) -> RegressedUnits:
    """Least squares until no residual is left: a unit that is exact tells its neighbours which samples are theirs."""
    spread = float(np.std(labels))
    fit = _regression(points, labels, units, is_exact=True, outside=OUTSIDE)
    for _ in range(EXACT_PASSES):
        if np.max(fit.residuals) < EXACT_RESIDUAL * spread:
            break
        fit = _regression(points, labels, _units_of(fit), is_exact=True, outside=OUTSIDE)
    return fit


def _kept_if_affine(fit: RegressedUnits, faces: OrientedUnits, spread: float) -> OrientedUnits:
    """Units whose labels are affine where they are alone; half spaces where powers of a unit bend them."""
    is_affine = (fit.samples > 0) & (fit.residuals < AFFINE_RESIDUAL * spread)
    return OrientedUnits(
        np.where(is_affine[:, None], fit.directions, faces.directions),
        np.where(is_affine, fit.thresholds, faces.thresholds),
        np.where(fit.samples > 0, fit.coefficients, faces.coefficients),
    )


def _noisy_polish(
    points: Points,
    labels: Labels,
    read: ReadLabels,
    faces: OrientedUnits,
    misplaced: Float64[np.ndarray, "neurons"],
) -> Polished:
    """Least squares with noise: faces are where labels rise above the noise, which is beyond the kinks."""
    offset, level = read.offset, ACTIVE_NOISE * read.noise
    fit = _regression(points, labels - offset, faces, is_exact=False, outside=-level + NOISY_OUTSIDE)
    for _ in range(NOISY_PASSES):
        quiet = np.max(points @ fit.directions.T - fit.thresholds, axis=1) < NOISY_OUTSIDE
        if np.any(quiet):
            offset = float(np.mean(labels[quiet]))
        fit = _regression(points, labels - offset, _units_of(fit), is_exact=False, outside=NOISY_OUTSIDE)
    return Polished(_units_of(fit), offset, fit, True, misplaced)


def _regression(
    points: Points, labels: Labels, units: OrientedUnits, *, is_exact: bool, outside: float
) -> RegressedUnits:
    return regress_units(
        points, labels, units.directions, units.thresholds, units.coefficients, is_exact=is_exact, outside=outside
    )


def _units_of(fit: RegressedUnits) -> OrientedUnits:
    return OrientedUnits(fit.directions, fit.thresholds, fit.coefficients)


def angles_farther_out(points: Points, labels: Labels, polished: Polished) -> Float64[np.ndarray, "neurons"]:
    """Angle by which every relu unit turns if other units are kept farther away; 0 where samples are too few for it.

    Args:
        points: samples of the fit.
        labels: one per sample.
        polished: units that noisy labels were fitted to.
    """
    units = polished.units
    fit = _regression(points, labels - polished.offset, units, is_exact=False, outside=FARTHER_OUTSIDE)
    gaps = np.linalg.norm(fit.directions - units.directions, axis=1)
    return 2 * np.arcsin(np.clip(gaps / 2, 0.0, 1.0))
