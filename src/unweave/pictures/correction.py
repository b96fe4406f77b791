"""Pictures of feature correction: what freezing costs by depth, and how far weights move."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from unweave.correction.result import DepthResult, FeatureCorrection
    from unweave.correction.statistics import Scores

INK, QUIET = "#1f2933", "#64748b"
TRAIN_ALL, THAWED, FROZEN, GREEDY, JOINT, ALONE = "#c2410c", "#a16207", "#1d4ed8", "#7c3aed", "#0f766e", "#94a3b8"
# Scores far below all others would press those together; they are drawn at the lower edge, with their number.
MOST_SPREAD = 12.0


def draw_feature_correction(result: "FeatureCorrection") -> Figure:
    """Left: scores by depth, with standard errors over seeds. Right: correlations of weights."""
    figure = Figure(figsize=(10.4, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _draw_scores(left, result)
    _draw_correlations(right, result)
    for axes in (left, right):
        axes.set_xticks([row.depth for row in result.depths])
        axes.set_xlim(result.depths[0].depth - 0.4, result.depths[-1].depth + 0.4)
        axes.set_xlabel("depth l: units up to it")
        axes.spines[["top", "right"]].set_visible(False)
    seeds = f"{len(result.seeds)} seed{'' if len(result.seeds) == 1 else 's'}"
    missing = "" if result.is_complete else f"; INCOMPLETE, {len(result.missing)} trainings missing"
    figure.suptitle(f"Feature correction of {len(result.units)} units, {seeds}{missing}", fontsize="medium")
    return figure


def _draw_scores(axes: Axes, result: "FeatureCorrection") -> None:
    lines: list[tuple[str, str, str, Callable[[DepthResult], Scores | None]]] = [
        ("train all", TRAIN_ALL, "o-", lambda row: row.train_all),
        ("all units up to l-1 frozen", THAWED, "s--", lambda row: row.fixed.get(1)),
        ("all units up to l frozen", FROZEN, "s-", lambda row: row.fixed.get(0)),
        ("only units up to l, joint", JOINT, "^-", lambda row: row.joint),
        ("only units up to l, layer-wise", GREEDY, "v-", lambda row: row.layerwise),
        ("only units up to l, from scratch", ALONE, "^:", lambda row: row.train_only),
    ]
    if result.full.values:
        axes.axhline(100 * result.full.mean, color=QUIET, linewidth=1, linestyle=":")
        place = (result.depths[-1].depth + 0.38, 100 * result.full.mean)
        axes.annotate("whole model", place, color=QUIET, fontsize="small", ha="right", va="bottom")
    drawn, count = [], len(lines)
    for number, (name, colour, style, pick) in enumerate(lines):
        # Side by side, so that error bars can be told apart.
        shift = 0.05 * (number - (count - 1) / 2)
        drawn += _draw_line(axes, result, pick, name=name, colour=colour, style=style, shift=shift)
    _limit(axes, result, drawn)
    axes.set_ylabel(f"{result.score_name} on test rows, %")
    axes.set_title("what is lost by freezing", fontsize="medium", loc="left")
    axes.legend(frameon=False, fontsize="small", loc="lower right")


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
    """Leave scores out that are far below the rest, and say what they are."""
    known = sorted(height for height in heights if np.isfinite(height))
    if not known or known[-1] - known[0] <= MOST_SPREAD:
        return
    floor = max(known[0], known[-1] - MOST_SPREAD) - 0.8
    axes.set_ylim(floor, known[-1] + 1.0)
    for row in result.depths:
        low = {
            name: 100 * value.mean
            for name, value in (("joint", row.joint), ("layer-wise", row.layerwise), ("scratch", row.train_only))
            if value.values and 100 * value.mean < floor
        }
        if not low:
            continue
        same = {f"{height:.0f}" for height in low.values()}
        words = same.pop() if len(same) == 1 else "\n".join(f"{name} {height:.0f}" for name, height in low.items())
        axes.annotate(f"{words}\n↓", (row.depth, floor), color=QUIET, fontsize="small", ha="center", va="bottom")


def _draw_correlations(axes: Axes, result: "FeatureCorrection") -> None:
    options = {"factor": 1.0}
    _draw_line(
        axes, result, lambda row: row.with_train_all, name="with train all", colour=TRAIN_ALL, style="o-", **options
    )
    _draw_line(
        axes, result, lambda row: row.with_start, name="with its random start", colour=FROZEN, style="s-", **options
    )
    _draw_line(
        axes, result, lambda row: row.with_random, name="random weights, paired", colour=QUIET, style=":", **options
    )
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("mean cosine of neurons' weights")
    axes.set_title("how far the units up to l have moved", fontsize="medium", loc="left")
    axes.legend(frameon=False, fontsize="small", loc="lower left")
