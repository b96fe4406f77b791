"""Pictures of [fiedler, Ch. 1 to 3]: tables as shaded squares, and curves."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from unweave.reports.pictures.style import plain
from unweave.reproduce.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = ("#0f766e", "#c2410c", "#1d4ed8", "#7c3aed", "#a16207", "#be185d", "#334155", "#15803d")
PANEL = (4.6, 3.7)
# Axes, by the settings on them.
LABELS = {
    "inputs": "inputs D",
    "order": "order of neurons (2/5 D^order)",
    "samples order": "order of samples (D^order)",
}


def panels(count: int, *, width: float = PANEL[0], height: float = PANEL[1]) -> "tuple[Figure, list[Axes]]":
    """Panels beside each other, two in a row from four on."""
    from matplotlib.figure import Figure

    columns = count if count < 4 else 2
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


def mean_of(row: Row, column: str) -> float:
    """Mean over the repetitions whose value is a number."""
    values = [value for value in row.values(column) if np.isfinite(value)]
    return fmean(values) if values else np.nan


def mean_curve(row: Row, column: str) -> np.ndarray:
    """Mean of the curves of all repetitions, as far as the shortest goes."""
    curves = row.curves(column)
    shortest = min(map(len, curves))
    return np.mean([curve[:shortest] for curve in curves], axis=0)


def draw_squares(rows: Sequence[Row], across: str, up: str, columns: Mapping[str, str]) -> "Figure":
    """One panel per column: means over repetitions by two settings, on a logarithmic scale.

    Args:
        rows: with these settings.
        across: the setting on the horizontal axis.
        up: that on the vertical one.
        columns: titles by names of columns.
    """
    figure, axes = panels(len(columns), width=5.2, height=4.2)
    right, top = (sorted({float(row.settings[name]) for row in rows}) for name in (across, up))
    for panel, (column, title) in zip(axes, columns.items(), strict=True):
        values = np.full((len(top), len(right)), np.nan)
        for row in rows:
            place = top.index(float(row.settings[up])), right.index(float(row.settings[across]))
            values[place] = mean_of(row, column)
        _shade(panel, values, figure)
        panel.set_xticks(range(len(right)), [f"{value:g}" for value in right])
        panel.set_yticks(range(len(top)), [f"{value:g}" for value in top])
        panel.set(xlabel=LABELS.get(across, across), ylabel=LABELS.get(up, up), title=title)
    return figure


def _shade(panel: "Axes", values: np.ndarray, figure: "Figure") -> None:
    from matplotlib.colors import LogNorm

    shown = np.where(values > 0, values, np.nan)
    low, high = (np.nanmin(shown), np.nanmax(shown)) if np.any(np.isfinite(shown)) else (1.0, 10.0)
    scale = LogNorm(low, max(high, 1.01 * low))
    image = panel.imshow(shown, origin="lower", aspect="auto", cmap="cividis_r", norm=scale)
    for row, column in np.ndindex(*values.shape):
        if np.isfinite(values[row, column]):
            text = f"{values[row, column]:.0e}".replace("e-0", "e-").replace("e+0", "e")
            shade = "white" if scale(values[row, column]) > 0.55 else "black"
            panel.text(column, row, text, color=shade, ha="center", va="center", fontsize="small")
    figure.colorbar(image)


def draw_lines(
    panel: "Axes",
    rows: Sequence[Row],
    across: str,
    columns: Mapping[str, tuple[str, str, str]],
    *,
    logarithmic: bool = True,
) -> None:
    """Means of columns over a setting.

    Args:
        panel: where.
        rows: in any order.
        across: the setting on the horizontal axis.
        columns: label, colour and style by names of columns.
        logarithmic: whether the vertical axis is.
    """
    ordered = sorted(rows, key=lambda row: float(row.settings[across]))
    places = [float(row.settings[across]) for row in ordered]
    for column, (label, colour, style) in columns.items():
        panel.plot(places, [mean_of(row, column) for row in ordered], style, color=colour, label=label)
    if logarithmic:
        panel.set_yscale("log")
    panel.set_xlabel(LABELS.get(across, across))
    plain(panel)
