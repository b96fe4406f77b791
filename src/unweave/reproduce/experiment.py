"""Published tables and figures as cells that are measured one by one, kept, and set beside what was printed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib import import_module
from itertools import product
from time import monotonic
from typing import TYPE_CHECKING

from unweave.exceptions import InvalidInput
from unweave.explore.landscape.kept_sizes import KeptSizes, run_sizes
from unweave.seals import checksum
from unweave.writing import Document, for_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unweave.reproduce.registry import Request

# What a cell is about: inputs, neurons, activation, method, ...
Settings = dict[str, str | int | float]
# What it gives: numbers by their names; a curve is a list.
Numbers = dict[str, float | list[float]]

CELLS = "cells"


class Scale(StrEnum):
    """How large a reproduction is made."""

    QUICK = "quick"
    USUAL = "usual"
    FULL = "full"


@dataclass(frozen=True)
class Cell:
    """One measurement: settings, and the seed of everything random in it.

    Args:
        settings: of the row that it belongs to.
        seed: of this repetition.
    """

    settings: Settings
    seed: int

    @property
    def name(self) -> str:
        """Of its file: the same for the same cell."""
        return checksum(json.dumps([self.settings, self.seed], sort_keys=True).encode())[:16]


@dataclass(frozen=True)
class Row:
    """All repetitions of the same settings.

    Args:
        settings: what they have in common.
        numbers: one per repetition.
        published: what the work says of these settings, by the same names.
    """

    settings: Settings
    numbers: Sequence[Numbers]
    published: Mapping[str, float]

    def values(self, column: str) -> list[float]:
        """The numbers of a column in all repetitions that have it."""
        values = (numbers.get(column) for numbers in self.numbers)
        return [float(value) for value in values if value is not None and not isinstance(value, list)]

    def curves(self, column: str) -> list[list[float]]:
        """The curves of a column in all repetitions that have it."""
        return [value for numbers in self.numbers if isinstance(value := numbers.get(column), list)]


# Seeds per row of what is not random, or draws as much as it needs in a cell.
ONCE = dict.fromkeys(Scale, 1)


def no_published_numbers(_: Settings) -> dict[str, float]:
    """Where a work prints no numbers: a picture without values, an algorithm, a theorem."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table, figure or statement that is measured cell by cell.

    Args:
        title: what is measured, in a few words.
        settings: rows at each scale.
        measure: of one cell; other processes have to be able to import it, so that it is a function of a module.
        repetitions: seeds per row at each scale.
        columns: what the numbers are, in words with their unit, by their names; curves are not named here.
        published: what the work says of a row, by the names of columns.
        draw: pictures of all rows, by the names of their files; none if a table tells as much.
        notes: what a reader of the numbers has to know: other sizes, other methods, errata.
    """

    title: str
    settings: Callable[[Scale], Sequence[Settings]]
    measure: Callable[[Cell], Numbers]
    repetitions: Mapping[Scale, int] = field(default_factory=lambda: {Scale.QUICK: 1, Scale.USUAL: 3, Scale.FULL: 10})
    columns: Mapping[str, str]
    published: Callable[[Settings], Mapping[str, float]] = no_published_numbers
    draw: "Callable[[Sequence[Row]], dict[str, Figure]] | None" = None
    notes: tuple[str, ...] = ()

    def cells(self, scale: Scale, *, seeds: int | None, seed: int) -> list[Cell]:
        """List what is measured, repetition by repetition, so that a run that is stopped has tried all settings."""
        count = self.repetitions[scale] if seeds is None else seeds
        return [Cell(settings, seed + number) for number, settings in product(range(count), self.settings(scale))]

    def rows(self, measured: Sequence[tuple[Cell, Numbers]]) -> list[Row]:
        """Put repetitions of the same settings together, in the order of their first one."""
        together: dict[str, list[tuple[Cell, Numbers]]] = {}
        for cell, numbers in measured:
            together.setdefault(json.dumps(cell.settings), []).append((cell, numbers))
        return [
            Row(each[0][0].settings, [numbers for _, numbers in each], self.published(each[0][0].settings))
            for each in together.values()
        ]


def experiment_in(work: str, file: str) -> Experiment:
    """Read the experiment that a file in the folder of a work is.

    Its names are those of the arguments of `Experiment`: functions `settings` and `measure`, words in `TITLE` and
    `COLUMNS`, and where it has them `published`, `draw`, `REPETITIONS` and `NOTES`. A file whose experiment another
    one makes, for several items, has it as `EXPERIMENT`.
    """
    names = vars(import_module(f"unweave.reproduce.{work}.{file}"))
    if "EXPERIMENT" in names:
        return names["EXPERIMENT"]
    said = {each.name: names.get(each.name, names.get(each.name.upper())) for each in fields(Experiment)}
    return Experiment(**{name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True)
class _Measure:
    """Measures cells on workers: what is sent there is a function of a module."""

    function: Callable[[Cell], Numbers]

    def __call__(self, cell: Cell) -> Document:
        return {"settings": cell.settings, "seed": cell.seed, "numbers": for_json(self.function(cell))}


def measured_cells(experiment: Experiment, name: str, request: "Request") -> tuple[list[tuple[Cell, Numbers]], int]:
    """Measure what the folder does not hold yet; give all that is there then, and how many cells were asked for.

    Raises:
        InvalidInput: if the folder holds something else, or the experiment has no such option.
    """
    if unknown := sorted({*request.sizes} - {"seeds"}):
        raise InvalidInput(f"{name} takes no --{unknown[0].replace('_', '-')}: its sizes follow --quick and --full.")
    cells = experiment.cells(request.scale, seeds=request.sizes.get("seeds"), seed=request.seed)
    kept = KeptSizes.open(request.out / CELLS, {"reproduction": name})
    measured: dict[str, Numbers] = {}

    def keep(done: tuple[Cell, Document]) -> None:
        measured[done[0].name] = _numbers(done[1])
        request.tell(f"of {len(cells)}", len(measured))

    request.tell(f"of {len(cells)}", 0)
    with _until(request.max_seconds) as check:

        def keep_and_check(done: tuple[Cell, Document]) -> None:
            keep(done)
            check()

        run_sizes(_Measure(experiment.measure), cells, workers=request.workers, kept=kept, progress=keep_and_check)
    return [(cell, measured[cell.name]) for cell in cells if cell.name in measured], len(cells)


class _OutOfTime(Exception):
    """Ends a run between two cells."""


@contextmanager
def _until(seconds: float | None) -> Iterator[Callable[[], None]]:
    """Give a check that ends this context, without an error, once the time is over."""
    began = monotonic()

    def check() -> None:
        if seconds is not None and monotonic() - began > seconds:
            raise _OutOfTime

    try:
        yield check
    except _OutOfTime:
        return


def _numbers(document: Document) -> Numbers:
    """Read numbers as they are kept: those that are not finite have names in JSON."""
    return {
        name: [float(each) for each in value] if isinstance(value, list) else float(value)
        for name, value in document["numbers"].items()
    }
