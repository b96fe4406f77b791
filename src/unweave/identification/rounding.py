"""Whether answers that are multiples of one number were rounded to it, or are those of steps of such heights.

Both are constant in parts. Along a line a function that was rounded goes through all multiples one after the other,
while steps jump by several at once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Values, spread_of_columns
from unweave.identification import reasons
from unweave.identification.answers import AnswerPool
from unweave.oracles.digits import constant_outputs
from unweave.oracles.oracle import Oracle


@dataclass(frozen=True)
class AnswerDigits:
    """What answers are rounded to, per output, and how far they are from those next to them.

    Args:
        unit: that of their last digit, or the number that they are multiples of.
        scatter: deviation of answers from those next to them, as measured.
    """

    unit: Float64[np.ndarray, "outputs"]
    scatter: Float64[np.ndarray, "outputs"]

    def are_cause(self, level: float, spread: Float64[np.ndarray, "outputs"]) -> bool:
        """Whether answers are as far from their neighbours, relative to the spread, as rounding makes them, or less."""
        return level <= float(np.max(self.unit / spread))

    def spreads(self, answers: AnswerPool) -> Float64[np.ndarray, "outputs"]:
        """Give the standard deviation of fresh answers, per output; infinite where all are constant up to rounding.

        Units were chosen from a few first answers, which may be the same where others are not.
        """
        values, typical = _unseen(answers), spread_of_columns(_unseen(answers, with_trials=False))
        spreads = np.where(typical > self.unit, typical, spread_of_columns(values))
        return np.where(constant_outputs(values, self.unit, self.scatter), np.inf, spreads)

    def hide_changes(self, answers: AnswerPool) -> Bool[np.ndarray, "outputs"]:
        """Whether constant answers may be those of a function that changes: they differ, or have few digits."""
        has_few = answers.oracle.oracle.ledger.answer_digits > np.finfo(float).eps
        return has_few | (np.ptp(_unseen(answers), axis=0) > 0.0)

    def notes(self, answers: AnswerPool) -> list[str]:
        """Say which outputs are constant up to rounding, beside others that are not."""
        return reasons.rounded_constants(self.spreads(answers), self.unit, self.hide_changes(answers))


def _unseen(answers: AnswerPool, *, with_trials: bool = True) -> Values:
    """Give answers in the domain that no fit has seen, in the oracle's units without their offset."""
    fresh = answers.fresh_values if len(answers.fresh_values) else answers.values
    trials = answers.trials_in_domain[1] if with_trials else fresh[:0]
    return np.concatenate([fresh, trials]) * answers.oracle.size


@dataclass(frozen=True)
class RoundingLook:
    """Settings of the look at the places where answers change.

    Args:
        segments: lines between random places of the domain, on which the first change is looked for.
        fractions: shares of a line at which it is asked, from close to its beginning to its end.
        halvings: how often the place of a change is halved: a rounded function changes once in it.
        single: share of the changes that are by one multiple if answers were rounded.
        fewest: changes that must be met.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    segments: int = 16
    fractions: tuple[float, ...] = tuple(3.0 ** np.arange(-9.0, 1.0))
    halvings: int = 12
    single: float = 0.9
    fewest: int = 4

    def __call__(self, oracle: Oracle, step: float, rng: np.random.Generator) -> bool:
        """Say whether answers, all multiples of `step`, change by one multiple wherever they change."""
        center, half_width = oracle.domain.frame(oracle.inputs)
        ends = oracle.domain.sample_standard(rng, 2 * self.segments, oracle.inputs, 0.0)
        first, last = np.split(center + half_width * ends, 2)
        shares = np.array([0.0, *self.fractions])
        points = first[:, None] + shares[:, None] * (last - first)[:, None]
        values = oracle.query(points.reshape(-1, oracle.inputs)).reshape(self.segments, len(shares), -1)
        differ = _differ(values, values[:, :1], step)
        changes = np.flatnonzero(np.any(differ, axis=1))
        if len(changes) < self.fewest:
            return False
        index = np.argmax(differ[changes], axis=1)
        inside, outside = points[changes, index - 1], points[changes, index]
        before, after = values[changes, 0], values[changes, index]
        for _ in range(self.halvings):
            middle = 0.5 * (inside + outside)
            answers = oracle.query(middle)
            has_changed = _differ(answers, before, step)[:, None]
            inside, outside = np.where(has_changed, inside, middle), np.where(has_changed, middle, outside)
            after = np.where(has_changed, answers, after)
        heights = np.max(np.abs(after - before), axis=1)
        return bool(np.mean(heights < 1.5 * step) >= self.single)


def _differ(values: np.ndarray, others: np.ndarray, step: float) -> Bool[np.ndarray, "..."]:
    """Whether answers differ by half a multiple, at least, in any output."""
    return np.max(np.abs(values - others), axis=-1) > 0.5 * step
