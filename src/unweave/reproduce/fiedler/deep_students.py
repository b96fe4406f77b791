"""Deep students of deep teachers by stochastic descent [fiedler, Fig. 1.5]: relative uniform error over the epochs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.activations import TANH
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.reports.pictures.style import legend_above, plain
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings
from unweave.reproduce.fiedler.shallow_pictures import COLOURS, mean_curve, panels
from unweave.reproduce.fiedler.students import DEEP_SHIFTS, StudentDescent, uniform_relative

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inputs and widths, outputs last; powers of the inputs in the number of samples; rates; gradient steps.
SIZES: Mapping[Scale, tuple[tuple[str, ...], tuple[int, ...], tuple[float, ...], int]] = {
    Scale.QUICK: (("10-10-5-3", "10-10-7-5-3"), (2,), (0.5, 0.125, 2**-6), 4_000),
    Scale.USUAL: (("20-20-10-5", "20-20-14-10-5"), (2, 3), (0.5, 0.25, 0.125, 2**-6), 8_000),
    Scale.FULL: (
        ("50-50-25-10", "50-50-35-25-10"),
        (2, 3),
        (0.5, 0.25, 0.125, 2**-4, 2**-6, 2**-8),
        5_000_000,
    ),
}
BATCH, LOOKS, POINTS = 32, 40, 20_000


def settings(scale: Scale) -> Sequence[Settings]:
    """Shapes, samples and rates."""
    shapes, powers, rates, steps = SIZES[scale]
    return [
        {"shape": shape, "samples": f"D^{power} m", "rate": rate, "steps": steps}
        for shape in shapes
        for power in powers
        for rate in rates
    ]


def teacher(rng: np.random.Generator, shape: Sequence[int]) -> Network:
    """Draw a teacher, or the start of a student: tanh in every layer."""
    return deep_network(rng, shape=shape, activation=TANH, output_activation=TANH, shift_deviation=DEEP_SHIFTS)


def measure(cell: Cell) -> Numbers:
    """Train one student, and measure its error on the way."""
    shape = [int(width) for width in str(cell.settings["shape"]).split("-")]
    rng = np.random.default_rng([cell.seed, *shape])
    truth, student = teacher(rng, shape), teacher(rng, shape)
    samples = shape[0] ** int(str(cell.settings["samples"])[2]) * sum(shape[1:])
    points = rng.standard_normal((samples, shape[0]))
    descent = StudentDescent(
        rate=float(cell.settings["rate"]),
        batch=BATCH,
        steps=int(cell.settings["steps"]),
        looks=LOOKS,
        trains_outputs=True,
        keeps_networks=True,
    )
    ended = descent(student, points, truth(points), rng)
    fresh = rng.standard_normal((POINTS, shape[0]))
    errors = [uniform_relative(each, truth, fresh) for each in ended.networks]
    return {
        "count": float(samples),
        "first": errors[0],
        "last": errors[-1],
        "loss": ended.losses[-1],
        "epochs": ended.steps * BATCH / samples,
        "errors": errors,
        "looks": [float(step) for step in ended.looks],
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """One panel per shape and number of samples, one line per rate, and each repetition behind it."""
    groups = list(dict.fromkeys((row.settings["shape"], row.settings["samples"]) for row in rows))
    rates = list(dict.fromkeys(row.settings["rate"] for row in rows))
    figure, axes = panels(len(groups))
    for panel, group in zip(axes, groups, strict=True):
        for row in (row for row in rows if (row.settings["shape"], row.settings["samples"]) == group):
            colour, mean = COLOURS[rates.index(row.settings["rate"])], mean_curve(row, "errors")
            steps = row.curves("looks")[0][: len(mean)]
            for looks, errors in zip(row.curves("looks"), row.curves("errors"), strict=True):
                panel.plot(looks, errors, color=colour, alpha=0.25, linewidth=0.8)
            label = f"rate {row.settings['rate']:.3g}" if panel is axes[0] else "_"
            panel.plot(steps, mean, color=colour, linewidth=1.8, label=label)
        panel.set(yscale="log", xlabel="gradient steps", ylabel="relative uniform error")
        panel.set_title(f"{group[0]}, {group[1]} samples", fontsize="medium")
        plain(panel)
    return {"deep-students.png": legend_above(figure, columns=len(rates))}


TITLE = "deep students by stochastic descent, over rates and samples"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 5}
COLUMNS = {
    "count": "samples",
    "first": "relative uniform error at the start",
    "last": "at the end",
    "loss": "training MSE",
    "epochs": "epochs",
}
NOTES = (
    "[fiedler] trains shapes 50-50-25-10 and 50-50-35-25-10 for two hours of a GPU and prints curves without "
    "numbers; what the text says: "
    "larger rates do better, more samples do not help, and with four layers the error stays near 0.1.",
    "Here steps are limited. m is the number of all neurons; the output layer is tanh as the others; errors are "
    "squared and summed over "
    "outputs as in (1.12), whereas a mean over outputs would be a smaller rate. N(0, 0.005) is read as a "
    "standard deviation.",
)
