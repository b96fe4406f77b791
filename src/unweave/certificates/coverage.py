"""Which share of the domain fresh answers stand for, from the binomial distribution alone."""

import numpy as np
import scipy  # its parts are loaded when first used


def coverage_of(fresh: int, *, confidence: float, candidates: int = 1) -> float:
    """Give the share of the domain that so many fresh points without exception stand for.

    Several candidates share the probability of being wrong, so that it does not matter which of them was lucky.
    """
    return float(((1 - confidence) / candidates) ** (1 / fresh))


def right_share(fresh: int, missed: int, *, confidence: float, candidates: int = 1) -> float:
    """Give a lower bound of the share of the domain where a network is right that missed some of its fresh points.

    The bound of Clopper and Pearson, from the binomial distribution alone.
    """
    if missed == 0:
        return coverage_of(fresh, confidence=confidence, candidates=candidates) if fresh else 0.0
    if missed >= fresh:
        return 0.0
    return float(scipy.special.betaincinv(fresh - missed, missed + 1, (1 - confidence) / candidates))


def fresh_needed(coverage: float, *, confidence: float, candidates: int = 1) -> int:
    """Give the number of fresh points that this coverage needs."""
    return int(np.ceil(np.log((1 - confidence) / candidates) / np.log(coverage)))
