"""How exact answers are, read off the answers themselves.

The type of an array says little: numbers that were computed in float32 or float16 often arrive as float64, and others
were rounded to decimals. Numbers of full precision have random last digits, so that a few answers tell.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from unweave.arrays import significant_bits


@dataclass(frozen=True)
class ValueGrid:
    """What the answers so far say about how they were rounded.

    Args:
        bits: the largest number of significant binary digits that a value needs.
        kept: some different values, none of them zero.
        most_bits: that values on a grid may need: eight zeros at the end of every value are no chance.
        most_kept: values that tell a grid; chosen.
        fewest: different ones that do.
        full_share: of the values that need all digits of the grid: a half of those rounded to binary digits do.
        finest: spacings below this share of the largest value are rounding.
        multiple: differences are multiples of a spacing up to this share of it.
    """

    bits: int = 0
    kept: Float64[np.ndarray, "values"] = field(default_factory=lambda: np.empty(0))
    most_bits: int = 44
    most_kept: int = 64
    fewest: int = 8
    full_share: float = 0.2
    finest: float = 1e-8
    multiple: float = 1e-3

    def having(self, values: np.ndarray) -> "ValueGrid":
        """Add finite answers."""
        is_full = len(self.kept) >= self.most_kept
        if is_full and self.bits > self.most_bits:
            return self
        # Walks ask thousands of small batches, and labels and plateaus repeat few values.
        if values.size <= self.most_kept and self._known.issuperset(values.ravel().tolist()):
            return self
        values = values[values != 0.0]
        if len(values) == 0:
            return self
        bits = max(self.bits, int(np.max(significant_bits(values))))
        if is_full:
            return self if bits == self.bits else replace(self, bits=bits)
        values = np.unique(values)
        chosen = values[:: max(1, len(values) // self.most_kept)]
        kept = np.concatenate([self.kept, np.setdiff1d(chosen, self.kept)])[: self.most_kept]
        return replace(self, bits=bits, kept=kept)

    @cached_property
    def _known(self) -> frozenset[float]:
        """Values that say nothing new."""
        return frozenset([0.0, *self.kept.tolist()])

    @cached_property
    def digits(self) -> float:
        """The relative rounding, as `np.finfo(...).eps`, of values with few binary digits; zero if there is none.

        Values that are multiples of one number need all digits only where they are largest, and have no relative
        rounding.
        """
        if self.bits > self.most_bits or len(self.kept) < self.fewest:
            return 0.0
        is_full = significant_bits(self.kept) >= self.bits
        exponents = np.frexp(self.kept)[1]
        is_relative = len(np.unique(exponents[is_full])) > 1 and np.mean(is_full) >= self.full_share
        return 2.0 ** (1 - self.bits) if is_relative else 0.0

    @cached_property
    def step(self) -> float:
        """The number that all values so far are multiples of, as decimals are; zero if there is none."""
        return 0.0 if len(self.kept) < self.fewest or self.digits else self._spacing()

    @property
    def is_staircase(self) -> bool:
        """Whether the few values so far are neighbouring multiples of one number, as rounding makes them."""
        heights = np.diff(np.sort(self.kept))
        return len(heights) > 0 and self._spacing() > (1.0 - self.multiple) * float(np.min(heights))

    def _spacing(self) -> float:
        largest = float(np.max(np.abs(self.kept)))
        smallest, spacing = self.finest * largest, largest
        for value in np.abs(self.kept):
            spacing = _common(spacing, float(value), smallest)
            if not spacing > smallest:
                return 0.0
            # Subtraction leaves errors that the next value would multiply.
            spacing = largest / np.rint(largest / spacing)
        multiples = self.kept / spacing
        return float(spacing) if np.all(np.abs(multiples - np.rint(multiples)) < self.multiple) else 0.0


def _common(one: float, other: float, smallest: float) -> float:
    """Give the largest number that two numbers are multiples of, or one below the smallest that counts."""
    while other > smallest:
        # The remainder nearest to zero: a multiple may be missed by rounding on either side.
        one, other = other, abs(one - other * np.rint(one / other))
    return one
