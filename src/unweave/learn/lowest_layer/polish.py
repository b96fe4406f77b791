"""From directions that are some degrees off to the precision of the data, by what the labels allow."""

from dataclasses import dataclass, field, replace

import numpy as np

from unweave.activations import Activation
from unweave.arrays import PerNeuron, Points
from unweave.learn.lowest_layer.directions import OrientedUnits
from unweave.learn.lowest_layer.halfspace_fits import FacePolish
from unweave.learn.lowest_layer.labels import LabelRules, Labels, ReadLabels
from unweave.learn.lowest_layer.local_relu import RegressedUnits, RegressionRules, regress_units


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
    misplaced: PerNeuron


@dataclass(frozen=True, kw_only=True)
class PolishRules:
    """How far directions are polished. Residuals are in units of the spread of the labels.

    Args:
        faces: how half spaces are fitted to the sides of samples.
        exact: passes of least squares with exact labels, at most, and the residual at which they end; chosen, above
            rounding.
        affine_residual: above which exact labels are not affine where a unit is alone; chosen: far above the one of
            exact fits.
        noisy_passes: of least squares with noisy labels, each with the offset of the one before.
        noisy_outside: arguments of units of noisy labels count as quiet below this: directions are known less well.
        farther_outside: the same, for fits that show what other units do to the directions.
        regression: how relu units are fitted where each is active alone.
        labels: how these were read: faces of noisy ones are where these rules take samples for active.
    """

    faces: FacePolish = field(default_factory=FacePolish)
    exact: tuple[int, float] = (4, 1e-10)
    affine_residual: float = 1e-6
    noisy_passes: int = 3
    noisy_outside: float = -0.1
    farther_outside: float = -0.5
    regression: RegressionRules = field(default_factory=RegressionRules)
    labels: LabelRules = field(default_factory=LabelRules)


POLISH_RULES = PolishRules()


def polish(
    points: Points,
    labels: Labels,
    read: ReadLabels,
    units: OrientedUnits,
    unit: Activation,
    rng: np.random.Generator,
    *,
    rules: PolishRules = POLISH_RULES,
) -> Polished:
    """Half spaces by linear programmes where labels show who is active, relu units by least squares on top.

    Args:
        points: samples that were used for the start.
        labels: one per sample.
        read: what labels say by themselves.
        units: the start.
        unit: kind of the units.
        rng: chooses samples for the programmes.
        rules: how far directions are polished.
    """
    if read.is_active is None:
        return Polished(units, read.offset, None, False, np.zeros(len(units.directions)))
    found, misplaced = rules.faces(points, read.is_active, units, rng)
    if unit.name != "relu":
        return Polished(found, read.offset, None, True, misplaced)
    if read.is_exact:
        fit = _exact_polish(points, labels - read.offset, found, rules)
        units = _kept_if_affine(fit, found, rules.affine_residual * float(np.std(labels)))
        return Polished(units, read.offset, fit, True, misplaced)
    return _noisy_polish(points, labels, read, found, misplaced, rules)


def _exact_polish(points: Points, labels: Labels, units: OrientedUnits, rules: PolishRules) -> RegressedUnits:
    """Least squares until no residual is left: a unit that is exact tells its neighbours which samples are theirs."""
    spread = float(np.std(labels))
    fit = _regression(points, labels, units, rules.regression, is_exact=True)
    passes, least_residual = rules.exact
    for _ in range(passes):
        if np.max(fit.residuals) < least_residual * spread:
            break
        fit = _regression(points, labels, _units_of(fit), rules.regression, is_exact=True)
    return fit


def _kept_if_affine(fit: RegressedUnits, faces: OrientedUnits, limit: float) -> OrientedUnits:
    """Units whose labels are affine where they are alone; half spaces where powers of a unit bend them."""
    is_affine = (fit.samples > 0) & (fit.residuals < limit)
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
    misplaced: PerNeuron,
    rules: PolishRules,
) -> Polished:
    """Least squares with noise: faces are where labels rise above the noise, which is beyond the kinks."""
    offset, level = read.offset, rules.labels.active_noise * read.noise
    own = replace(rules.regression, outside=-level + rules.noisy_outside)
    fit = _regression(points, labels - offset, faces, own, is_exact=False)
    own = replace(own, outside=rules.noisy_outside)
    for _ in range(rules.noisy_passes):
        quiet = np.max(points @ fit.directions.T - fit.thresholds, axis=1) < rules.noisy_outside
        if np.any(quiet):
            offset = float(np.mean(labels[quiet]))
        fit = _regression(points, labels - offset, _units_of(fit), own, is_exact=False)
    return Polished(_units_of(fit), offset, fit, True, misplaced)


def _regression(
    points: Points, labels: Labels, units: OrientedUnits, rules: RegressionRules, *, is_exact: bool
) -> RegressedUnits:
    return regress_units(
        points, labels, units.directions, units.thresholds, units.coefficients, is_exact=is_exact, rules=rules
    )


def _units_of(fit: RegressedUnits) -> OrientedUnits:
    return OrientedUnits(fit.directions, fit.thresholds, fit.coefficients)


def angles_farther_out(
    points: Points, labels: Labels, polished: Polished, *, rules: PolishRules = POLISH_RULES
) -> PerNeuron:
    """Angle by which every relu unit turns if other units are kept farther away; 0 where samples are too few for it.

    Args:
        points: samples of the fit.
        labels: one per sample.
        polished: units that noisy labels were fitted to.
        rules: how far away others are kept.
    """
    units = polished.units
    farther = replace(rules.regression, outside=rules.farther_outside)
    fit = _regression(points, labels - polished.offset, units, farther, is_exact=False)
    gaps = np.linalg.norm(fit.directions - units.directions, axis=1)
    return 2 * np.arcsin(np.clip(gaps / 2, 0.0, 1.0))
