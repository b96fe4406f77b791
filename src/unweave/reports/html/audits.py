"""The report of an audit, as a page."""

from xml.etree.ElementTree import Element

from unweave.exposure.result import duration
from unweave.reports.html.elements import Section, element, facts, paragraph, table
from unweave.reports.html.origin import Origin
from unweave.reports.html.page import Page
from unweave.reports.html.plots import bar
from unweave.result import number
from unweave.writing import Document

# What is identified is exposed. What is not has no good colour: it is no proof of safety.
BADGES = {"identified": "poor", "partly identified": "fair"}


def audit_page(document: Document, origin: Origin) -> Page:
    """Put the report of an audit together, from what the command writes as JSON."""
    exposures = document["exposures"]
    identified = [each for each in exposures if each["outcome"] == "identified"]
    tried = [each for each in exposures if each["outcome"] is not None]
    # The verdict begins with its short form and a colon.
    word, _, sentence = document["verdict"].partition(": ")
    badge = element("span", {"class": f"badge {'poor' if identified else 'fair'}"}, word)
    figures = [
        ("forms that give it away", f"{len(identified)} of {len(tried)}"),
        ("queries of the audit", f"{document['queries']:,}"),
        (
            "cheapest identification",
            f"{min(each['queries'] for each in identified):,} queries" if identified else "none",
        ),
    ]
    lead = element("p", {"class": "lead"}, badge, " ", f"{sentence[:1].upper()}{sentence[1:]}")
    return Page(
        title=origin.name,
        kind="How exposed is this model?",
        details=origin.details,
        sections=(
            Section("verdict", "Verdict", (lead, facts(figures, kind="figures"))),
            Section("answers", "What an attacker sees, and what it gives away", _answers(document)),
            Section("defences", "What a defence buys", _defences(document)),
            Section("reasons", "Why", (_reasons(exposures),)),
            Section("meaning", "How to read it", (paragraph(MEANING),)),
            Section("references", "Catalogued attacks and defences", (_references(document),)),
            *origin.sections(),
        ),
        data={"name": origin.name},
    )


MEANING = (
    "Identified means that Unweave recovered the network with a certificate from these answers alone. Not identified "
    "means that this version of Unweave did not: other methods may, with more queries, or by training a copy that is "
    "good enough. Prices count the queries of an attacker who asks what Unweave asked, one point per query; times "
    "count the requests, each with as many points as the service takes."
)


def _answers(document: Document) -> tuple[Element, ...]:
    exposures = document["exposures"]
    most = max((each["queries"] for each in exposures), default=0) or 1
    has_rate, has_price = document["rate"] is not None, document["price_per_1000"] is not None
    headers = ["answers", "queries, drawn", "outcome", "queries", "parameters within"]
    headers += ["requests", "time at the limit"] if has_rate else []
    headers += ["price"] if has_price else []
    rows = []
    for each in exposures:
        ended = each["outcome"] or "not tried"
        mark = element("span", {"class": f"badge {BADGES.get(each['outcome'], 'none')}"}, ended)
        row = [each["form"], bar(each["queries"] / most), mark, f"{each['queries']:,}", _number(each["radius"])]
        row += [f"{each['requests']:,}", _duration(each["waiting_seconds"])] if has_rate else []
        row += [f"{each['price']:,.2f}"] if has_price else []
        rows.append(row)
    shown = table(
        "Forms of answers", headers, rows, numbers=range(3, len(headers)), kind="bars", is_caption_hidden=True
    )
    said = f"{document['looked']:,} further queries were a first look; {document['queries']:,} in all."
    return shown, paragraph(said)


def _defences(document: Document) -> tuple[Element, ...]:
    rows = [(name, words) for name, words in document["defences"]]
    return (table("Defences", ("defence", "what it buys"), rows, is_caption_hidden=True),)


def _reasons(exposures: list[Document]) -> Element:
    rows = [(each["form"], each["shows"], each["reason"]) for each in exposures]
    return table(
        "Reasons", ("answers", "what is seen", "what Unweave says"), rows, kind="wordy", is_caption_hidden=True
    )


def _references(document: Document) -> Element:
    rows = [
        (
            element("a", {"href": each["address"], "rel": "noreferrer"}, each["entry"]),
            each["title"],
            each["catalogue"],
            each["why"],
        )
        for each in document["references"]
    ]
    return table("Catalogues", ("entry", "title", "catalogue", "here"), rows, is_caption_hidden=True)


def _number(value: float | str | None) -> str:
    return "–" if value is None else number(float(value))


def _duration(seconds: float | None) -> str:
    return "–" if seconds is None else duration(seconds)
