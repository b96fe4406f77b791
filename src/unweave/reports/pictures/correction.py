"""Pictures of feature correction: what freezing costs by depth, and how far weights move."""

from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unweave.reports.pictures.style import QUIET, open_frame

if TYPE_CHECKING:
    from unweave.explore.feature_correction.result import DepthResult, FeatureCorrection
    from unweave.explore.feature_correction.statistics import Scores

TRAIN_ALL, FROZEN, GREEDY, ALONE = "#c2410c", "#1d4ed8", "#7c3aed", "#94a3b8"
# From all units frozen to ever more of them thawed.
WINDOWS = (FROZEN, "#0f766e", "#a16207", "#be185d", "#0891b2")
# One fewer than colours: where colours begin again, markers differ.
MARKERS = "sD^v"
# Scores further below the others, in points, would press those together; they are named at the lower edge instead.
MOST_SPREAD = 15.0


def draw_feature_correction(result: "FeatureCorrection") -> Figure:
    """Three questions: what layer-wise training loses, what freezing loses, and how far weights move.

    Error bars are standard errors over seeds.
    """
    figure = Figure(figsize=(12.4, 5.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_units_alone(left, result)
    _draw_whole_model(middle, result)
    _draw_correlations(right, result)
    for axes in (left, middle, right):
        axes.set_xticks([row.depth for row in result.depths])
        axes.set_xlim(result.depths[0].depth - 0.4, result.depths[-1].depth + 0.4)
        axes.set_xlabel("depth l: number of lower units")
        open_frame(axes)
        if axes.get_legend_handles_labels()[0]:
            # Below the axes, where it hides nothing.
            axes.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14))
    seeds = f"{len(result.seeds)} seed{'' if len(result.seeds) == 1 else 's'}, bars are standard errors"
    missing = "" if result.is_complete else f"; INCOMPLETE, {len(result.missing)} trainings missing"
    figure.suptitle(f"Feature correction in a model of {len(result.units)} units: {seeds}{missing}", fontsize="medium")
    return figure


def _draw_units_alone(axes: Axes, result: "FeatureCorrection") -> None:
    lines: list[tuple[str, str, str, Callable[[DepthResult], Scores | None]]] = [
        ("all of them trained at every step", TRAIN_ALL, "o-", lambda row: row.joint),
        ("lower ones frozen: layer-wise", GREEDY, "v-", lambda row: row.layerwise),
        ("trained at once, from scratch", ALONE, "^:", lambda row: row.train_only),
    ]
    # One unit alone is the same in all ways: without deeper ones there is nothing to compare.
    is_grown = any(row.joint.values or row.layerwise.values for row in result.depths if row.depth > 1)
    heights = []
    for number, (name, colour, style, pick) in enumerate(lines if is_grown else lines[-1:]):
        # Side by side, so that error bars can be told apart.
        shift = 0.04 * (number - 1) if is_grown else 0.0
        heights += _draw_line(axes, result, pick, name=name, colour=colour, style=style, shift=shift)
    _draw_full(axes, result)
    _limit(axes, result, heights)
    axes.set_ylabel(f"{result.score_name} on test rows, %")
    added = ", unit added after unit" if is_grown else ""
    axes.set_title(f"the first l units alone{added}", fontsize="medium", loc="left")


def _draw_whole_model(axes: Axes, result: "FeatureCorrection") -> None:
    # Side by side, so that error bars can be told apart.
    shifts = np.linspace(0.06, -0.03, len(result.windows))
    lines = list(zip(result.windows, cycle(WINDOWS), cycle(MARKERS), shifts, strict=False))
    _draw_line(axes, result, lambda row: row.train_all, name="all trained", colour=TRAIN_ALL, style="o-", shift=-0.06)
    for window, colour, marker, shift in reversed(lines):
        name = "first l frozen" if window == 0 else f"first l-{window} frozen"
        _draw_line(
            axes,
            result,
            lambda row, window=window: row.fixed.get(window),
            name=name,
            colour=colour,
            style=f"{marker}-" if window == 0 else f"{marker}--",
            shift=shift,
        )
    _draw_full(axes, result)
    axes.set_ylabel(f"{result.score_name} on test rows, %")
    axes.set_title("the whole model, its first l units trained before", fontsize="medium", loc="left")


def _draw_full(axes: Axes, result: "FeatureCorrection") -> None:
    if not result.full.values:
        return
    # Named in the legend: words beside the line would stand behind error bars.
    name = "whole model from scratch"
    axes.axhline(100 * result.full.mean, color=QUIET, linewidth=1, linestyle=":", zorder=0, label=name)


def _draw_line(
    axes: Axes,
    result: "FeatureCorrection",
    pick: "Callable[[DepthResult], Scores | None]",
    *,
    name: str,
    colour: str,
    style: str,
    shift: float = 0.0,
    factor: float = 100.0,
) -> list[float]:
    """One line with error bars; returns its heights."""
    found = [(row.depth + shift, value) for row in result.depths if (value := pick(row)) is not None and value.values]
    if not found:
        return []
    heights = [factor * value.mean for _, value in found]
    errors = [factor * np.nan_to_num(value.standard_error) for _, value in found]
    places = [place for place, _ in found]
    axes.errorbar(
        places, heights, yerr=errors, fmt=style, color=colour, label=name, capsize=2, markersize=5, linewidth=1.5
    )
    return heights


def _limit(axes: Axes, result: "FeatureCorrection", heights: list[float]) -> None:
    """Leave depths out that are far below the rest, and say what they have."""
    known = [height for height in heights if np.isfinite(height)]
    if not known or max(known) - min(known) <= MOST_SPREAD:
        return
    floor = min(height for height in known if height > max(known) - MOST_SPREAD) - 5
    axes.set_ylim(floor, max(known) + 1.5)
    for row in result.depths:
        low = [100 * each.mean for each in (row.joint, row.layerwise, row.train_only) if each.values]
        if low and max(low) < floor:
            words = " to ".join(dict.fromkeys(f"{height:.0f}" for height in (min(low), max(low))))
            axes.annotate(f"{words}\n↓", (row.depth, floor), color=QUIET, fontsize="small", ha="center", va="bottom")


def _draw_correlations(axes: Axes, result: "FeatureCorrection") -> None:
    lines: list[tuple[str, str, str, Callable[[DepthResult], Scores | None]]] = [
        ("with the same units after training all", TRAIN_ALL, "o-", lambda row: row.with_train_all),
        ("with their random start", FROZEN, "s-", lambda row: row.with_start),
        ("random filters, paired as well as can be", QUIET, ":", lambda row: row.with_random),
    ]
    for name, colour, style, pick in lines:
        _draw_line(axes, result, pick, name=name, colour=colour, style=style, factor=1.0)
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("mean cosine of neurons' weights")
    axes.set_title("weights of the first l units: moved or replaced?", fontsize="medium", loc="left")
