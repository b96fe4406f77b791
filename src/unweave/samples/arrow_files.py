"""Samples in files of Parquet and Arrow, which know their columns and number of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.sources import CHUNK_ROWS, Chunk, SourcePiece
from unweave.samples.tables import Columns, TableSource, load_pyarrow, names_in, readable, rows_of


@dataclass(frozen=True)
class ParquetPiece(SourcePiece):
    """One row group of a file, which is the unit that Parquet reads on its own."""

    columns: Columns
    row_group: int
    chunk_rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the row group."""
        file = open_parquet(self.columns.path)
        batches = file.iter_batches(batch_size=self.chunk_rows, row_groups=[self.row_group], columns=self.columns.names)
        before = (file.metadata.row_group(group).num_rows for group in range(self.row_group))
        yield from rows_of(self.columns, batches, first=sum(before) + 1)


@dataclass(frozen=True)
class ParquetSource(TableSource):
    """Read samples from Parquet files with one column per input and one for the label.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.
        has_classes: whether labels are names of classes, which may be text.
        chunk_rows: rows in memory at once.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if self.chunk_rows < 1:
            raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={self.chunk_rows}.")
        super().__post_init__()

    def _names(self, path: Path) -> tuple[str, ...]:
        return names_in(open_parquet(path).schema_arrow)

    def _count(self, path: Path) -> int | None:
        return open_parquet(path).metadata.num_rows

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per row group."""
        for path in self.paths:
            yield from parquet_pieces(self.columns(path), self.chunk_rows)


def parquet_pieces(columns: Columns, chunk_rows: int) -> Iterator[ParquetPiece]:
    """Yield one piece per row group."""
    for row_group in range(open_parquet(columns.path).num_row_groups):
        yield ParquetPiece(columns, row_group, chunk_rows)


def open_parquet(path: Path) -> Any:
    """The file, with its columns known and no row read."""
    parquet = load_pyarrow("parquet", kind="Parquet")
    with readable(path, kind="a Parquet file"):
        file = parquet.ParquetFile(path)
        # Names of columns may be damaged as well.
        names_in(file.schema_arrow)
    return file


@dataclass(frozen=True)
class ArrowPiece(SourcePiece):
    """One file, read from its start."""

    columns: Columns

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as they were written."""
        yield from rows_of(self.columns, _arrow_batches(self.columns.path))


@dataclass(frozen=True)
class ArrowSource(TableSource):
    """Read samples from Arrow files (Feather version 2, IPC files or streams) with one column per input and one label.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.
        has_classes: whether labels are names of classes, which may be text.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    def _names(self, path: Path) -> tuple[str, ...]:
        return names_in(open_arrow(path).schema)

    def _count(self, path: Path) -> int | None:
        file = open_arrow(path)
        return file.count_rows() if hasattr(file, "count_rows") else None

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per file."""
        yield from (ArrowPiece(self.columns(path)) for path in self.paths)


def open_arrow(path: Path) -> Any:
    """The reader of a file or, where it is none, of a stream, with its columns known and no row read."""
    pyarrow, ipc = load_pyarrow("", kind="Arrow"), load_pyarrow("ipc", kind="Arrow")
    with readable(path, kind="an Arrow file"):
        try:
            reader = ipc.open_file(pyarrow.memory_map(str(path)))
        except pyarrow.ArrowInvalid:
            reader = ipc.open_stream(pyarrow.memory_map(str(path)))
        names_in(reader.schema)
    return reader


def _arrow_batches(path: Path) -> Iterator[Any]:
    reader = open_arrow(path)
    is_file = hasattr(reader, "get_batch")
    for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
        # Damaged files name places outside of themselves.
        batch.validate(full=True)
        yield batch
