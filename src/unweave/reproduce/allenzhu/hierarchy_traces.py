"""[allenzhu, Fig. 5]: forward learning and backward correction in a network of four levels, as numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.networks.quadratic.teacher import UniformInputs
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES, PlantedTask
from unweave.reproduce.allenzhu.staged import StagedTraining
from unweave.reproduce.allenzhu.traces import FeatureTrace, trace_features
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JOINT, LAYER_WISE = "all levels train on", "lower levels frozen"
COLOURS = {JOINT: "#1f2933", LAYER_WISE: "#c2410c"}


def settings(scale: Scale) -> Sequence[Settings]:
    """Joint and layer-wise training of levels 2 to 4, level 4 being the last one."""
    inputs, widths, steps = {
        Scale.QUICK: (6, "2-1-1", 500),
        Scale.USUAL: (8, "3-2-1", 1_000),
        Scale.FULL: (12, "4-2-1", 6_000),
    }[scale]
    return [
        {"inputs": inputs, "widths": widths, "steps": steps, "training": name}
        for name in ((JOINT,) if scale is Scale.QUICK else (JOINT, LAYER_WISE))
    ]


def measure(cell: Cell) -> Numbers:
    """Errors of the features of levels 2 and 3 when a higher level is switched on, and at the end."""
    given, steps = cell.settings, int(cell.settings["steps"])
    widths = tuple(map(int, str(given["widths"]).split("-")))
    task = PlantedTask(cell.seed, int(given["inputs"]), widths, (1.0, 0.3, 0.09), 3_000, UniformInputs())
    training = StagedTraining(
        stage_steps=steps, final_steps=2 * steps, batch=256, is_layer_wise=given["training"] == LAYER_WISE
    )
    wiring = task.teacher.wiring
    fit = training(wiring, task.points, task.labels, mean_squares=task.means, rng=task.rng)
    lower, upper = (trace_features(fit, task.teacher, task.fresh, level=FIRST_LEVEL + more) for more in (0, 1))
    return {
        "lower_alone": _at_switch(lower, 3),
        "lower_with_3": _at_switch(lower, 4),
        "lower_end": lower.errors[-1],
        "upper_alone": _at_switch(upper, 4),
        "upper_end": upper.errors[-1],
        "error": task.error(fit.network),
        "steps_2": [float(step) for step in lower.steps],
        "errors_2": list(lower.errors),
        "steps_3": [float(step) for step in upper.steps],
        "errors_3": list(upper.errors),
    }


def _at_switch(trace: FeatureTrace, level: int) -> float:
    """The error at the last look before a level is switched on."""
    before = [error for step, error in zip(trace.steps, trace.errors, strict=True) if step <= trace.switches[level]]
    return before[-1] if before else float("nan")


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Errors of features against steps, one panel per level; a line per repetition."""
    from matplotlib.figure import Figure

    from unweave.reports.pictures.style import open_frame

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    for axes, level in zip(figure.subplots(1, 2, sharey=True), (2, 3), strict=True):
        for row in rows:
            name = str(row.settings["training"])
            curves = zip(row.curves(f"steps_{level}"), row.curves(f"errors_{level}"), strict=True)
            for number, (steps, errors) in enumerate(curves):
                axes.semilogy(
                    steps, np.maximum(errors, 1e-16), color=COLOURS[name], linewidth=1.2,
                    label=None if number else name,
                )  # fmt: skip
        axes.set_title(f"features of level {level}", loc="left", fontsize="medium")
        axes.set_xlabel("steps")
        open_frame(axes)
    figure.axes[0].set_ylabel("error up to a rotation")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return {"figure.png": figure}


TITLE = "errors of features while higher levels are switched on"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 10}
COLUMNS = {
    "lower_alone": "level 2 before level 3",
    "lower_with_3": "before level 4",
    "lower_end": "at the end",
    "upper_alone": "level 3 before level 4",
    "upper_end": "at the end",
    "error": "error of the answers",
}
NOTES = (
    OTHER_SIZES,
    "Figure 5 is a drawing without numbers. Its arrows are measured: forward, a level is learnt on top of those "
    "below; backward, features below get better when a level above takes away what they had wrongly absorbed.",
)
