"""The report of a landscape: how often random starts find a global minimum, as a page."""

from xml.etree.ElementTree import Element

from unweave.reports.html.elements import Section, element, facts, figure, paragraph, table
from unweave.reports.html.origin import Origin
from unweave.reports.html.page import Page
from unweave.reports.html.plots import Axis, Series, plot
from unweave.result import number, percent
from unweave.writing import Document


def landscape_page(document: Document, origin: Origin) -> Page:
    """Put the report of a landscape together, from what the command writes as JSON."""
    varied, points = document["varied"], document["points"]
    figures = [
        ("sizes", str(len(points))),
        ("runs", f"{sum(point['runs'] for point in points):,}"),
        ("seconds", f"{sum(float(point['seconds']) for point in points):.1f}"),
    ]
    starts = points[0]["runs"] // points[0]["networks"]
    caption = f"{points[0]['networks']} networks per size, {starts} random starts each."
    lead = element("p", {"class": "lead"}, _sentence(document))
    return Page(
        title=f"Global minima over {varied}",
        kind="Landscape of training",
        details=origin.details,
        sections=(
            Section("verdict", "Verdict", (lead, facts(figures, kind="figures"))),
            Section("curve", "Where random starts succeed", (figure(_drawing(document), caption),)),
            Section("numbers", "All sizes", (_table(varied, points),)),
            Section("meaning", "What it means", (paragraph(MEANING),)),
            *origin.sections(),
        ),
        data={"name": "landscape"},
    )


def _is_crossed(document: Document) -> bool:
    sizes = [point[document["varied"]] for point in document["points"]]
    return min(sizes) <= float(document["crossing"]) <= max(sizes)


def _sentence(document: Document) -> str:
    varied, first = document["varied"], document["points"][0]
    other = "inputs" if varied == "neurons" else "neurons"
    if not _is_crossed(document):
        return f"With {first[other]} {other}, no crossing of one half is in this range: vary the {varied} more widely."
    return (
        f"With {first[other]} {other}, all starts of half of the networks reach a global minimum at "
        f"{float(document['crossing']):.2f} ± {number(float(document['crossing_error']))} {varied}."
    )


def _drawing(document: Document) -> Element:
    varied, points = document["varied"], document["points"]
    sizes = [point[varied] for point in points]
    clean = [point["clean"] / point["networks"] for point in points]
    runs = [point["global"] / point["runs"] for point in points]
    series = [
        Series("networks all of whose runs reach a global minimum", list(zip(sizes, clean, strict=True)), "dots"),
        Series("runs that reach one", list(zip(sizes, runs, strict=True)), "dots"),
    ]
    if _is_crossed(document):
        crossing = float(document["crossing"])
        series.append(Series(f"one half is crossed at {crossing:.2f}", [(crossing, 0.0)], "marker"))
    told = ", ".join(f"{percent(share)} at {size}" for size, share in zip(sizes, clean, strict=True))
    margin = 0.04 * (max(sizes) - min(sizes)) or 0.5
    return plot(
        "Global minima over sizes",
        f"Share of networks all of whose runs reach a global minimum: {told}.",
        Axis(varied, min(sizes) - margin, max(sizes) + margin, is_whole=True),
        Axis("share", 0.0, 1.0, is_percent=True),
        series,
    )


MEANING = (
    "A run counts as global if its loss is below 1e-8. One start that ends elsewhere shows a spurious minimum, or a "
    "saddle that was not left; all starts at a global one show none, which is no proof that there is none."
)


def _table(varied: str, points: list[Document]) -> Element:
    rows = [
        (
            str(point[varied]),
            f"{point['global']} of {point['runs']}",
            f"{point['clean']} of {point['networks']}",
            f"{float(point['seconds']):.1f}",
        )
        for point in points
    ]
    headers = (varied, "runs at a global minimum", "networks with all runs there", "seconds")
    return table("All sizes", headers, rows, numbers=(1, 2, 3), is_caption_hidden=True)
