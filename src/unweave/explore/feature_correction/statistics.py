"""What a few seeds allow to say: means, paired differences with t intervals, and how many seeds more it would take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy  # its parts are loaded when first used


@dataclass(frozen=True, kw_only=True)
class SeedRules:
    """How many repetitions support a conclusion, and how firmly.

    Args:
        least: fewer seeds never do. Chosen: accuracies of short trainings scatter by a point and more, and that scatter
            is itself known to 40 % only from four seeds.
        most: seeds beyond which nobody would go: "more than" is said instead. Chosen.
        confidence: of intervals; the usual one.
    """

    least: int = 5
    most: int = 200
    confidence: float = 0.95

    def half_width(self, scatter: float, seeds: int) -> float:
        """Of Student's interval of a mean over seeds; NaN for fewer than two."""
        if seeds < 2:
            return float("nan")
        return float(scipy.stats.t.ppf((1 + self.confidence) / 2, seeds - 1)) * scatter / math.sqrt(seeds)

    def seeds_within(self, distance: float, scatter: float, seeds: int) -> int:
        """The least number, above that of the seeds so far, for an interval of less than this half width."""
        counts = np.arange(seeds + 1, self.most + 1)
        widths = scipy.stats.t.ppf((1 + self.confidence) / 2, counts - 1) * scatter / np.sqrt(counts)
        enough = counts[widths < distance]
        return int(enough[0]) if len(enough) else self.most + 1


SEED_RULES = SeedRules()


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
    def scatter(self) -> float:
        """Of one seed; NaN for fewer than two."""
        return self.standard_error * math.sqrt(len(self.values))

    @property
    def half_width(self) -> float:
        """Of the interval that holds the true mean with a confidence of 95 %, if seeds scatter as a Gaussian."""
        return SEED_RULES.half_width(self.scatter, len(self.values))

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


def conclude(difference: Scores, *, tolerance: float, rules: SeedRules = SEED_RULES) -> Conclusion:
    """Whether a difference is above zero, and not just negligible.

    Args:
        difference: paired, over seeds.
        tolerance: differences up to this do not matter.
        rules: how many seeds are enough, and how firmly.

    Guarantees: needed, if the mean is above the tolerance and the whole interval above 0; frozen is better, if the
    same holds of the negative difference; not needed, if the whole interval is at most the tolerance; otherwise, and
    for fewer than the least seeds of the rules, nothing is concluded.
    """
    seeds = len(difference.values)
    if not np.all(np.isfinite(difference.values)):
        return Conclusion(Need.UNKNOWN, has_diverged=True)
    if seeds < rules.least:
        return Conclusion(Need.UNKNOWN, rules.least - seeds)
    mean, width = difference.mean, rules.half_width(difference.scatter, seeds)
    if mean > tolerance and mean - width > 0:
        return Conclusion(Need.YES)
    if mean < -tolerance and mean + width < 0:
        return Conclusion(Need.REVERSED)
    if mean + width <= tolerance:
        return Conclusion(Need.NO)
    distance = mean if mean > tolerance else tolerance - mean
    return Conclusion(Need.UNKNOWN, rules.seeds_within(distance, difference.scatter, seeds) - seeds)


def scores(values: Sequence[float | None]) -> Scores:
    """Of the seeds that have one, up to the first that has none: later ones could not be paired."""
    known = []
    for value in values:
        if value is None:
            break
        known.append(value)
    return Scores(tuple(known))
