"""What a reproduction by cells has found, beside what was printed: as words, JSON, CSV and pictures."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from unweave.folders import write_files
from unweave.reports import text
from unweave.reports.files import environment
from unweave.reproduce.experiment import Experiment, Row, Scale, measured_cells
from unweave.writing import Document, as_json, envelope, for_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from unweave.reproduce.registry import Request

NUMBERS, TABLE = "reproduction.json", "reproduction.csv"
UNFINISHED = "The time was over before all was measured: run it again with the same folder to go on."


@dataclass(frozen=True)
class MeasuredRows:
    """A table, figure or statement that was measured, as `unweave reproduce` shows it.

    Args:
        experiment: what was measured.
        work: key of the bibliography.
        number: of the table, figure or statement in it.
        scale: how large it was made.
        rows: what was found.
        is_complete: whether all cells were measured.
    """

    experiment: Experiment
    work: str
    number: str
    scale: Scale
    rows: Sequence[Row]
    is_complete: bool

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know."""
        return [*self.experiment.notes, *([] if self.is_complete else [UNFINISHED])]

    def as_document(self) -> Document:
        """Its numbers, as a dictionary for JSON."""
        rows = [{"settings": row.settings, "numbers": row.numbers} for row in self.rows]
        published = [{"settings": row.settings, "numbers": row.published} for row in self.rows if row.published]
        return envelope("reproduction") | {
            "work": self.work,
            "number": self.number,
            "label": self.scale.value,
            "is_complete": self.is_complete,
            "result": for_json({"columns": self.experiment.columns, "rows": rows, "environment": environment()}),
            "published": for_json(published),
            "notes": self.notes,
        }

    def headline(self) -> Text:
        """What it is, on a line."""
        complete = "" if self.is_complete else ", not complete"
        seeds = max((len(row.numbers) for row in self.rows), default=0)
        return Text(f"[{self.work}, {self.number}] {self.experiment.title}: {self.scale}, {seeds} seeds{complete}")

    def report(self) -> "RenderableType":
        """Its numbers in words and tables."""
        parts: list[RenderableType] = [self.headline()]
        if self.rows and self.experiment.columns:
            parts.append(self._table())
        return text.spaced([*parts, *map(Text, self.notes)])

    def pictures(self) -> "dict[str, Figure]":
        """Pictures by the names of their files."""
        draw = self.experiment.draw
        return {} if draw is None or not self.rows else draw(self.rows)

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write its numbers."""
        return write_files(folder, {NUMBERS: as_json(self.as_document()) + "\n", TABLE: self._csv()})

    def _table(self) -> Table:
        """Medians over repetitions, and what was published in parentheses."""
        table = Table(box=None, pad_edge=False)
        for name in self.rows[0].settings:
            table.add_column(name, no_wrap=True)
        for words in self.experiment.columns.values():
            table.add_column(words, justify="right")
        for row in self.rows:
            table.add_row(*map(str, row.settings.values()), *(_shown(row, name) for name in self.experiment.columns))
        return table

    def _csv(self) -> str:
        """One line per cell, then one per row of what was published, whose seed is empty."""
        settings = list(dict.fromkeys(name for row in self.rows for name in row.settings))
        columns = list(self.experiment.columns)
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([*settings, "source", *columns])
        for row in self.rows:
            given = [row.settings.get(name, "") for name in settings]
            for numbers in row.numbers:
                writer.writerow([*given, "measured", *(numbers.get(name, "") for name in columns)])
            if row.published:
                writer.writerow([*given, "published", *(row.published.get(name, "") for name in columns)])
        return lines.getvalue()


def _shown(row: Row, column: str) -> str:
    values = row.values(column)
    ours = f"{median(values):.3g}" if values else "-"
    return f"{ours} ({row.published[column]:.3g})" if column in row.published else ours


def run_experiment(experiment: Experiment, work: str, number: str, request: "Request") -> MeasuredRows:
    """Measure what the folder of the request does not hold yet.

    Raises:
        InvalidInput: if the folder holds something else, or the experiment has no such option.
    """
    measured, asked = measured_cells(experiment, f"{work}:{number}", request)
    of = partial(MeasuredRows, experiment, work, number, request.scale)
    return of(experiment.rows(measured), len(measured) == asked)
