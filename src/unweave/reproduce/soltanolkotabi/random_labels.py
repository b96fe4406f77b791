"""[soltanolkotabi, Fig. 4]: gradient descent on random labels, followed step by step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from unweave.explore.landscape.figures import FIGURES, TrainingFigure
from unweave.explore.landscape.trainings import TrainingCurves, training_curves
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Root of the loss that counts as zero.
ZERO = 1e-5
STEPS = {Scale.QUICK: 1_000, Scale.USUAL: 10_000, Scale.FULL: 30_000}
PARTS = {"a": "softplus", "b": "squares"}
WIDTHS = {
    Scale.QUICK: {"a": (30,), "b": (20,)},
    Scale.USUAL: {"a": (10, 15, 20, 30), "b": (6, 10, 20)},
    Scale.FULL: {"a": (10, 12, 15, 20, 30), "b": (6, 8, 10, 20)},
}
# Output weights at the start, and the names of the designs.
SIGNS, ONES = "random signs", "ones"
DESIGNS = {SIGNS: "", ONES: "-ones"}


def settings(scale: Scale) -> Sequence[Settings]:
    """Numbers of neurons from random signs; the widest ones from ones, too, as the text has it."""
    rows: list[Settings] = []
    for part, widths in WIDTHS[scale].items():
        starts = [*((SIGNS, width) for width in widths), (ONES, widths[-1])]
        rows += [
            {"part": part, "activation": PARTS[part], "neurons": width, "outputs": start, "steps": STEPS[scale]}
            for start, width in starts
        ]
    return rows


def measure(cell: Cell) -> Numbers:
    """One training."""
    given = cell.settings
    figure = FIGURES[f"4{given['part']}{DESIGNS[str(given['outputs'])]}"]
    assert isinstance(figure, TrainingFigure)
    design = replace(figure.design, planted=1)
    curves = training_curves(
        design, neurons=int(given["neurons"]), inputs=figure.inputs, steps=int(given["steps"]), error_tol=ZERO,
        seed=cell.seed,
    )  # fmt: skip
    errors = curves.errors[0]
    # The last error stands at the end of a run that has ended.
    is_zero = bool(errors[-1] <= 1.0001 * ZERO)
    return {
        "weights": int(given["neurons"]) * figure.inputs / design.samples,
        "error": float(errors[-1]),
        "is_zero": float(is_zero),
        "steps": float(curves.steps[np.argmax(errors <= 1.0001 * ZERO)]) if is_zero else float("inf"),
        "times": curves.steps.astype(float).tolist(),
        "errors": errors.tolist(),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """One picture per activation, from random signs."""
    from unweave.reports.pictures.landscape import draw_trainings

    pictures = {}
    for part, name in PARTS.items():
        of_part = [row for row in rows if (row.settings["part"], row.settings["outputs"]) == (part, SIGNS)]
        curves = [
            TrainingCurves(
                int(row.settings["neurons"]),
                10 if part == "a" else 20,
                np.array(max(row.curves("times"), key=len), dtype=np.int64),
                _as_long(row.curves("errors")),
            )
            for row in of_part
        ]
        if curves:
            figure = draw_trainings(curves)
            figure.axes[0].set_title(name, fontsize="medium", loc="left")
            pictures[f"{name}.png"] = figure
    return pictures


def _as_long(curves: Sequence[Sequence[float]]) -> Float64[np.ndarray, "runs times"]:
    """Curves of one length: a run that reaches zero ends before others, and keeps its last error."""
    longest = max(map(len, curves))
    return np.array([[*each, *[each[-1]] * (longest - len(each))] for each in curves])


TITLE = "gradient descent on random labels: root of the loss"
COLUMNS = {
    "weights": "k d / n",
    "error": "root of the loss at the end",
    "is_zero": "reached 1e-5",
    "steps": "steps to 1e-5",
}
NOTES = (
    "[soltanolkotabi] reports a global minimum for k d > 1.5 n. The numbers of neurons of its curves and the step "
    "length are not printed; ours is set by the curvature at the start.",
    "The text trains 1^T phi(W x), with output weights of one; such a network can't answer with the negative half "
    "of the labels, as the rows with ones show. From random signs, which are trained, too, it can.",
)
