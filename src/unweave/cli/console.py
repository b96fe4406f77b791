"""What all commands share: exit codes, common options, progress on stderr, results on stdout and in files."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol, TypeVar, runtime_checkable

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from unweave.exceptions import InvalidInput, NotWritten, UnweaveError
from unweave.extras import need
from unweave.folders import write_file
from unweave.seals import sealed
from unweave.writing import as_json as json_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unweave.explore.feature_correction.runner import MeasurementProgress
    from unweave.oracles.oracle import Oracle
    from unweave.result import Result

IDENTIFIED, NOT_IDENTIFIED, WRONG_USE, MODEL_FAILED, PARTLY_IDENTIFIED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
EXIT_CODES = (
    "Exit codes: 0 identified (or complete, or the same network), 1 not identified, 2 wrong use, 3 the model failed, "
    "4 partly identified (or not complete), 5 results could not be written, 130 interrupted."
)
# By the values of `Outcome`, so that the exit code needs no import of the library.
OUTCOME_CODES = {
    "identified": IDENTIFIED,
    "partly identified": PARTLY_IDENTIFIED,
    "not identified": NOT_IDENTIFIED,
}
# Largest relative error of a parameter up to which two networks are called the same.
TOLERANCE = 1e-8
WIDTH = 100
# Written to try a folder: as much as a small run takes.
TRIED_BYTES = 2**16
# Seconds between lines about progress where stderr is no terminal.
LINE_SECONDS = 5.0
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")

Number = TypeVar("Number", int, float)
Tell = Callable[[str, int], None]

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only the outcome, without progress and tables.")]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write network, result and settings here.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that folder.")]


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


def optional_numbers(words: str | None, kind: type[Number], option: str) -> tuple[Number, ...] | None:
    """The same, or None where nothing was written."""
    return None if words is None else numbers(words, kind, option)


def check_out(out: Path | None, *, overwrite: bool) -> None:
    """Refuse a folder that a run can't be written to, before anything is spent.

    Raises:
        InvalidInput: if it holds something else, or nothing can be written there.
    """
    if out is None:
        return
    from unweave.reports.files import check_folder

    check_folder(out, overwrite=overwrite)
    existing = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    # Permissions do not tell about full disks, quotas and systems that are mounted for reading: a file does, and it
    # leaves nothing behind.
    try:
        with TemporaryFile(dir=existing) as file:
            file.write(bytes(TRIED_BYTES))
    except OSError as error:
        raise InvalidInput(f"--out needs a folder that can be written, but {existing} can't: {error}.") from error


def check_kept(out: Path | None) -> None:
    """Refuse a folder that trainings can't be kept in, before anything is spent; what it holds is looked at later.

    Raises:
        InvalidInput: if it can't be written, or is no folder.
    """
    if out is None:
        return
    existing = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not (existing.is_dir() and os.access(existing, os.R_OK | os.W_OK | os.X_OK)):
        problem = "protected" if existing.is_dir() else "not a folder"
        raise InvalidInput(f"--out needs a folder that can be written, but {existing} is {problem}: name another.")


def check_picture(picture: Path | None) -> None:
    """Refuse a picture that can't be written, before anything is spent.

    Raises:
        InvalidInput: for an ending that names no format, and a place that is not there or can't be written; without
            matplotlib.
    """
    if picture is None:
        return
    need("matplotlib", purpose="--picture")
    if picture.suffix.lower() not in PICTURE_ENDINGS:
        raise InvalidInput(f"--picture needs a name that ends in one of {', '.join(PICTURE_ENDINGS)}, got {picture}.")
    if not picture.absolute().parent.is_dir():
        raise InvalidInput(f"--picture needs a folder that is there, but {picture.parent} is not: make it first.")
    place = picture if picture.exists() else picture.absolute().parent
    if (picture.exists() and picture.is_dir()) or not os.access(place, os.W_OK):
        raise InvalidInput(f"--picture needs a file that can be written, but {place} can't: name another.")


def deliver(
    found: "Result",
    settings: Mapping[str, Any],
    *,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show a result, and write it to its folder."""
    from unweave.reports.text import outcome, report

    found = replace(found, settings=settings)
    if as_json:
        from unweave.reports.json import as_document

        show_json(as_document(found))
    else:
        show(outcome(found) if quiet else report(found))
    if out is not None:
        from unweave.reports.files import write_run

        # After the report, so that a full disk does not cost the result.
        try:
            write_run(out, found, settings, overwrite=overwrite)
        except InvalidInput as error:
            # It was checked before the first query: somebody has changed it since.
            raise NotWritten(str(error)) from error
        if not (quiet or as_json):
            typer.echo(f"The run is in {out}", err=True)


