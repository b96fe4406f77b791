"""The reports of landscapes as pages: global minima over sizes, phase diagrams, trainings and activations."""

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
    return plot(
        "Global minima over sizes",
        f"Share of networks all of whose runs reach a global minimum: {told}.",
        _axis(varied, sizes),
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
            # Documents of before have none.
            " to ".join(percent(end) for end in point.get("clean_interval", ())),
            f"{float(point['seconds']):.1f}",
        )
        for point in points
    ]
    headers = (varied, "runs at a global minimum", "networks with all runs there", "95 % interval", "seconds")
    return table("All sizes", headers, rows, numbers=(1, 2, 3, 4), is_caption_hidden=True)


def phase_diagram_page(document: Document, origin: Origin) -> Page:
    """Put the report of a phase diagram together, from what the command writes as JSON."""
    points, crossings = document["points"], document["crossings"]
    low, high = min(document["neurons"]), max(document["neurons"])
    crossed = [each for each in crossings if low <= float(each["crossing"]) <= high]
    lead = (
        f"For {len(crossed)} of {len(crossings)} numbers of inputs all starts of half of the networks reach a global "
        f"minimum with {low} to {high} neurons."
    )
    drawn = [(float(each["crossing"]), float(each["inputs"])) for each in crossed]
    shown = plot(
        "Where half of the networks are clean",
        "Neurons at the crossing, by inputs: " + ", ".join(f"{x:.1f} at {y:.0f} inputs" for x, y in drawn) + ".",
        _axis("neurons", document["neurons"]),
        _axis("inputs", document["inputs"]),
        [Series("half of the networks", drawn, "dots")],
    )
    starts = points[0]["runs"] // points[0]["networks"]
    caption = f"Neurons (across) and inputs (up): {points[0]['networks']} networks per size, {starts} starts each."
    curve = (Section("curve", "Where random starts succeed", (figure(shown, caption),)),) if drawn else ()
    return Page(
        title="Global minima over neurons and inputs",
        kind="Landscape of training",
        details=origin.details,
        sections=(
            Section("verdict", "Verdict", (element("p", {"class": "lead"}, lead),)),
            *curve,
            Section("numbers", "Share of networks with all runs at a global minimum", (_diagram_table(document),)),
            Section("meaning", "What it means", (paragraph(MEANING),)),
            *origin.sections(),
        ),
        data={"name": "phase diagram"},
    )


def trainings_page(document: Document, origin: Origin) -> Page:
    """Put the report of followed trainings together, from what the command writes as JSON."""
    curves = document["curves"]
    ends = [[float(errors[-1]) for errors in curve["errors"]] for curve in curves]
    rows = [
        (str(curve["neurons"]), f"{number(min(end))} to {number(max(end))}", f"{curve['steps'][-1]:,}")
        for curve, end in zip(curves, ends, strict=True)
    ]
    told = table("Ends of all trainings", ("neurons", "root of the loss", "steps"), rows, numbers=(1, 2))
    worst = [(float(curve["neurons"]), max(end)) for curve, end in zip(curves, ends, strict=True)]
    low, high = (pick(each for _, each in worst) for pick in (min, max))
    shown = plot(
        "Worst training by neurons",
        "Largest root of the loss at the end: " + ", ".join(f"{number(y)} at {x:.0f} neurons" for x, y in worst) + ".",
        _axis("neurons", [curve["neurons"] for curve in curves]),
        Axis("root of the loss", max(low / 3, 1e-300), max(3 * high, 1e-299), is_log=True),
        [Series("worst training", worst, "dots")],
    )
    sections = (
        Section("curve", "Where trainings end", (figure(shown, "Root of the loss of the worst training."),)),
        Section("numbers", "All numbers of neurons", (told,)),
    )
    return _page_of_curves("Gradient descent on random labels", sections, origin, "training curves")


def activations_page(document: Document, origin: Origin) -> Page:
    """Put the report of activations together, from what the command writes as JSON."""
    arguments, curves = document["arguments"], document["curves"]
    values = [value for curve in curves for value in curve["values"]]
    shown = plot(
        "Activations",
        "Values of " + ", ".join(curve["name"] for curve in curves) + ".",
        Axis("z", min(arguments), max(arguments)),
        Axis("activation", min(values), max(values)),
        [Series(curve["name"], list(zip(arguments, curve["values"], strict=True))) for curve in curves],
    )
    drawn = Section("curve", "Values", (figure(shown, "Activations of [soltanolkotabi, Fig. 1]."),))
    return _page_of_curves("Activations", (drawn,), origin, "activation curves")


def _page_of_curves(title: str, sections: tuple[Section, ...], origin: Origin, name: str) -> Page:
    return Page(
        title=title,
        kind="Landscape of training",
        details=origin.details,
        sections=(*sections, *origin.sections()),
        data={"name": name},
    )


def _axis(label: str, sizes: list[int]) -> Axis:
    margin = 0.04 * (max(sizes) - min(sizes)) or 0.5
    return Axis(label, min(sizes) - margin, max(sizes) + margin, is_whole=True)


def _diagram_table(document: Document) -> Element:
    shares = {(each["inputs"], each["neurons"]): each["clean"] / each["networks"] for each in document["points"]}
    low, high = min(document["neurons"]), max(document["neurons"])
    rows = [
        (
            str(row["inputs"]),
            f"{float(row['crossing']):.2f}" if low <= float(row["crossing"]) <= high else "none",
            *(percent(shares[row["inputs"], neurons]) for neurons in document["neurons"]),
        )
        for row in document["crossings"]
    ]
    headers = ("inputs", "one half is crossed at", *(str(neurons) for neurons in document["neurons"]))
    caption = "Rows are numbers of inputs, columns numbers of neurons."
    return table(caption, headers, rows, numbers=tuple(range(1, len(headers))))
