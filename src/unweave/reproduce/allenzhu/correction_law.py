"""[allenzhu, Thm. 2 and Cor. F.3]: what level 3 does to the features of level 2, by alternating least squares."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.networks.quadratic.teacher import GaussianInputs, Inputs, UniformInputs
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES
from unweave.reproduce.allenzhu.traces import measure_correction_law
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTRIBUTIONS: dict[str, Inputs] = {"Gaussian": GaussianInputs(), "uniform": UniformInputs()}
WEIGHTS = (0.03, 0.1, 0.3)
# What the theorem says of the error of level 2 alone: it goes with the square of the weight of level 3.
SLOPE = 2.0


def settings(scale: Scale) -> Sequence[Settings]:
    """Sizes and distributions."""
    sizes = {
        Scale.QUICK: ((8, 2, 1, 1_000),),
        Scale.USUAL: ((12, 3, 2, 3_000),),
        Scale.FULL: ((20, 4, 2, 6_000), (30, 5, 2, 15_000)),
    }[scale]
    return [
        {"inputs": inputs, "level 2": lower, "level 3": upper, "samples": samples, "distribution": name}
        for inputs, lower, upper, samples in sizes
        for name in DISTRIBUTIONS
    ]


def measure(cell: Cell) -> Numbers:
    """The law: errors of level 2 for several weights of level 3, alone and after corrections."""
    given = cell.settings
    law = measure_correction_law(
        np.random.default_rng(cell.seed), distribution=DISTRIBUTIONS[str(given["distribution"])], weights=WEIGHTS,
        inputs=int(given["inputs"]), widths=(int(given["level 2"]), int(given["level 3"])),
        samples=int(given["samples"]), rounds=2,
    )  # fmt: skip
    alone = np.array([rounds[0] for rounds in law.errors])
    return {
        "slope": law.slope,
        # The constant of the statement: error / weight^2 should not depend on the weight.
        "constant": float(np.max(alone / np.square(law.weights))),
        "alone": float(alone[0]),
        "corrected": law.errors[0][1],
        "again": law.errors[0][2],
        "weights": list(law.weights),
        "errors_alone": alone.tolist(),
        "errors_corrected": [rounds[1] for rounds in law.errors],
        "errors_again": [rounds[2] for rounds in law.errors],
    }


def published(_: Settings) -> Mapping[str, float]:
    """The exponent of the statement."""
    return {"slope": SLOPE}


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Errors of level 2 against the weight of level 3."""
    from matplotlib.figure import Figure

    from unweave.reports.pictures.style import open_frame

    figure = Figure(figsize=(3.6 * len(rows) + 0.8, 3.6), layout="constrained")
    panels = figure.subplots(1, len(rows), squeeze=False)[0]
    for axes, row in zip(panels, rows, strict=True):
        weights = np.array(row.curves("weights")[0])
        lines = (("alone", "#1f2933"), ("corrected", "#c2410c"), ("again", "#1d4ed8"))
        for name, colour in lines:
            axes.loglog(weights, np.median(row.curves(f"errors_{name}"), axis=0), "o-", color=colour, label=name)
        first = float(np.median(row.curves("errors_alone"), axis=0)[0])
        axes.loglog(weights, first * (weights / weights[0]) ** SLOPE, ":", color="#64748b", label="slope 2")
        axes.set_title(
            f"{row.settings['distribution']}, {row.settings['inputs']} inputs", loc="left", fontsize="medium"
        )
        axes.set_xticks(weights, [f"{weight:g}" for weight in weights])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("weight of level 3")
        open_frame(axes)
    panels[0].set_ylabel("error of the features of level 2")
    panels[-1].legend(frameon=False, fontsize="small")
    return {"figure.png": figure}


TITLE = "error of the features of level 2 against the weight of level 3"
COLUMNS = {
    "slope": "slope of the error, level 2 alone",
    "constant": "error / weight^2, largest",
    "alone": f"error at weight {WEIGHTS[0]}: alone",
    "corrected": "corrected once",
    "again": "corrected again",
}
NOTES = (
    OTHER_SIZES,
    "The theorem: after training the first l levels, features of level l' are off by a constant times "
    "(alpha_(l+1)^2 + e^2) / alpha_l'^2. Level 2 alone is l = l' = 2. Corrections are least squares for both "
    "levels in turn, not descent; no constants are printed.",
)
