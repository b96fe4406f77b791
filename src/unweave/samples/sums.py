"""Sums over rows, kept in two halves: what can be added in any order, merged from anywhere and has an error bar.

Every other row goes to the even half, the rest to the odd one. The halves are independent, so half the difference of
what they say estimates the error of what all rows say: the errors of both halves are independent and equally large, so
that ``(e - o) / 2`` has the covariance of the error of ``(e + o) / 2``.

`accumulate` runs a statistic over a source, in this process, on the workers of a Dask cluster
(``pip install 'unweave[dask]'``), or on those of `engines.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, WorkersFailed
from unweave.jobs import deaths_told
from unweave.samples.sources import Chunk, HeldPiece, Labels, Source, SourcePiece, check_chunk

Moments = TypeVar("Moments")
Part = TypeVar("Part")
Arrays = tuple[np.ndarray, ...]
# Rows in the even and in the odd half.
HalfRows = Int[np.ndarray, "2"]
# Numbers of a block of features: 8 MB, the fastest of 2^17 to 2^22 with 231 features.
BLOCK_NUMBERS = 2**20
# Fewer rows than this make matrix products slow.
LEAST_BLOCK_ROWS = 256
# Partial sums that are merged by one task of a cluster.
BRANCHES = 8
# Pieces that are sent before the first are finished: enough to keep some dozens of workers busy, few enough that chunks
# from an iterator do not pile up.
WINDOW = 64


def block_rows_for(features: int) -> int:
    """Rows per block so that the features of a block stay in the cache."""
    return max(LEAST_BLOCK_ROWS, BLOCK_NUMBERS // features)


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
    def features(self) -> int:
        """Numbers that are computed from a row."""

    @property
    def block_rows(self) -> int:
        """Rows that are worked on at once, so that what is computed from them stays in the cache."""
        return block_rows_for(self.features)

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
    def features(self) -> int:
        """Those of the largest: statistics of a block are computed one after the other."""
        return max(statistic.features for statistic in self.statistics)

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


class Engine(ABC):
    """Something that can sum a statistic over pieces of samples."""

    @abstractmethod
    def total(self, pieces: Iterator[SourcePiece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """Add up the sums over all rows of all pieces."""


@dataclass(frozen=True)
class ThisProcess(Engine):
    """One piece after the other, here; matrix products use the threads that BLAS is allowed."""

    def total(self, pieces: Iterator[SourcePiece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """Add up the sums over all rows of all pieces."""
        sums = Sums.empty(statistic)
        for piece in pieces:
            for chunk in piece.chunks():
                sums = sums.add(chunk)
        return sums


@dataclass(frozen=True)
class DaskCluster(Engine):
    """Compute partial sums on the workers of a Dask cluster, merged there in a tree.

    Workers read pieces of files by themselves, so the paths must mean the same to all of them. Sums are merged in the
    order of the pieces: the result does not depend on the number of workers or their speed. Where a worker dies,
    pieces of files are read again; rows that came from the memory of this process are lost with it.

    Args:
        client: a `distributed.Client`; only its methods `submit` and `scatter` are used.
        window: pieces that are sent before the first are finished.
    """

    client: Any
    window: int = WINDOW

    def __post_init__(self) -> None:
        if not hasattr(self.client, "submit"):
            raise InvalidInput(f"a Dask cluster needs a distributed.Client, got {type(self.client).__name__}.")
        if self.window < 1:
            raise InvalidInput(f"at least one piece must be on its way, got window={self.window}.")

    def total(self, pieces: Iterator[SourcePiece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """Add up the sums over all rows of all pieces.

        Raises:
            WorkersFailed: if rows are lost that came from the memory of this process, or workers keep dying.
        """
        with deaths_told():
            return self._total(pieces, statistic)

    def _total(self, pieces: Iterator[SourcePiece], statistic: Statistic[Moments]) -> Sums[Moments]:
        total = self.client.submit(Sums.empty, statistic, pure=False)
        while batch := list(islice(pieces, self.window)):
            parts = [self.client.submit(partial_sums, self._sent(piece), statistic, pure=False) for piece in batch]
            newest = self.client.submit(merge_all, total, self._merged(parts), pure=False)
            # Waiting for the window before keeps the workers busy with this one.
            total.result()
            total = newest
        return total.result()

    def _sent(self, piece: SourcePiece) -> Any:
        """Rows travel as data of the cluster; a path travels with the task."""
        if not isinstance(piece, HeldPiece):
            return piece
        try:
            return self.client.scatter(piece, hash=False)
        except OSError as error:
            raise WorkersFailed(
                f"rows were sent to a worker that has died ({error}): begin again when it is back, or give files, "
                "which other workers read again."
            ) from error

    def _merged(self, parts: list[Any]) -> Any:
        while len(parts) > 1:
            groups = [parts[first : first + BRANCHES] for first in range(0, len(parts), BRANCHES)]
            parts = [self.client.submit(merge_all, *group, pure=False) for group in groups]
        return parts[0]


def accumulate(source: Source, statistic: Statistic[Moments], *, engine: Engine | None = None) -> Sums[Moments]:
    """Sum a statistic over all rows of a source, in one pass.

    Args:
        source: the samples.
        statistic: what is measured; `Together` for several in the same pass.
        engine: where the work is done; this process if not given.

    Raises:
        InvalidInput: for rows that do not fit the statistic, or are not finite.
    """
    return (engine or ThisProcess()).total(source.pieces(), statistic)


def partial_sums(piece: SourcePiece, statistic: Statistic[Moments]) -> Sums[Moments]:
    """The sums over one piece."""
    return ThisProcess().total(iter([piece]), statistic)


def merge_all(first: Sums[Moments], *others: Sums[Moments]) -> Sums[Moments]:
    """The sums over the rows of all, merged from left to right."""
    for other in others:
        first = merge(first, other)
    return first
