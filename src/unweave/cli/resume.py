"""Runs that go on: where a command keeps the answers that it gets, and what is said of them when it ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unweave.cli.console import check_out
from unweave.exceptions import InvalidInput, NotWritten, OracleError, TransportFailed, UnreadableFile

if TYPE_CHECKING:
    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.oracle import Oracle

# Settings that say how far a run goes, or how fast: with other ones it is still the same run, and goes on.
GOING_ON = (
    *("budget", "max_seconds", "confidence", "coverage", "journal", "headers"),
    *("rate", "max_batch", "concurrency", "timeout", "price_per_1000"),
)


def journal_of(
    out: Path | None, journal: Path | None, settings: Mapping[str, Any], *, overwrite: bool, is_kept: bool
) -> "Journal | None":
    """Say where the answers of a run are kept: in a file of the user, or in the folder of the run.

    Args:
        out: folder of the run.
        journal: file that the user has named.
        settings: of the run, as they will be written.
        overwrite: whether an earlier run may be replaced.
        is_kept: whether answers are to be kept at all.

    Raises:
        InvalidInput: if the folder can't be used, or holds answers of another model.
    """
    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.journal.store import NAME

    check_out(out, overwrite=overwrite)
    if not is_kept and journal is not None:
        raise InvalidInput("--journal says where answers are kept, --no-journal that they are not: leave one out.")
    if not is_kept or (out is None and journal is None):
        return None
    name = f"{settings['target']} {settings['output'] or ''}".strip()
    if journal is not None:
        return Journal(journal, model=name)
    path = Path(out or "", NAME)
    if path.exists() and not overwrite:
        _check_model(path, name)
    return Journal(path, model=name)


def goes_on(out: Path | None, journal: Path | None, settings: Mapping[str, Any]) -> bool:
    """Whether a folder holds an earlier run of the same question, with its answers: it goes on, and is replaced."""
    from unweave.oracles.journal.store import NAME

    if out is None or not (journal or out / NAME).exists():
        return False
    earlier = _settings_of(out)
    if earlier is None:
        return False
    return all(earlier.get(name) == value for name, value in settings.items() if name not in GOING_ON)


def _settings_of(out: Path) -> Mapping[str, Any] | None:
    """Settings of the run, or of the audit, that a folder holds; None if it holds neither."""
    from unweave.reports.files import read_run
    from unweave.reports.measurements import read_measurement

    for read in (read_run, read_measurement):
        with suppress(UnreadableFile):
            return read(out).settings
    return None


def _check_model(path: Path, name: str) -> None:
    from unweave.oracles.journal.store import JournalFile

    held = [each.name for each in JournalFile(path, is_read=True).models()]
    if held and name not in held:
        raise InvalidInput(
            f"{path} holds answers of {' and '.join(held)}, not of {name}: name another folder, or say --overwrite."
        )


@contextmanager
def telling_what_is_kept(oracle: "Oracle") -> Iterator[None]:
    """Say, if a run is interrupted, its model fails or the disk is full, what was saved and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, OracleError, TransportFailed, NotWritten):
        said = kept_answers(oracle)
        if not oracle.is_recorded:
            typer.echo(f"{said} Run the same command again to go on." if said else NOT_KEPT, err=True)
        raise


@contextmanager
def removing_what_is_empty(oracle: "Oracle", *, is_new: bool) -> Iterator[None]:
    """Remove a journal that this run has made, if wrong use is noticed before anything is asked."""
    from unweave.oracles.journal.oracle import JournalOracle

    try:
        yield
    except InvalidInput:
        if is_new and isinstance(oracle, JournalOracle) and oracle.ledger.sent == 0:
            file = oracle.log.file
            file.connection.close()
            file.path.unlink(missing_ok=True)
        raise


NOT_KEPT = "No answers were saved: with --out or --journal the same command goes on where it ended."


def kept_answers(oracle: "Oracle") -> str:
    """Say how many answers are in the journal of an oracle; empty without one."""
    from unweave.oracles.journal.oracle import JournalOracle

    if not isinstance(oracle, JournalOracle):
        return ""
    count = oracle.log.file.count(oracle.log.model)
    return f"{count:,} answers are saved in {oracle.log.file.path}."
