"""The report of a measurement of feature correction, as a page."""

import math
from xml.etree.ElementTree import Element

from unweave.reports.html.elements import Section, bullets, element, facts, figure, paragraph, table
from unweave.reports.html.origin import Origin
from unweave.reports.html.page import Page, pieces, sections
from unweave.reports.html.plots import Axis, Series, plot
from unweave.writing import Document

# Scores of a depth, and what they are called.
SCORES = {
    "train_only": "only these units, trained alone",
    "joint": "added one after the other, all trained",
    "layerwise": "added one after the other, lower ones frozen",
    "train_all": "the whole model, all of it trained",
}
CORRELATIONS = {
    "with_train_all": "weights with those in the whole model",
    "with_start": "weights with their random start",
    "with_layerwise": "weights with those trained layer by layer, paired",
    "with_random": "random weights, paired: what means nothing",
    "alignment": "features: linear CKA with the whole model",
    "unexplained": "features: share that the whole model does not explain",
}


def correction_page(document: Document, origin: Origin) -> Page:
    """Put the report together, from what the command writes as JSON."""
    depths = document["depths"]
    sentences = [sentence for depth in depths for sentence in depth["sentences"]]
    missing = document["missing"]
    is_complete = "All trainings are done." if not missing else f"Trainings that are missing: {len(missing)}."
    figures = [
        ("units", str(len(document["units"]))),
        ("seeds", str(len(document["seeds"]))),
        (f"{document['score']} of the whole", _cell(document["full"], 100.0, 1, "%")),
        ("seconds of training", f"{document['seconds']:.0f}"),
    ]
    return Page(
        title="Do lower layers need correction from above?",
        kind="Feature correction",
        details=origin.details,
        sections=(
            *sections(
                Section(
                    "verdict",
                    "Verdict",
                    pieces(
                        element("p", {"class": "lead"}, _sentence(depths)),
                        paragraph(is_complete),
                        facts(figures, kind="figures"),
                    ),
                ),
                Section(
                    "depths", "Depth by depth", pieces(_verdicts(depths), bullets(sentences) if sentences else None)
                ),
                _scores(document),
                Section("correlations", "Weights and features", (_table(depths, CORRELATIONS, 1.0, 2),)),
                Section("missing", "Trainings that are missing", (bullets(missing),)) if missing else None,
                Section("notes", "Notes", (bullets(document["notes"]),)) if document["notes"] else None,
            ),
            *origin.sections(),
        ),
        data={"name": "feature correction"},
    )


def _sentence(depths: list[Document]) -> str:
    needed = [depth["depth"] for depth in depths if str(depth["verdict"]).startswith("needed")]
    if needed:
        named = ", ".join(map(str, needed))
        return f"Freezing lower units costs accuracy at depth {named}: they need correction from above."
    unknown = [depth for depth in depths if str(depth["verdict"]).startswith(("no conclusion", "not measured"))]
    if unknown:
        return "Whether frozen units need correction is not concluded at every depth: see the table."
    return "At no depth that was measured do frozen units need correction from above."


def _verdicts(depths: list[Document]) -> Element:
    rows = [(str(row["depth"]), row["unit"], row["verdict"], row["layerwise_verdict"]) for row in depths]
    headers = ("depth", "unit", "correction of frozen units", "correction, layer by layer")
    return table("Verdicts", headers, rows, is_caption_hidden=True)


def _scores(document: Document) -> Section:
    depths, score = document["depths"], document["score"]
    series = [
        Series(words, found)
        for name, words in SCORES.items()
        if (found := [(row["depth"], row[name]["mean"]) for row in depths if _is_number(row[name]["mean"])])
    ]
    body = [_table(depths, SCORES | _windows(depths), 100.0, 1)]
    if len(depths) > 1 and series:
        values = [value for each in series for _, value in each.points]
        low, high = min(values), max(values)
        margin = 0.1 * (high - low) or 0.05
        # Lines of scores run close to each other: dots would hide them.
        drawing = plot(
            f"{score.capitalize()} over depth",
            "; ".join(f"{each.name}: {', '.join(f'{value:.3f}' for _, value in each.points)}" for each in series) + ".",
            Axis("depth", depths[0]["depth"], depths[-1]["depth"], is_whole=True),
            Axis(score, low - margin, high + margin),
            series,
        )
        body.insert(0, figure(drawing, f"Mean {score} over {len(document['seeds'])} seeds."))
    return Section("scores", f"{score.capitalize()}, %", tuple(body))


def _windows(depths: list[Document]) -> dict[str, str]:
    windows = sorted({int(window) for row in depths for window in row["fixed"]})
    names = {0: "whole model, these units frozen"}
    return {f"fixed {window}": names.get(window, f"the same, the last {window} thawed") for window in windows}


def _table(depths: list[Document], names: dict[str, str], factor: float, decimals: int) -> Element:
    def entry(row: Document, name: str) -> str:
        first, _, window = name.partition(" ")
        value = row[first].get(window) if window else row[first]
        return "–" if value is None else _cell(value, factor, decimals)

    rows = [(words, *(entry(row, name) for row in depths)) for name, words in names.items()]
    headers = ("mean ± error", *(f"depth {row['depth']}" for row in depths))
    return table("Means over seeds with standard errors", headers, rows, numbers=range(1, len(depths) + 1))


def _cell(scores: Document, factor: float, decimals: int, unit: str = "") -> str:
    mean, error = scores["mean"], scores["standard_error"]
    if not _is_number(mean):
        return "–"
    text = f"{factor * mean:.{decimals}f}{unit}"
    return f"{text} ± {factor * error:.{decimals}f}" if _is_number(error) else text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
