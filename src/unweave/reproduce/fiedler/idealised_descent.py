"""Descent on the shifts beside descent on the idealised objective [fiedler, Fig. 3.2, (3.83) to (3.86)]."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from unweave.activations import TANH
from unweave.arrays import Atoms, PerNeuron, Points
from unweave.networks.planted import unit_network
from unweave.reports.pictures.style import ACCENT, INK, plain
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import COLOURS, mean_curve, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


STEPS = {Scale.QUICK: 200, Scale.USUAL: 1_000, Scale.FULL: 10_000}
NEURONS = {Scale.QUICK: (2, 8), Scale.USUAL: (2, 12, 36), Scale.FULL: (2, 36, 160)}
# Length of the errors of all shifts at the start, and of every weight.
FIRST, WEIGHT_ERRORS = 0.3, (0.0, 0.02)
INPUTS, POINTS_ON_CURVE = 12, 60


@dataclass(frozen=True)
class ShiftProblem:
    """Shifts of a student with frozen weights, on given points, and the idealised objective at the true shifts."""

    weights: Atoms
    points: Points
    target: Float64[np.ndarray, "points"]
    shifts: PerNeuron

    def gradient(self, shifts: PerNeuron) -> PerNeuron:
        """Of the objective J (3.10)."""
        arguments = self.points @ self.weights.T + shifts
        return (np.sum(TANH(arguments), axis=1) - self.target) @ TANH(arguments, 1) / len(self.points)

    def loss(self, shifts: PerNeuron) -> float:
        """The objective J."""
        return float(np.mean((np.sum(TANH(self.points @ self.weights.T + shifts), axis=1) - self.target) ** 2) / 2)

    def curvature(self) -> Float64[np.ndarray, "neurons neurons"]:
        """Twice the matrix A of (3.84), which is the Hessian of the idealised objective (3.83)."""
        slopes = TANH(self.points @ self.weights.T + self.shifts, 1)
        return slopes.T @ slopes / len(self.points)


def plant(cell: Cell) -> tuple[ShiftProblem, PerNeuron]:
    """Plant a network, disturb weights and shifts, and give the problem with its start."""
    neurons, disturbed = int(cell.settings["neurons"]), float(cell.settings["weight_error"])
    rng = np.random.default_rng([cell.seed, neurons])
    truth = unit_network(rng, inputs=INPUTS, neurons=neurons)
    hidden = truth.layers[0]
    points = rng.standard_normal((max(2_000, 20 * neurons), INPUTS))
    weights = hidden.weights + disturbed * _units(rng.standard_normal(hidden.weights.shape))
    away = rng.standard_normal(neurons)
    problem = ShiftProblem(_units(weights), points, truth(points)[:, 0], hidden.biases)
    return problem, hidden.biases + FIRST * away / np.linalg.norm(away)


def settings(scale: Scale) -> Sequence[Settings]:
    """Neurons, errors of weights, steps."""
    return [
        {"neurons": neurons, "weight_error": error, "steps": STEPS[scale]}
        for neurons in NEURONS[scale]
        for error in WEIGHT_ERRORS
    ]


def measure(cell: Cell) -> Numbers:
    """Descend on both objectives from the same start with the same step."""
    problem, start = plant(cell)
    curvature = problem.curvature()
    values = np.linalg.eigvalsh(curvature)
    rate, truth = 1.0 / values[-1], problem.shifts
    path, ideal = [start], [start]
    for _ in range(int(cell.settings["steps"])):
        path.append(path[-1] - rate * problem.gradient(path[-1]))
        ideal.append(ideal[-1] - rate * curvature @ (ideal[-1] - truth))
    shown = np.unique(np.geomspace(1, len(path), POINTS_ON_CURVE).astype(int)) - 1
    errors, ideals, drifts = (
        np.linalg.norm(np.subtract(one, other), axis=1) for one, other in ((path, truth), (ideal, truth), (path, ideal))
    )
    numbers: Numbers = {
        "least": float(values[0] / 2),
        "condition": float(values[-1] / values[0]),
        "first": float(errors[0]),
        "last": float(errors[-1]),
        "ideal": float(ideals[-1]),
        "drift": float(np.max(drifts)),
        "rises": float(sum(after > before * (1 + 1e-9) for before, after in pairwise(ideals))),
        "steps_shown": shown.astype(float).tolist(),
        "errors": errors[shown].tolist(),
        "ideals": ideals[shown].tolist(),
    }
    return numbers | (_plane(problem, path, ideal) if len(start) == 2 else {})


def _plane(problem: ShiftProblem, path: list[PerNeuron], ideal: list[PerNeuron]) -> Numbers:
    """The objective on a grid around the true shifts, and both ways, relative to these."""
    grid = np.linspace(-1.2 * FIRST, 1.2 * FIRST, 25)
    losses = [problem.loss(problem.shifts + np.array([across, up])) for up in grid for across in grid]
    return {
        "grid": grid.tolist(),
        "losses": losses,
        "path": (np.array(path[:POINTS_ON_CURVE]) - problem.shifts).ravel().tolist(),
        "ideal_path": (np.array(ideal[:POINTS_ON_CURVE]) - problem.shifts).ravel().tolist(),
    }


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """The plane of two shifts with both ways, and distances to the true shifts over the steps."""
    plane = [row for row in rows if row.curves("grid")]
    figure, axes = panels(2, width=5.2, height=4.4)
    _draw_plane(axes[0], plane[-1])
    for colour, row in zip(COLOURS, rows, strict=False):
        steps = row.curves("steps_shown")[0]
        label = f"{row.settings['neurons']} neurons, weights off by {row.settings['weight_error']:g}"
        axes[1].plot(steps, mean_curve(row, "errors"), color=colour, label=label)
        axes[1].plot(steps, mean_curve(row, "ideals"), "--", color=colour)
    axes[1].set(xscale="symlog", yscale="log", xlabel="steps (dashed: idealised)", ylabel="distance to the true shifts")
    axes[1].legend(frameon=False, fontsize="x-small")
    plain(axes[1])
    return {"idealised-descent.png": figure}


def _draw_plane(panel: "Axes", row: Row) -> None:
    grid = np.array(row.curves("grid")[0])
    losses = np.array(row.curves("losses")[0]).reshape(len(grid), len(grid))
    panel.contour(grid, grid, losses, levels=14, colors=INK, alpha=0.3, linewidths=0.8)
    for name, style, size, label in (("path", "o-", 7, "descent on J"), ("ideal_path", "s--", 3, "idealised descent")):
        way = np.array(row.curves(name)[0]).reshape(-1, 2)
        panel.plot(*way.T, style, color=ACCENT if name == "path" else COLOURS[2], markersize=size, label=label)
    panel.plot(0.0, 0.0, "*", color=INK, markersize=12, label="true shifts")
    panel.set(xlabel="error of the first shift", ylabel="error of the second shift", aspect="equal")
    panel.legend(frameon=True, fontsize="x-small", loc="best")
    plain(panel)


TITLE = "descent on the shifts stays near descent on the idealised, strictly convex objective"
COLUMNS = {
    "least": "smallest eigenvalue of A",
    "condition": "its condition",
    "first": "distance at the start",
    "last": "distance at the end",
    "ideal": "idealised, at the end",
    "drift": "largest distance of both ways",
    "rises": "steps away of the idealised (0)",
}
NOTES = (
    "[fiedler, Fig. 3.2] is a sketch; here both ways are computed on a planted network, with the step one over "
    "the largest "
    "eigenvalue. With exact weights both ends are the true shifts; with weights that are off, descent ends near "
    "them.",
    "(3.83) and (3.85) differ by a factor of 2 in the gradient; here the gradient is that of (3.83), the "
    "linearisation of J.",
)
