"""[soltanolkotabi, Thm. 2.1]: squares with output weights of both signs: one minimum value, and strict saddles."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import pack_squares
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.saddles import smallest_eigenpair
from unweave.learn.quadratic.search import TrustRegion
from unweave.learn.quadratic.train import random_start
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

STARTS = 4


def settings(scale: Scale) -> Sequence[Settings]:
    """Few samples, as many as can be fitted, and twice as many; and with one negative output weight too few."""
    inputs = {Scale.QUICK: (4,), Scale.USUAL: (5, 10), Scale.FULL: (5, 10, 20, 40)}[scale]
    rows: list[Settings] = [
        {"inputs": each, "samples": samples, "positive": each, "negative": each}
        for each in inputs
        for samples in (each * (each + 1) // 3, each * (each + 1) // 2, each * (each + 1))
    ]
    return [*rows, {"inputs": 2, "samples": 6, "positive": 2, "negative": 1}]


def measure(cell: Cell) -> Numbers:
    """Losses that local searches reach, that of the global minimum, and the curvature at a saddle."""
    given, rng = {name: int(value) for name, value in cell.settings.items()}, np.random.default_rng(cell.seed)
    points = rng.standard_normal((given["samples"], given["inputs"]))
    labels = rng.standard_normal(given["samples"])
    if given["negative"] < given["inputs"]:
        # Labels that ask for as many negative squares as there are inputs.
        labels = 0.3 * labels - np.sum((points @ rng.standard_normal(2 * (given["inputs"],))) ** 2, axis=1)
    heights = np.concatenate([np.ones(given["positive"]), -np.ones(given["negative"])])
    problem = QuadraticProblem(points, labels, heights)
    test, unit = OptimalityTest.of(problem), float(labels @ labels) / (2 * len(labels))
    losses = [TrustRegion()(random_start(problem, rng), test, rng).loss / unit for _ in range(STARTS)]
    optimum = _least_squares(points, labels) / unit
    return {
        "optimum": optimum,
        "excess": max(losses) - optimum,
        "spread": max(losses) - min(losses),
        "curvature": saddle_curvature(problem, rng),
    }


def saddle_curvature(problem: QuadraticProblem, rng: np.random.Generator) -> float:
    """The lowest curvature at a saddle, in units of ``2 |R|`` for the residual matrix R there.

    The saddle is a minimum over the neurons of positive output weights, with zeros for all others, which have no
    gradient there.
    """
    upper = QuadraticProblem(problem.points, problem.labels, problem.output_weights[problem.positive])
    trained = TrustRegion()(random_start(upper, rng), OptimalityTest.of(upper), rng)
    weights = np.zeros((problem.neurons, problem.inputs))
    weights[problem.positive] = trained.weights
    state = problem.at(weights)
    lowest, _ = smallest_eigenpair(problem, state, rng)
    return lowest / (2.0 * float(np.linalg.norm(state.residual_matrix, 2)))


def _least_squares(points: np.ndarray, labels: np.ndarray) -> float:
    """The smallest loss over all quadratic forms."""
    squares = pack_squares(points)
    found, *_ = np.linalg.lstsq(squares, labels)
    return float(np.mean((squares @ found - labels) ** 2)) / 2


TITLE = "squares with fixed output weights of both signs, random labels: loss over that of zero weights"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 10, Scale.FULL: 20}
COLUMNS = {
    "optimum": "best quadratic form",
    "excess": f"worst of {STARTS} searches above it",
    "spread": "between the searches",
    "curvature": "curvature at a saddle, in 2 |R|",
}
NOTES = (
    "Up to d (d + 1) / 2 samples the best form explains all labels: that is the constant c of the theorem "
    "[soltanolkotabi, Lemma 5.6]. The curvature -1 is the one of the direction in the proof.",
    "The last row is outside of the theorem, with one negative output weight too few: the best form is out of "
    "reach, and searches of the same samples end at different losses for some seeds, which the CSV file shows.",
)
