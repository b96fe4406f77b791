"""Pictures of the measurements of [fiedler, Ch. 4]."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.reports.pictures.style import INK, QUIET, legend_above, plain
from unweave.reproduce.experiment import Row
from unweave.reproduce.fiedler.deep.concentration import crossing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = ("#1d4ed8", "#c2410c", "#0f766e", "#7c3aed", "#a16207", "#be185d")
STYLES = ("-", "--", "-.", ":")
# Normalised subspace error that counts as lost: between the levels before and after the jump.
LOST = 0.3
SOURCES = {"differences": "central differences", "exact": "exact Hessians", "true": "true directions"}
CONE_WORDS = {"drift": "distance of Hessians to the span", "gap": "sine of the angle to the span found"}
PARTS = ("mean_errors", "uniform_errors", "shift_errors")


def draw_cone(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Left: changes of Hessians inside the span against their distance to it. Right: errors against the radius."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, row in zip(COLOURS[::-1], rows, strict=False):
        inside, outside = (np.array(row.curves(name)[0]) for name in ("inside", "outside"))
        label = f"radius {row.settings['radius']:g}"
        left.plot(inside, outside, "o", color=colour, alpha=0.6, markersize=3, label=label)
    left.axhline(0.0, color=INK, linewidth=1.5, label="span at the base point")
    left.set_xlabel("change of a Hessian inside the span")
    left.set_ylabel("its distance to the span, with a sign")
    radii = [float(row.settings["radius"]) for row in rows]
    for colour, (name, words) in zip(COLOURS, CONE_WORDS.items(), strict=False):
        right.loglog(radii, [np.median(row.values(name)) for row in rows], "o-", color=colour, label=words)
    right.set_xlabel("radius")
    legend_above(figure, columns=4)
    plain(left)
    plain(right)
    return {"figure-4.1.png": figure}


def draw_span_errors(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Normalised error of the span against neurons, one panel per radius."""
    return {"figure-4.2.png": _by_radius(rows, {"subspace": "subspace error / root of neurons"})}


