"""Picture of trainings [soltanolkotabi, Fig. 4]."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from unweave.reproduce.soltanolkotabi.training_curves import TrainingCurves

COLOURS = ("#0f766e", "#c2410c", "#1d4ed8", "#7c3aed", "#a16207", "#be185d")


def draw_trainings(curves: Sequence[TrainingCurves]) -> Figure:
    """Draw the root of the loss against gradient steps, one colour per number of neurons."""
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for colour, curve in zip(cycle(COLOURS), curves, strict=False):
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
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    return figure
