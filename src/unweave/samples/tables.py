"""Samples in tables on disk, Parquet or CSV by the ending of their name: one column per input and one for the label.

Tables are read in batches of rows; this needs pyarrow (``pip install 'unweave[data]'``).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.samples.sources import CHUNK_ROWS, Chunk, Source, SourcePiece

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".txt")


@dataclass(frozen=True)
class Columns:
    """The columns of samples in the file of a path."""

    path: Path
    inputs: tuple[str, ...]
    label: str

    def chunk(self, batch: Any) -> Chunk:
        """Points and labels of a batch of pyarrow."""
        points = np.stack([self.numbers(batch, name) for name in self.inputs], axis=1)
        return points, self.numbers(batch, self.label)

    def numbers(self, batch: Any, name: str) -> np.ndarray:
        """Give a column as float64; an empty cell becomes NaN, which is refused where rows are summed."""
        try:
            return np.asarray(batch.column(name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"column {name} of {self.path} needs numbers: {error}.") from error


def columns_of(path: Path, names: tuple[str, ...], *, label: str, inputs: tuple[str, ...]) -> Columns:
    """The columns of samples among those of a file: all but the label are inputs, unless inputs are named.

    Raises:
        InvalidInput: if a column is missing, or there are no inputs.
    """
    if label in inputs:
        raise InvalidInput(f"the label {label!r} is among the inputs: a function of the answer itself is no finding.")
    repeated = sorted({name for name in inputs if inputs.count(name) > 1})
    if repeated:
        raise InvalidInput(f"inputs need to be named once each, got {', '.join(repeated)} more than once.")
    missing = sorted({*inputs, label} - set(names))
    if missing:
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")
    inputs = inputs or tuple(name for name in names if name != label)
    if not inputs:
        raise InvalidInput(f"{path} has no column beside {label!r}: samples need inputs.")
    ambiguous = sorted({name for name in (*inputs, label) if names.count(name) > 1})
    if ambiguous:
        raise InvalidInput(f"{path} has more than one column {', '.join(ambiguous)}: rename or remove them.")
    return Columns(path, inputs, label)


def _rows_of(columns: Columns, batches: Iterable[Any]) -> Iterator[Chunk]:
    """Chunks of batches that are read one after the other, or what is wrong with the file further down.

    Raises:
        InvalidInput: if a batch can't be read: the file is damaged, or text comes after numbers.
    """
    try:
        yield from map(columns.chunk, batches)
    except InvalidInput:
        raise
    # pyarrow raises errors of many kinds for damaged files, which have no class of Python in common.
    except Exception as error:
        raise InvalidInput(f"{columns.path} can't be read to its end: {_line(error)}.") from error


def _line(error: Exception) -> str:
    """What an error of pyarrow says, on one line."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


@dataclass(frozen=True)
class TableSource(Source):
    """Files with one column per input and one for the label.

    Args:
        paths: the files, in order; they have the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs in order; all columns but the label if empty.
    """

    paths: tuple[Path, ...]
    label: str
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in self.paths:
            self.columns(path)

    def columns(self, path: Path) -> Columns:
        """Find the columns of a file."""
        return columns_of(path, self._names(path), label=self.label, inputs=self.inputs)

    @abstractmethod
    def _names(self, path: Path) -> tuple[str, ...]:
        """Names of all columns of a file."""


