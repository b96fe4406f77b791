"""Samples in two `.npy` files, which may be larger than memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.samples.sources import CHUNK_ROWS, Chunk, Source, SourcePiece, check_rows


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
        check_rows(_mapped(self.points).shape, _mapped(self.labels).shape, self.chunk_rows)

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield ranges of rows."""
        for first in range(0, len(_mapped(self.points)), self.chunk_rows):
            yield NpyPiece(self.points, self.labels, slice(first, first + self.chunk_rows))


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
