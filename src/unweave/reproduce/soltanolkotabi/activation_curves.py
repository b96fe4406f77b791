"""[soltanolkotabi, Fig. 1]: the activations of Example 2.4, and which case of Assumption 2.3 each of them is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.activations import ERF, RELU, SIGMOID, TANH, Activation, softplus
from unweave.explore.landscape.figures import FIGURES, ActivationFigure
from unweave.learn.overparameterized.conditions import activation_constants, mean_curvature, mean_slope
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each drawn function is `height g(scale t)` of one of the library's.
DRAWN: dict[str, tuple[Activation, float, float]] = {
    "softplus, b = 4": (softplus(4.0), 1.0, 1.0),
    "sigmoid, b = 4": (SIGMOID, 1.0, 4.0),
    "erf": (ERF, float(np.sqrt(2.0)), float(np.sqrt(0.5))),
    "tanh": (TANH, 1.0, 1.0),
    "relu": (RELU, 1.0, 1.0),
}
CASES = {"a": 1.0, "b": 2.0, "outside": 0.0}


def settings(_: Scale) -> Sequence[Settings]:
    """All functions of the picture."""
    return [{"activation": name} for name in DRAWN]


def measure(cell: Cell) -> Numbers:
    """The curve, and the means over a Gaussian of variance 1 of its slope and its curvature."""
    name = str(cell.settings["activation"])
    figure, (activation, height, scale) = FIGURES["1"], DRAWN[name]
    assert isinstance(figure, ActivationFigure)
    return {
        "slope": height * scale * mean_slope(activation, scale),
        "curvature": height * scale**2 * mean_curvature(activation, scale),
        "case": CASES[activation_constants(activation).case],
        "arguments": figure.arguments.tolist(),
        "values": figure.functions[name](figure.arguments).tolist(),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """The figure."""
    from unweave.reports.pictures.landscape import draw_activations

    curves = {str(row.settings["activation"]): np.array(row.curves("values")[0]) for row in rows}
    shown = ActivationFigure(
        {name: lambda _, curve=curve: curve for name, curve in curves.items()}, np.array(rows[0].curves("arguments")[0])
    )
    return {"figure.png": draw_activations(shown)}


TITLE = "activations with b = 4"
REPETITIONS = ONCE
COLUMNS = {
    "slope": "mean slope mu(1)",
    "curvature": "mean curvature gamma(1)",
    "case": "case of Assumption 2.3 (1: a, 2: b, 0: outside)",
}
NOTES = (
    "The erf of Example 2.4 is an integral of exp(-t^2 / 2), which is sqrt(2) erf(z / sqrt 2) in usual notation.",
    "The relu has no second derivative and is outside of the assumption, though its mean curvature is not zero.",
)