@dataclass(frozen=True)
class ParquetPiece(SourcePiece):
    """One row group of a file, which is the unit that Parquet reads on its own."""

    columns: Columns
    row_group: int
    chunk_rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the row group."""
        names = [*self.columns.inputs, self.columns.label]
        file = _open_parquet(self.columns.path)
        batches = file.iter_batches(batch_size=self.chunk_rows, row_groups=[self.row_group], columns=names)
        yield from _rows_of(self.columns, batches)


@dataclass(frozen=True)
class ParquetSource(TableSource):
    """Read samples from Parquet files with one column per input and one for the label.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.
        chunk_rows: rows in memory at once.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if not self.paths:
            raise InvalidInput("a Parquet source needs at least one file.")
        if self.chunk_rows < 1:
            raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={self.chunk_rows}.")
        super().__post_init__()

    def _names(self, path: Path) -> tuple[str, ...]:
        return tuple(_open_parquet(path).schema_arrow.names)

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per row group."""
        for path in self.paths:
            columns = self.columns(path)
            for row_group in range(_open_parquet(path).num_row_groups):
                yield ParquetPiece(columns, row_group, self.chunk_rows)


def _pyarrow(part: str, *, kind: str) -> ModuleType:
    try:
        return import_module(f"pyarrow.{part}")
    except ImportError as error:
        raise InvalidInput(f"{kind} files need pyarrow: install it with pip install 'unweave[data]'.") from error


@contextmanager
def _readable(path: Path, *, kind: str) -> Iterator[None]:
    """Say of what can't be read as such what it needs to be."""
    try:
        yield
    except InvalidInput:
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"{path} needs to be {kind}, but there is no such file: check the path.") from error
    # pyarrow raises errors of many kinds for damaged files, which have no class of Python in common.
    except Exception as error:
        raise InvalidInput(f"{path} needs to be {kind}: {_line(error)}.") from error


def _open_parquet(path: Path) -> Any:
    """The file, with its columns known and no row read."""
    parquet = _pyarrow("parquet", kind="Parquet")
    with _readable(path, kind="a Parquet file"):
        file = parquet.ParquetFile(path)
        # Names of columns may be damaged as well.
        list(file.schema_arrow.names)
    return file


@dataclass(frozen=True)
class CsvPiece(SourcePiece):
    """One file, read from its start."""

    columns: Columns

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as large as the reader likes."""
        yield from _rows_of(self.columns, _open_csv(self.columns.path))


@dataclass(frozen=True)
class CsvSource(TableSource):
    """Read samples from files of comma separated values with a head line: one column per input, one for the label.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    def _names(self, path: Path) -> tuple[str, ...]:
        return tuple(_open_csv(path).schema.names)

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per file."""
        yield from (CsvPiece(self.columns(path)) for path in self.paths)


def table_source(paths: tuple[Path, ...], *, label: str, inputs: tuple[str, ...] = ()) -> tuple[Source, int]:
    """The samples of one or more tables, and the number of inputs.

    Args:
        paths: Parquet or CSV files with the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs; all columns but the label if empty.

    Raises:
        InvalidInput: for files that can't be read, columns that are missing, and tables without inputs.
    """
    endings = {path.suffix.lower() for path in paths}
    if not paths or not (endings <= set(PARQUET) or endings <= set(CSV)):
        raise InvalidInput(
            f"samples need to be in files that all end in {' or '.join(PARQUET)}, or all in {' or '.join(CSV)}, "
            f"got {', '.join(map(str, paths)) or 'none'}."
        )
    kind = ParquetSource if endings <= set(PARQUET) else CsvSource
    source = kind(paths, label, inputs)
    return source, len(source.columns(paths[0]).inputs)


def column_names(path: Path) -> tuple[str, ...]:
    """Read the names of the columns of a table, Parquet or CSV by its ending.

    Raises:
        InvalidInput: if it can't be read, or two columns have the same name.
        MissingExtra: without pyarrow.
    """
    names = tuple(_whole_table(path).column_names)
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
    table, chosen = _whole_table(path), Columns(path, tuple(columns), "")
    rows = np.stack([chosen.numbers(table, name) for name in columns], axis=1)
    if not np.all(np.isfinite(rows)):
        raise InvalidInput(f"{path} needs finite numbers in {', '.join(columns)}, but some are missing or infinite.")
    return rows


def _whole_table(path: Path) -> Any:
    need("pyarrow", purpose=f"reading {path}")
    endings = (*PARQUET, *CSV)
    if path.suffix.lower() not in endings:
        raise InvalidInput(f"a table needs a name that ends in {', '.join(endings)}, got {path}.")
    is_parquet = path.suffix.lower() in PARQUET
    with _readable(path, kind="a Parquet file" if is_parquet else "a file of comma separated values"):
        return _open_parquet(path).read() if is_parquet else _open_csv(path).read_all()


def _open_csv(path: Path) -> Any:
    """A reader of batches, with its columns known."""
    csv = _pyarrow("csv", kind="CSV")
    with _readable(path, kind="a file of comma separated values"):
        reader = csv.open_csv(path)
        list(reader.schema.names)
    return reader
