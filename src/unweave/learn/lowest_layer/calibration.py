"""Probabilities from distances: how often labels were right at such a distance from the boundary, held-out samples say.

With ``d`` the distance, positive inside of the union, the probability of being labelled as inside is
``1/2 + (1/2 - wrong_inside) tanh(steepness d / 2)`` inside, and the same with `wrong_outside` and a minus sign outside:
one half at the boundary, the share of right labels far from it. With no wrong labels it is the logistic function.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from unweave.arrays import PerPoint, PointMask

# Steps of a line search may go far out, where nothing changes any more.
LARGEST = 20.0


@dataclass(frozen=True, kw_only=True)
class CalibrationRules:
    """How probabilities are fitted.

    Args:
        largest_wrong: share of wrong labels, at most: half spaces that are no better than chance still have sides.
        steepness: starts, in units of one over the median distance; chosen, from a smooth to a sharp change of labels.
        seen: wrong and right labels on either side that are taken for seen, so that no probability is 0 or 1
            (the rule of Laplace).
    """

    largest_wrong: float = 0.499
    steepness: tuple[float, ...] = (1.0, 10.0, 100.0)
    seen: float = 1.0


CALIBRATION_RULES = CalibrationRules()


@dataclass(frozen=True)
class DistanceCalibration:
    """The probability of a label at a distance.

    Args:
        wrong_outside: share of wrong labels far outside of the union.
        wrong_inside: share of wrong labels far inside.
        steepness: how fast labels change at the boundary, in one over the unit of the distances.
    """

    wrong_outside: float
    wrong_inside: float
    steepness: float

    def __call__(self, depths: PerPoint) -> PerPoint:
        """Compute the probability of being labelled as inside of the union; it never falls with the distance."""
        wrong = np.where(depths >= 0, self.wrong_inside, self.wrong_outside)
        return 0.5 + (0.5 - wrong) * np.tanh(0.5 * self.steepness * depths)


def calibrate(
    depths: PerPoint, is_active: PointMask, weights: PerPoint, *, rules: CalibrationRules = CALIBRATION_RULES
) -> DistanceCalibration:
    """Fit probabilities to samples that half spaces were not fitted to, by maximum likelihood.

    Args:
        depths: distance of every sample to the boundary, positive inside.
        is_active: whether it is labelled as inside.
        weights: of the samples, with a mean of about 1.
        rules: what is taken for seen before.
    """
    unit = float(np.median(np.abs(depths))) if len(depths) else 1.0
    unit = unit if np.isfinite(unit) and unit > 0 else 1.0

    def model(flat: np.ndarray) -> DistanceCalibration:
        outside, inside = rules.largest_wrong * expit(np.clip(flat[:2], -LARGEST, LARGEST))
        steepness = float(np.exp(np.clip(flat[2], -LARGEST, LARGEST))) / unit
        return DistanceCalibration(float(outside), float(inside), steepness)

    def loss(flat: np.ndarray) -> float:
        found = model(flat)
        chances = found(depths)
        wrong = np.array([found.wrong_outside, found.wrong_inside])
        before = -rules.seen * float(np.sum(np.log(wrong) + np.log1p(-wrong)))
        return before - float(weights @ np.log(np.maximum(np.where(is_active, chances, 1.0 - chances), 1e-300)))

    share = np.clip(np.average((depths >= 0) != is_active, weights=weights) if len(depths) else 0.5, 0.01, 0.4)
    starts = [np.array([logit(share / rules.largest_wrong)] * 2 + [np.log(each)]) for each in rules.steepness]
    fits = [minimize(loss, start, method="L-BFGS-B") for start in starts]
    return model(min(fits, key=lambda fit: float(fit.fun)).x)
