"""How exact answers are, read off the answers themselves: values that were rounded lie on a grid.

The type of an array says little: numbers that were computed in float32 or float16 often arrive as float64, and others
were rounded to decimals. Numbers of full precision have random last digits, so that a few answers tell.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64

# Significant binary digits of float64, and how many values may need at most to be on a grid: eight zeros at the end of
# every value are no chance.
ALL_BITS, MOST_BITS = 53, 44
# Values that are kept to tell a grid, and the fewest different ones that do.
KEPT, FEWEST = 64, 8
# Share of the values that need all digits of the grid: a half of those that were rounded to binary digits.
FULL_SHARE = 0.2
# Spacings below this share of the largest value are rounding, and differences are multiples up to this share of them.
FINEST_SPACING, MULTIPLE = 1e-8, 1e-3


@dataclass(frozen=True)
class ValueGrid:
    """What the answers so far say about how they were rounded.

    Args:
        bits: the largest number of significant binary digits that a value needs.
        kept: some different values, none of them zero.
    """

    bits: int = 0
    kept: Float64[np.ndarray, "values"] = field(default_factory=lambda: np.empty(0))

    def having(self, values: np.ndarray) -> "ValueGrid":
        """Add finite answers."""
        if len(self.kept) >= KEPT and self.bits > MOST_BITS:
            return self
        values = np.unique(values[values != 0.0])
        if len(values) == 0:
            return self
        kept = self.kept
        if len(kept) < KEPT:
            chosen = values[:: max(1, len(values) // KEPT)]
            kept = np.concatenate([kept, np.setdiff1d(chosen, kept)])[:KEPT]
        return ValueGrid(max(self.bits, int(np.max(significant_bits(values)))), kept)

    @cached_property
    def digits(self) -> float:
        """The relative rounding, as `np.finfo(...).eps`, of values with few binary digits; zero if there is none.

        Values that are multiples of one number need all digits only where they are largest, and have no relative
        rounding.
        """
        if self.bits > MOST_BITS or len(self.kept) < FEWEST:
            return 0.0
        is_full = significant_bits(self.kept) >= self.bits
        exponents = np.frexp(self.kept)[1]
        is_relative = len(np.unique(exponents[is_full])) > 1 and np.mean(is_full) >= FULL_SHARE
        return 2.0 ** (1 - self.bits) if is_relative else 0.0

    @cached_property
    def step(self) -> float:
        """The number that all values so far are multiples of, as decimals are; zero if there is none."""
        if len(self.kept) < FEWEST or self.digits:
            return 0.0
        largest = float(np.max(np.abs(self.kept)))
        smallest, spacing = FINEST_SPACING * largest, largest
        for value in np.abs(self.kept):
            spacing = _common(spacing, float(value), smallest)
            if not spacing > smallest:
                return 0.0
            # Subtraction leaves errors that the next value would multiply.
            spacing = largest / np.rint(largest / spacing)
        multiples = self.kept / spacing
        return float(spacing) if np.all(np.abs(multiples - np.rint(multiples)) < MULTIPLE) else 0.0


def significant_bits(values: Float64[np.ndarray, "values"]) -> Int64[np.ndarray, "values"]:
    """Count the binary digits that values need from their first one on, beside zeros at the end."""
    integers = np.ldexp(np.abs(np.frexp(values)[0]), ALL_BITS).astype(np.int64)
    lowest = (integers & -integers).astype(np.float64)
    return np.where(integers > 0, ALL_BITS + 1 - np.frexp(lowest)[1], 0).astype(np.int64)


def _common(one: float, other: float, smallest: float) -> float:
    """Give the largest number that two numbers are multiples of, or one below the smallest that counts."""
    while other > smallest:
        # The remainder nearest to zero: a multiple may be missed by rounding on either side.
        one, other = other, abs(one - other * np.rint(one / other))
    return one
