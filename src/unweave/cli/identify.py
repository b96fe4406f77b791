"""`unweave identify`: a model in, a network out."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli import options
from unweave.cli.console import AsJson, Out, Overwrite, Quiet, Seed, Tell, deliver, leave_with, show
from unweave.cli.dry_run import look_at, show_prospect
from unweave.cli.progress import query_progress
from unweave.cli.resume import goes_on, journal_of, telling_what_is_kept
from unweave.cli.targets import domain_of, headers_of, oracle_of_target, shown_target
from unweave.exceptions import InvalidInput
from unweave.folders import made
from unweave.oracles.models.names import is_address

if TYPE_CHECKING:
    from rich.table import Table

    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.oracle import Oracle
    from unweave.result import Result


def identify(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="An ONNX file, a saved network file, a table of recorded answers, the address of a server, or "
            "module:name (found from the current directory) or file.py:name of a function, a torch module or a fitted "
            "scikit-learn estimator.",
        ),
    ],
    inputs: options.Inputs = None,
    outputs: options.Outputs = None,
    output: options.OutputName = None,
    activation: Annotated[str | None, typer.Option(help="Hidden activation; found if omitted.")] = None,
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; found if omitted.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Largest number of queries.")] = None,
    confidence: Annotated[float, typer.Option(help="Probability that the claim on the coverage holds.")] = 0.95,
    coverage: Annotated[
        float | None, typer.Option(help="Share of the domain that the claim covers; 0.99 in a box, 0.95 elsewhere.")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this time with the best that was found.")] = None,
    seed: Seed = 0,
    scale: options.Scale = None,
    center: options.Center = None,
    box: options.Bounds = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Typical rows, CSV or Parquet: where inputs lie, and their units."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Columns of a table that are the inputs; all (of answers: x0, x1, ...) if omitted."
        ),
    ] = None,
    is_inside: Annotated[
        bool, typer.Option("--inside", help="Never ask outside of the ranges of the rows of --like.")
    ] = False,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Estimate queries, requests, time and price from at most 50 queries.")
    ] = False,
    price: Annotated[
        float | None, typer.Option("--price-per-1000", help="Price of a thousand queries, for --dry-run.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep answers here, where several runs find them; in FOLDER if omitted."),
    ] = None,
    is_forgetful: Annotated[
        bool, typer.Option("--no-journal", help="Keep no answers: a run that is stopped can't be resumed.")
    ] = False,
    header: options.Header = None,
    request: options.RequestTemplate = None,
    answer: options.AnswerPath = None,
    is_binary: Annotated[
        bool | None,
        typer.Option("--binary/--no-binary", help="Send tensors as bytes, or as JSON.", rich_help_panel=options.SERVER),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Requests per second, at most.", rich_help_panel=options.SERVER)
    ] = None,
    max_batch: Annotated[
        int | None, typer.Option(min=1, help="Points in a request; 1000 if omitted.", rich_help_panel=options.SERVER)
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Requests at once; 4 if omitted.", rich_help_panel=options.SERVER)
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for a request; 30 if omitted.", rich_help_panel=options.SERVER)
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of every route why it was taken or not.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover the network behind a model, or say why that is not possible.

    A function gets an array of one row per point and returns one row of answers per point.
    """
    settings: dict[str, Any] = {
        "target": shown_target(target),
        "inputs": inputs,
        "outputs": outputs,
        "output": output,
        "activation": activation,
        "neurons": neurons,
        "budget": budget,
        "confidence": confidence,
        "coverage": coverage,
        "max_seconds": max_seconds,
        "seed": seed,
        "scale": scale,
        "center": center,
        "box": None if box is None else list(box),
        "like": None if like is None else str(like),
        "columns": columns,
        "inside": is_inside,
        "journal": None if journal is None else str(journal),
        "headers": sorted(headers_of(header or [])),
        "request": request,
        "answer": answer,
        "is_binary": is_binary,
        "rate": rate,
        "max_batch": max_batch,
        "concurrency": concurrency,
        "timeout": timeout,
    }
    _check_estimate(rate, price, is_dry=is_dry)
    overwrite = overwrite or goes_on(out, journal, settings)
    place = journal_of(out, journal, settings, overwrite=overwrite, is_kept=not is_forgetful)
    headers = headers_of(header or [])
    # A function of the user may ask a service: an estimate needs its rate, the run does not.
    without = {"rate": None, "max_batch": None} if is_dry and not is_address(target) else {}
    asked = partial(_asked, target, settings | without, headers=headers, journal=place, out=out, is_shown=not quiet)
    if is_dry:
        with asked() as (oracle, _):
            prospect = look_at(oracle, neurons=neurons, seed=seed, rate=rate, max_batch=max_batch, price=price)
        show_prospect(prospect, as_json=as_json)
        return
    with asked() as (oracle, tell):
        found = _identify(oracle, settings, tell)
    if oracle.traffic and not (quiet or as_json):
        typer.echo(f"{oracle.traffic}.", err=True)
    deliver(found, settings, out=out, overwrite=overwrite, as_json=as_json, quiet=quiet)
    if explain:
        show(_routes(found), on_stderr=as_json)
    leave_with(found)


def _check_estimate(rate: float | None, price: float | None, *, is_dry: bool) -> None:
    """Refuse what an estimate can't be made with, and what is said for one that is not made."""
    if price is not None and not is_dry:
        raise InvalidInput("--price-per-1000 is for an estimate: say --dry-run, too, or leave it out.")
    for option, number in (("--rate", rate), ("--price-per-1000", price)):
        if number is not None and not 0.0 < number < float("inf"):
            raise InvalidInput(f"{option} needs to be a positive number, got {number}.")


def _routes(found: "Result") -> "Table":
    """Make a table of the routes to the neurons, in the order in which they could have been taken."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Routes, in the order in which they are tried", title_justify="left")
    for column in ("route", "was", "because"):
        table.add_column(column, overflow="fold")
    for choice in found.routes:
        because = f"{choice.because} It ended: {choice.reason}" if choice.reason else choice.because
        table.add_row(choice.route, choice.end.value, escape(because))
    return table


@contextmanager
def _asked(
    target: str,
    settings: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    journal: "Journal | None",
    out: Path | None,
    is_shown: bool,
) -> Iterator[tuple["Oracle", Tell]]:
    """Open a model, show how far it is, and say what was kept if it ends early."""
    # What a model prints must not get between the results.
    folder = made(out) if out is not None and journal is not None else nullcontext()
    with query_progress(is_shown=is_shown) as progress, redirect_stdout(sys.stderr), folder:
        domain = domain_of(settings)
        oracle = oracle_of_target(target, settings, headers=headers, domain=domain, journal=journal)
        progress.watch(oracle, neurons=settings["neurons"])
        with telling_what_is_kept(oracle):
            yield oracle, progress.tell


def _identify(oracle: "Oracle", settings: Mapping[str, Any], tell: Tell) -> "Result":
    import unweave

    return unweave.identify(
        oracle,
        activation=settings["activation"],
        neurons=settings["neurons"],
        confidence=settings["confidence"],
        coverage=settings["coverage"],
        seconds=settings["max_seconds"],
        seed=settings["seed"],
        progress=tell,
    )
