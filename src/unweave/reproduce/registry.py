"""What `unweave reproduce` lists and runs: the numbered items of works, named by a work's key and a number."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from unweave.exceptions import InvalidInput, entry_named
from unweave.jobs import Workers
from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.entries import Entry, entries_of
from unweave.reproduce.experiment import Scale, experiment_in
from unweave.writing import Document

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@dataclass(frozen=True)
class Request:
    """How an experiment is run.

    Args:
        out: folder of trainings and numbers.
        data: of the user, where the experiment needs some.
        scale: how large it is made.
        workers: where cells are measured, as `unweave.jobs.run_jobs` takes them.
        sizes: in place of the published ones, by name.
        is_two_classes: whether the ten classes of CIFAR-10 become two.
        seed: of the first repetition.
        max_seconds: stop after this time, with what is done.
        tell: called with what is done, and how much of it.
        say: called with what a user should know before it starts.
    """

    out: Path
    data: Path | None = None
    scale: Scale = Scale.USUAL
    workers: Workers = None
    sizes: dict[str, Any] = field(default_factory=dict)
    is_two_classes: bool = False
    seed: int = 0
    max_seconds: float | None = None
    tell: Callable[[str, int], None] = lambda *_: None
    say: Callable[[str], None] = lambda _: None


@runtime_checkable
class Reproduced(Protocol):
    """An experiment that was run."""

    @property
    def is_complete(self) -> bool:
        """Whether all of it was done."""
        ...

    def as_document(self) -> Document:
        """Its numbers, as a dictionary for JSON."""
        ...

    def headline(self) -> "RenderableType":
        """What it is, on a line."""
        ...

    def report(self) -> "RenderableType":
        """Its numbers in words and tables."""
        ...

    def pictures(self) -> "dict[str, Figure]":
        """Pictures by the names of their files."""
        ...

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write its numbers."""
        ...


@dataclass(frozen=True)
class Reproduction:
    """A numbered item of a work that is listed, and usually can be run again.

    Args:
        work: key of the bibliography.
        entry: its number, what it shows and costs, or why it can't be run.
        run: runs it.
    """

    work: str
    entry: Entry
    run: Callable[[Request], Reproduced]

    @property
    def name(self) -> str:
        """How it is asked for."""
        return f"{self.work}:{self.entry.number}"

    @property
    def can_be_run(self) -> bool:
        """Whether there is something to run."""
        return not self.entry.reason


def _by_cells(work: str, entry: Entry) -> Reproduction:
    """An item that is measured cell by cell; its file is imported when it is run."""

    def run(request: Request) -> Reproduced:
        if entry.reason:
            raise InvalidInput(f"{work}:{entry.number} can't be run: {entry.reason}")
        from unweave.reproduce.measured import run_experiment

        return run_experiment(experiment_in(work, entry.file), work, entry.number, request)

    return Reproduction(work, entry, run)


def _on_images(entry: Entry) -> Reproduction:
    """A figure of [allenzhu] on images, which needs torch when it is run."""

    def run(request: Request) -> Reproduced:
        from unweave.reproduce.allenzhu.images.reproduction import run_image_figure

        return run_image_figure(entry.number, request)

    figure = FIGURES[entry.number]
    return Reproduction("allenzhu", replace(entry, shows=f"{figure.measured}; {' and '.join(figure.datasets)}"), run)


def _reproduction(work: str, entry: Entry) -> Reproduction:
    """How an item is run: other works have figures of the same numbers."""
    is_on_images = work == "allenzhu" and entry.number in FIGURES
    return _on_images(entry) if is_on_images else _by_cells(work, entry)


WORKS = ("fiedler", "awasthi", "soltanolkotabi", "goel", "allenzhu")
REPRODUCTIONS: dict[str, Reproduction] = {
    each.name: each for work in WORKS for each in (_reproduction(work, entry) for entry in entries_of(work))
}


def reproduction_named(name: str) -> Reproduction:
    """The item of that name.

    Raises:
        InvalidInput: if there is none.
    """
    return entry_named(name, REPRODUCTIONS, kind="reproduction")
