"""Samples in Parquet files, read in batches of rows; needs pyarrow (``pip install 'unweave[data]'``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.columns import Columns, columns_of
from unweave.samples.sources import CHUNK_ROWS, Chunk, Piece, Source


@dataclass(frozen=True)
class ParquetPiece(Piece):
    """One row group of a file, which is the unit that Parquet reads on its own."""

    columns: Columns
    row_group: int
    chunk_rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the row group."""
        names = [*self.columns.inputs, self.columns.label]
        file = _opened(self.columns.path)
        yield from map(
            self.columns.chunk,
            file.iter_batches(batch_size=self.chunk_rows, row_groups=[self.row_group], columns=names),
        )


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
            self.columns(path)

    def columns(self, path: Path) -> Columns:
        """The columns of a file."""
        names = tuple(_opened(path).schema_arrow.names)
        return columns_of(path, names, label=self.label, inputs=self.inputs)

    def pieces(self) -> Iterator[Piece]:
        """One piece per row group."""
        for path in self.paths:
            columns = self.columns(path)
            for row_group in range(_opened(path).num_row_groups):
                yield ParquetPiece(columns, row_group, self.chunk_rows)


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