def leave_with(found: "Result") -> NoReturn:
    """Leave with the exit code of an outcome."""
    raise typer.Exit(OUTCOME_CODES[found.outcome.value])


def leave_when_measured(*, is_complete: bool) -> NoReturn:
    """Leave with the exit code of a command that measures, which has no outcome; some of its work may be left."""
    raise typer.Exit(IDENTIFIED if is_complete else PARTLY_IDENTIFIED)


def save_picture(figure: "Figure", path: Path) -> None:
    """Write a picture.

    Raises:
        NotWritten: if that is not possible.
    """
    drawn = BytesIO()
    figure.savefig(drawn, dpi=150, format=path.suffix.lower().removeprefix("."))
    write_file(path, drawn.getvalue())


def show(report: RenderableType, *, on_stderr: bool = False) -> None:
    """Print a report on stdout, or beside a document for machines, not wider than can be read."""
    console = Console(highlight=False, stderr=on_stderr)
    is_wide = not (console.is_terminal or "COLUMNS" in os.environ) or console.width > WIDTH
    with _stdout():
        (Console(highlight=False, width=WIDTH, stderr=on_stderr) if is_wide else console).print(report)


def show_json(document: dict[str, Any]) -> None:
    """Print a document on stdout."""
    with _stdout():
        typer.echo(json_text(sealed(document)))


