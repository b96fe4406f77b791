"""Where samples come from: chunks of rows that are read one at a time, as often as there are passes.

A source is cut into pieces. A piece can be sent to another process and read there: pieces of files carry a path, pieces
of arrays their rows. Shapes and finiteness are checked where rows are summed, so that they are checked once. A source
can be split in two parts, one of which no fit may see: the same parts in every pass and wherever a piece is read.

Rows that are given more than once lie on one side of every split, and count once where rows are evidence. Whoever
repeats rows, to balance classes or for weights, would otherwise be judged by rows that were fitted. A row is known by
64 bits of its numbers, so that parts of a stream agree on it without knowing each other; that two rows of a billion
have the same bits by chance has a probability of 3 %, and moves one row to the side of another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from unweave.arrays import PerPoint, Points, as_float64
from unweave.exceptions import InvalidInput

Labels = PerPoint
# What a chunk holds: points with one row each, and their labels.
Chunk = tuple[Any, Any]
# Rows of a chunk unless told otherwise: 10 MB at 20 inputs. Even, so that the two halves of the rows alternate across
# chunks as they do within one.
CHUNK_ROWS = 2**16
RowKeys = UInt64[np.ndarray, "points"]

# Multipliers of splitmix64, which spread every bit of a number over all others.
FIRST_MULTIPLIER, SECOND_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Of the bits of a key, those that a float between 0 and 1 holds.
FLOAT_BITS = 53


class SourcePiece(ABC):
    """A part of a source that can be read anywhere."""

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The rows of the piece."""


class Source(ABC):
    """Samples that can be read from the start, once per pass."""

    @abstractmethod
    def pieces(self) -> Iterator[SourcePiece]:
        """Yield all pieces in order."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks in order."""
        for piece in self.pieces():
            yield from piece.chunks()


@runtime_checkable
class Watch(Protocol):
    """Something that is told how far reading is."""

    def begin_pass(self) -> None:
        """Nothing is read yet."""

    def count(self, samples: int) -> None:
        """So many rows more were read."""

    def end_pass(self) -> None:
        """All rows were read."""


@dataclass(frozen=True, eq=False)
class WatchedPiece(SourcePiece):
    """A piece whose rows are counted; it is read in this process."""

    piece: SourcePiece
    watch: Watch

    def chunks(self) -> Iterator[Chunk]:
        """Count the rows of the chunks when the next one is asked for."""
        for chunk in self.piece.chunks():
            yield chunk
            self.watch.count(len(chunk[0]))


@dataclass(frozen=True, eq=False)
class WatchedSource(Source):
    """A source that tells how far every pass is, where pieces are read one after the other in this process."""

    source: Source
    watch: Watch

    def pieces(self) -> Iterator[SourcePiece]:
        """The pieces of the source."""
        self.watch.begin_pass()
        yield from (WatchedPiece(piece, self.watch) for piece in self.source.pieces())
        self.watch.end_pass()


@dataclass(frozen=True, eq=False)
class HeldPiece(SourcePiece):
    """Rows that are in memory already."""

    points: Any
    labels: Any

    def chunks(self) -> Iterator[Chunk]:
        """The rows, at once."""
        yield self.points, self.labels


@dataclass(frozen=True, eq=False)
class ArraySource(Source):
    """Read samples from arrays in memory, or memory maps of them.

    Raises:
        InvalidInput: if points and labels differ in length or have the wrong number of axes.
    """

    points: np.ndarray
    labels: np.ndarray
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        check_rows(self.points.shape, self.labels.shape, self.chunk_rows)

    def pieces(self) -> Iterator[SourcePiece]:
        """Cut the arrays into slices."""
        for first in range(0, len(self.points), self.chunk_rows):
            rows = slice(first, first + self.chunk_rows)
            yield HeldPiece(self.points[rows], self.labels[rows])


