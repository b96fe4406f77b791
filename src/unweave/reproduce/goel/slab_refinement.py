"""Angles and half spaces from conditional probabilities on slabs: the search of [goel, Alg. 1], and a faster one.

On the slab where ``<z, x>`` is about s a half space ``<w, x> >= t`` at angle alpha to z is active with probability
``Phi((s cos alpha - t) / sin alpha)``. Two quantiles of that function of s give ``tan alpha`` and t.

`refine_by_search` is RefineEstimate [goel, Alg. 1], with the acceptance test that its analysis needs. Its
steps are so small that a fixed sample hardly resolves them, and its own estimate of the angle is too good, because it
chooses what looks best; `refine_by_band` takes the direction of the error from the first moment on the slab.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtri

from unweave.arrays import PointMask, Points, Vector

# Levels of the two quantiles, and the distance of the same quantiles of the standard normal distribution.
QUANTILE_LEVELS = (0.4, 0.6)
NORMAL_DISTANCE = float(ndtri(QUANTILE_LEVELS[1]) - ndtri(QUANTILE_LEVELS[0]))
# Slabs with fewer samples have no quantile.
LEAST_SAMPLES = 40
# Band of `refine_by_band` in units of tan alpha, its fewest samples, and how much wider a poor one is made.
BAND_WIDTH, BAND_SAMPLES, WIDER = 1.5, 60, 1.5
# A gradient this many times its standard error is a direction; a new tan alpha up to so much larger is chance.
SIGNIFICANT, TOLERATED_GROWTH = 1.5, 1.2
NARROWEST_SLAB, WIDEST_SLAB = 0.003, 0.1
# Acceptance and perturbation of the search of [goel, Alg. 1], per input.
LEAST_DECREASE, PERTURBATION = 0.01, 0.1


@dataclass(frozen=True)
class SlabAngle:
    """Angle of a direction to the nearest half space.

    Args:
        tangent: tan alpha; infinite if no slab is active often enough.
        centre: where the probability is one half.
    """

    tangent: float
    centre: float

    @property
    def threshold(self) -> float:
        """Of the half space."""
        return float(np.cos(self.angle) * self.centre)

    @property
    def angle(self) -> float:
        """In radians."""
        return float(np.arctan(self.tangent))


@dataclass(frozen=True, eq=False)
class RefinedRow:
    """A direction after refinement.

    Args:
        row: unit vector.
        slab: angle and threshold as the slabs have them; optimistic after a search on the same samples.
        accepted: steps that were taken.
    """

    row: Vector
    slab: SlabAngle
    accepted: int


def estimate_tan_alpha(points: Points, is_active: PointMask, direction: Vector, *, width: float) -> SlabAngle:
    """Estimate the tangent from two quantiles of the probability of being active, by slabs [goel, Lemma 3, rebuilt].

    Args:
        points: samples; leave out those where another half space may be active, or the floor lifts both quantiles.
        is_active: whether a sample is in the union.
        direction: unit vector.
        width: of a slab.
    """
    positions = points @ direction
    order = np.argsort(positions)
    positions, active = positions[order], np.concatenate([[0.0], np.cumsum(is_active[order])])
    # Slabs end at every quarter of their width, from the origin outwards.
    ends = np.arange(width, max(float(positions[-1]), width) if len(positions) else width, width / 4)
    last, first = np.searchsorted(positions, ends), np.searchsorted(positions, ends - width)
    counts = last - first
    is_known = counts >= LEAST_SAMPLES
    if not np.any(is_known):
        return SlabAngle(np.inf, np.inf)
    shares = (active[last] - active[first])[is_known] / counts[is_known]
    centres = ends[is_known] - width / 2
    quantiles = [_crossing(centres, shares, level) for level in QUANTILE_LEVELS]
    if None in quantiles:
        return SlabAngle(np.inf, np.inf)
    low, high = (float(q) for q in quantiles if q is not None)
    tangent = max(high - low, 0.0) / NORMAL_DISTANCE
    return SlabAngle(tangent, (low + high) / 2)


def refine_by_search(
    points: Points,
    is_active: PointMask,
    direction: Vector,
    rng: np.random.Generator,
    *,
    width: float,
    rounds: int,
    target: float = 0.0,
) -> RefinedRow:
    """Refine by random perturbations [goel, Alg. 1], kept if they lower the angle by a share of 0.01 / inputs.

    Args:
        points: samples.
        is_active: whether a sample is in the union.
        direction: unit vector near a row.
        rng: for the perturbations.
        width: of the slabs.
        rounds: perturbations.
        target: angle in radians at which to stop.
    """
    slab, accepted, inputs = estimate_tan_alpha(points, is_active, direction, width=width), 0, len(direction)
    for _ in range(rounds):
        if slab.angle <= target:
            break
        change = rng.standard_normal(inputs)
        change -= direction * float(direction @ change)
        trial = direction + PERTURBATION * np.sin(slab.angle) / inputs * change
        trial /= np.linalg.norm(trial)
        seen = estimate_tan_alpha(points, is_active, trial, width=width)
        if seen.angle <= (1 - LEAST_DECREASE / inputs) * slab.angle:
            direction, slab, accepted = trial, seen, accepted + 1
    return RefinedRow(direction, slab, accepted)


def refine_by_band(points: Points, is_active: PointMask, direction: Vector, *, rounds: int = 12) -> RefinedRow:
    """Turn a direction by the measured angle towards the mean of the active samples of its band.

    In the band around the probability one half labels are ``1[<v, x> >= const]`` with v the direction of the error, so
    the covariance of labels and inputs points along v.

    Args:
        points: samples without those of other half spaces.
        is_active: whether a sample is in the union.
        direction: unit vector near a row.
        rounds: largest number of turns.

    Guarantees: heuristic; a turn after which the angle looks larger is taken back.
    """
    width, accepted = WIDEST_SLAB, 0
    slab = estimate_tan_alpha(points, is_active, direction, width=width)
    for _ in range(rounds):
        gradient = _band_gradient(points, is_active, direction, slab) if np.isfinite(slab.tangent) else None
        if gradient is None:
            break
        trial = np.cos(slab.angle) * direction + np.sin(slab.angle) * gradient
        trial /= np.linalg.norm(trial)
        width = float(np.clip(slab.tangent / 2, NARROWEST_SLAB, WIDEST_SLAB))
        seen = estimate_tan_alpha(points, is_active, trial, width=width)
        if seen.tangent > TOLERATED_GROWTH * slab.tangent:
            break
        direction, slab, accepted = trial, seen, accepted + 1
    return RefinedRow(direction, slab, accepted)


def _crossing(
    centres: Float64[np.ndarray, "slabs"], shares: Float64[np.ndarray, "slabs"], level: float
) -> float | None:
    """Where the shares first reach a level, linear between slabs; None if they never do or start above."""
    above = np.flatnonzero(shares >= level)
    if len(above) == 0 or above[0] == 0:
        return None
    j = int(above[0])
    rise = shares[j] - shares[j - 1]
    return float(centres[j - 1] + (centres[j] - centres[j - 1]) * (level - shares[j - 1]) / rise)


def _band_gradient(points: Points, is_active: PointMask, direction: Vector, slab: SlabAngle) -> Vector | None:
    """Unit vector across the direction along which the labels of the band grow; None if it is lost in noise."""
    distances = np.abs(points @ direction - slab.centre)
    width = max(BAND_WIDTH * slab.tangent, NARROWEST_SLAB)
    while np.count_nonzero(distances <= width) < BAND_SAMPLES and width < 1.0:
        width *= WIDER
    inside = distances <= width
    if np.count_nonzero(inside) < BAND_SAMPLES:
        return None
    near, labels = points[inside], is_active[inside].astype(np.float64)
    across = near - np.outer(near @ direction, direction)
    gradient = (labels - labels.mean()) @ across / len(labels)
    size = float(np.linalg.norm(gradient))
    noise = np.sqrt(len(direction) * labels.var() / len(labels))
    return None if size <= SIGNIFICANT * noise else gradient / size
