"""`unweave report`: a run that was written, as one HTML file or as text."""

from pathlib import Path
from typing import Annotated

import typer

from unweave.cli.console import show
from unweave.exceptions import InvalidInput


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that a command has written with --out.")],
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Where the HTML file goes; report.html in the folder if omitted."),
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="Write one HTML file that needs nothing else.")] = False,
) -> None:
    """Show a run again, or write it as one HTML file that can be sent to somebody else.

    Runs of identify, learn, audit, landscape and correction have such a file; text is shown for identify and learn. It
    exits with 0 whatever the run has found.
    """
    if path is not None and not html:
        raise InvalidInput(f"report writes no file but HTML: say --html {path}, or leave {path} out.")
    if not html:
        from unweave.reports.files import read_run
        from unweave.reports.text import report as as_text

        show(as_text(read_run(run).result))
        return
    from unweave.folders import write_file
    from unweave.reports.files import REPORT
    from unweave.reports.html.sources import page_of

    page = page_of(run)
    path = run / REPORT if path is None else path
    write_file(path, page.as_html())
    typer.echo(f"The report is in {path}", err=True)