@dataclass(frozen=True)
class ChunkSource(Source):
    """Read samples in chunks ``(points, labels)`` from anywhere.

    Args:
        chunks_from: a function that starts a new run over the chunks, or an iterable of them. An iterator can be read
            once only, which is one pass.
    """

    chunks_from: Callable[[], Iterable[Chunk]] | Iterable[Chunk]
    _spent: list[bool] = field(default_factory=list, init=False, repr=False, compare=False)

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per chunk.

        Raises:
            InvalidInput: if an iterator is to be read for the second time, or if a chunk is not a pair.
        """
        if isinstance(self.chunks_from, Iterator):
            if self._spent:
                raise InvalidInput(
                    "this iterator of chunks was read before: give a function that returns a new iterator, "
                    "because every pass reads all rows."
                )
            self._spent.append(True)
        for chunk in self.chunks_from() if callable(self.chunks_from) else self.chunks_from:
            if not (isinstance(chunk, tuple) and len(chunk) == 2):
                raise InvalidInput(f"a chunk needs to be a pair of points and labels, got {type(chunk).__name__}.")
            yield HeldPiece(*chunk)


def check_chunk(chunk: Chunk, *, inputs: int) -> tuple[Float64[np.ndarray, "points inputs"], Labels]:
    """Points and labels of a chunk as float64, or what is wrong with them.

    Raises:
        InvalidInput: for shapes that do not match each other or `inputs`, and for numbers that are not finite.
    """
    points = as_float64(chunk[0], name="points of a chunk", ndim=2)
    labels = as_float64(chunk[1], name="labels of a chunk", ndim=1)
    if points.shape[1] != inputs:
        raise InvalidInput(f"points of a chunk need {inputs} columns, got {points.shape[1]}.")
    if len(points) != len(labels):
        raise InvalidInput(f"a chunk needs one label per point, got {len(points)} points and {len(labels)} labels.")
    return points, labels


def check_rows(points: tuple[int, ...], labels: tuple[int, ...], chunk_rows: int) -> None:
    """Make sure that points and labels have rows that belong together.

    Raises:
        InvalidInput: if their shapes do not match, or for chunks without rows.
    """
    if len(points) != 2 or len(labels) != 1:
        raise InvalidInput(f"points need two axes and labels one, got shapes {points} and {labels}: reshape them.")
    if points[0] != labels[0]:
        raise InvalidInput(f"every point needs one label, got {points[0]} points and {labels[0]} labels.")
    if chunk_rows < 1:
        raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={chunk_rows}.")


def row_keys(points: Points, *, seed: int = 0) -> RowKeys:
    """Compute a number of 64 bits for every row, the same for equal rows and as good as random otherwise."""
    salts = np.random.default_rng(seed).integers(1, 2**63, size=points.shape[1] + 1, dtype=np.uint64)
    keys = np.full(len(points), salts[-1])
    for column, salt in zip(points.T, salts[:-1], strict=True):
        # Zero has two signs and is one number.
        bits = np.ascontiguousarray(column + 0.0, dtype=np.float64).view(np.uint64)
        keys = _mixed(keys ^ _mixed(bits + salt))
    return keys


def _mixed(numbers: RowKeys) -> RowKeys:
    """Spread every bit over all others, as splitmix64 does."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST_MULTIPLIER
    numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND_MULTIPLIER
    return numbers ^ (numbers >> np.uint64(31))


