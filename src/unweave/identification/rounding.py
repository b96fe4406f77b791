"""Whether answers that are multiples of one number were rounded to it, or are those of steps of such heights.

Both are constant in parts. Along a line a function that was rounded goes through all multiples one after the other,
while steps jump by several at once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from unweave.oracles.oracle import Oracle


@dataclass(frozen=True)
class RoundingLook:
    """Settings of the look at the places where answers change.

    Args:
        segments: lines between random places of the domain, on which the first change is looked for.
        fractions: shares of a line at which it is asked, from close to its beginning to its end.
        halvings: how often the place of a change is halved at most, until there is one change in it: where a line
            begins on a plateau of the function itself, the first change may be that of a hundred thousand multiples.
        single: share of the changes that are by one multiple if answers were rounded.
        fewest: changes that must be met.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    segments: int = 16
    fractions: tuple[float, ...] = tuple(3.0 ** np.arange(-9.0, 1.0))
    halvings: int = 24
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
            wide = np.flatnonzero(_differ(after, before, 3.0 * step))
            if len(wide) == 0:
                break
            middle = 0.5 * (inside[wide] + outside[wide])
            answers = oracle.query(middle)
            has_changed = _differ(answers, before[wide], step)[:, None]
            inside[wide] = np.where(has_changed, inside[wide], middle)
            outside[wide] = np.where(has_changed, middle, outside[wide])
            after[wide] = np.where(has_changed, answers, after[wide])
        return bool(np.mean(~_differ(after, before, 3.0 * step)) >= self.single)


def _differ(values: np.ndarray, others: np.ndarray, step: float) -> Bool[np.ndarray, "..."]:
    """Whether answers differ by half a multiple, at least, in any output."""
    return np.max(np.abs(values - others), axis=-1) > 0.5 * step
