"""An audit as a table for the terminal, and as a document."""

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from unweave.exposure.result import REFERENCES, duration
from unweave.reports import text
from unweave.result import Outcome, number
from unweave.writing import Document, envelope, for_json

if TYPE_CHECKING:
    from unweave.exposure.result import Audit, Exposure

# An identified network is bad news here.
STYLES = {Outcome.IDENTIFIED: "bold red", Outcome.PARTLY_IDENTIFIED: "bold yellow", Outcome.NOT_IDENTIFIED: "green"}
NOT_TRIED = "not tried"


def report(found: "Audit") -> RenderableType:
    """Verdict, one row per form of answers, reasons, what defences buy, and references."""
    table = text.facts("what an attacker sees")
    table.columns[1].header = "outcome"
    for header in ("queries", "parameters within", *cost_headers(found)):
        table.add_column(header, justify="right")
    for each in found.exposures:
        style = "dim" if each.outcome is None else STYLES[each.outcome]
        table.add_row(Text(each.form), Text(outcome_of(each), style), f"{each.queries:,}", *numbers_of(found, each))
    return text.spaced(
        [
            verdict(found),
            table,
            Text(f"All forms of answers, with {found.looked:,} for a first look: {found.queries:,} queries."),
            _pairs("why", [(each.form, each.reason) for each in found.exposures]),
            _pairs("what a defence buys", found.defences),
            _pairs("catalogues", [(each.entry, f"{each.title} ({each.catalogue}): {each.why}") for each in REFERENCES]),
        ]
    )


def verdict(found: "Audit") -> Text:
    """The audit in one sentence."""
    return Text(found.verdict, "bold red" if found.identified else "bold")


def outcome_of(exposure: "Exposure") -> str:
    """Say how one form of answers ended."""
    ended = NOT_TRIED if exposure.outcome is None else exposure.outcome.value
    return f"{ended} (cut short)" if exposure.is_cut_short and exposure.outcome is not None else ended


def cost_headers(found: "Audit") -> tuple[str, ...]:
    """Name the columns of requests, time and price that are known."""
    time = () if found.rate is None else ("requests", "time")
    return time if found.price_per_1000 is None else (*time, "price")


def numbers_of(found: "Audit", exposure: "Exposure") -> tuple[str, ...]:
    """Write the radius of the parameters, and what the queries cost."""
    radius = "-" if exposure.radius is None else number(exposure.radius)
    waiting, price = found.waiting(exposure.requests), found.price(exposure.queries)
    told = () if waiting is None else (f"{exposure.requests:,}", duration(waiting))
    return (radius, *told) if price is None else (radius, *told, f"{price:,.2f}")


def as_document(found: "Audit") -> Document:
    """The audit as a dictionary for JSON."""
    return envelope("audit") | {
        "verdict": found.verdict,
        "is_complete": found.is_complete,
        "queries": found.queries,
        "looked": found.looked,
        "rate": found.rate,
        "price_per_1000": found.price_per_1000,
        "max_batch": found.max_batch,
        "exposures": [_exposure_document(found, each) for each in found.exposures],
        "defences": [list(pair) for pair in found.defences],
        "references": [for_json(vars(each)) for each in REFERENCES],
    }


def _exposure_document(found: "Audit", exposure: "Exposure") -> Document:
    cost = {"waiting_seconds": found.waiting(exposure.requests), "price": found.price(exposure.queries)}
    return for_json(vars(exposure)) | for_json(cost)


def _pairs(title: str, pairs: "list[tuple[str, str]] | tuple[tuple[str, str], ...]") -> RenderableType:
    table = text.facts(title)
    for name, words in pairs:
        table.add_row(Text(name), Text(words))
    return table
