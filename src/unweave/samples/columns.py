"""The columns of samples in a table of Arrow: which they are, their numbers, and where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput, UnweaveError
from unweave.samples.sources import Chunk


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
