"""`unweave identify`: a model in, a network out."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli import options
from unweave.cli.asking import opened
from unweave.cli.console import AsJson, Out, Overwrite, Quiet, Tell, deliver, leave_with, show
from unweave.cli.dry_run import look_at, show_prospect
from unweave.cli.resume import goes_on, journal_of
from unweave.cli.targets import headers_of, shown_target
from unweave.exceptions import InvalidInput
from unweave.oracles.models.names import is_address

if TYPE_CHECKING:
    from rich.table import Table

    from unweave.oracles.oracle import Oracle
    from unweave.result import Result


@options.with_fields
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
    model: options.AskedModel,
    activation: Annotated[str | None, typer.Option(help="Hidden activation; found if omitted.")] = None,
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; found if omitted.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Largest number of queries.")] = None,
    confidence: Annotated[float, typer.Option(help="Probability that the claim on the coverage holds.")] = 0.95,
    coverage: Annotated[
        float | None, typer.Option(help="Share of the domain that the claim covers; 0.99 in a box, 0.95 elsewhere.")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this time with the best that was found.")] = None,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Estimate queries, requests, time and price from at most 50 queries.")
    ] = False,
    price: Annotated[
        float | None, typer.Option("--price-per-1000", help="Price of a thousand queries, for --dry-run.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    rate: Annotated[
        float | None, typer.Option(help="Requests per second, at most.", rich_help_panel=options.SERVER)
    ] = None,
    max_batch: Annotated[
        int | None, typer.Option(min=1, help="Points in a request; 1000 if omitted.", rich_help_panel=options.SERVER)
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
        "activation": activation,
        "neurons": neurons,
        "budget": budget,
        "confidence": confidence,
        "coverage": coverage,
        "max_seconds": max_seconds,
        "rate": rate,
        "max_batch": max_batch,
        **model.settings(),
    }
    _check_estimate(rate, price, is_dry=is_dry)
    overwrite = overwrite or goes_on(out, model.journal, settings)
    place = journal_of(out, model.journal, settings, overwrite=overwrite, is_kept=not model.is_forgetful)
    headers = headers_of(model.header or [])
    # A function of the user may ask a service: an estimate needs its rate, the run does not.
    without = {"rate": None, "max_batch": None} if is_dry and not is_address(target) else {}
    asked = partial(opened, target, settings | without, headers=headers, journal=place, out=out, is_shown=not quiet)
    if is_dry:
        with asked() as (oracle, _):
            prospect = look_at(oracle, neurons=neurons, seed=model.seed, rate=rate, max_batch=max_batch, price=price)
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
