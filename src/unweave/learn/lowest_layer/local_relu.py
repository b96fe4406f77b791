"""Relu units of a lowest layer by least squares where each is active alone.

Where one relu is active and all others are quiet, the labels are ``offset + c_i (<w_i, x> - t_i)`` whatever stands
above: an affine function, which a few samples of exact labels determine to rounding.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, PerPoint, Points


@dataclass(frozen=True, eq=False)
class RegressedUnits:
    """Units after the fit.

    Args:
        directions: unit vectors that point to where the units are active.
        thresholds: one per unit.
        coefficients: of each unit when it is active alone.
        samples: that each fit used; 0 for a unit that was left as it was.
        residuals: root mean square of the residuals of each fit.
        angle_errors: standard error of every direction in radians, as least squares has it.
    """

    directions: Atoms
    thresholds: PerNeuron
    coefficients: PerNeuron
    samples: PerNeuron
    residuals: PerNeuron
    angle_errors: PerNeuron


@dataclass(frozen=True, kw_only=True)
class RegressionRules:
    """Which samples a unit has for itself, and how it is fitted to them.

    Args:
        inside: argument of the unit itself above which a sample is taken for its own; chosen: its kink may be a little
            off.
        outside: argument of other units below which they count as quiet; chosen, as `inside`.
        kept_share: of the samples, those of smallest residual, that a trimmed fit keeps; chosen: more than half must be
            its own.
        trims: number of such fits, at most; they mostly end before.
        samples_per_unknown: below which a unit is left as it is; chosen.
        most_samples: that are used; chosen, for the time.
    """

    inside: float = 0.02
    outside: float = -0.02
    kept_share: float = 0.6
    trims: int = 25
    samples_per_unknown: float = 2.0
    most_samples: int = 20_000


REGRESSION_RULES = RegressionRules()


def regress_units(
    points: Points,
    labels: PerPoint,
    directions: Atoms,
    thresholds: PerNeuron,
    coefficients: PerNeuron,
    *,
    is_exact: bool,
    rules: RegressionRules = REGRESSION_RULES,
) -> RegressedUnits:
    """Fit every unit to the samples that it has for itself.

    Args:
        points: samples.
        labels: without their offset.
        directions: unit vectors near the true ones.
        thresholds: near the true ones.
        coefficients: what to keep for units with too few samples.
        is_exact: whether labels are free of noise; then the fit is trimmed, which leaves out samples of other units.
        rules: which samples a unit has for itself.

    Guarantees: rounding errors for exact labels if more than `kept_share` of the samples belong to the unit;
    ``noise sqrt(inputs / samples)`` otherwise.
    """
    arguments = points @ directions.T - thresholds
    found = [_fitted(points, labels, arguments, unit, rules, is_exact=is_exact) for unit in range(len(directions))]
    kept = RegressedUnits(
        directions.copy(), thresholds.copy(), coefficients.copy(), *(np.zeros(len(directions)) for _ in range(3))
    )
    kept.angle_errors[:] = np.inf
    for unit, fit in enumerate(found):
        if fit is None:
            continue
        slope, level, count, residual, error = fit
        size = float(np.linalg.norm(slope))
        # A unit points to where it is active, which is where the samples of the fit were.
        sign = 1.0 if float(slope @ directions[unit]) >= 0 else -1.0
        kept.directions[unit], kept.thresholds[unit] = sign * slope / size, -sign * level / size
        kept.coefficients[unit], kept.samples[unit] = sign * size, count
        kept.residuals[unit], kept.angle_errors[unit] = residual, error
    return kept


def _fitted(
    points: Points,
    labels: PerPoint,
    arguments: Float64[np.ndarray, "points neurons"],
    unit: int,
    rules: RegressionRules,
    *,
    is_exact: bool,
) -> tuple[np.ndarray, float, int, float, float] | None:
    others = np.delete(arguments, unit, axis=1).max(axis=1, initial=-np.inf)
    chosen = np.flatnonzero((others < rules.outside) & (arguments[:, unit] > rules.inside))[: rules.most_samples]
    unknowns = points.shape[1] + 1
    if len(chosen) < rules.samples_per_unknown * unknowns:
        return None
    design = np.column_stack([points[chosen], np.ones(len(chosen))])
    target = labels[chosen]
    kept = np.arange(len(chosen))
    fewest = max(int(rules.kept_share * len(chosen)), unknowns + 1)
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    for _ in range(rules.trims if is_exact else 0):
        smallest = np.sort(np.argpartition(np.abs(design @ solution - target), fewest - 1)[:fewest])
        if np.array_equal(smallest, kept):
            break
        kept = smallest
        solution = np.linalg.lstsq(design[kept], target[kept], rcond=None)[0]
    misses = design @ solution - target
    residual = float(np.sqrt(np.sum(misses[kept] ** 2) / max(len(kept) - unknowns, 1)))
    slope, size = solution[:-1], float(np.linalg.norm(solution[:-1]))
    if size == 0.0:
        return None
    return slope, float(solution[-1]), len(kept), residual, _angle_error(design[kept], slope / size, residual / size)


def _angle_error(design: np.ndarray, direction: np.ndarray, noise: float) -> float:
    """Root mean square of the error of a direction: the covariance of least squares across the direction."""
    covariance = np.linalg.pinv(design.T @ design)[:-1, :-1]
    across = np.trace(covariance) - direction @ covariance @ direction
    return float(noise * np.sqrt(max(across, 0.0)))


def exact_residual(
    points: Points,
    labels: PerPoint,
    directions: Atoms,
    thresholds: PerNeuron,
    coefficients: PerNeuron,
) -> float:
    """Largest residual of held-out labels where at most one unit is active, in units of the spread of the labels.

    Args:
        points: held-out samples.
        labels: without their offset.
        directions: unit vectors.
        thresholds: one per direction.
        coefficients: of every unit when it is active alone.
    """
    values = np.maximum(points @ directions.T - thresholds, 0.0)
    alone = np.count_nonzero(values, axis=1) <= 1
    spread = float(np.std(labels)) or 1.0
    return float(np.max(np.abs(values[alone] @ coefficients - labels[alone]), initial=0.0) / spread)
