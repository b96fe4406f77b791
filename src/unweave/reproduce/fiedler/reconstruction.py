"""Shallow networks identified by [fiedler, Alg. 3.1 to 3.3]: Table 3.2 and Figure 3.3."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import draw_squares
from unweave.reproduce.fiedler.shallow_trials import ORDERS, trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# [fiedler, Table 3.2]: seconds on a GPU for weights, signs and first shifts; columns are the orders.
SECONDS = {
    20: (4.58, 4.53, 4.75, 4.76, 5.25, 5.89, 6.33, 6.6, 7.63),
    25: (5.7, 5.67, 5.75, 6.19, 7.02, 8.38, 9.52, 10.3, 11.4),
    30: (6.77, 6.87, 6.93, 7.44, 8.53, 10.6, 12.6, 14.7, 17.4),
    35: (8.35, 8.41, 8.49, 9.3, 10.6, 13.8, 18.3, 22.1, 27.5),
    40: (9.89, 9.95, 10.3, 11.1, 12.8, 18.2, 26.5, 33.0, 43.1),
    45: (12.3, 12.4, 12.9, 13.6, 16.0, 25.1, 38.4, 50.7, 70.8),
    50: (15.0, 15.2, 15.7, 16.7, 19.9, 34.1, 57.2, 79.8, 113.0),
}
SIZES: Mapping[Scale, tuple[tuple[int, ...], tuple[float, ...]]] = {
    Scale.QUICK: ((10, 20), (0.5, 1.0, 1.25)),
    Scale.USUAL: ((10, 15, 20), (0.5, 0.75, 1.0, 1.25, 1.5)),
    Scale.FULL: (tuple(SECONDS), ORDERS),
}
POINTS = {Scale.QUICK: 20_000, Scale.USUAL: 100_000, Scale.FULL: 1_000_000}
# Columns that Figure 3.4 has, too.
COLUMNS = {
    "neurons": "neurons",
    "found": "share of weights found",
    "false": "false weights",
    "weights": "largest weight error",
    "span": "error of the span",
    "alpha": "alpha",
    "signs": "share of right signs",
    "first_shifts": "shift error before descent",
    "shifts": "after",
    "first_uniform": "uniform error before descent",
    "uniform": "after",
    "epochs": "epochs",
    "queries": "queries",
    "seconds": "CPU s to first shifts (published: s on a GPU)",
    "descent_seconds": "CPU s of descent",
}
NOTES = (
    "The method and its settings are those of [fiedler, Sec. 3.6], but that descent ends after 40 epochs instead of "
    "180 s of a GPU; the mean "
    "squared error at which it ends is 1e-8, which small networks reach before the first step: their shifts stay as "
    "they are.",
    "Seconds are CPU seconds of one core here, and seconds of a Tesla P100 there: they tell the growth, not the speed.",
    "Weight errors are the largest distance of a true weight to the nearest found one, shift errors Euclidean "
    "distances, uniform "
    "errors the largest on Gaussian points (10^6 at full size). Curves of errors are printed without numbers.",
)


def settings(scale: Scale) -> Sequence[Settings]:
    """Inputs, and the power of the inputs that makes the neurons."""
    inputs, orders = SIZES[scale]
    return [{"inputs": each, "order": order, "points": POINTS[scale]} for each in inputs for order in orders]


def measure(cell: Cell) -> Numbers:
    """Plant, identify and compare."""
    return trial(cell, points=int(cell.settings["points"]))


def published(given: Settings) -> dict[str, float]:
    """Seconds of [fiedler, Table 3.2], and that all signs were right."""
    inputs, order = int(given["inputs"]), float(given["order"])
    if inputs not in SECONDS or order not in ORDERS:
        return {}
    return {"seconds": SECONDS[inputs][ORDERS.index(order)], "signs": 1.0}


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """The three errors by inputs and order of neurons, as in Figure 3.3."""
    shown = {"uniform": "uniform error", "weights": "largest weight error", "shifts": "shift error"}
    return {"reconstruction.png": draw_squares(rows, "order", "inputs", shown)}


TITLE = "shallow networks by Hessians, subspace power method, derivatives at the origin and descent on the shifts"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 10}
