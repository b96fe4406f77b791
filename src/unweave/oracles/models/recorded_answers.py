"""Answers that were recorded before, in a table, as a model: for models that can only be asked in another way.

A run asks for certain points, the same ones whenever it is repeated. What the table does not hold is written down as
questions; with their answers added, the same command goes on.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, TransportFailed
from unweave.folders import write_file
from unweave.oracles.models.kinds import check_size
from unweave.oracles.oracle import Oracle, OracleSettings
from unweave.samples.tables import column_names, read_columns

# Columns as exports of journals name them.
INPUT, OUTPUT = re.compile(r"x\d+"), re.compile(r"y\d+")


class RecordedAnswers(Oracle):
    """Look answers up in a table, by the exact point; the n-th question for a point gets its n-th answer.

    Args:
        path: of a CSV or Parquet file with one column per input and one per output.
        columns: that are the inputs, in order; those named x0, x1, ... if empty. Outputs are those named y0, y1, ...
            or else all others.
        inputs: number of inputs, to be checked.
        settings: of the oracle.

    Raises:
        InvalidInput: if the table can't be read, or has no such columns.
        MissingExtra: without pyarrow.
    """

    is_recorded = True

    def __init__(
        self,
        path: Path,
        *,
        columns: tuple[str, ...] = (),
        inputs: int | None = None,
        **settings: Unpack[OracleSettings],
    ) -> None:
        chosen, told = _split(path, column_names(path), columns)
        check_size("inputs", inputs, len(chosen))
        super().__init__(inputs=len(chosen), **settings)
        self._answers = read_columns(path, told)
        self._places: dict[bytes, list[int]] = defaultdict(list)
        for row, point in enumerate(read_columns(path, chosen)):
            self._places[point.tobytes()].append(row)
        self._asked: dict[bytes, int] = defaultdict(int)
        self._path, self._columns = path, chosen
        self.name = str(path.resolve())

    @property
    def questions(self) -> Path:
        """Where points are written that the table does not hold."""
        return self._path.with_name(f"{self._path.stem}.questions.csv")

    def _answer(self, points: Points) -> np.ndarray:
        rows, missing = [], []
        for number, point in enumerate(points):
            key = point.tobytes()
            places, occurrence = self._places.get(key, ()), self._asked[key]
            self._asked[key] += 1
            if occurrence < len(places):
                rows.append(places[occurrence])
            else:
                missing.append(number)
        if missing:
            self._write_questions(points[missing])
            raise TransportFailed(
                f"{self._path} holds no answers to {len(missing)} of {len(points)} points that are asked next, see "
                f"{self.questions}: add them to the table with their answers, and run the same command again."
            )
        return self._answers[rows]

    def _write_questions(self, points: Points) -> None:
        lines = [",".join(self._columns), *(",".join(map(repr, point)) for point in points.tolist())]
        write_file(self.questions, "\n".join(lines) + "\n")


def _split(path: Path, names: Sequence[str], columns: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Tell columns of inputs from columns of outputs."""
    missing = [name for name in columns if name not in names]
    if missing:
        raise InvalidInput(f"{path} has no column {', '.join(missing)}: its columns are {', '.join(names)}.")
    chosen = list(columns) or [name for name in names if INPUT.fullmatch(name)]
    others = [name for name in names if name not in chosen]
    told = [name for name in others if OUTPUT.fullmatch(name)] or others
    if not chosen or not told:
        raise InvalidInput(
            f"{path} needs columns x0, x1, ... for inputs and y0, y1, ... for answers, or names of inputs (--columns); "
            f"its columns are {', '.join(names)}."
        )
    return chosen, told
