"""What `unweave reproduce` can run: one entry per figure or table, named by the work's key and its number."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from unweave.exceptions import entry_named
from unweave.reproduce.allenzhu.images.configurations import FIGURES
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
        sizes: in place of the published ones, by name.
        is_two_classes: whether the ten classes of CIFAR-10 become two.
        seed: of the first repetition.
        max_seconds: stop after this time, with what is done.
        tell: called with what is done, and how much of it.
        say: called with what a user should know before it starts.
    """

    out: Path
    data: Path | None
    sizes: dict[str, Any]
    is_two_classes: bool
    seed: int
    max_seconds: float | None
    tell: Callable[[str, int], None]
    say: Callable[[str], None]


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
    """A figure or table that can be run again.

    Args:
        work: key of the bibliography.
        number: of the figure or table in it.
        shows: what it is about, in a few words.
        run: runs it.
    """

    work: str
    number: str
    shows: str
    run: Callable[[Request], Reproduced]

    @property
    def name(self) -> str:
        """How it is asked for."""
        return f"{self.work}:{self.number}"


def _image_figure(number: str) -> Reproduction:
    """A figure of [allenzhu] on images, which needs torch when it is run."""

    def run(request: Request) -> Reproduced:
        from unweave.reproduce.allenzhu.images.reproduction import run_image_figure

        return run_image_figure(number, request)

    configuration = FIGURES[number]
    return Reproduction("allenzhu", number, f"{configuration.measured}; {' and '.join(configuration.datasets)}", run)


REPRODUCTIONS: dict[str, Reproduction] = {each.name: each for each in map(_image_figure, FIGURES)}


def reproduction_named(name: str) -> Reproduction:
    """The experiment of that name.

    Raises:
        InvalidInput: if there is none.
    """
    return entry_named(name, REPRODUCTIONS, kind="reproduction")
