"""What a few seeds allow to say: means, paired differences with t intervals, and how many seeds more it would take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.stats import t as student_t

# Fewer repetitions never support a conclusion: accuracies of short trainings scatter by a point and more.
LEAST_SEEDS = 5
CONFIDENCE = 0.95
# Beyond this many seeds nobody would go: "more than" is said instead.
MOST_SEEDS = 200


class Need(StrEnum):
    """Whether a difference is there."""

    YES = "needed"
    NO = "not needed"
    REVERSED = "frozen is better"
    UNKNOWN = "no conclusion"


@dataclass(frozen=True)
class Scores:
    """One number per seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over seeds; NaN if there are none."""
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for fewer than two seeds."""
        if len(self.values) < 2:
            return float("nan")
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values)))

    @property
    def half_width(self) -> float:
        """Of the interval that holds the true mean with a confidence of 95 %, if seeds scatter as a Gaussian."""
        return _half_width(self.standard_error * math.sqrt(len(self.values)), len(self.values))

    def minus(self, other: "Scores") -> "Scores":
        """Paired differences, of the seeds that both have."""
        return Scores(tuple(a - b for a, b in zip(self.values, other.values, strict=False)))


@dataclass(frozen=True)
class Conclusion:
    """Whether a difference matters.

    Args:
        need: yes, no or unknown.
        more_seeds: how many seeds more would decide it, judged by the scatter so far; 0 if it is decided.
        has_diverged: whether a training ended without a score, which no further seed changes.
        doubt: why the trainings that were compared say nothing, whatever their difference is; empty if they do.
    """

    need: Need
    more_seeds: int = 0
    has_diverged: bool = False
    doubt: str = ""


def conclude(difference: Scores, *, tolerance: float) -> Conclusion:
    """Whether a difference is above zero, and not just negligible.

    Args:
        difference: paired, over seeds.
        tolerance: differences up to this do not matter.

    Guarantees: needed, if the mean is above the tolerance and the whole interval above 0; frozen is better, if the
    same holds of the negative difference; not needed, if the whole interval is at most the tolerance; otherwise, and
    for fewer than `LEAST_SEEDS` seeds, nothing is concluded.
    """
    seeds = len(difference.values)
    if not np.all(np.isfinite(difference.values)):
        return Conclusion(Need.UNKNOWN, has_diverged=True)
    if seeds < LEAST_SEEDS:
        return Conclusion(Need.UNKNOWN, LEAST_SEEDS - seeds)
    mean, width = difference.mean, difference.half_width
    if mean > tolerance and mean - width > 0:
        return Conclusion(Need.YES)
    if mean < -tolerance and mean + width < 0:
        return Conclusion(Need.REVERSED)
    if mean + width <= tolerance:
        return Conclusion(Need.NO)
    return Conclusion(Need.UNKNOWN, _seeds_to_decide(difference, tolerance) - seeds)


def _seeds_to_decide(difference: Scores, tolerance: float) -> int:
    distance = difference.mean if difference.mean > tolerance else tolerance - difference.mean
    scatter = difference.standard_error * math.sqrt(len(difference.values))
    counts = np.arange(len(difference.values) + 1, MOST_SEEDS + 1)
    widths = student_t.ppf((1 + CONFIDENCE) / 2, counts - 1) * scatter / np.sqrt(counts)
    enough = counts[widths < distance]
    return int(enough[0]) if len(enough) else MOST_SEEDS + 1


def _half_width(scatter: float, seeds: int) -> float:
    if seeds < 2:
        return float("nan")
    return float(student_t.ppf((1 + CONFIDENCE) / 2, seeds - 1)) * scatter / math.sqrt(seeds)


def scores(values: Sequence[float | None]) -> Scores:
    """Of the seeds that have one, up to the first that has none: later ones could not be paired."""
    known = []
    for value in values:
        if value is None:
            break
        known.append(value)
    return Scores(tuple(known))
