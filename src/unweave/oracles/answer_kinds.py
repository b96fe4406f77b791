"""Which grid answers were rounded to, told by the answers themselves: decimals, or the numbers of a type.

The type of an array says little: services send a float32, or a number of four decimals, as float64. A number of full
precision lies on such a grid by chance only, so that a few answers tell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Values

Numbers = Float64[np.ndarray, "*shape"]
Rounding = Callable[[Numbers], Numbers]


@dataclass(frozen=True)
class AnswerKind:
    """A grid of numbers that answers were rounded to.

    Args:
        name: in words, as in "rounded to 4 decimals".
        decimals: how many, for a grid of equal steps; None for the numbers of a type.
        roundings: how numbers may have come to the grid, the usual way first. They differ next to the middle between
            two numbers of the grid: by way of float32 that is half a digit of float32 to one side.
    """

    name: str
    decimals: int | None
    roundings: tuple[Rounding, ...]

    @property
    def is_relative(self) -> bool:
        """Whether the steps of the grid grow with the numbers."""
        return self.decimals is None

    def holds(self, values: Numbers) -> Bool[np.ndarray, "*shape"]:
        """Whether each of some numbers is one of the grid."""
        return self.roundings[0](values) == values

    def step(self, values: Numbers) -> Numbers:
        """Distance of the next number of the grid, going away from zero."""
        if self.decimals is not None:
            return np.full_like(values, 10.0**-self.decimals)
        return self.above(np.abs(values)) - np.abs(values)

    def above(self, values: Numbers) -> Numbers:
        """Next larger number of the grid, after numbers of the grid."""
        if self.decimals is not None:
            scale = 10.0**self.decimals
            return (np.rint(values * scale) + 1.0) / scale
        # The next number is met within one spacing; half of it would be rounded down again.
        spacing = np.spacing(np.abs(values)) * 2.0 ** (52 - self._bits)
        near = np.stack([self.roundings[0](values + share * spacing) for share in (0.5, 0.75, 1.0, 2.0)])
        return np.min(np.where(near > values, near, np.inf), axis=0)

    def level(self, lower: Numbers, *, rounding: Rounding, halvings: int = 64) -> Numbers:
        """Where numbers begin to be rounded to the next larger one of the grid than `lower`.

        Args:
            lower: numbers of the grid.
            rounding: how numbers come to the grid.
            halvings: of the distance, down to neighbouring numbers of float64.
        """
        upper = self.above(lower)
        below, beyond = lower.copy(), upper.copy()
        for _ in range(halvings):
            middle = below + 0.5 * (beyond - below)
            is_above = rounding(middle) >= upper
            below, beyond = np.where(is_above, below, middle), np.where(is_above, middle, beyond)
        return beyond

    @property
    def _bits(self) -> int:
        return {"bfloat16": 7, "float16": 10, "float32": 23}[self.name]


def _decimals(count: int) -> AnswerKind:
    name = f"{count} decimal{'s' if count > 1 else ''}"
    return AnswerKind(name, count, (lambda values: np.round(values, count),))


def to_float32(values: Numbers) -> Numbers:
    """Round to the numbers of float32."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32).astype(np.float64)


def to_float16(values: Numbers) -> Numbers:
    """Round to the numbers of float16."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float16).astype(np.float64)


def to_bfloat16(values: Numbers) -> Numbers:
    """Round to the numbers of bfloat16, half to even."""
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    return np.ldexp(np.rint(256.0 * mantissas) / 256.0, exponents)


def _half_away_to_bfloat16(values: Numbers) -> Numbers:
    mantissas, exponents = np.frexp(to_float32(values))
    return np.ldexp(np.sign(mantissas) * np.floor(256.0 * np.abs(mantissas) + 0.5) / 256.0, exponents)


FLOAT32 = AnswerKind("float32", None, (to_float32,))
FLOAT16 = AnswerKind("float16", None, (to_float16, lambda values: to_float16(to_float32(values))))
BFLOAT16 = AnswerKind(
    "bfloat16", None, (lambda values: to_bfloat16(to_float32(values)), to_bfloat16, _half_away_to_bfloat16)
)
# The coarsest first: a number of a coarse grid may be one of a finer grid, too.
KINDS = (
    BFLOAT16,
    FLOAT16,
    *(_decimals(count) for count in range(1, 7)),
    FLOAT32,
    *(_decimals(count) for count in range(7, 13)),
)


@dataclass(frozen=True, kw_only=True)
class KindLook:
    """How the grid of answers is told.

    Args:
        fewest: different answers, none of them zero, that tell: one in eight of float16 is one of bfloat16, and one
            in ten of d decimals has one less. With eight, a coarser grid is named once in ten million runs.
        chance: probability, at most, that numbers of full precision lie on the grid.
    """

    fewest: int = 8
    chance: float = 1e-9

    def __call__(self, values: Values) -> tuple[AnswerKind | None, ...]:
        """Name the coarsest grid that holds all answers, per output; None if there is none, or too few tell."""
        return tuple(self._of_output(column) for column in values.T)

    def _of_output(self, values: Float64[np.ndarray, "points"]) -> AnswerKind | None:
        telling = np.unique(values[values != 0.0])
        # Whole numbers are labels or counts as often as they are rounded.
        if len(telling) < self.fewest or np.all(telling == np.rint(telling)):
            return None
        return next((kind for kind in KINDS if np.all(kind.holds(telling)) and self._is_no_chance(kind, telling)), None)

    def _is_no_chance(self, kind: AnswerKind, values: Float64[np.ndarray, "values"]) -> bool:
        shares = np.minimum(1.0, np.spacing(np.abs(values)) / kind.step(values))
        return bool(np.sum(np.log(shares)) < np.log(self.chance))


def common_step(kinds: Sequence[AnswerKind | None]) -> float:
    """Give the step of the grid if all outputs have the same decimals; zero if they have not."""
    decimals = {kind.decimals if kind is not None else None for kind in kinds}
    return 10.0 ** -float(count) if len(decimals) == 1 and (count := decimals.pop()) is not None else 0.0
