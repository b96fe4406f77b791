"""Which samples are enough, and which of them judge."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import PointMask


@dataclass(frozen=True, kw_only=True)
class SampleRules:
    """What samples are needed, and how they are divided.

    Args:
        held_out: share of them that judges the result and takes no part in it; chosen.
        per_input: with fewer there are no moments worth decomposing; chosen.
        constant: spread of an input, relative to its size, below which it is rounding of a constant; chosen.
    """

    held_out: float = 0.1
    per_input: int = 20
    constant: float = 1e-12

    def hold_out(self, count: int, rng: np.random.Generator) -> PointMask:
        """Choose the samples that judge."""
        held = np.zeros(count, dtype=bool)
        held[rng.choice(count, int(self.held_out * count), replace=False)] = True
        return held
