"""What all commands share: exit codes, progress on stderr, results on stdout."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from unweave.exceptions import InvalidInput, UnweaveError

if TYPE_CHECKING:
    from unweave.result import Result

IDENTIFIED, NOT_IDENTIFIED, WRONG_USE, MODEL_FAILED, PARTLY_IDENTIFIED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
COMPLETE, INCOMPLETE = IDENTIFIED, PARTLY_IDENTIFIED
WIDTH = 100

Number = TypeVar("Number", int, float)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only the outcome, without progress and tables.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that folder.")]


@contextmanager
def progress(*, is_shown: bool = True, unit: str = "queries") -> Iterator[Callable[[str, int], None]]:
    """Stage, count of a unit so far and elapsed time on stderr, if that is a terminal."""
    console = Console(stderr=True)
    if not is_shown or not sys.stderr.isatty() or console.is_dumb_terminal:
        yield lambda *_: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<24}"),
        TextColumn("{task.fields[count]:>9,} " + unit),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as shown:
        task = shown.add_task("starting", total=None, count=0)
        yield lambda stage, count: shown.update(task, description=stage, count=count)


def exit_code(found: "Result") -> int:
    """What a command leaves with that has found this."""
    if found.is_identified:
        return IDENTIFIED
    return PARTLY_IDENTIFIED if found.outcome.value == "partly identified" else NOT_IDENTIFIED


def numbers(words: str, kind: type[Number], option: str) -> tuple[Number, ...]:
    """Numbers that a user wrote with commas between them.

    Raises:
        InvalidInput: if they are something else.
    """
    try:
        return tuple(kind(word) for word in words.split(","))
    except ValueError as error:
        names = "whole numbers" if kind is int else "numbers"
        raise InvalidInput(f"{option} needs {names} with commas between, got {words!r}.") from error


def show(report: RenderableType) -> None:
    """Print a report on stdout, not wider than can be read."""
    console = Console(highlight=False)
    is_wide = not (console.is_terminal or "COLUMNS" in os.environ) or console.width > WIDTH
    (Console(highlight=False, width=WIDTH) if is_wide else console).print(report)


def show_json(document: dict[str, Any]) -> None:
    """Print a document on stdout."""
    from unweave.writing import as_json

    typer.echo(as_json(document))


def complain(error: UnweaveError) -> None:
    """Print an error on stderr."""
    text = Text.assemble((type(error).__name__, "bold red"), ": ", str(error))
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)
