"""Shallow students by samples and neurons [fiedler, Fig. 1.2]: where descent identifies, overfits, and fails."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import draw_squares
from unweave.reproduce.fiedler.student_trials import ERRORS, NOTES_OF_STUDENTS, SHOWN, student_trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inputs, powers of the inputs that make samples and neurons, gradient steps.
SIZES = {
    Scale.QUICK: (10, (1.5, 2.5, 3.5), (0.5, 1.0, 1.75), 10_000),
    Scale.USUAL: (10, (1.5, 2.0, 2.5, 3.0, 3.5), (0.5, 1.0, 1.5, 2.0), 25_000),
    Scale.FULL: (
        25,
        (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0),
        (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.875, 2.0),
        1_000_000,
    ),
}
RATE = 0.005


def settings(scale: Scale) -> Sequence[Settings]:
    """Powers of the inputs that make samples and neurons."""
    inputs, samples, orders, steps = SIZES[scale]
    return [
        {"inputs": inputs, "samples order": power, "order": order, "rate": RATE, "steps": steps}
        for power in samples
        for order in orders
    ]


def measure(cell: Cell) -> Numbers:
    """Train one student."""
    samples = int(np.ceil(int(cell.settings["inputs"]) ** float(cell.settings["samples order"]) - 1e-9))
    return student_trial(cell, samples=samples)


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Four errors by order of neurons and order of samples."""
    return {"shallow-students.png": draw_squares(rows, "samples order", "order", SHOWN)}


TITLE = "shallow students by stochastic descent, over samples and neurons"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 5}
COLUMNS = ERRORS
NOTES = NOTES_OF_STUDENTS
