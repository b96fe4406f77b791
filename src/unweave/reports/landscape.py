"""What the landscape explorer saw: as a table, and as a document."""

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from unweave.reports import text
from unweave.result import number
from unweave.writing import Document, envelope, json_number

if TYPE_CHECKING:
    from unweave.explore.landscape.sweeps import LandscapeCurve


def report(curve: "LandscapeCurve") -> RenderableType:
    """How many runs reached a global minimum at every size, and where the curve crosses one half."""
    table = text.facts(curve.varied)
    table.columns[1].header = "runs at a global minimum"
    table.add_column("networks with all runs there")
    table.add_column("worst loss", justify="right")
    table.add_column("seconds", justify="right")
    for size, point in zip(curve.sizes, curve.points, strict=True):
        planted, starts = point.losses.shape
        runs = f"{int(point.is_global.sum())} of {planted * starts}"
        table.add_row(
            str(size),
            runs,
            f"{point.clean} of {planted}",
            number(float(point.losses.max())),
            f"{point.seconds:.1f}",
        )
    return text.spaced([Text(crossing(curve)), table])


def crossing(curve: "LandscapeCurve") -> str:
    """The crossing in words."""
    fit, fixed = curve.fit, curve.points[0]
    other = f"{fixed.inputs} inputs" if curve.varied == "neurons" else f"{fixed.neurons} neurons"
    if not float("-inf") < fit.crossing < float("inf"):
        return f"With {other} no crossing is in this range: vary the {curve.varied} more widely."
    return (
        f"With {other} all starts of half of the networks reach a global minimum at {fit.crossing:.2f} "
        f"+- {number(fit.crossing_error)} {curve.varied}."
    )


def as_document(curve: "LandscapeCurve") -> Document:
    """The curve as a dictionary for JSON."""
    return envelope("landscape") | {
        "varied": curve.varied,
        "crossing": json_number(curve.fit.crossing),
        "crossing_error": json_number(curve.fit.crossing_error),
        "points": [
            {
                "neurons": point.neurons,
                "inputs": point.inputs,
                "runs": int(point.is_global.size),
                "global": int(point.is_global.sum()),
                "networks": len(point.is_global),
                "clean": int(point.clean),
                "seconds": json_number(point.seconds),
            }
            for point in curve.points
        ],
    }
