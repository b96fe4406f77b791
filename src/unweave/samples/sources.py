"""Where samples come from: chunks of rows that are read one at a time, as often as there are passes.

A source is cut into pieces. A piece can be sent to another process and read there: pieces of files carry a path, pieces
of arrays their rows. Shapes and finiteness are checked where rows are summed, so that they are checked once. A source
can be split in two parts, one of which no fit may see: the same parts in every pass and wherever a piece is read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, as_float64
from unweave.exceptions import InvalidInput
from unweave.samples.copies import chances

Labels = PerPoint
# What a chunk holds: points with one row each, and their labels.
Chunk = tuple[Any, Any]
# Rows of a chunk unless told otherwise: 10 MB at 20 inputs. Even, so that the two halves of the rows alternate across
# chunks as they do within one.
CHUNK_ROWS = 2**16


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
        _check_rows(self.points.shape, self.labels.shape, self.chunk_rows)

    def pieces(self) -> Iterator[SourcePiece]:
        """Cut the arrays into slices."""
        for first in range(0, len(self.points), self.chunk_rows):
            rows = slice(first, first + self.chunk_rows)
            yield HeldPiece(self.points[rows], self.labels[rows])


@dataclass(frozen=True)
class NpyPiece(SourcePiece):
    """Some rows of two `.npy` files."""

    points: Path
    labels: Path
    rows: slice

    def chunks(self) -> Iterator[Chunk]:
        """The rows, at once."""
        yield np.array(_mapped(self.points)[self.rows]), np.array(_mapped(self.labels)[self.rows])


@dataclass(frozen=True)
class NpySource(Source):
    """Read samples from two `.npy` files, which may be larger than memory: only a chunk is read at a time.

    Raises:
        InvalidInput: if a file is missing or not an array, or if the two differ in length.
    """

    points: Path
    labels: Path
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        _check_rows(_mapped(self.points).shape, _mapped(self.labels).shape, self.chunk_rows)

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield ranges of rows."""
        for first in range(0, len(_mapped(self.points)), self.chunk_rows):
            yield NpyPiece(self.points, self.labels, slice(first, first + self.chunk_rows))


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


def _check_rows(points: tuple[int, ...], labels: tuple[int, ...], chunk_rows: int) -> None:
    if len(points) != 2 or len(labels) != 1:
        raise InvalidInput(f"points need two axes and labels one, got shapes {points} and {labels}: reshape them.")
    if points[0] != labels[0]:
        raise InvalidInput(f"every point needs one label, got {points[0]} points and {labels[0]} labels.")
    if chunk_rows < 1:
        raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={chunk_rows}.")


def _mapped(path: Path) -> np.ndarray:
    """The array of a file, not read yet."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    # NumPy raises errors of many kinds for damaged files, which have no class in common.
    except Exception as error:
        raise InvalidInput(f"{path} needs to be an array in a .npy file: {error}.") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{path} holds several arrays: save points and labels as one .npy file each.")
    return array


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


def rows_with_classes(source: Source, *, inputs: int, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as there are, up to `most`, in memory; labels are numbers if all of them are, otherwise text.

    Args:
        source: of tables whose labels are classes.
        inputs: number of inputs.
        most: rows.
        name: of the labels, for messages.

    Raises:
        InvalidInput: with the first label that is text among numbers.
    """
    points, labels, room = [np.empty((0, inputs))], [], most
    for more_points, more_labels in source.chunks():
        points.append(more_points[:room])
        labels.append(more_labels[:room])
        room -= len(more_labels)
        if room <= 0:
            break
    return np.concatenate(points), _classes(np.concatenate(labels) if labels else np.empty(0), name)


def _classes(labels: np.ndarray, name: str) -> np.ndarray:
    """Labels as numbers, or as text if none is a number: one that is not may be a slip among thousands."""
    if labels.dtype.kind != "U":
        return labels
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.array([_number(label) for label in labels[first]])
    is_text = np.isnan(numbers)
    if np.any(is_text) and not np.all(is_text):
        row = int(np.min(first[is_text]))
        raise InvalidInput(
            f"{name} needs all numbers or all text, got {str(labels[row])!r} in row {row + 1} (counted from 1, below "
            "the head line)."
        )
    return labels if np.any(is_text) else numbers[places]


def _number(text: str) -> float:
    """The number that a text is; NaN for others."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