def chances(points: Points, *, seed: int) -> PerPoint:
    """Compute a number between 0 and 1 for every row, the same for equal rows and as good as random otherwise."""
    return (row_keys(points, seed=seed) >> np.uint64(64 - FLOAT_BITS)) * 2.0**-FLOAT_BITS


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Which rows are equal.

    Args:
        which: number of the distinct row that each row is, in the order in which they come.
        count: of distinct rows.
    """

    which: Int64[np.ndarray, "points"]
    count: int

    @classmethod
    def of(cls, points: Points) -> "DistinctRows":
        """Find rows that are equal."""
        return cls.of_keys(row_keys(points))

    @classmethod
    def of_keys(cls, keys: RowKeys) -> "DistinctRows":
        """The same, by their keys."""
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = np.arange(len(first))
        return cls(place[which.ravel()], len(first))

    @property
    def have_copies(self) -> bool:
        """Whether any row comes twice."""
        return self.count < len(self.which)

    def one_of_each(self, rng: np.random.Generator) -> Int64[np.ndarray, "distinct"]:
        """A random row of each, in the order of all rows."""
        if not self.have_copies:
            return np.arange(self.count)
        order = rng.permutation(len(self.which))
        return np.sort(order[np.unique(self.which[order], return_index=True)[1]])

    def split(
        self, rng: np.random.Generator, share: float
    ) -> tuple[Int64[np.ndarray, "first"], Int64[np.ndarray, "rest"]]:
        """Rows in random order: those of a share of the distinct ones, and the others."""
        rank = np.empty(self.count, dtype=np.int64)
        rank[rng.permutation(self.count)] = np.arange(self.count)
        rows = np.argsort(rank[self.which], kind="stable")
        first = np.count_nonzero(rank[self.which] < int(share * self.count))
        return rows[:first], rows[first:]

    def folds(self, rng: np.random.Generator, folds: int) -> Int64[np.ndarray, "points"]:
        """A fold for every row, the same for equal rows, unless these are too few to fill all folds."""
        if self.count < folds:
            return rng.permutation(len(self.which)) % folds
        return (rng.permutation(self.count) % folds)[self.which]


@dataclass(frozen=True, eq=False)
class PartPiece(SourcePiece):
    """The rows of a piece that belong to one part.

    Args:
        piece: all rows.
        share: of the rows that are held out.
        seed: of the choice, which depends on the numbers of a row alone.
        is_held_out: which part this is.
    """

    piece: SourcePiece
    share: float
    seed: int
    is_held_out: bool

    def chunks(self) -> Iterator[Chunk]:
        """Chunks without the rows of the other part."""
        for points, labels in self.piece.chunks():
            numbers = as_float64(points, name="points of a chunk", ndim=2)
            chosen = (chances(numbers, seed=self.seed) < self.share) == self.is_held_out
            yield np.asarray(points)[chosen], np.asarray(labels)[chosen]


@dataclass(frozen=True, eq=False)
class Part(Source):
    """One part of a source: what is fitted, or what is held out.

    Rows are chosen at random, so that files which were sorted do no harm, and rows with equal points are on one side,
    so that none is held out which a fit has seen.

    Args:
        source: all samples.
        share: of the rows that are held out, between 0 and 1.
        seed: of the choice; the other part needs the same.
        is_held_out: which part this is.
    """

    source: Source
    share: float
    seed: int
    is_held_out: bool

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise InvalidInput(f"the share of held out rows needs to be between 0 and 1, got {self.share}.")

    def pieces(self) -> Iterator[SourcePiece]:
        """The pieces of the source without the rows of the other part."""
        for piece in self.source.pieces():
            part = PartPiece(piece, self.share, self.seed, self.is_held_out)
            # Rows in memory are chosen here: those of the other part need not travel to where the piece is read.
            yield from (starmap(HeldPiece, part.chunks()) if isinstance(piece, HeldPiece) else [part])


def split(source: Source, *, share: float, seed: int) -> tuple[Part, Part]:
    """The part that may be fitted, and the part that is held out."""
    return Part(source, share, seed, False), Part(source, share, seed, True)


def first_rows(source: Source, *, inputs: int, most: int) -> tuple[Float64[np.ndarray, "points inputs"], Labels]:
    """As many rows as there are, up to `most`, in memory.

    Raises:
        InvalidInput: for chunks of the wrong shape, or with numbers that are not finite.
    """
    points, labels, room = [np.empty((0, inputs))], [np.empty(0)], most
    for chunk in source.chunks():
        if room <= 0:
            break
        more_points, more_labels = check_chunk(chunk, inputs=inputs)
        points.append(more_points[:room])
        labels.append(more_labels[:room])
        room -= len(more_labels)
    return np.concatenate(points), np.concatenate(labels)


def kept_of_copies(points: Points, labels: PerPoint) -> tuple[Int64[np.ndarray, "kept"], Int64[np.ndarray, "points"]]:
    """Find rows that come again with the same label.

    Inputs with few values repeat themselves, with labels of their own noise; then rows are no copies and all are kept.

    Returns:
        The first row of each, in the order in which they come, and the place among these of every row.
    """
    everything = np.arange(len(points), dtype=np.int64)
    distinct = DistinctRows.of(points)
    if not distinct.have_copies:
        return everything, everything
    both = DistinctRows.of(np.column_stack([points, labels]))
    copies, repeated = len(points) - both.count, len(points) - distinct.count
    if 2 * copies <= repeated:
        return everything, everything
    return np.unique(both.which, return_index=True)[1].astype(np.int64), both.which


def without_copies(
    points: Points, labels: PerPoint
) -> tuple[Float64[np.ndarray, "kept inputs"], Float64[np.ndarray, "kept"], int]:
    """Leave out rows that come again with the same label.

    Returns:
        Points and labels, and how many rows were left out.
    """
    kept, _ = kept_of_copies(points, labels)
    if len(kept) == len(points):
        return points, labels, 0
    return np.ascontiguousarray(points[kept]), labels[kept], len(points) - len(kept)


def note_of_copies(rows: int, copies: int, *, count: str = "each counts once") -> tuple[str, ...]:
    """Say that rows were left out, and how those that are kept count; nothing if none were."""
    if not copies:
        return ()
    return (f"{copies:,d} of {rows:,d} rows are copies of others, label included: {count}.",)
