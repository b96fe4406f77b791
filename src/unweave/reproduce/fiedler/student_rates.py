"""Shallow students with several rates and longer training [fiedler, Fig. 1.4]."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unweave.reports.pictures.style import legend_above
from unweave.reproduce.experiment import Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import COLOURS, draw_lines, panels
from unweave.reproduce.fiedler.student_trials import ERRORS, NOTES_OF_STUDENTS, SHOWN, well_sampled_trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inputs, powers of the inputs that make neurons, rates, gradient steps.
SIZES = {
    Scale.QUICK: (10, (0.5, 1.0, 1.5), (0.01, 0.0025), 10_000),
    Scale.USUAL: (12, (0.5, 1.0, 1.5, 2.0), (0.02, 0.01, 0.005, 0.0025), 25_000),
    Scale.FULL: (
        50,
        (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.875, 2.0),
        (0.01, 0.005, 0.0025, 0.00125, 0.000625),
        5_000_000,
    ),
}


def settings(scale: Scale) -> Sequence[Settings]:
    """Rates and orders of neurons."""
    inputs, orders, rates, steps = SIZES[scale]
    return [{"inputs": inputs, "order": order, "rate": rate, "steps": steps} for rate in rates for order in orders]


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Four errors over the order of neurons, one line per rate."""
    figure, axes = panels(len(SHOWN))
    rates = list(dict.fromkeys(float(row.settings["rate"]) for row in rows))
    for panel, (column, title) in zip(axes, SHOWN.items(), strict=True):
        for colour, rate in zip(COLOURS, rates, strict=False):
            label = f"rate {rate:g}" if panel is axes[0] else "_"
            chosen = [row for row in rows if row.settings["rate"] == rate]
            draw_lines(panel, chosen, "order", {column: (label, colour, "o-")})
        panel.set_ylabel(title)
    return {"student-rates.png": legend_above(figure, columns=len(rates))}


measure = well_sampled_trial
TITLE = "shallow students by stochastic descent, over rates and neurons"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 3}
COLUMNS = ERRORS
NOTES = (
    *NOTES_OF_STUDENTS,
    "The rates of the figure are not in the text that was read; ours are halved from one to the next.",
)
