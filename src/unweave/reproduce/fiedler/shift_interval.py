"""Shifts that the second derivative of an activation tells apart [fiedler, Fig. 3.1 and Ex. 3.1]."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.activations import SIGMOID, TANH, Activation
from unweave.reports.pictures.style import ACCENT, INK, QUIET, plain
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_model import monotone_limit
from unweave.reproduce.fiedler.shallow_pictures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ACTIVATIONS: dict[str, Activation] = {"tanh": TANH, "sigmoid": SIGMOID}
# What [fiedler, Ex. 3.1] takes as largest shift.
PUBLISHED = {"tanh": 0.6, "sigmoid": 1.5}
RANGE, POINTS = 3.0, 241


def settings(_: Scale) -> Sequence[Settings]:
    """Both activations."""
    return [{"activation": name} for name in ACTIVATIONS]


def measure(cell: Cell) -> Numbers:
    """Find where the second derivative turns, and what the conditions (SNM1) and (SNM2) ask for."""
    name = str(cell.settings["activation"])
    activation, limit = ACTIVATIONS[name], monotone_limit(ACTIVATIONS[name])
    inside = np.linspace(-PUBLISHED[name], PUBLISHED[name], 2_001)
    shifts = np.linspace(-limit, limit, 41)
    high = [_high_part(activation, shift, order) for order in (1, 2) for shift in shifts]
    arguments = np.linspace(-RANGE, RANGE, POINTS)
    return {
        "limit": limit,
        "kappa": max(activation.supremum(order) for order in (1, 2, 3)),
        "least_third": float(np.min(np.abs(activation(inside, 3)))),
        "turns": float(np.ptp(np.sign(np.diff(activation(inside, 2)))) > 0),
        "first": min(high[: len(shifts)]),
        "second": min(high[len(shifts) :]),
        "arguments": arguments.tolist(),
        "curve": activation(arguments, 2).tolist(),
    }


def _high_part(activation: Activation, shift: float, order: int) -> float:
    """Squared Hermite coefficients of degree four and more: 0 for polynomials of degree three."""
    coefficients = activation.hermite_coefficients(40, scale=1.0, bias=float(shift), order=order)
    return float(np.sum(coefficients[4:] ** 2))


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Second derivatives with the interval in which shifts can be read off."""
    figure, axes = panels(len(rows))
    for panel, row in zip(axes, rows, strict=True):
        name, limit = str(row.settings["activation"]), row.values("limit")[0]
        panel.axvspan(-limit, limit, color=ACCENT, alpha=0.15)
        for side in (-1, 1):
            panel.axvline(side * PUBLISHED[name], color=QUIET, linestyle=":")
        panel.plot(row.curves("arguments")[0], row.curves("curve")[0], color=INK)
        panel.set(xlabel="shift t", ylabel=f"second derivative of {name}")
        # Above the axes: lines and shades leave no room for a legend between them.
        words = f"shaded: one to one, |t| < {limit:.3f}; dotted: published, {PUBLISHED[name]:g}"
        panel.set_title(words, fontsize="small", loc="left")
        plain(panel)
    return {"shift-interval.png": figure}


def published(given: Settings) -> dict[str, float]:
    """Give half the interval of the activation."""
    return {"limit": PUBLISHED[str(given["activation"])]}


TITLE = "interval of recoverable shifts: where the second derivative is monotone"
REPETITIONS = ONCE
COLUMNS = {
    "limit": "largest shift",
    "kappa": "kappa",
    "least_third": "smallest |g'''| up to the published one",
    "turns": "g'' turns before the published one (1 or 0)",
    "first": "high part of g' (> 0)",
    "second": "high part of g'' (> 0)",
}
NOTES = (
    "For the sigmoid 1.5 is printed, but its second derivative turns at log(2 + sqrt 3) = 1.317: shifts between "
    "have a twin.",
    "High parts are squared Hermite coefficients of degree four and more, the smallest over all admissible "
    "shifts: (SNM2) asks that "
    "they are not 0.",
)
