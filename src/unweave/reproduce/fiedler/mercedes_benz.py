"""The Mercedes-Benz frame [fiedler, Fig. 2.1]: three unit vectors in the plane, as far apart as possible."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.reports.pictures.style import ACCENT, INK, QUIET
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.incoherence import coherence, frame_constant, gramian_constant, welch_bound
from unweave.reproduce.fiedler.near_frames import random_atoms, span_of_squares, values_at
from unweave.reproduce.fiedler.shallow_pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def simplex_frame(inputs: int) -> np.ndarray:
    """Unit vectors to the corners of a regular simplex, one more than inputs; in the plane the Mercedes-Benz frame."""
    centred = np.eye(inputs + 1) - 1.0 / (inputs + 1)
    left, values, _ = np.linalg.svd(centred)
    corners = left[:, :inputs] * values[:inputs]
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def settings(scale: Scale) -> Sequence[Settings]:
    """The plane, and simplices in more dimensions."""
    return [{"inputs": inputs} for inputs in ((2, 3, 5) if scale is Scale.QUICK else (2, 3, 5, 10, 20, 60))]


def measure(cell: Cell) -> Numbers:
    """Measure frame bounds and coherence, and ``Phi`` of random directions."""
    inputs = int(cell.settings["inputs"])
    frame = simplex_frame(inputs)
    bounds = np.linalg.svd(frame, compute_uv=False) ** 2
    aside = random_atoms(np.random.default_rng(cell.seed), inputs=inputs, neurons=200)
    return {
        "lower": float(bounds[-1]),
        "upper": float(bounds[0]),
        "frame": frame_constant(frame),
        "coherence": coherence(frame),
        "welch": welch_bound(len(frame), inputs),
        "gramian": gramian_constant(frame),
        "aside": float(np.min(values_at(span_of_squares(frame), aside))),
        "vectors": frame.ravel().tolist(),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """The three vectors in the unit circle."""
    figure, (panel,) = panels(1, width=4.0, height=4.0)
    vectors = np.array(rows[0].curves("vectors")[0]).reshape(-1, 2)
    # One arrow up, as the star of the car is drawn.
    angle = np.pi / 2 - np.arctan2(vectors[0, 1], vectors[0, 0])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    around = np.linspace(0.0, 2 * np.pi, 200)
    panel.plot(np.cos(around), np.sin(around), color=QUIET, linewidth=1.0)
    for number, (across, up) in enumerate(vectors @ turn.T, start=1):
        panel.annotate(
            "", (across, up), (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": ACCENT, "linewidth": 2.0}
        )
        panel.text(1.15 * across, 1.12 * up, f"$w_{number}$", color=INK, ha="center", va="center")
    panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    panel.set_axis_off()
    return {"mercedes-benz.png": figure}


TITLE = "simplex frames: tight, and as incoherent as unit vectors can be"
REPETITIONS = ONCE
COLUMNS = {
    "lower": "lower frame bound",
    "upper": "upper frame bound",
    "frame": "nu",
    "coherence": "largest cosine",
    "welch": "Welch bound",
    "gramian": "c3",
    "aside": "smallest Phi of 200 random directions",
}
NOTES = (
    "In the plane three squares span all symmetric matrices, so that Phi is 1 in every direction: the frame is "
    "tight, and nothing "
    "can be recovered from its span.",
)
