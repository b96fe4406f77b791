"""What every estimator of `unweave learn` is asked, and the samples for it."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import AsJson, Out, Overwrite, Quiet, Seed
from unweave.cli.progress import Reading
from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from unweave.arrays import Points
    from unweave.result import Result
    from unweave.samples.tables import TableSource

# Numbers that are read into memory: 2 GB.
MOST_NUMBERS = 2**28
# What can't be typed in every shell.
SEPARATORS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Samples:
    """Samples in memory.

    Args:
        names: of the inputs.
        points: one row each.
        labels: numbers, or names of classes.
        most: rows that are read; there may be more.
    """

    names: tuple[str, ...]
    points: "Points"
    labels: Any
    most: int

    def described(self, result: "Result") -> "Result":
        """Tell a result what its inputs are called, and whether rows were left out."""
        note = (
            f"only the first {self.most:,} rows were read: more do not fit into the memory that is set aside for them"
        )
        notes = (*result.notes, note) if len(self.points) == self.most else result.notes
        return replace(result, input_names=self.names, notes=notes)


@dataclass(frozen=True)
class LearnRequest:
    """What every estimator is asked: samples, seed, and where the result goes."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Samples: Parquet, Arrow or CSV files (csv, tsv, gz) with the same columns."
        ),
    ]
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the labels.")]
    inputs: Annotated[
        str,
        typer.Option(metavar="COLUMNS", help="The columns of the inputs, with commas between; all others if omitted."),
    ] = ""
    separator: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Between cells of CSV files, such as ';' or tab; found if omitted."),
    ] = None
    seed: Seed = 0
    out: Out = None
    overwrite: Overwrite = False
    as_json: AsJson = False
    quiet: Quiet = False

    def source(self, *, has_classes: bool = False) -> "TableSource":
        """The samples, of which there is at least one.

        Raises:
            InvalidInput: for tables that can't be used, and for such without rows.
        """
        from unweave.samples.tables import table_source

        source = table_source(
            tuple(self.files),
            label=self.target,
            inputs=tuple(name.strip() for name in self.inputs.split(",") if name.strip()),
            has_classes=has_classes,
            separator=SEPARATORS.get(self.separator or "", self.separator),
        )
        if not any(len(points) for points, _ in source.chunks()):
            raise InvalidInput(f"samples are needed, but there is no row in {', '.join(map(str, self.files))}.")
        return source

    def samples(self, reading: Reading, *, has_classes: bool = False) -> Samples:
        """All samples, in memory."""
        from unweave.samples.sources import WatchedSource, first_rows, rows_with_classes

        source = self.source(has_classes=has_classes)
        names, reading.total = source.input_names, source.rows_about
        name = f"column {self.target!r} of {', '.join(map(str, self.files))}"
        rows = partial(rows_with_classes, name=name) if has_classes else first_rows
        most = MOST_NUMBERS // len(names)
        return Samples(names, *rows(WatchedSource(source, reading), inputs=len(names), most=most), most)
