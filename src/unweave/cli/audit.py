"""`unweave audit`: how exposed is a model?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli import console, options
from unweave.cli.asking import opened
from unweave.cli.console import AsJson, Out, Overwrite, Quiet, Tell
from unweave.cli.resume import goes_on, journal_of
from unweave.cli.targets import headers_of, shown_target
from unweave.exceptions import InvalidInput, NotWritten
from unweave.oracles.models.names import is_address

if TYPE_CHECKING:
    from unweave.exposure.result import Audit
    from unweave.oracles.oracle import Oracle

HtmlPath = Annotated[Path | None, typer.Option(metavar="PATH", help="Write one HTML file that needs nothing else.")]


@options.with_fields
def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="An ONNX file, a saved network file, the address of a server, or module:name or file.py:name of a "
            "function, a torch module or a fitted scikit-learn estimator. Its answers should be scores (logits), not "
            "probabilities.",
        ),
    ],
    model: options.AskedModel,
    forms: Annotated[
        str | None,
        typer.Option(help="Forms of answers with commas between, such as '4 decimals,top-1'; all if omitted."),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Largest number of queries of the whole audit.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Requests per second that the service allows; a server is asked no faster.")
    ] = None,
    max_batch: Annotated[
        int | None, typer.Option(min=1, help="Points that the service takes in a request; 1000 if omitted.")
    ] = None,
    price_per_1000: Annotated[
        float | None, typer.Option("--price-per-1000", help="What a thousand queries cost.")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this time with what is done.")] = None,
    html: HtmlPath = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out what the answers of a model give away, in every form in which a service may give them.

    It exits with 0 if every form was tried to its end, whatever was found, and with 4 if budget or time ran out before.
    """
    settings: dict[str, Any] = {
        "command": "audit",
        "target": shown_target(target),
        "forms": forms,
        "budget": budget,
        "rate": rate,
        "max_batch": max_batch,
        "price_per_1000": price_per_1000,
        "max_seconds": max_seconds,
        **model.settings(),
    }
    _check_html(html)
    overwrite = overwrite or goes_on(out, model.journal, settings)
    place = journal_of(out, model.journal, settings, overwrite=overwrite, is_kept=not model.is_forgetful)
    # They tell how fast somebody else may ask; where nothing is sent, nothing is slowed down.
    asked = settings if is_address(target) else settings | dict.fromkeys(("rate", "max_batch"))
    headers = headers_of(model.header or [])
    with opened(target, asked, headers=headers, journal=place, out=out, is_shown=not quiet) as (oracle, tell):
        found = _audited(oracle, settings, tell=tell)
    _deliver(found, settings, html=html, out=out, overwrite=overwrite, as_json=as_json, quiet=quiet)
    console.leave_when_measured(is_complete=found.is_complete)


def _check_html(html: Path | None) -> None:
    """Refuse a place that no file can be written to, before anything is spent."""
    if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
        raise InvalidInput(f"--html needs a file in a folder that is there, got {html}: name another.")


def _audited(oracle: "Oracle", settings: Mapping[str, Any], *, tell: Tell) -> "Audit":
    import unweave

    forms = settings["forms"]
    of_service = {name: settings[name] for name in ("rate", "max_batch", "price_per_1000")}
    return unweave.audit(
        oracle,
        forms=None if forms is None else [name.strip() for name in forms.split(",")],
        seconds=settings["max_seconds"],
        seed=settings["seed"],
        progress=tell,
        **of_service,
    )


def _deliver(
    found: "Audit",
    settings: dict[str, Any],
    *,
    html: Path | None,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from unweave.reports.audit import as_document, report, verdict

    document = as_document(found)
    if as_json:
        console.show_json(document)
    else:
        console.show(verdict(found) if quiet else report(found))
    # After the report, so that a full disk does not cost the result.
    if out is not None:
        from unweave.reports.measurements import write_measurement

        try:
            write_measurement(out, document, settings, overwrite=overwrite)
        except InvalidInput as error:
            # It was checked before the first query: somebody has changed it since.
            raise NotWritten(str(error)) from error
    if html is not None:
        from unweave.folders import write_file
        from unweave.reports.files import environment
        from unweave.reports.html.audits import audit_page
        from unweave.reports.html.origin import Origin

        write_file(html, audit_page(document, Origin.of_run(settings, environment(), {})).as_html())
    if not (quiet or as_json):
        for place in (each for each in (out, html) if each is not None):
            typer.echo(f"The audit is in {place}", err=True)
