"""Samples in tables, one column per input and one for the label: their columns, and the source that suits a file.

Tables are read in batches of rows; this needs pyarrow (``pip install 'unweave[data]'``). Files of text are read by
`csv_files`, those of Parquet and Arrow by `arrow_files`, which are imported when one is opened.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput, UnweaveError
from unweave.extras import need
from unweave.samples.sources import CHUNK_ROWS, Chunk, Source, SourcePiece

PARQUET, ARROW, CSV = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".csv", ".tsv", ".tab", ".txt")
# Endings of files of text that are compressed, and what pyarrow calls these codings.
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@dataclass(frozen=True)
class Columns:
    """The columns of samples in one table.

    Args:
        path: of its file; for messages only if it is in memory.
        inputs: names of the columns of the inputs, in order.
        label: name of the column of the labels; None if there are none.
        has_classes: whether labels are names of classes: text is kept, and only missing ones are refused.
    """

    path: Path
    inputs: tuple[str, ...]
    label: str | None = None
    has_classes: bool = False

    @property
    def names(self) -> list[str]:
        """All that is read."""
        return [*self.inputs, *([] if self.label is None else [self.label])]

    def chunk(self, batch: Any, first: int) -> Chunk:
        """Points and labels of a batch of pyarrow whose first row has the number `first`, counted from 1.

        Raises:
            InvalidInput: with row and column of the first cell that is missing or no finite number.
        """
        points = np.stack([self.numbers(batch, name, first) for name in self.inputs], axis=1)
        if self.label is None:
            return points, None
        if self.has_classes and not _has_numbers(batch.column(self.label).type):
            return points, self._texts(batch, self.label, first)
        return points, self.numbers(batch, self.label, first)

    def numbers(self, batch: Any, name: str, first: int) -> np.ndarray:
        """Give a column as float64.

        Raises:
            InvalidInput: with the row of the first cell that is missing or no finite number.
        """
        column = batch.column(name)
        if not _has_numbers(column.type):
            row, cell = next(((row, cell) for row, cell in enumerate(column) if cell.is_valid), (0, None))
            told = "nothing" if cell is None else f"{cell.as_py()!r}"
            raise self._refusal(first + row, name, f"needs a number, got {told} ({column.type})")
        # Whole numbers beyond 2^53 are rounded, as by NumPy.
        values = column.cast(load_pyarrow("").float64(), safe=False).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            row = int(wrong[0])
            told = f"needs a finite number, got {values[row]}" if column[row].is_valid else "is missing"
            raise self._refusal(first + row, name, told)
        return values

    def _texts(self, batch: Any, name: str, first: int) -> np.ndarray:
        """Names of classes, without blanks around them.

        Raises:
            InvalidInput: with the row of the first one that is missing.
        """
        texts = ["" if text is None else str(text).strip() for text in batch.column(name).to_pylist()]
        if "" in texts:
            raise self._refusal(first + texts.index(""), name, "is missing")
        return np.array(texts, dtype=str)

    def _refusal(self, row: int, name: str, problem: str) -> InvalidInput:
        return InvalidInput(f"{self.path}, row {row} (counted from 1), column {name!r} {problem}.")


def _has_numbers(kind: Any) -> bool:
    """Whether a type of pyarrow is one of numbers or of truth values; dates are neither. A column of nothing may be."""
    types = load_pyarrow("types")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def columns_of(
    path: Path, names: tuple[str, ...], *, label: str, inputs: tuple[str, ...], has_classes: bool = False
) -> Columns:
    """The columns of samples among those of a table: all but the label are inputs, unless inputs are named.

    Raises:
        InvalidInput: if a column is missing, has no name or the name of another one, or there are no inputs.
    """
    if label in inputs:
        raise InvalidInput(f"the label {label!r} is among the inputs: a function of the answer itself is no finding.")
    repeated = sorted({name for name in inputs if inputs.count(name) > 1})
    if repeated:
        raise InvalidInput(f"inputs need to be named once each, got {', '.join(repeated)} more than once.")
    missing = sorted({*inputs, label} - set(names))
    if missing:
        hint = " Its first line needs to hold names." if all(map(_is_number, names)) else ""
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.{hint}")
    inputs = inputs or tuple(name for name in names if name != label)
    if not inputs:
        raise InvalidInput(f"{path} has no column beside {label!r}: samples need inputs.")
    ambiguous = sorted({name for name in (*inputs, label) if names.count(name) > 1})
    if ambiguous:
        raise InvalidInput(f"{path} has more than one column {', '.join(map(repr, ambiguous))}: rename or remove them.")
    if "" in inputs:
        # Often the numbers of rows, which are no input.
        place = names.index("") + 1
        raise InvalidInput(f"column {place} of {path} has no name: name it, remove it, or say which are the inputs.")
    return Columns(path, inputs, label, has_classes)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def names_in(schema: Any) -> tuple[str, ...]:
    """Names of the columns of an Arrow schema, without those that pandas keeps as labels of rows."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return tuple(name for name in schema.names if name not in index)


def load_pyarrow(part: str, *, kind: str = "") -> ModuleType:
    """Import pyarrow, or a part of it.

    Raises:
        InvalidInput: without pyarrow.
    """
    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise InvalidInput(f"{kind} files need pyarrow: install it with pip install 'unweave[data]'.") from error


@contextmanager
def readable(path: Path, *, kind: str) -> Iterator[None]:
    """Say of what can't be read as such what it needs to be."""
    try:
        yield
    except UnweaveError:
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"{path} needs to be {kind}, but there is no such file: check the path.") from error
    # pyarrow raises errors of many kinds for damaged files, which have no class of Python in common.
    except Exception as error:
        raise InvalidInput(f"{path} needs to be {kind}: {on_one_line(error)}.") from error


def on_one_line(error: Exception) -> str:
    """What an error of pyarrow says, on one line."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def rows_of(columns: Columns, batches: Iterable[Any], *, first: int = 1) -> Iterator[Chunk]:
    """Give chunks of batches that are read one after the other, or what is wrong with the table further down.

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
        from unweave.samples.csv_files import CsvSource

        return CsvSource(paths, label, inputs, has_classes=has_classes, separator=separator)
    from unweave.samples.arrow_files import ArrowSource, ParquetSource

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
        from unweave.samples.csv_files import CsvFile

        names = CsvFile.of(path).names
    else:
        from unweave.samples.arrow_files import open_arrow, open_parquet

        names = names_in(open_parquet(path).schema_arrow if kind == PARQUET else open_arrow(path).schema)
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
        from unweave.samples.csv_files import CsvFile, CsvPiece

        return [CsvPiece(columns, CsvFile.of(columns.path))]
    from unweave.samples.arrow_files import ArrowPiece, parquet_pieces

    return list(parquet_pieces(columns, CHUNK_ROWS)) if kind == PARQUET else [ArrowPiece(columns)]


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
