"""Plots as inline SVG, drawn from numbers: no picture is loaded, and colours follow the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from unweave.reports.html.elements import element, svg
from unweave.result import number

WIDTH, HEIGHT = 460.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 22.0, 14.0, 46.0


@dataclass(frozen=True)
class Axis:
    """Numbers along one side of a plot.

    Args:
        label: what is shown.
        first, last: the numbers at its beginning and at its end.
        is_log: whether decades are as long as each other.
        is_percent: whether numbers are shares.
        is_whole: whether only whole numbers mean something.
    """

    label: str
    first: float
    last: float
    is_log: bool = False
    is_percent: bool = False
    is_whole: bool = False

    def share(self, value: float) -> float:
        """Where a number is, from 0 to 1."""
        first, last, value = (math.log10(each) if self.is_log else each for each in (self.first, self.last, value))
        return min(max((value - first) / (last - first), 0.0), 1.0)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Numbers that are written beside it."""
        if self.is_log:
            low, high = math.ceil(math.log10(self.first) - 1e-9), math.floor(math.log10(self.last) + 1e-9)
            step = max(1, math.ceil((high - low + 1) / 6))
            return [(10.0**power, f"1e{power}") for power in range(low, high + 1, step)]
        if self.is_percent:
            return [(share / 4, f"{25 * share}%") for share in range(5)]
        raw = (self.last - self.first) / 5
        step = 10 ** math.floor(math.log10(raw))
        step *= next(times for times in (1, 2, 5, 10) if times * step >= raw)
        step = max(step, 1.0) if self.is_whole else step
        return [
            (step * place, f"{step * place:.10g}")
            for place in range(math.ceil(self.first / step - 1e-9), math.floor(self.last / step + 1e-9) + 1)
        ]


@dataclass(frozen=True)
class Series:
    """Points of a plot.

    Args:
        name: in the legend.
        points: pairs of numbers.
        kind: a class for its looks: line, steps, dots or marker (a vertical line at every point).
    """

    name: str
    points: Sequence[tuple[float, float]]
    kind: str = "line"


def plot(title: str, description: str, across: Axis, up: Axis, series: Sequence[Series]) -> Element:
    """Draw series of points between two axes, with a legend above where there are several."""
    top = TOP + 18.0 * len(series) if len(series) > 1 else TOP
    height = HEIGHT + top - TOP

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + across.share(point[0]) * (WIDTH - LEFT - RIGHT)
        return x, height - BOTTOM - up.share(point[1]) * (height - top - BOTTOM)

    shapes = [*_axes(across, up, top, height)]
    for rank, each in enumerate(series):
        looks = f"series series-{rank + 1}"
        if len(series) > 1:
            y = TOP + 18.0 * rank
            shapes.append(_sample(each.kind, looks, y))
            shapes.append(element("text", {"x": LEFT + 30, "y": f"{y + 4:g}"}, each.name))
        shapes += _shapes(each, looks, [place(point) for point in each.points], top, height)
    return svg(title, description, width=WIDTH, height=height, kind="plot", shapes=shapes)


def _shapes(series: Series, looks: str, places: list[tuple[float, float]], top: float, height: float) -> list[Element]:
    if series.kind == "dots":
        return [element("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3.5", "class": looks}) for x, y in places]
    if series.kind == "marker":
        return [_line(x, top, x, height - BOTTOM, f"{looks} marker") for x, _ in places]
    if series.kind == "steps":
        places = [
            each
            for (x, y), before in zip(places, [places[0], *places], strict=False)
            for each in ((x, before[1]), (x, y))
        ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return [element("polyline", {"points": path, "class": f"{looks} curve"})]


def _sample(kind: str, looks: str, y: float) -> Element:
    if kind == "dots":
        return element("circle", {"cx": f"{LEFT + 12:g}", "cy": f"{y:g}", "r": "3.5", "class": looks})
    return _line(LEFT + 2, y, LEFT + 22, y, f"{looks} {'marker' if kind == 'marker' else 'curve'}")


def _axes(across: Axis, up: Axis, top: float, height: float) -> list[Element]:
    bottom, right = height - BOTTOM, WIDTH - RIGHT
    shapes = []
    for value, name in up.ticks:
        y = bottom - up.share(value) * (bottom - top)
        shapes.append(_line(LEFT, y, right, y, "grid"))
        shapes.append(element("text", {"x": f"{LEFT - 6:g}", "y": f"{y + 4:.1f}", "class": "end"}, name))
    for value, name in across.ticks:
        x = LEFT + across.share(value) * (right - LEFT)
        shapes.append(_line(x, bottom, x, bottom + 4, "axis"))
        shapes.append(element("text", {"x": f"{x:.1f}", "y": f"{bottom + 17:g}", "class": "middle"}, name))
    shapes.append(_line(LEFT, bottom, right, bottom, "axis"))
    middle = (LEFT + right) / 2
    shapes.append(element("text", {"x": f"{middle:g}", "y": f"{height - 8:g}", "class": "middle label"}, across.label))
    return shapes


def _line(x: float, y: float, to_x: float, to_y: float, looks: str) -> Element:
    ends = {"x1": f"{x:.1f}", "y1": f"{y:.1f}", "x2": f"{to_x:.1f}", "y2": f"{to_y:.1f}"}
    return element("line", {**ends, "class": looks})


def bar(last: float, *, first: float = 0.0, inside: tuple[float, float] | None = None) -> Element:
    """Draw a bar for a cell of a table; the cells beside it say the numbers, so that it is silent.

    Args:
        last: where it ends, as a share of the width.
        first: where it begins.
        inside: a part of it that is drawn strongly; all of it if omitted.
    """
    rects = [_rect(first, last, "bar-all" if inside else "bar-part")]
    if inside:
        rects.append(_rect(*inside, "bar-part"))
    return element("svg", {"class": "bar", "aria-hidden": "true", "height": "10"}, *rects)


def _rect(first: float, last: float, looks: str) -> Element:
    # A bar that is there is seen.
    width = max(last - first, 0.004) if last > first else 0.0
    shape = {"x": f"{100 * first:.2f}%", "y": "0", "width": f"{100 * width:.2f}%", "height": "10"}
    return element("rect", {**shape, "class": looks})


def error_plot(errors: Sequence[float], *, noise: float | None, unit: str) -> Element:
    """Draw which share of fresh answers is met to which error.

    Args:
        errors: in ascending order.
        noise: of one answer, same unit; None if it is not known.
        unit: what errors are measured in.
    """
    finite = [error for error in errors if math.isfinite(error)]
    positive = [error for error in [*finite, noise or 0.0] if error > 0.0] or [1e-16]
    low = 10.0 ** math.floor(math.log10(min(positive)) - 0.2)
    high = 10.0 ** math.ceil(math.log10(max(positive)) + 0.2)
    # An error of zero is drawn at the left end.
    points = [(max(error, low), (place + 1) / len(errors)) for place, error in enumerate(finite)]
    series = [Series("share of fresh points with at most this error", [(low, 0.0), *points], "steps")]
    if noise:
        series.append(Series(f"noise of one answer, {number(noise)}", [(noise, 0.0)], "marker"))
    largest = f"half of them below {number(errors[len(errors) // 2])}, all below {number(errors[-1])} {unit}"
    return plot(
        "Errors at fresh points",
        f"Cumulative share of {len(errors)} fresh points against the error: {largest}.",
        Axis(f"error, {unit}", low, high, is_log=True),
        Axis("share", 0.0, 1.0, is_percent=True),
        series,
    )
