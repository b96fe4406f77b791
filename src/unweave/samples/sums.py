"""Sums over rows, kept in two halves: what can be added in any order, merged from anywhere and has an error bar.

Every other row goes to the even half, the rest to the odd one. The halves are independent, so half the difference of
what they say estimates the error of what all rows say: the errors of both halves are independent and equally large, so
that ``(e - o) / 2`` has the covariance of the error of ``(e + o) / 2``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.samples.sources import Chunk, Labels, check_chunk

Moments = TypeVar("Moments")
Part = TypeVar("Part")
Arrays = tuple[np.ndarray, ...]
# Rows in the even and in the odd half.
HalfRows = Int[np.ndarray, "2"]


class Statistic(ABC, Generic[Moments]):
    """What is measured: how rows become sums, and sums become moments.

    A statistic is settings only; it is sent to other processes. Its sums are linear: the sums of two sets of rows are
    the sums of their union.
    """

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Columns of the points."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Rows that are worked on at once, so that what is computed from them stays in the cache."""

    @abstractmethod
    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Sums over a block of rows, all of one half (0 even, 1 odd); zeros if there are none."""

    @abstractmethod
    def moments_from(self, sums: Arrays, rows: HalfRows) -> Moments:
        """What the sums over `rows` rows say."""


@dataclass(frozen=True, eq=False)
class Halved(Generic[Moments]):
    """What all rows say, and what each half says.

    Args:
        whole: from all rows.
        even: from every other row.
        odd: from the rest.
        rows: number of rows in all.
    """

    whole: Moments
    even: Moments
    odd: Moments
    rows: int

    def of(self, part: Callable[[Moments], Part]) -> "Halved[Part]":
        """The same with a part of the moments only."""
        return Halved(part(self.whole), part(self.even), part(self.odd), self.rows)

    def noise(self, read: Callable[[Moments], np.ndarray | float]) -> Float64[np.ndarray, "..."]:
        """An array as large as the error of ``read(whole)``, in any norm: half the difference of the halves."""
        return np.asarray(0.5 * np.subtract(read(self.even), read(self.odd)), dtype=np.float64)

    def error(self, read: Callable[[Moments], np.ndarray | float]) -> float:
        """Estimated Euclidean (Frobenius) error of ``read(whole)``."""
        return float(np.linalg.norm(self.noise(read)))


@dataclass(frozen=True, eq=False)
class Sums(Generic[Moments]):
    """The sums of a statistic over the rows seen so far.

    Args:
        statistic: what is measured.
        rows: rows in each half.
        even: sums over the even half.
        odd: sums over the odd half.
    """

    statistic: Statistic[Moments]
    rows: HalfRows
    even: Arrays
    odd: Arrays

    @classmethod
    def empty(cls, statistic: Statistic[Moments]) -> "Sums[Moments]":
        """The sums over no rows."""
        nothing = statistic.sums_of(np.empty((0, statistic.inputs)), np.empty(0), half=0)
        return cls(statistic, np.zeros(2, dtype=np.int64), nothing, nothing)

    def add(self, chunk: Chunk) -> "Sums[Moments]":
        """The sums with the rows of a chunk added.

        Raises:
            InvalidInput: for wrong shapes, and for numbers that are not finite.
        """
        points, labels = check_chunk(chunk, inputs=self.statistic.inputs)
        first = int(self.rows.sum()) % 2
        new_rows, halves = self.rows.copy(), []
        for half, sums in enumerate((self.even, self.odd)):
            mine = slice((half - first) % 2, None, 2)
            new_rows[half] += len(labels[mine])
            halves.append(self._half_sums(sums, points[mine], labels[mine], half))
        return Sums(self.statistic, new_rows, *halves)

    def __add__(self, other: "Sums[Moments]") -> "Sums[Moments]":
        return merge(self, other)

    def finalise(self) -> Halved[Moments]:
        """The moments of all rows and of the halves.

        Raises:
            InvalidInput: if a half has no rows.
        """
        if not self.rows.all():
            raise InvalidInput(f"two halves need at least one row each, got {self.rows[0]} and {self.rows[1]}.")
        whole = tuple(even + odd for even, odd in zip(self.even, self.odd, strict=True))
        only_even, only_odd = self.rows * [1, 0], self.rows * [0, 1]
        return Halved(
            self.statistic.moments_from(whole, self.rows),
            self.statistic.moments_from(self.even, only_even),
            self.statistic.moments_from(self.odd, only_odd),
            int(self.rows.sum()),
        )

    def _half_sums(self, sums: Arrays, points: Points, labels: Labels, half: int) -> Arrays:
        totals = tuple(array.copy() for array in sums)
        block = self.statistic.block_rows
        for first in range(0, len(points), block):
            rows = slice(first, first + block)
            parts = self.statistic.sums_of(points[rows], labels[rows], half=half)
            for total, part in zip(totals, parts, strict=True):
                total += part
        return totals


def merge(first: Sums[Moments], second: Sums[Moments]) -> Sums[Moments]:
    """The sums over the rows of both; associative and commutative up to rounding.

    Raises:
        InvalidInput: if they are sums of different statistics.
    """
    if not same_settings(first.statistic, second.statistic):
        raise InvalidInput("only sums of the same statistic, with the same settings, can be merged.")
    even = tuple(a + b for a, b in zip(first.even, second.even, strict=True))
    odd = tuple(a + b for a, b in zip(first.odd, second.odd, strict=True))
    return Sums(first.statistic, first.rows + second.rows, even, odd)


def same_settings(first: object, second: object) -> bool:
    """Whether two statistics are equal field by field, arrays included: a copy from another process is not the same."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same_settings, first, second))
    if is_dataclass(first):
        return all(same_settings(getattr(first, part.name), getattr(second, part.name)) for part in fields(first))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return first == second


@dataclass(frozen=True)
class Together(Statistic[tuple]):
    """Several statistics in one pass; the moments are a tuple in the same order."""

    statistics: tuple[Statistic, ...]

    def __post_init__(self) -> None:
        if len({statistic.inputs for statistic in self.statistics}) != 1:
            raise InvalidInput("statistics of one pass need the same number of inputs, and there must be at least one.")

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.statistics[0].inputs

    @property
    def block_rows(self) -> int:
        """As many rows as suit all statistics."""
        return min(statistic.block_rows for statistic in self.statistics)

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """All sums, one statistic after the other."""
        return tuple(part for statistic in self.statistics for part in statistic.sums_of(points, labels, half=half))

    def moments_from(self, sums: Arrays, rows: HalfRows) -> tuple:
        """The moments of every statistic."""
        moments, first = [], 0
        for statistic in self.statistics:
            count = len(statistic.sums_of(np.empty((0, self.inputs)), np.empty(0), half=0))
            moments.append(statistic.moments_from(sums[first : first + count], rows))
            first += count
        return tuple(moments)
