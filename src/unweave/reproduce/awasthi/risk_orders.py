"""[awasthi, Prop. 3.6]: the risk between two networks as a sum over tensors, beside its closed form and samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.networks.planted import relu_network
from unweave.reports.pictures.style import COLOURS, open_frame
from unweave.reproduce.awasthi.pictures import SIZE
from unweave.reproduce.awasthi.risk import population_risk, risk_by_order
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INPUTS, NEURONS = 6, 4
SAMPLES = {Scale.QUICK: 200_000, Scale.USUAL: 2_000_000, Scale.FULL: 20_000_000}
HIGHEST, BLOCK = 80, 200_000
CASES = {"biases up to 1.2": 1.2, "biases up to 3": 3.0, "no biases": 0.0}


def settings(scale: Scale) -> list[Settings]:
    """Give all kinds of biases."""
    return [{"biases": case, "samples": SAMPLES[scale]} for case in CASES]


def measure(cell: Cell) -> Numbers:
    """Compute the risk in closed form, by samples and order by order."""
    rng, largest = np.random.default_rng(cell.seed), CASES[str(cell.settings["biases"])]
    one, other = (relu_network(rng, inputs=INPUTS, neurons=NEURONS, largest_bias=largest) for _ in range(2))
    risk = population_risk(one, other)
    sums = np.cumsum(risk_by_order(one, other, highest=HIGHEST))
    means = []
    for _ in range(int(cell.settings["samples"]) // BLOCK):
        points = rng.standard_normal((BLOCK, INPUTS))
        means.append(float(np.mean((one(points) - other(points)) ** 2)))
    return {
        "risk": risk,
        "samples": float(np.mean(means)),
        "order 4": float(1 - sums[4] / risk),
        "order 20": float(1 - sums[20] / risk),
        "last": float(1 - sums[-1] / risk),
        "rest": (1 - sums / risk).tolist(),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw what is left of the risk over the order."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    for row, colour in zip(rows, COLOURS, strict=False):
        curves = np.array(row.curves("rest"))
        orders = np.arange(1, curves.shape[1] + 1)
        axes.plot(orders, np.median(curves, axis=0), color=colour, label=str(row.settings["biases"]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("terms of the sum (orders 0, 1, 2, ...)")
    axes.set_ylabel("share of the risk that is left")
    open_frame(axes)
    axes.legend(frameon=False, fontsize="small")
    return {"orders.png": figure}


TITLE = "the population risk in closed form, and as a sum over tensors"
COLUMNS = {
    "risk": "risk in closed form",
    "samples": "mean over samples",
    "order 4": "share left after order 4",
    "order 20": "after order 20",
    "last": f"after order {HIGHEST}",
}
NOTES = (
    f"{INPUTS} inputs, {NEURONS} neurons in both networks. The sum of [awasthi, Prop. 3.6] is exact in the limit; "
    "its terms fall slowly, because a kink has all orders.",
)
