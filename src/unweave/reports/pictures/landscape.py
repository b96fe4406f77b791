"""Pictures of the landscape explorer: shares of clean networks with their logistic curve, and training curves."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from unweave.explore.landscape.sweeps import LandscapeCurve
from unweave.explore.landscape.trainings import TrainingCurves

SIZE = (5.2, 3.6)
INK, ACCENT, QUIET = "#1f2933", "#c2410c", "#64748b"
COLOURS = ("#0f766e", "#c2410c", "#1d4ed8", "#7c3aed", "#a16207", "#be185d")


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
    if np.isfinite(fit.crossing):
        fine = np.linspace(sizes.min(), sizes.max(), 400)
        axes.plot(fine, fit(fine), color=INK, linewidth=1.5, label="logistic fit")
        axes.axvline(fit.crossing, color=ACCENT, linestyle="--", label=f"crosses 1/2 at {fit.crossing:.1f}")
    if reference is not None:
        axes.axvline(reference, color=QUIET, linestyle=":", label=f"published: {reference:.1f}")
    fixed = curve.points[0].inputs if curve.varied == "neurons" else curve.points[0].neurons
    axes.set_xlabel(f"{curve.varied} ({'inputs' if curve.varied == 'neurons' else 'neurons'}: {fixed})")
    axes.set_ylabel("share")
    axes.set_ylim(-0.04, 1.04)
    axes.legend(framealpha=0.9, edgecolor="none", fontsize="small")
    _plain(axes)
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
    _plain(axes)
    return figure


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def _plain(axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
