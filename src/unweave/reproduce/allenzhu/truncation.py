"""[allenzhu, Fig. 8]: the truncated quadratic activation, with its derivatives measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave._kernels.truncated_square import truncated_square
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of arguments that are drawn, in units of the bound; beyond 2 the function is constant.
REACH, GRID = 3.0, 6_001
DRAWN = 121


def settings(_: Scale) -> Sequence[Settings]:
    """Bounds B' beyond which squares are cut off."""
    return [{"bound": bound} for bound in (1.0, 2.0, 4.0)]


def measure(cell: Cell) -> Numbers:
    """Height, and the largest first three derivatives by differences, in units of the bound."""
    bound = float(cell.settings["bound"])
    arguments = np.linspace(-REACH * bound, REACH * bound, GRID)
    values, step = truncated_square(arguments, bound), arguments[1] - arguments[0]
    derivatives = [np.diff(values, order) / step**order for order in (1, 2, 3)]
    inside = np.abs(arguments) <= bound
    rising = np.diff(values[arguments >= 0.0])
    return {
        "height": float(values[-1] / bound**2),
        "inside": float(np.max(np.abs(values[inside] - arguments[inside] ** 2)) / bound**2),
        "fall": float(max(0.0, -np.min(rising)) / bound**2),
        **{f"derivative_{order}": float(np.max(np.abs(each)) / bound) for order, each in enumerate(derivatives, 1)},
        "arguments": arguments[:: GRID // DRAWN].tolist(),
        "values": values[:: GRID // DRAWN].tolist(),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """The truncated square and the square."""
    from matplotlib.figure import Figure

    from unweave.reports.pictures.style import open_frame

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes, row = figure.add_subplot(), rows[0]
    arguments = np.array(row.curves("arguments")[0])
    axes.plot(arguments, arguments**2, ":", color="#64748b", label="z²")
    axes.plot(arguments, row.curves("values")[0], color="#c2410c", label="truncated")
    bound = float(row.settings["bound"])
    for place in (bound, 2 * bound):
        axes.axvline(place, color="#64748b", linewidth=0.6)
        axes.axvline(-place, color="#64748b", linewidth=0.6)
    axes.set_ylim(-0.2, 5.0 * bound**2)
    axes.set_xlabel(f"z (lines at the bound {bound:g} and at twice the bound)")
    axes.legend(frameon=False, loc="upper center")
    open_frame(axes)
    return {"figure.png": figure}


TITLE = "the truncated square with bound B'"
REPETITIONS = ONCE
COLUMNS = {
    "height": "B'' / B'^2",
    "inside": "distance to z^2 inside, over B'^2",
    "fall": "largest fall for z > 0",
    "derivative_1": "largest |first derivative| / B'",
    "derivative_2": "largest |second| / B'",
    "derivative_3": "largest |third| / B'",
}
NOTES = (
    "[allenzhu] asks for any monotone function with derivatives O(B') between B' and 2 B'; ours is a polynomial "
    "there that is twice differentiable, with a third derivative that jumps. [allenzhu] draws it without numbers.",
)
