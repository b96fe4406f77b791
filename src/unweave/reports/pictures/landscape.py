"""Picture of the landscape explorer: shares of clean networks with their logistic curve."""

import numpy as np
from matplotlib.figure import Figure

from unweave.explore.landscape.experiment import LandscapeCurve

SIZE = (5.2, 3.6)
INK, ACCENT, QUIET = "#1f2933", "#c2410c", "#64748b"


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


def _plain(axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
