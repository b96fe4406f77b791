"""Shallow students over the number of inputs, with the same rate and length of training [fiedler, Fig. 1.3]."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unweave.reproduce.experiment import Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import draw_squares
from unweave.reproduce.fiedler.student_trials import ERRORS, NOTES_OF_STUDENTS, SHOWN, well_sampled_trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inputs, powers of the inputs that make neurons, gradient steps.
SIZES = {
    Scale.QUICK: ((8, 12), (0.5, 1.0, 1.5), 8_000),
    Scale.USUAL: ((8, 12, 16), (0.5, 1.0, 1.5, 2.0), 25_000),
    Scale.FULL: (
        (15, 20, 25, 30, 35, 40, 45, 50),
        (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.875, 2.0),
        1_000_000,
    ),
}
RATE = 0.005


def settings(scale: Scale) -> Sequence[Settings]:
    """Inputs and orders of neurons."""
    inputs, orders, steps = SIZES[scale]
    return [{"inputs": each, "order": order, "rate": RATE, "steps": steps} for each in inputs for order in orders]


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Four errors by inputs and order of neurons."""
    return {"wider-students.png": draw_squares(rows, "inputs", "order", SHOWN)}


measure = well_sampled_trial
TITLE = "shallow students by stochastic descent, over inputs and neurons"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 4}
COLUMNS = ERRORS
NOTES = NOTES_OF_STUDENTS
