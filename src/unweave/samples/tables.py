"""Samples in tables, one column per input and one for the label: files of text, Parquet or Arrow, and DataFrames.

Tables are read in batches of rows; this needs pyarrow (``pip install 'unweave[data]'``).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.samples.columns import Columns, columns_of, load_pyarrow, names_in, on_one_line, readable
from unweave.samples.csv_files import COMPRESSED, CsvFile
from unweave.samples.sources import CHUNK_ROWS, Chunk, Source, SourcePiece

PARQUET, ARROW, CSV = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".csv", ".tsv", ".tab", ".txt")


def _rows_of(columns: Columns, batches: Iterable[Any], *, first: int = 1) -> Iterator[Chunk]:
    """Chunks of batches that are read one after the other, or what is wrong with the table further down.

    Args:
        columns: that are read.
        batches: of pyarrow.
        first: number of the first row, counted from 1.

    Raises:
        InvalidInput: if a batch can't be read, or a cell is missing or no number.
    """
    try:
        for batch in batches:
            yield columns.chunk(batch, first)
            first += len(batch)
    except InvalidInput:
        raise
    # pyarrow raises errors of many kinds for damaged files, which have no class of Python in common.
    except Exception as error:
        raise InvalidInput(f"{columns.path} can't be read to its end: {on_one_line(error)}.") from error


@dataclass(frozen=True)
class TableSource(Source):
    """Files with one column per input and one for the label.

    Args:
        paths: the files, in order; they have the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs in order; all columns but the label if empty.
        has_classes: whether labels are names of classes, which may be text.
    """

    paths: tuple[Path, ...]
    label: str
    inputs: tuple[str, ...] = ()
    has_classes: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not self.paths:
            raise InvalidInput("samples need at least one file.")
        for path in self.paths:
            self.columns(path)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Name the inputs in order: where none are given, all columns of the first file but the label."""
        return columns_of(self.paths[0], self._names(self.paths[0]), label=self.label, inputs=self.inputs).inputs

    def columns(self, path: Path) -> Columns:
        """Find the columns of a file, which may stand in another order than in the first one.

        Raises:
            InvalidInput: if one is missing, or if there are more and inputs are not named.
        """
        names = self._names(path)
        found = columns_of(path, names, label=self.label, inputs=self.input_names, has_classes=self.has_classes)
        more = [name for name in names if name not in found.names]
        if more and not self.inputs:
            raise InvalidInput(
                f"{path} has a column {more[0]!r}, which {self.paths[0]} does not have: name the inputs."
            )
        return found

    @property
    def rows_about(self) -> int | None:
        """Say about how many rows there are; None if that is not known before they are read."""
        counts = [self._count(path) for path in self.paths]
        return None if None in counts else sum(each or 0 for each in counts)

    @abstractmethod
    def _names(self, path: Path) -> tuple[str, ...]:
        """Names of all columns of a file."""

    @abstractmethod
    def _count(self, path: Path) -> int | None:
        """About how many rows a file has."""


@dataclass(frozen=True)
class ParquetPiece(SourcePiece):
    """One row group of a file, which is the unit that Parquet reads on its own."""

    columns: Columns
    row_group: int
    chunk_rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the row group."""
        file = _open_parquet(self.columns.path)
        batches = file.iter_batches(batch_size=self.chunk_rows, row_groups=[self.row_group], columns=self.columns.names)
        before = (file.metadata.row_group(group).num_rows for group in range(self.row_group))
        yield from _rows_of(self.columns, batches, first=sum(before) + 1)


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
        return names_in(_open_parquet(path).schema_arrow)

    def _count(self, path: Path) -> int | None:
        return _open_parquet(path).metadata.num_rows

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per row group."""
        for path in self.paths:
            yield from _parquet_pieces(self.columns(path), self.chunk_rows)


def _parquet_pieces(columns: Columns, chunk_rows: int) -> Iterator[ParquetPiece]:
    for row_group in range(_open_parquet(columns.path).num_row_groups):
        yield ParquetPiece(columns, row_group, chunk_rows)


def _open_parquet(path: Path) -> Any:
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
        yield from _rows_of(self.columns, _arrow_batches(self.columns.path))


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
        return names_in(_open_arrow(path).schema)

    def _count(self, path: Path) -> int | None:
        file = _open_arrow(path)
        return file.count_rows() if hasattr(file, "count_rows") else None

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per file."""
        yield from (ArrowPiece(self.columns(path)) for path in self.paths)


def _open_arrow(path: Path) -> Any:
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
    reader = _open_arrow(path)
    is_file = hasattr(reader, "get_batch")
    for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
        # Damaged files name places outside of themselves.
        batch.validate(full=True)
        yield batch


@dataclass(frozen=True)
class CsvPiece(SourcePiece):
    """One file, read from its start."""

    columns: Columns
    file: CsvFile

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as large as the reader likes.

        Raises:
            InvalidInput: with line and column of the first cell that is missing or no number.
        """
        names = self.columns.names
        texts = names[-1:] if self.columns.has_classes else []
        try:
            yield from _rows_of(self.columns, self.file.batches(names, texts=texts))
        except InvalidInput as error:
            # pyarrow names neither line nor column of what it can't read.
            raise InvalidInput(self.file.problem(names, texts=texts) or str(error)) from error


