"""What all tables have in common: named columns, one per input and one for the label."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.samples.sources import Chunk


@dataclass(frozen=True)
class Columns:
    """The columns of samples in the file of a path."""

    path: Path
    inputs: tuple[str, ...]
    label: str

    def chunk(self, batch: Any) -> Chunk:
        """Points and labels of a batch of pyarrow."""
        points = np.stack([self._numbers(batch, name) for name in self.inputs], axis=1)
        return points, self._numbers(batch, self.label)

    def _numbers(self, batch: Any, name: str) -> np.ndarray:
        """A column as float64; an empty cell becomes NaN, which is refused where rows are summed."""
        column = batch.column(name).to_numpy(zero_copy_only=False)
        try:
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"column {name} of {self.path} needs numbers: {error}.") from error


def columns_of(path: Path, names: tuple[str, ...], *, label: str, inputs: tuple[str, ...]) -> Columns:
    """The columns of samples among those of a file: all but the label are inputs, unless inputs are named.

    Raises:
        InvalidInput: if a column is missing, or there are no inputs.
    """
    missing = sorted({*inputs, label} - set(names))
    if missing:
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")
    inputs = inputs or tuple(name for name in names if name != label)
    if not inputs:
        raise InvalidInput(f"{path} has no column beside {label!r}: samples need inputs.")
    return Columns(path, inputs, label)
