"""Pictures of hierarchical learning: methods on equal data, and the correction of lower features by higher levels."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unweave.reports.pictures.style import ACCENT, INK, QUIET, open_frame
from unweave.reproduce.allenzhu.baselines import MethodComparison
from unweave.reproduce.allenzhu.traces import CorrectionLaw, FeatureTrace

COLOURS = ("#c2410c", "#1d4ed8", "#0f766e", "#7c3aed", "#a16207", "#be185d")
# Errors below this are rounding, and are drawn there.
SMALLEST_DRAWN_ERROR = 1e-15


def draw_comparison(comparisons: Sequence[MethodComparison]) -> Figure:
    """Relative errors of all methods, one row per method; every dot is one set of samples, the bar is the median."""
    names = [row.method for row in comparisons[0].rows]
    errors = {name: [max(each.error(name), SMALLEST_DRAWN_ERROR) for each in comparisons] for name in names}
    ordered = sorted(names, key=lambda name: float(np.median(errors[name])), reverse=True)
    figure = Figure(figsize=(7.2, 0.36 * len(names) + 1.3), layout="constrained")
    axes = figure.add_subplot()
    for place, name in enumerate(ordered):
        colour = ACCENT if "joint" in name else INK
        axes.plot(errors[name], [place] * len(errors[name]), "o", color=colour, alpha=0.55, markersize=5)
        axes.plot([np.median(errors[name])], [place], "|", color=colour, markersize=16, markeredgewidth=2)
    axes.set_xscale("log")
    axes.set_yticks(range(len(ordered)), ordered)
    for place, words in ((1.0, "a constant "), (SMALLEST_DRAWN_ERROR, " exact")):
        axes.axvline(place, color=QUIET, linestyle=":", linewidth=1)
        side = "right" if place == 1.0 else "left"
        axes.annotate(words, (place, len(ordered) - 0.45), color=QUIET, fontsize="small", ha=side)
    axes.set_ylim(-0.6, len(ordered))
    axes.set_xlabel("relative error on fresh points")
    first = comparisons[0]
    axes.set_title(f"{first.points} samples, {first.inputs} inputs", fontsize="medium", loc="left")
    open_frame(axes)
    return figure


def draw_correction(traces: Mapping[str, FeatureTrace], law: CorrectionLaw) -> Figure:
    """Left: the error of level 2 falls once level 3 is on, unless level 2 is frozen. Right: the law behind it.

    Args:
        traces: named trainings, for example joint and layer-wise.
        law: errors against the weight of level 3.
    """
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, (name, trace) in zip(COLOURS, traces.items(), strict=False):
        left.plot(trace.steps, trace.errors, color=colour, linewidth=2, label=name)
        left.axvline(trace.switches[3], color=colour, linestyle="--", linewidth=1)
    left.set_title("dashed: level 3 is switched on", fontsize="medium", loc="left")
    left.set_yscale("log")
    left.set_xlabel("training steps")
    left.set_ylabel("error of the features of level 2")
    left.legend(framealpha=1.0, edgecolor="none", fontsize="small", loc="lower left")
    _draw_law(right, law)
    for axes in (left, right):
        open_frame(axes)
    return figure


def _draw_law(axes: Axes, law: CorrectionLaw) -> None:
    weights = np.array(law.weights)
    names = ("level 2 alone", "corrected once by level 3", "corrected twice")
    for number, (colour, name) in enumerate(zip((INK, *COLOURS), names, strict=False)):
        errors = [max(rounds[number], SMALLEST_DRAWN_ERROR) for rounds in law.errors]
        axes.loglog(weights, errors, "o-", color=colour, linewidth=1.5, label=name)
    first = law.errors[0][0]
    axes.loglog(
        weights, 1.6 * first * (weights / weights[0]) ** 2, ":", color=QUIET, label="slope 2, as the theory says"
    )
    axes.set_xticks(weights, [f"{weight:g}" for weight in weights])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("weight of level 3")
    axes.set_ylabel("error of the features of level 2")
    axes.set_title(f"measured slope of level 2 alone: {law.slope:.2f}", fontsize="medium", loc="left")
    axes.legend(frameon=False, fontsize="small")