@contextmanager
def _stdout() -> Iterator[None]:
    """Notice at once that stdout can't be written, and not when Python leaves."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail again at the end, with an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise NotWritten(f"the result could not be written to stdout: {error}.") from error


def complain(error: UnweaveError) -> None:
    """Print an error on stderr."""
    text = Text.assemble((type(error).__name__, "bold red"), ": ", str(error))
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


@runtime_checkable
class Shown(Protocol):
    """What can be shown while it changes."""

    @property
    def words(self) -> str:
        """One line about this moment."""
        ...


AnyShown = TypeVar("AnyShown", bound=Shown)


@dataclass
class Progress:
    """What is known of a run while it goes on.

    Args:
        stage: that it is in.
        unit: of what is counted.
        count: of it, as the run says.
        oracle: whose ledger counts instead; None before it is there, and for runs that ask none.
        most: queries that it takes at most, as far as that is known.
        began: when it began, by `time.monotonic`.
    """

    stage: str = "loading"
    unit: str = "queries"
    count: int = 0
    oracle: "Oracle | None" = None
    most: int | None = None
    began: float = field(default_factory=time.monotonic)

    def tell(self, stage: str, count: int) -> None:
        """Take the name of a stage, and how much is done."""
        self.stage, self.count = stage, count

    def watch(self, oracle: "Oracle", *, neurons: int | None = None) -> None:
        """Count the queries of an oracle; the end is known where a budget or the number of neurons is."""
        from unweave.identification.estimate import estimate
        from unweave.oracles.oracle import Box

        is_in_box = isinstance(oracle.domain, Box)
        efforts = estimate(inputs=oracle.inputs, is_in_box=is_in_box, neurons=neurons)
        most = max((effort.queries.most for effort in efforts), default=None)
        limits = (oracle.ledger.budget, most if neurons is not None else None)
        self.oracle, self.most = oracle, min((each for each in limits if each is not None), default=None)

    @property
    def words(self) -> str:
        """Stage, queries, time and what is left of it."""
        elapsed = time.monotonic() - self.began
        sent = self.count if self.oracle is None else self.oracle.ledger.sent
        new = sent if self.oracle is None else sent - self.oracle.ledger.replayed
        said = f"{self.stage:<24} {sent:>9,} {self.unit}  {_clock(elapsed)}"
        if self.most is None or new == 0 or sent >= self.most:
            return said
        # What is read from a journal takes no time.
        return f"{said}, at most {_clock(elapsed / new * (self.most - sent))} left"


@dataclass
class Reading:
    """What is known of a run that reads samples, several times or once, and learns from them.

    Args:
        total: samples in all, as far as that is known; about.
        stage: that the run is in.
        read: samples that were read in this pass; None between passes.
        began: when the run began, by `time.monotonic`.
        pass_began: when this pass over the samples began.
    """

    total: int | None = None
    stage: str = "loading"
    read: int | None = None
    began: float = field(default_factory=time.monotonic)
    pass_began: float = 0.0

    def tell(self, stage: str, _: int) -> None:
        """Take the name of a stage."""
        self.stage, self.read = stage, None

    def begin_pass(self) -> None:
        """Begin to count."""
        self.read, self.pass_began = 0, time.monotonic()

    def count(self, samples: int) -> None:
        """Add samples that were read."""
        self.read = (self.read or 0) + samples

    def end_pass(self) -> None:
        """Take what was read for all there is."""
        self.total, self.read = self.read, None

    @property
    def words(self) -> str:
        """Stage, share of the samples that this pass has read, time, and what is left of the pass."""
        now = time.monotonic()
        said, elapsed = f"{self.stage:<24}", _clock(now - self.began)
        if not self.read:
            return f"{said} {elapsed}" if self.total is None else f"{said} {self.total:>11,} samples  {elapsed}"
        said = f"{said} {self.read:>11,} samples"
        if self.total is None or self.read >= self.total:
            return f"{said}  {elapsed}"
        share = self.read / self.total
        left = (now - self.pass_began) * (1 / share - 1)
        return f"{said}, {share:.0%} read  {elapsed}, about {_clock(left)} left for reading"


@dataclass
class Trainings:
    """What is known of a measurement that trains many models.

    Args:
        name: of what is trained.
        done: trainings that are done.
        total: trainings in all; None before that is known.
        seconds_left: about, when this was told; None while it is not known.
        told: when that was.
        began: when the measurement began, by `time.monotonic`.
    """

    name: str = "loading"
    done: int = 0
    total: int | None = None
    seconds_left: float | None = None
    told: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def tell(self, seen: "MeasurementProgress") -> None:
        """Take what is trained, and how far the measurement is."""
        self.name, self.done, self.total, self.seconds_left = seen.name, seen.done, seen.total, seen.seconds_left
        self.told = time.monotonic()

    @property
    def words(self) -> str:
        """What is trained, how many trainings are done, time, and what is left of it."""
        now = time.monotonic()
        said = f"{self.name:<36} {self.done:>5,}"
        said += f"{'' if self.total is None else f' of {self.total:,}'} trainings done  {_clock(now - self.began)}"
        if self.seconds_left is None:
            return said
        return f"{said}, about {_clock(max(0.0, self.seconds_left - (now - self.told)))} left"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def query_progress(*, is_shown: bool) -> AbstractContextManager[Progress]:
    """Show stages, and the queries of a model, on stderr while this context lasts."""
    return shown(Progress(), is_shown=is_shown)


@contextmanager
def counted_progress(*, is_shown: bool = True, unit: str = "queries") -> Iterator[Tell]:
    """Show stages and counts on stderr, as a command tells them, while this context lasts."""
    with shown(Progress(unit=unit), is_shown=is_shown) as progress:
        yield progress.tell


@contextmanager
def shown(progress: AnyShown, *, is_shown: bool) -> Iterator[AnyShown]:
    """Show progress on stderr while this context lasts."""
    console = Console(stderr=True)
    if not is_shown:
        yield progress
    elif sys.stderr.isatty() and not console.is_dumb_terminal:
        with _live(progress, console):
            yield progress
    else:
        with _lines(progress):
            yield progress


@contextmanager
def _live(progress: Shown, console: Console) -> Iterator[None]:
    from rich.live import Live
    from rich.spinner import Spinner

    class Line(Spinner):
        """A spinner whose words are those of the moment."""

        def render(self, time: float) -> object:  # type: ignore[override]
            self.update(text=progress.words)
            return super().render(time)

    with Live(Line("dots"), console=console, transient=True, refresh_per_second=8):
        yield


@contextmanager
def _lines(progress: Shown) -> Iterator[None]:
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(LINE_SECONDS):
            typer.echo(progress.words, err=True)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
