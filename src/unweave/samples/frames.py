"""Samples in a DataFrame of any library that hands its columns over as Arrow data: pandas, Polars, pyarrow, DuckDB."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.sources import CHUNK_ROWS, HeldPiece, Source, SourcePiece
from unweave.samples.tables import Columns, columns_of, load_pyarrow, names_in, on_one_line

# What stands for the path of a file in messages.
NAME = Path("the DataFrame")


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """Read samples from a DataFrame with one column per input and one for the label.

    Args:
        frame: of pandas, Polars or pyarrow, or any object with `__arrow_c_stream__` or `__dataframe__`.
        label: the column of the labels.
        inputs: the columns of the inputs in order; all columns but the label if empty.
        chunk_rows: rows that are converted at once.

    Raises:
        InvalidInput: if pyarrow is not installed, or a column is missing.

    Examples:
        >>> import pyarrow
        >>> frame = pyarrow.table({"age": [30.0, 41.0], "income": [1.5, 2.5], "price": [7.0, 9.0]})
        >>> source = FrameSource(frame, "price")
        >>> source.input_names
        ('age', 'income')
        >>> points, labels = next(source.chunks())
        >>> points.tolist(), labels.tolist()
        ([[30.0, 1.5], [41.0, 2.5]], [7.0, 9.0])
    """

    frame: Any
    label: str
    inputs: tuple[str, ...] = ()
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if self.chunk_rows < 1:
            raise InvalidInput(f"a chunk needs at least one row, got chunk_rows={self.chunk_rows}.")
        _ = self._columns

    @property
    def input_names(self) -> tuple[str, ...]:
        """Name the columns of the inputs, in their order."""
        return self._columns.inputs

    @cached_property
    def _table(self) -> Any:
        pyarrow = load_pyarrow("", kind="DataFrames and")
        try:
            if hasattr(self.frame, "__arrow_c_stream__"):
                return pyarrow.table(self.frame)
            if hasattr(self.frame, "__dataframe__"):
                return load_pyarrow("interchange").from_dataframe(self.frame)
        # Libraries raise errors of many kinds for columns that Arrow does not have.
        except Exception as error:
            raise InvalidInput(f"{NAME} can't be read as Arrow data: {on_one_line(error)}.") from error
        advice = ": collect it first" if hasattr(self.frame, "collect") else ""
        raise InvalidInput(f"samples need a DataFrame with named columns, got {type(self.frame).__name__}{advice}.")

    @cached_property
    def _columns(self) -> Columns:
        return columns_of(NAME, names_in(self._table.schema), label=self.label, inputs=self.inputs)

    def pieces(self) -> Iterator[SourcePiece]:
        """Cut the rows into chunks.

        Raises:
            InvalidInput: with row and column of the first cell that is missing or no finite number.
        """
        chosen, first = self._table.select(self._columns.names), 1
        for batch in chosen.to_batches(max_chunksize=self.chunk_rows):
            yield HeldPiece(*self._columns.chunk(batch, first))
            first += len(batch)
