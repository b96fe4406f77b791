"""Samples in tables on disk, by the ending of their name."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.columns import Columns, columns_of
from unweave.samples.parquet import ParquetSource
from unweave.samples.sources import Chunk, Piece, Source

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".txt")


@dataclass(frozen=True)
class CsvPiece(Piece):
    """One file, read from its start."""

    columns: Columns

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as large as the reader likes."""
        yield from map(self.columns.chunk, _opened(self.columns.path))


@dataclass(frozen=True)
class CsvSource(Source):
    """Files of comma separated values with a head line, one column per input and one for the label.

    Args:
        paths: the files, in order; they have the same columns.
        label: the column of the labels.
        inputs: the columns of the inputs in order; all columns but the label if empty.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    paths: tuple[Path, ...]
    label: str
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in self.paths:
            self.columns(path)

    def columns(self, path: Path) -> Columns:
        """The columns of a file."""
        return columns_of(path, tuple(_opened(path).schema.names), label=self.label, inputs=self.inputs)

    def pieces(self) -> Iterator[Piece]:
        """One piece per file."""
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


def _opened(path: Path) -> Any:
    """A reader of batches, with its columns known."""
    try:
        csv = import_module("pyarrow.csv")
    except ImportError as error:
        raise InvalidInput("CSV files need pyarrow: install it with pip install 'unweave[data]'.") from error
    try:
        return csv.open_csv(path)
    # pyarrow's errors are OSError and ValueError underneath.
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} needs to be a file of comma separated values: {error}.") from error
