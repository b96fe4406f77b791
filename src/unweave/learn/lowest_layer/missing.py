"""How large a half space may be that is missing, from wrong labels outside of all that were found.

With Q the share of the inputs outside, s that of the missing half space, and labels flipped with probability b there,
and a inside of half spaces, wrong labels outside have the share ``s (1 - a) + (Q - s) b``. So ``s`` is at most
``(upper - b Q) / (1 - a - b)`` for an upper limit of that share, a lower one of b and an upper one of a.
"""

import numpy as np
from scipy import stats

from unweave.arrays import PointMask, Points

# Standard errors by which shares of flipped labels are taken smaller or larger than they are counted; customary.
CERTAIN = 2.0


def upper_count(count: int, *, confidence: float) -> float:
    """Compute the upper limit of the mean of a Poisson count."""
    return float(stats.chi2.ppf(confidence, 2 * (count + 1)) / 2)


def largest_missing(
    points: Points, is_wrong: PointMask, *, deep: PointMask, quiet: PointMask, confidence: float
) -> float:
    """Compute the largest share of the inputs that another half space may hold alone, as far as labels tell.

    Args:
        points: held-out samples.
        is_wrong: whether the half spaces that were found are wrong for the label of each.
        deep: samples far inside of a half space, where wrong labels are flipped ones.
        quiet: samples outside of all.
        confidence: of the limit.

    Returns:
        The limit: no less than that without a wrong label.

    Assumes: labels are flipped as often everywhere outside, and as often everywhere inside; a missing half space holds
        less than half of what is outside.
    Guarantees: heuristic where labels are flipped: the side that a missing half space is on is estimated.
    """
    outside, least = int(np.count_nonzero(quiet)), upper_count(0, confidence=confidence)
    # Labels may be flipped on one side only: what is certain is what both sides show.
    flipped = min(_limit(is_wrong, deep, -CERTAIN), _limit(is_wrong, _away(points, is_wrong, quiet), -CERTAIN))
    seen = upper_count(int(np.count_nonzero(is_wrong & quiet)), confidence=confidence) - flipped * outside
    shown = 1.0 - flipped - _limit(is_wrong, deep, CERTAIN)
    # Where all that could show it may be hidden, nothing is known.
    return min(max(seen, least) / (shown * max(len(points), 1)), 1.0) if shown > 0.0 else 1.0


def _limit(is_wrong: PointMask, part: PointMask, errors: float) -> float:
    """The share of wrong labels in a part, so many standard errors larger than counted."""
    wrong = np.count_nonzero(is_wrong & part)
    return float(max(wrong + errors * np.sqrt(wrong), 0.0) / max(np.count_nonzero(part), 1))


def _away(points: Points, is_wrong: PointMask, quiet: PointMask, *, farthest: float = 3.0) -> PointMask:
    """The half of the quiet samples away from where more labels are wrong, and so from a missing half space.

    Inputs farther out than `farthest` standard deviations count as being there, so that stragglers decide nothing.
    """
    chosen = quiet & is_wrong
    if not np.any(chosen):
        return quiet
    clipped = np.clip(points, -farthest, farthest)
    along = clipped @ (clipped[chosen].mean(axis=0) - clipped[quiet].mean(axis=0))
    return quiet & (along <= np.median(along[quiet]))
