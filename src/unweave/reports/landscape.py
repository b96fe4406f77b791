"""What the landscape explorer saw: as a table, and as a document."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unweave.reports import text
from unweave.result import number
from unweave.writing import Document, envelope, for_json, json_number

if TYPE_CHECKING:
    from unweave.explore.landscape.experiment import LandscapePoint
    from unweave.explore.landscape.figures import ActivationFigure
    from unweave.explore.landscape.logistic import LogisticFit
    from unweave.explore.landscape.sweeps import LandscapeCurve, PhaseDiagram
    from unweave.explore.landscape.trainings import TrainingCurves

# Root of the loss at which a followed training ends, with a margin for rounding.
ENDED = 1.0001e-5


def report(curve: "LandscapeCurve", *, published: float | None = None) -> RenderableType:
    """How many runs reached a global minimum at every size, and where the curve crosses one half."""
    table = text.facts(curve.varied)
    table.columns[1].header = "runs at a global minimum"
    table.add_column("networks with all runs there")
    table.add_column("95 % interval")
    table.add_column("worst loss", justify="right")
    table.add_column("seconds", justify="right")
    for size, point in zip(curve.sizes, curve.points, strict=True):
        planted, starts = point.losses.shape
        runs = f"{int(point.is_global.sum())} of {planted * starts}"
        low, high = point.clean_interval
        table.add_row(
            str(size),
            runs,
            f"{point.clean} of {planted}",
            f"{low:.2f} to {high:.2f}",
            number(float(point.losses.max())),
            f"{point.seconds:.1f}",
        )
    return text.spaced([Text(crossing(curve, published=published)), table])


def crossing(curve: "LandscapeCurve", *, published: float | None = None) -> str:
    """The crossing in words."""
    fit, fixed = curve.fit, curve.points[0]
    other = f"{fixed.inputs} inputs" if curve.varied == "neurons" else f"{fixed.neurons} neurons"
    told = "" if published is None else f" Published: {published:g}."
    if not curve.is_crossed:
        return f"With {other} no crossing is in this range: vary the {curve.varied} more widely.{told}"
    return (
        f"With {other} all starts of half of the networks reach a global minimum at {fit.crossing:.2f} "
        f"+- {number(fit.crossing_error)} {curve.varied}.{told}"
    )


def diagram_report(diagram: "PhaseDiagram") -> RenderableType:
    """Shares of clean networks by neurons and inputs, and the crossing of every row."""
    planted, starts = diagram.points[0].losses.shape
    table = Table(box=None, pad_edge=False)
    table.add_column("inputs", justify="right")
    for neurons in diagram.neurons:
        table.add_column(str(neurons), justify="right")
    table.add_column("crosses 1/2 at", justify="right")
    for inputs, curve in zip(diagram.inputs, diagram.curves, strict=True):
        shares = [f"{share:.0%}" for share in curve.clean_shares]
        table.add_row(str(inputs), *shares, _crossing_words(curve))
    words = (
        f"Share of {planted} networks all of whose {starts} starts reach a global minimum, by inputs (rows) and "
        "neurons (columns)."
    )
    return text.spaced([Text(diagram_headline(diagram)), Text(words), table])


def diagram_headline(diagram: "PhaseDiagram") -> str:
    """Where half of the networks are clean, in a sentence."""
    crossed = [curve for curve in diagram.curves if curve.is_crossed]
    if not crossed:
        return "No crossing is in this range: vary neurons and inputs more widely."
    weights = [curve.fit.crossing * curve.points[0].inputs for curve in crossed]
    rows = f"{len(crossed)} of {len(diagram.curves)} numbers of inputs"
    return (
        f"For {rows} all starts of half of the networks reach a global minimum in this range, at {min(weights):.0f} to "
        f"{max(weights):.0f} hidden weights (neurons times inputs)."
    )


def trainings_headline(curves: Sequence["TrainingCurves"]) -> str:
    """How many trainings ended at zero, in a sentence."""
    told = ", ".join(
        f"{int((curve.errors[:, -1] <= ENDED).sum())} of {len(curve.errors)} with {curve.neurons} neurons"
        for curve in curves
    )
    return f"Gradient descent on random labels of {curves[0].inputs} inputs reaches 1e-5: {told}."


def trainings_report(curves: Sequence["TrainingCurves"]) -> RenderableType:
    """Where followed trainings ended."""
    table = text.facts("neurons")
    table.columns[1].header = "root of the loss at the end"
    table.add_column("trainings at 1e-5")
    table.add_column("steps", justify="right")
    for curve in curves:
        last = curve.errors[:, -1]
        table.add_row(
            str(curve.neurons),
            f"{number(float(last.min()))} to {number(float(last.max()))}",
            f"{int((last <= ENDED).sum())} of {len(last)}",
            f"{int(curve.steps[-1]):,}",
        )
    return text.spaced([Text(trainings_headline(curves)), table])


def activations_report(figure: "ActivationFigure") -> str:
    """What the functions of a figure are."""
    return f"Activations of [soltanolkotabi, Example 2.4]: {'; '.join(figure.functions)}. --picture draws them."


def as_document(curve: "LandscapeCurve", *, published: float | None = None) -> Document:
    """The curve as a dictionary for JSON."""
    return envelope("landscape") | {
        "varied": curve.varied,
        **_fit_document(curve.fit),
        "published": published,
        "points": [_point_document(point) for point in curve.points],
    }


def diagram_document(diagram: "PhaseDiagram") -> Document:
    """The phase diagram as a dictionary for JSON."""
    return envelope("phase diagram") | {
        "neurons": list(diagram.neurons),
        "inputs": list(diagram.inputs),
        "crossings": [
            {"inputs": inputs, **_fit_document(curve.fit)}
            for inputs, curve in zip(diagram.inputs, diagram.curves, strict=True)
        ],
        "points": [_point_document(point) for point in diagram.points],
    }


def trainings_document(curves: Sequence["TrainingCurves"]) -> Document:
    """Followed trainings as a dictionary for JSON."""
    return envelope("training curves") | {
        "curves": [
            for_json({"neurons": each.neurons, "inputs": each.inputs, "steps": each.steps, "errors": each.errors})
            for each in curves
        ]
    }


def activations_document(figure: "ActivationFigure") -> Document:
    """Functions of a figure as a dictionary for JSON."""
    values = [{"name": name, "values": for_json(values)} for name, values in figure.values.items()]
    return envelope("activation curves") | {"arguments": for_json(figure.arguments), "curves": values}


def _crossing_words(curve: "LandscapeCurve") -> str:
    return f"{curve.fit.crossing:.2f} +- {number(curve.fit.crossing_error)}" if curve.is_crossed else "-"


def _fit_document(fit: "LogisticFit") -> Document:
    return {"crossing": json_number(fit.crossing), "crossing_error": json_number(fit.crossing_error)}


def _point_document(point: "LandscapePoint") -> Document:
    return {
        "neurons": point.neurons,
        "inputs": point.inputs,
        "runs": int(point.is_global.size),
        "global": int(point.is_global.sum()),
        "networks": len(point.is_global),
        "clean": int(point.clean),
        "clean_interval": list(point.clean_interval),
        "seconds": json_number(point.seconds),
    }
