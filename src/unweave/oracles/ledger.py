"""What is written down of the queries: how many were asked for and may be, and what their answers were rounded to.

The type of an array says little about rounding: numbers that were computed in float32 or float16 often arrive as
float64, and services send numbers of four decimals. A number of full precision has random last digits, and lies on such
a grid by chance only, so that a few answers tell.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Values, significant_bits
from unweave.exceptions import BudgetExhausted, TimeExhausted

Numbers = Float64[np.ndarray, "*shape"]
Rounding = Callable[[Numbers], Numbers]


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


@dataclass
class Ledger:
    """How many queries were sent, and how many may be. The only mutable state of a run.

    Args:
        budget: the largest number that the user allows; None for no limit.
        sent: rows that were sent, answered or not: what a service charges for.
        answered: rows that came back.
        replayed: rows among them that came from a journal: they count, so that a run that goes on decides as before.
        type_digits: relative rounding of the answers' type, the coarsest seen.
        grid: what the answers themselves say about their rounding.
        allowance: the largest number for now, where the user has given no budget; None for no limit.
        deadline: when the last query may be sent, by `time.monotonic`; None for any time.
        refused: queries that the user's budget had no room for when it ended.
    """

    budget: int | None = None
    sent: int = 0
    answered: int = 0
    replayed: int = 0
    type_digits: float = 2.0**-52
    grid: ValueGrid = field(default_factory=ValueGrid)
    allowance: int | None = None
    deadline: float | None = None
    refused: int = 0

    @property
    def answer_digits(self) -> float:
        """Relative rounding of the answers: of their type, or coarser if they were rounded before."""
        return max(self.type_digits, self.grid.digits)

    @property
    def limit(self) -> int | None:
        """The number of queries that may be sent in all."""
        return self.budget if self.budget is not None else self.allowance

    @property
    def left(self) -> float:
        """Queries that may still be sent (infinite without a limit)."""
        return np.inf if self.limit is None else float(self.limit - self.sent)

    def allow(self, queries: int) -> None:
        """Raise the allowance, if there is one, so that so many more may be sent."""
        if self.allowance is not None:
            self.allowance = max(self.allowance, self.sent + queries)

    def reserve(self, queries: int) -> None:
        """Refuse a batch that the budget can't pay for, or that comes too late, before any of it is sent."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeExhausted
        if self.limit is not None and queries > self.left:
            self.refused = queries if self.budget is not None else 0
            raise BudgetExhausted(
                needed=queries, left=int(self.left), budget=self.limit, is_default=self.budget is None
            )


@dataclass(frozen=True)
class AnswerKind:
    """A grid of numbers that answers were rounded to.

    Args:
        name: in words, as in "rounded to 4 decimals".
        decimals: how many, for a grid of equal steps; None for the numbers of a type.
        roundings: how numbers may have come to the grid, the usual way first. They differ next to the middle between
            two numbers of the grid: by way of float32 that is half a digit of float32 to one side.
        is_stored_in_float32: whether decimals arrive as the numbers of float32 next to them, as `np.round` leaves them
            in such an array.
    """

    name: str
    decimals: int | None
    roundings: tuple[Rounding, ...]
    is_stored_in_float32: bool = False

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
            next_decimal = (np.rint(values * scale) + 1.0) / scale
            return to_float32(next_decimal) if self.is_stored_in_float32 else next_decimal
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


def _decimals_in_float32(count: int) -> AnswerKind:
    def in_such_an_array(values: Numbers) -> Numbers:
        with np.errstate(over="ignore"):
            return np.round(np.asarray(values, dtype=np.float32), count).astype(np.float64)

    ways = in_such_an_array, lambda values: to_float32(np.round(values, count))
    return AnswerKind(f"{_decimals(count).name} in float32", count, ways, is_stored_in_float32=True)


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
    *(_decimals_in_float32(count) for count in range(1, 7)),
    FLOAT32,
    *(_decimals(count) for count in range(7, 13)),
)


@dataclass(frozen=True, kw_only=True)
class KindLook:
    """How the grid of answers is told.

    Args:
        fewest: different answers, none of them zero, that tell: one in eight of float16 is one of bfloat16, and one
            in ten of d decimals has one less. With eight, a coarser grid is named once in ten million runs.
        chance: probability, at most, that numbers of full precision, that of float32 if they are stored so, lie on the
            grid.
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
        stored = np.abs(values).astype(np.float32 if kind.is_stored_in_float32 else np.float64)
        shares = np.minimum(1.0, np.spacing(stored).astype(np.float64) / kind.step(values))
        return bool(np.sum(np.log(shares)) < np.log(self.chance))


def common_step(kinds: Sequence[AnswerKind | None]) -> float:
    """Give the step of the grid if all outputs have the same decimals; zero if they have not."""
    decimals = {kind.decimals if kind is not None else None for kind in kinds}
    return 10.0 ** -float(count) if len(decimals) == 1 and (count := decimals.pop()) is not None else 0.0
