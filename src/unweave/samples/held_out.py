"""Rows that no fit may see: a source in two parts, the same in every pass and wherever a piece is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, starmap

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import InvalidInput
from unweave.samples.sources import Chunk, HeldPiece, Labels, Piece, Source, check_chunk


@dataclass(frozen=True, eq=False)
class PartPiece(Piece):
    """The rows of a piece that belong to one part.

    Args:
        piece: all rows.
        share: of the rows that are held out.
        key: what the choice of rows depends on: the seed, and the place of the piece.
        is_held_out: which part this is.
    """

    piece: Piece
    share: float
    key: tuple[int, int]
    is_held_out: bool

    def chunks(self) -> Iterator[Chunk]:
        """Chunks without the rows of the other part."""
        rng = np.random.default_rng(self.key)
        for points, labels in self.piece.chunks():
            chosen = (rng.random(len(points)) < self.share) == self.is_held_out
            yield np.asarray(points)[chosen], np.asarray(labels)[chosen]


@dataclass(frozen=True, eq=False)
class Part(Source):
    """One part of a source: what is fitted, or what is held out.

    Rows are chosen at random, so that files which were sorted do no harm.

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

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the source without the rows of the other part."""
        for place, piece in zip(count(), self.source.pieces()):
            part = PartPiece(piece, self.share, (self.seed, place), self.is_held_out)
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
