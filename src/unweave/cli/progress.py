"""How far a command is: live on a terminal, a line every few seconds elsewhere, with the time that is left."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import typer
from rich.console import Console

from unweave.cli.console import Tell

if TYPE_CHECKING:
    from unweave.oracles.oracle import Oracle

# Seconds between lines where stderr is no terminal.
LINE_SECONDS = 5.0


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
