"""The command line: arguments -> library call -> report. No numerics: they are imported by the commands.

Results go to stdout (one JSON document with `--json`), progress and errors to stderr. Exit codes:
0 identified, 1 not identified, 2 wrong use, 3 the oracle failed.
"""

from typing import Annotated

import typer

from unweave import __version__
from unweave.cli import correction, identify, landscape, learn
from unweave.cli.console import IDENTIFIED, MODEL_FAILED, WRONG_USE, complain
from unweave.exceptions import OracleError, UnweaveError

SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Recover a neural network from its answers.",
    epilog="Exit codes: 0 identified, 1 not identified, 2 wrong use, 3 the oracle failed.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
app.command()(identify.demo)
app.command()(identify.identify)
app.add_typer(learn.app, name="learn")
app.command()(landscape.landscape)
app.command()(correction.correction)
app.command()(identify.verify)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        app(args=arguments, prog_name="unweave")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else WRONG_USE
    except OracleError as error:
        complain(error)
        return MODEL_FAILED
    except UnweaveError as error:
        complain(error)
        return WRONG_USE
    return IDENTIFIED


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
) -> None:
    """Recover a neural network from its answers."""