@dataclass(frozen=True)
class CsvSource(TableSource):
    """Read samples from files of separated values with a head line: one column per input, one for the label.

    Files may be compressed (gz, bz2, zst). Blanks around names and numbers are left out; empty cells are refused.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.
        has_classes: whether labels are names of classes, which may be text.
        separator: between cells; told from the first lines (comma, semicolon, tab, bar or blank) if omitted.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    separator: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise InvalidInput(f"a separator needs to be one character, no quote or line end, got {self.separator!r}.")
        super().__post_init__()

    def _file(self, path: Path) -> CsvFile:
        return CsvFile.of(path, separator=self.separator)

    def _names(self, path: Path) -> tuple[str, ...]:
        return self._file(path).names

    def _count(self, path: Path) -> int | None:
        return self._file(path).rows_about

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per file."""
        yield from (CsvPiece(self.columns(path), self._file(path)) for path in self.paths)


def table_source(
    paths: tuple[Path, ...],
    *,
    label: str,
    inputs: tuple[str, ...] = (),
    has_classes: bool = False,
    separator: str | None = None,
) -> TableSource:
    """The samples of one or more tables.

    Args:
        paths: files of one kind, by their endings, with the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs; all columns but the label if empty.
        has_classes: whether labels are names of classes, which may be text.
        separator: of files of text; told from their first lines if None.

    Raises:
        InvalidInput: for files that can't be read, columns that are missing, and tables without inputs.
    """
    kinds = {_kind(path) for path in paths}
    if len(kinds) != 1 or None in kinds:
        raise InvalidInput(
            f"samples need to be in files that all end in {' or '.join(PARQUET)}, or all in {' or '.join(ARROW)}, or "
            f"all in {' or '.join(CSV)} (also with {' or '.join(COMPRESSED)} behind), got "
            f"{', '.join(map(str, paths)) or 'none'}."
        )
    if kinds == {CSV}:
        return CsvSource(paths, label, inputs, has_classes=has_classes, separator=separator)
    kind = ParquetSource if kinds == {PARQUET} else ArrowSource
    return kind(paths, label, inputs, has_classes=has_classes)


def _kind(path: Path) -> tuple[str, ...] | None:
    """Endings of the kind of a file; only text is compressed from outside."""
    ending = path.suffix.lower()
    if ending in COMPRESSED:
        return CSV if path.with_suffix("").suffix.lower() in CSV else None
    return next((kind for kind in (PARQUET, ARROW, CSV) if ending in kind), None)


def column_names(path: Path) -> tuple[str, ...]:
    """Read the names of the columns of a table, whose ending says its kind.

    Raises:
        InvalidInput: if it can't be read, or two columns have the same name.
        MissingExtra: without pyarrow.
    """
    need("pyarrow", purpose=f"reading {path}")
    kind = _kind(path)
    if kind is None:
        raise InvalidInput(f"a table needs a name that ends in {', '.join((*PARQUET, *ARROW, *CSV))}, got {path}.")
    if kind == CSV:
        names = CsvFile.of(path).names
    else:
        names = names_in(_open_parquet(path).schema_arrow if kind == PARQUET else _open_arrow(path).schema)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"{path} has more than one column {', '.join(repeated)}: rename or remove them.")
    return names


def read_columns(path: Path, columns: Sequence[str]) -> np.ndarray:
    """Read columns of numbers into memory, one row per line of the table.

    Raises:
        InvalidInput: if a column is missing, or holds something else than finite numbers.
    """
    names = column_names(path)
    missing = [name for name in columns if name not in names]
    if missing:
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")
    points = [piece_points for piece in _pieces(Columns(path, tuple(columns))) for piece_points, _ in piece.chunks()]
    return np.concatenate([np.empty((0, len(columns))), *points])


def _pieces(columns: Columns) -> list[SourcePiece]:
    """All pieces of one file, by its kind."""
    kind = _kind(columns.path)
    if kind == CSV:
        return [CsvPiece(columns, CsvFile.of(columns.path))]
    return list(_parquet_pieces(columns, CHUNK_ROWS)) if kind == PARQUET else [ArrowPiece(columns)]
