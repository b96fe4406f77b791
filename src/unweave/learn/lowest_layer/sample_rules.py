"""What samples are needed, and how they are divided."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import PointMask, Points
from unweave.samples.sources import DistinctRows


@dataclass(frozen=True, kw_only=True)
class SampleRules:
    """What samples are needed, and how they are divided.

    Args:
        held_out: share of them that judges the result and takes no part in it; chosen.
        per_input: with fewer there are no moments worth decomposing; chosen.
        constant: spread of an input, relative to its size, below which it is rounding of a constant; chosen:
            some thousand roundings of float64.
    """

    held_out: float = 0.1
    per_input: int = 20
    constant: float = 1e-12

    def hold_out(self, points: Points, rng: np.random.Generator) -> tuple[PointMask, PointMask]:
        """Choose the samples that may be fitted, and those that judge.

        Samples at one point are on one side, and one of them judges: as many others would be no further evidence.
        """
        distinct = DistinctRows.of(points)
        chosen = np.zeros(distinct.count, dtype=bool)
        chosen[rng.choice(distinct.count, int(self.held_out * distinct.count), replace=False)] = True
        held, judging = chosen[distinct.which], np.zeros(len(points), dtype=bool)
        judging[distinct.one_of_each(rng)] = True
        return ~held, held & judging