def draw_recovered_shares(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Share of entangled weights found, and of false ends, against neurons, one column per radius."""
    return {"figure-4.3.png": _by_radius(rows, {"recovered": "share found", "false_positives": "share false"})}


def _by_radius(rows: Sequence[Row], columns: Mapping[str, str]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    radii, shapes = _different(rows, "radius"), _different(rows, "layers", "contraction")
    factors = sorted({factor for _, factor in shapes}, reverse=True)
    figure = Figure(figsize=(2.6 * len(radii) + 0.6, 2.5 * len(columns) + 0.9), layout="constrained")
    panels = figure.subplots(len(columns), len(radii), sharex=True, sharey="row", squeeze=False)
    for line, (column, words) in zip(panels, columns.items(), strict=True):
        for axes, (radius,) in zip(line, radii, strict=True):
            for layers, factor in shapes:
                chosen = {"radius": radius, "layers": layers, "contraction": factor}
                places, values = _curve(rows, "neurons", column, chosen)
                style, colour = STYLES[factors.index(factor)], COLOURS[int(layers) - 2]
                axes.plot(places, values, style, color=colour, marker=".", markersize=3, linewidth=1.2)
            axes.axvline(_product(rows[0]), color=QUIET, linestyle=":", linewidth=1)
            axes.set_ylim(-0.03, 1.03 if column != "subspace" else 0.8)
            plain(axes)
        line[0].set_ylabel(words)
    for axes, (radius,) in zip(panels[0], radii, strict=True):
        axes.set_title(f"radius {radius:g}", fontsize="medium")
    for axes in panels[-1]:
        axes.set_xlabel("neurons")
    depths = sorted({int(layers) for layers, _ in shapes})
    handles = [Line2D([], [], color=COLOURS[layers - 2], label=f"{layers} layers") for layers in depths]
    handles += [
        Line2D([], [], color=INK, linestyle=STYLES[place], label=f"contraction {factor:g}")
        for place, factor in enumerate(factors)
    ]
    handles.append(Line2D([], [], color=QUIET, linestyle=":", label="inputs times outputs"))
    return legend_above(figure, columns=4, handles=handles)


def draw_transition(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Left: error of the span against neurons over inputs times outputs. Right: where it is lost."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = _different(rows, "inputs", "outputs")
    inputs = sorted({int(each) for each, _ in sizes})
    for across, outputs in sizes:
        places, values = _curve(rows, "neurons", "subspace", {"inputs": across, "outputs": outputs})
        colour = COLOURS[inputs.index(int(across)) % len(COLOURS)]
        product = float(across) * float(outputs)
        left.plot(places / product, values, ".-", color=colour, linewidth=1.0, alpha=0.7)
        lost = crossing(places, values, LOST)
        if np.isfinite(lost):
            right.plot(product, lost, "o", color=colour)
            right.annotate(f"{outputs} ", (product, lost), fontsize="x-small", color=QUIET, va="bottom", ha="right")
    left.axvline(1.0, color=QUIET, linestyle=":")
    left.axhline(LOST, color=QUIET, linestyle=":")
    left.set_xlabel("neurons / (inputs times outputs)")
    left.set_ylabel("subspace error / root of neurons")
    products = np.array([float(across) * float(outputs) for across, outputs in sizes])
    right.plot([0.0, products.max()], [0.0, products.max()], color=QUIET, linestyle=":")
    right.set_xlabel("inputs times outputs (small: outputs)")
    right.set_ylabel(f"neurons where the error passes {LOST:g}")
    handles = [Line2D([], [], color=COLOURS[n % len(COLOURS)], label=f"{each} inputs") for n, each in enumerate(inputs)]
    legend_above(figure, columns=len(handles), handles=handles)
    plain(left)
    plain(right)
    return {"figure-4.4.png": figure}


def draw_completion(rows: Sequence[Row], name: str) -> "dict[str, Figure]":
    """Mean error, largest relative error and errors of shifts against gradient steps, one column per directions."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    sources = [source for (source,) in _different(rows, "directions")]
    figure = Figure(figsize=(3.1 * len(sources) + 0.8, 7.6), layout="constrained")
    panels = figure.subplots(3, len(sources), sharex=True, sharey="row", squeeze=False)
    for column, source in enumerate(sources):
        panels[0, column].set_title(SOURCES[str(source)], fontsize="medium")
        for row in (each for each in rows if each.settings["directions"] == source and each.curves("steps")):
            colour = COLOURS[0] if row.settings["outputs"] == "tanh" else COLOURS[1]
            _draw_course(panels[:, column], row, colour)
        panels[-1, column].set_xlabel("gradient steps")
    for axes in panels.ravel():
        axes.set_yscale("log")
        plain(axes)
    for axes, words in zip(panels[:, 0], ("mean error", "largest relative error", "error of shifts"), strict=True):
        axes.set_ylabel(words)
    outputs = [str(name) for (name,) in _different(rows, "outputs")]
    colours = {"tanh": COLOURS[0], "identity": COLOURS[1]}
    handles = [Line2D([], [], color=colours[each], label=f"{each} outputs") for each in outputs]
    depth = max(len(str(row.settings["neurons"]).split("-")) for row in rows)
    handles += [Line2D([], [], color=INK, linestyle=STYLES[n], label=f"shifts, layer {n + 1}") for n in range(depth)]
    # In one line, so that colours and styles are read one after the other.
    return {name: legend_above(figure, columns=len(handles), handles=handles)}


def _draw_course(panels: "Iterable[Axes]", row: Row, colour: str) -> None:
    """The median over repetitions."""
    steps = np.array(row.curves("steps")[0])
    for axes, part in zip(panels, PARTS, strict=True):
        layers = range(1, 5) if part == "shift_errors" else (None,)
        for style, layer in zip(STYLES, layers, strict=False):
            curves = row.curves(part if layer is None else f"{part}_{layer}")
            if curves:
                axes.plot(steps, np.median(curves, axis=0), style, color=colour, linewidth=1.2)


def _curve(
    rows: Sequence[Row], across: str, column: str, chosen: Mapping[str, str | int | float]
) -> tuple[np.ndarray, np.ndarray]:
    """Medians of a column against a setting, among the rows of the chosen ones."""
    those = [row for row in rows if all(row.settings[name] == value for name, value in chosen.items())]
    those = [row for row in those if row.values(column)]
    return np.array([float(row.settings[across]) for row in those]), np.array(
        [float(np.median(row.values(column))) for row in those]
    )


def _different(rows: Sequence[Row], *names: str) -> list[tuple[str | int | float, ...]]:
    """Different values of settings, in the order of the rows."""
    return list(dict.fromkeys(tuple(row.settings[name] for name in names) for row in rows))


def _product(row: Row) -> float:
    return float(row.settings["inputs"]) * float(row.settings["outputs"])
