"""`unweave journal`: the answers that runs have kept, as tables for others."""

from pathlib import Path
from typing import Annotated

import typer

from unweave.cli.console import EXIT_CODES, AsJson, show_json
from unweave.writing import envelope

app = typer.Typer(help="Look at the answers that runs have kept.", epilog=EXIT_CODES, no_args_is_help=True)


@app.command(epilog=EXIT_CODES)
def export(
    journal: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a journal file.")],
    is_parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet; CSV if omitted.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to, .csv or .parquet; beside the journal if omitted.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Whose answers, if there are those of several models.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write every question and its answer, with time and request, as a table: the audit log of a run."""
    from unweave.oracles.journal.export import CSV, PARQUET, export_answers
    from unweave.oracles.journal.store import NAME

    file = journal / NAME if journal.is_dir() else journal
    table = out or file.with_suffix(PARQUET if is_parquet else CSV)
    count = export_answers(file, table, model=model)
    if as_json:
        show_json(envelope("export") | {"table": str(table), "answers": count})
    else:
        typer.echo(f"{count:,} answers are in {table}")
