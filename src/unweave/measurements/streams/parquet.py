"""Samples in Parquet files, read in batches of rows; needs pyarrow (``pip install 'unweave[data]'``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.measurements.streams.sources import CHUNK_ROWS, Chunk, Piece, Source


@dataclass(frozen=True)
class ParquetPiece(Piece):
    """One row group of a file, which is the unit that Parquet reads on its own."""

    path: Path
    row_group: int
    inputs: tuple[str, ...]
    label: str
    chunk_rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the row group."""
        batches = _opened(self.path).iter_batches(
            batch_size=self.chunk_rows, row_groups=[self.row_group], columns=[*self.inputs, self.label]
        )
        for batch in batches:
            points = np.stack([numbers(batch, name, self.path) for name in self.inputs], axis=1)
            yield points, numbers(batch, self.label, self.path)


@dataclass(frozen=True)
class ParquetSource(Source):
    """Parquet files with one column per input and one for the label.

    Args:
        paths: the files, in order; they have the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs in order; all columns but the label if empty.
        chunk_rows: rows in memory at once.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    paths: tuple[Path, ...]
    label: str
    inputs: tuple[str, ...] = ()
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if not self.paths:
            raise InvalidInput("a Parquet source needs at least one file.")
        if self.chunk_rows < 1:
            raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={self.chunk_rows}.")
        for path in self.paths:
            names = column_names(path)
            missing = sorted({*self.inputs, self.label} - set(names))
            if missing:
                raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")

    def pieces(self) -> Iterator[Piece]:
        """One piece per row group."""
        inputs = self.inputs or self._all_but_the_label()
        for path in self.paths:
            for row_group in range(_opened(path).num_row_groups):
                yield ParquetPiece(path, row_group, inputs, self.label, self.chunk_rows)

    def _all_but_the_label(self) -> tuple[str, ...]:
        return tuple(name for name in column_names(self.paths[0]) if name != self.label)


def _parquet() -> ModuleType:
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidInput("Parquet files need pyarrow: install it with pip install 'unweave[data]'.") from error


def _opened(path: Path) -> Any:
    """The file, with its columns known and no row read."""
    parquet = _parquet()
    try:
        return parquet.ParquetFile(path)
    # pyarrow's errors are OSError and ValueError underneath.
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} needs to be a Parquet file: {error}.") from error


def column_names(path: Path) -> tuple[str, ...]:
    """The names of all columns of a file."""
    return tuple(_opened(path).schema_arrow.names)


def numbers(batch: Any, name: str, path: Path) -> np.ndarray:
    """A column as float64; an empty cell becomes NaN, which is refused where rows are summed."""
    column = batch.column(name).to_numpy(zero_copy_only=False)
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"column {name} of {path} needs numbers: {error}.") from error
