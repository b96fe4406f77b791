"""Pictures of errors against numbers of samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.reports.pictures.style import COLOURS, QUIET, legend_above, open_frame
from unweave.reproduce.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SIZE = (5.6, 4.0)
# Letters of a label up to which two stand side by side.
WIDEST_OF_TWO = 30


def draw_by_samples(rows: Sequence[Row], column: str, *, words: str, groups: tuple[str, ...]) -> "Figure":
    """Medians of a column and all repetitions against the number of samples, one colour per group of settings.

    A line of slope -1/2 leads through the last median. Infinite numbers, where neurons are missing, are left out.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(", ".join(_words(group, row.settings[group]) for group in groups), []).append(row)
    for (name, each), colour in zip(named.items(), COLOURS, strict=False):
        _draw_group(axes, each, column, name, colour)
    counts = sorted({float(row.settings["samples"]) for row in rows})
    axes.set_xticks(counts, [f"{count:,.0f}" for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("samples")
    axes.set_ylabel(words)
    open_frame(axes)
    # Points lie all over the picture, so that the legend stands above it.
    columns = 1 if max(map(len, named), default=0) > WIDEST_OF_TWO else 2
    return legend_above(figure, columns=columns)


def _words(name: str, value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g} {name}" if name.endswith("s") else f"{name} {value:g}"


def _draw_group(axes: "Axes", rows: Sequence[Row], column: str, name: str, colour: str) -> None:
    middle = []
    for row in rows:
        values = np.array(row.values(column))
        samples = float(row.settings["samples"])
        finite = values[np.isfinite(values) & (values > 0)]
        axes.plot(np.full(len(finite), samples), finite, ".", color=colour, alpha=0.4)
        middle.append((samples, float(np.median(values)) if len(values) else np.nan))
    seen = np.array([point for point in middle if np.isfinite(point[1]) and point[1] > 0]).reshape(-1, 2)
    if len(seen) == 0:
        return
    axes.plot(seen[:, 0], seen[:, 1], "o-", color=colour, label=name)
    if len(seen) > 1:
        guide = seen[-1, 1] * np.sqrt(seen[-1, 0] / seen[:, 0])
        axes.plot(seen[:, 0], guide, ":", color=QUIET, linewidth=1.0)
