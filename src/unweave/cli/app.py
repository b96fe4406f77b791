"""The command `unweave` and its exit codes.

Results go to stdout (one JSON document with `--json`), progress and errors to stderr.
"""

import logging
import sys
from enum import StrEnum
from typing import Annotated

import typer

from unweave import __version__
from unweave.cli import audit, demo, doctor, explore, identify, journal, landscape, learn, report, reproduce, verify
from unweave.cli.console import (
    EXIT_CODES,
    IDENTIFIED,
    INTERRUPTED,
    MODEL_FAILED,
    NOT_WRITTEN,
    PARTLY_IDENTIFIED,
    WRONG_USE,
    complain,
)
from unweave.exceptions import NotWritten, OracleError, TransportFailed, UnweaveError, WorkersFailed

app = typer.Typer(
    help="Recover a neural network from its answers.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=EXIT_CODES)(demo.demo)
app.command(epilog=EXIT_CODES)(identify.identify)
app.command(epilog=EXIT_CODES)(audit.audit)
app.add_typer(learn.app, name="learn")
app.add_typer(journal.app, name="journal")
app.command(epilog=EXIT_CODES)(landscape.landscape)
app.command(epilog=EXIT_CODES)(explore.correction)
app.command(epilog=EXIT_CODES)(reproduce.reproduce)
app.command(epilog=EXIT_CODES)(verify.verify)
app.command(epilog=EXIT_CODES)(report.report)
app.command(epilog=EXIT_CODES)(doctor.doctor)


class LogLevel(StrEnum):
    """Levels of `logging`."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        app(args=arguments, prog_name="unweave")
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else WRONG_USE
        if code == INTERRUPTED:
            typer.echo("Interrupted.", err=True)
        return code
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        return INTERRUPTED
    except UnweaveError as error:
        complain(error)
        return _code_of(error)
    return IDENTIFIED


def _code_of(error: UnweaveError) -> int:
    if isinstance(error, NotWritten):
        return NOT_WRITTEN
    if isinstance(error, WorkersFailed):
        return PARTLY_IDENTIFIED
    return MODEL_FAILED if isinstance(error, OracleError | TransportFailed) else WRONG_USE


def _show_version(is_wanted: bool) -> bool:
    if is_wanted:
        typer.echo(f"unweave {__version__}")
        raise typer.Exit
    return is_wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    log_level: Annotated[
        LogLevel, typer.Option(help="Log messages of the library to stderr, from this level on.")
    ] = LogLevel.WARNING,
) -> None:
    """Recover a neural network from its answers."""
    del version
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # Of this library only: what others log of requests may hold too much.
    logging.getLogger("unweave").setLevel(log_level.value.upper())
