"""Success counts: what they say of a chance, and a logistic curve through them with its crossing of one half."""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.exceptions import InvalidInput

# Of all intervals.
CONFIDENCE = 0.95


def wilson_interval(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Enclose the chance behind a count of successes: Wilson's interval, which is not empty at none and at all."""
    found = scipy.stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class LogisticFit:
    """The curve ``P(size) = 1 / (1 + exp(-slope (size - crossing)))``.

    Args:
        crossing: size at which the probability is one half; NaN if the counts show no transition.
        slope: steepness there.
        crossing_error: standard error of the crossing; NaN if the counts step from none to all.
        is_separated: whether the counts step from none to all, so that the slope is the steepest allowed one.
    """

    crossing: float
    slope: float
    crossing_error: float
    is_separated: bool

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        """Probabilities."""
        return scipy.special.expit(self.slope * (np.asarray(sizes, dtype=np.float64) - self.crossing))


def fit_logistic(
    sizes: Float64[np.ndarray, "sizes"],
    successes: Float64[np.ndarray, "sizes"],
    trials: int,
    *,
    slope_penalty: float = 1e-3,
    flat: float = 1e-6,
) -> LogisticFit:
    """Maximum likelihood of success counts.

    Args:
        sizes: where it was tried; at least two different ones.
        successes: how often it worked there.
        trials: how often it was tried at every size.
        slope_penalty: of half the squared slope, per spacing of the sizes. A curve that steps from 0 to 1 between two
            sizes has no best slope; this makes the crossing the middle of the step, and moves no other crossing by more
            than a thousandth.
        flat: slope per spacing below which there is none: far above what rounding leaves of the slope of equal counts,
            far below the slope that one success more or less makes.

    Raises:
        InvalidInput: for fewer than two sizes, or counts outside of 0 to `trials`.
    """
    if len(np.unique(sizes)) < 2 or len(successes) != len(sizes):
        raise InvalidInput(f"a logistic curve needs counts at two sizes or more, got {len(successes)} at {len(sizes)}.")
    if np.any(successes < 0) or np.any(successes > trials):
        raise InvalidInput(f"success counts need to be from 0 to {trials}, got {successes}.")
    if np.all(successes == 0) or np.all(successes == trials):
        return LogisticFit(np.nan, np.nan, np.nan, False)
    spacing, middle = float(np.ptp(sizes)) / (len(np.unique(sizes)) - 1), float(np.mean(sizes))
    u = (sizes - middle) / spacing

    def unlikelihood(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        logits = coefficients[0] + coefficients[1] * u
        value = trials * np.sum(np.logaddexp(0.0, logits)) - successes @ logits
        difference = trials * scipy.special.expit(logits) - successes
        slope = np.array([np.sum(difference), difference @ u + slope_penalty * coefficients[1]])
        return float(value + 0.5 * slope_penalty * coefficients[1] ** 2), slope

    found = scipy.optimize.minimize(unlikelihood, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    if abs(found[1]) < flat:
        return LogisticFit(np.nan, np.nan, np.nan, False)
    crossing = middle - spacing * found[0] / found[1]
    counts = (sizes, successes, trials)
    return LogisticFit(
        float(crossing), float(found[1] / spacing), *_certainty(counts, u, found, spacing, slope_penalty)
    )


def _certainty(
    counts: tuple[np.ndarray, np.ndarray, int],
    u: np.ndarray,
    found: np.ndarray,
    spacing: float,
    slope_penalty: float,
) -> tuple[float, bool]:
    """Standard error of the crossing by the delta method, and whether the counts are a step."""
    sizes, successes, trials = counts
    is_open = (successes > 0) & (successes < trials)
    order = np.argsort(sizes)
    is_step = not np.any(is_open) and len(np.flatnonzero(np.diff(successes[order]))) == 1
    if is_step:
        return np.nan, True
    chances = scipy.special.expit(found[0] + found[1] * u)
    information = trials * chances * (1.0 - chances)
    matrix = np.array([[np.sum(information), information @ u], [information @ u, information @ u**2 + slope_penalty]])
    direction = np.array([-1.0, found[0] / found[1]]) * spacing / found[1]
    return float(np.sqrt(direction @ np.linalg.solve(matrix, direction))), False
