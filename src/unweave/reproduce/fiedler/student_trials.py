"""One trial of [fiedler, Sec. 1.3.1]: plant a shallow teacher, train a student, compare; and what its figures share."""

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.fiedler.shallow_trials import matched, neurons_of, uniform_difference
from unweave.reproduce.fiedler.students import StudentDescent, shallow_teacher

ERRORS = {
    "neurons": "neurons",
    "samples": "samples",
    "parameters": "parameters",
    "loss": "training MSE",
    "uniform": "uniform error",
    "weights": "largest weight error",
    "shifts": "shift error",
    "steps_taken": "gradient steps",
}
NOTES_OF_STUDENTS = (
    "Training is limited by gradient steps, not by minutes of a GPU, and sizes are smaller than published but at "
    "full size. Rates are for the "
    "mean squared error (1.10) as printed, without a factor 1/2.",
    "N(0, 0.05) is read as a standard deviation of 0.05, with which the tables of Section 4.4 agree; students begin "
    "with the "
    "distributions of their teachers. No numbers are printed in [fiedler]: its statements are about regimes.",
)
# Columns that are drawn, by their titles.
SHOWN = {
    "loss": "training MSE",
    "uniform": "uniform error",
    "weights": "largest weight error",
    "shifts": "shift error",
}


def student_trial(cell: Cell, *, samples: int, points: int = 100_000) -> Numbers:
    """Train a student on so many samples of a teacher, and compare both.

    Args:
        cell: with the settings `inputs`, `order`, `rate` and `steps`.
        samples: for training.
        points: Gaussian points of the uniform error.
    """
    given, inputs = cell.settings, int(cell.settings["inputs"])
    neurons = neurons_of(inputs, float(given["order"]))
    rng = np.random.default_rng([cell.seed, inputs, neurons, samples])
    truth = shallow_teacher(rng, inputs=inputs, neurons=neurons)
    training = rng.standard_normal((samples, inputs))
    descent = StudentDescent(rate=float(given["rate"]), steps=int(given["steps"]))
    ended = descent(shallow_teacher(rng, inputs=inputs, neurons=neurons), training, truth(training), rng)
    hidden, found = truth.layers[0], ended.network.layers[0]
    order = matched(found.weights, hidden.weights)
    return {
        "neurons": float(neurons),
        "samples": float(samples),
        "parameters": float(neurons * (inputs + 1)),
        "loss": ended.losses[-1],
        "uniform": uniform_difference(ended.network, truth, points, rng),
        "weights": float(np.max(np.min(scipy.spatial.distance.cdist(hidden.weights, found.weights), axis=1))),
        "shifts": float(np.linalg.norm(hidden.biases - found.biases[order])),
        "steps_taken": float(ended.steps),
    }


def well_sampled_trial(cell: Cell) -> Numbers:
    """Train one student on ``5/2 m D^2`` samples."""
    inputs = int(cell.settings["inputs"])
    neurons = neurons_of(inputs, float(cell.settings["order"]))
    return student_trial(cell, samples=int(np.ceil(2.5 * neurons * inputs**2)))
