"""Pictures of the landscape explorer: success over sizes, phase diagrams, training curves and activations."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from unweave.explore.landscape.figures import ActivationFigure
from unweave.explore.landscape.logistic import LogisticFit
from unweave.explore.landscape.sweeps import LandscapeCurve, PhaseDiagram
from unweave.explore.landscape.trainings import TrainingCurves
from unweave.reports.pictures.style import ACCENT, COLOURS, INK, QUIET, legend_above, plain

SIZE, DIAGRAM_SIZE = (5.6, 4.0), (6.4, 5.0)
# A phase diagram with more sizes has no room for numbers.
MOST_NUMBERS = 200


def draw_landscape(curve: LandscapeCurve, *, reference: float | None = None) -> Figure:
    """Shares of clean networks and of successful runs against the size, the logistic curve, and its crossing of 1/2.

    Args:
        curve: what was seen.
        reference: a crossing to compare with, for example a published one.
    """
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    sizes, fit = np.array(curve.sizes, dtype=np.float64), curve.fit
    axes.plot(sizes, [point.run_share for point in curve.points], ".", color=QUIET, label="runs at a global minimum")
    axes.plot(sizes, curve.clean_shares, "o", color=INK, label="networks with all runs there")
    axes.vlines(
        sizes, *curve.clean_intervals.T, color=INK, alpha=0.25, linewidth=7, label="95 % interval of their share"
    )
    if np.isfinite(fit.crossing):
        fine = np.linspace(sizes.min(), sizes.max(), 400)
        axes.plot(fine, fit(fine), color=INK, linewidth=1.5, label="logistic fit")
    if curve.is_crossed:
        axes.axvline(fit.crossing, color=ACCENT, linestyle="--", label=_crossing(fit))
    if reference is not None:
        axes.axvline(reference, color=QUIET, linestyle=":", label=f"published: {reference:.1f}")
    fixed = curve.points[0].inputs if curve.varied == "neurons" else curve.points[0].neurons
    axes.set_xlabel(f"{curve.varied} ({'inputs' if curve.varied == 'neurons' else 'neurons'}: {fixed})")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("share")
    axes.set_ylim(-0.04, 1.04)
    # Curves begin low on the left and end high on the right, so that the legend stands beside them.
    legend_above(figure, columns=2)
    plain(axes)
    return figure


def draw_phase_diagram(diagram: PhaseDiagram, *, samples: int) -> Figure:
    """Shares of clean networks by neurons and inputs, where they cross one half, and where weights equal samples.

    Args:
        diagram: what was seen.
        samples: of every planted network.
    """
    figure = Figure(figsize=DIAGRAM_SIZE, layout="constrained")
    axes = figure.add_subplot()
    shares = diagram.clean_shares
    across, up = np.arange(len(diagram.neurons)), np.arange(len(diagram.inputs))
    image = axes.imshow(shares, origin="lower", aspect="auto", cmap="cividis", vmin=0.0, vmax=1.0)
    for row, column in np.ndindex(*shares.shape) if shares.size <= MOST_NUMBERS else ():
        shade, around = ("white", "#001f47") if shares[row, column] < 0.45 else ("black", "#fde737")
        # In a corner, where the curves pass less often, and legible where they do.
        outline = [withStroke(linewidth=2.0, foreground=around, alpha=0.7)]
        place = {"ha": "right", "va": "top", "fontsize": "x-small", "path_effects": outline, "zorder": 4}
        axes.text(column + 0.46, row + 0.44, f"{shares[row, column]:.0%}", color=shade, **place)
    crossings = np.interp(diagram.crossings, diagram.neurons, across, left=np.nan, right=np.nan)
    axes.plot(
        crossings, up, "o-", color=ACCENT, markeredgecolor="white", label=_if_seen("half of the networks", crossings)
    )
    equal = np.interp(samples / np.array(diagram.inputs), diagram.neurons, across, left=np.nan, right=np.nan)
    words = _if_seen(f"neurons x inputs = {samples} samples", equal)
    axes.plot(equal, up, "--", color="white", linewidth=2, label=words)
    axes.set_xticks(across, [str(each) for each in diagram.neurons])
    axes.set_yticks(up, [str(each) for each in diagram.inputs])
    axes.set_xlabel("neurons")
    axes.set_ylabel("inputs")
    figure.colorbar(image, label="share of networks with all runs at a global minimum")
    if any(np.any(np.isfinite(each)) for each in (crossings, equal)):
        legend = figure.legend(fontsize="small", loc="outside upper center", ncols=2, facecolor="#94a3b8")
        legend.get_frame().set_linewidth(0)
    return figure


def draw_activations(shown: ActivationFigure) -> Figure:
    """Activations as functions of one number."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    for colour, (name, values) in zip(_colours(len(shown.functions)), shown.values.items(), strict=True):
        # The others come so close to it that they would be hidden.
        style = "--" if name == "relu" else "-"
        axes.plot(shown.arguments, values, style, color=colour, linewidth=1.5, label=name)
    axes.set_xlabel("z")
    axes.set_ylabel("activation")
    axes.legend(frameon=False, fontsize="small")
    plain(axes)
    return figure


def draw_trainings(curves: Sequence[TrainingCurves]) -> Figure:
    """Root of the loss against gradient steps, one colour per number of neurons."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    for colour, curve in zip(_colours(len(curves)), curves, strict=True):
        for number, errors in enumerate(curve.errors):
            # A run that has ended keeps its last error; only the way to it is drawn.
            moving = np.flatnonzero(np.diff(errors) != 0.0)
            last = int(moving[-1]) + 2 if len(moving) else 1
            label = f"{curve.neurons} neurons" if number == 0 else None
            axes.plot(curve.steps[:last], errors[:last], color=colour, linewidth=1.2, label=label)
    axes.set_yscale("log")
    axes.set_xlabel(f"gradient steps ({curves[0].inputs} inputs)" if curves else "gradient steps")
    axes.set_ylabel("root of the loss")
    # Curves cross the whole picture, so that the legend stands beside it.
    figure.legend(frameon=False, fontsize="small", loc="outside right upper")
    plain(axes)
    return figure


def _if_seen(words: str, places: np.ndarray) -> str:
    """What a legend says of a line; nothing if all of it is outside of the picture."""
    return words if np.any(np.isfinite(places)) else "_"


def _crossing(fit: LogisticFit) -> str:
    error = f" ± {fit.crossing_error:.2f} (s.e.)" if np.isfinite(fit.crossing_error) else ""
    return f"crosses 1/2 at {fit.crossing:.2f}{error}"


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]
