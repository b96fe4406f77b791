"""Samples in tables on disk, by the ending of their name."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.measurements.streams.parquet import ParquetSource, column_names, numbers
from unweave.measurements.streams.sources import Chunk, Piece, Source

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".txt")


@dataclass(frozen=True)
class CsvPiece(Piece):
    """One file, read from its start."""

    path: Path
    inputs: tuple[str, ...]
    label: str

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as large as the reader likes."""
        for batch in _opened(self.path):
            points = np.stack([numbers(batch, name, self.path) for name in self.inputs], axis=1)
            yield points, numbers(batch, self.label, self.path)


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
            check_columns(path, _opened(path).schema.names, (*self.inputs, self.label))

    def pieces(self) -> Iterator[Piece]:
        """One piece per file."""
        for path in self.paths:
            yield CsvPiece(path, self.inputs or _all_but(self.label, _opened(path).schema.names), self.label)


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
    if endings <= set(PARQUET):
        source, names = ParquetSource(paths, label, inputs), column_names(paths[0])
    else:
        source, names = CsvSource(paths, label, inputs), tuple(_opened(paths[0]).schema.names)
    count = len(inputs or _all_but(label, names))
    if count == 0:
        raise InvalidInput(f"{paths[0]} has no column beside {label!r}: samples need inputs.")
    return source, count


def check_columns(path: Path, names: list[str], needed: tuple[str, ...]) -> None:
    """Raise `InvalidInput` if a column is missing."""
    missing = sorted(set(needed) - set(names))
    if missing:
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")


def _all_but(label: str, names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name != label)


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
