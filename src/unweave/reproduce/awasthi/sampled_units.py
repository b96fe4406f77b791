"""[awasthi, Alg. 4 and Thm. 5.1]: neurons up to signs from samples, with thresholds from measured noise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.measured_noise import measured_thresholds, noisy_tensors, recover_measured
from unweave.reproduce.awasthi.pictures import draw_by_samples
from unweave.reproduce.awasthi.unit_errors import FOUND_COLUMNS, found_numbers
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inputs, neurons, order and numbers of samples.
SIZES = {
    Scale.QUICK: [(5, 3, 1, (10_000, 100_000, 1_000_000)), (4, 5, 2, (100_000, 1_000_000))],
    Scale.USUAL: [(5, 3, 1, (10_000, 100_000, 1_000_000, 4_000_000)), (4, 5, 2, (100_000, 1_000_000, 4_000_000))],
    Scale.FULL: [
        (5, 3, 1, (10_000, 100_000, 1_000_000, 10_000_000)),
        (10, 5, 1, (100_000, 1_000_000, 10_000_000)),
        (4, 5, 2, (100_000, 1_000_000, 10_000_000)),
    ],
}
MOMENTS = ("plain", "controlled")


def settings(scale: Scale) -> list[Settings]:
    """Give sizes, orders, estimators of moments and samples."""
    return [
        {"inputs": d, "neurons": m, "order": order, "moments": moments, "samples": samples}
        for d, m, order, counts in SIZES[scale]
        for moments in MOMENTS
        for samples in counts
    ]


def measure(cell: Cell) -> Numbers:
    """Recover neurons up to their signs from samples."""
    inputs, neurons, order, samples = (int(cell.settings[name]) for name in ("inputs", "neurons", "order", "samples"))
    rng = np.random.default_rng(cell.seed)
    truth = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=(0.0, 1.0))
    points = rng.standard_normal((samples, inputs))
    is_controlled = cell.settings["moments"] == "controlled"
    noisy = noisy_tensors(points, truth(points), highest=2 * order + 2, is_controlled=is_controlled)
    thresholds = measured_thresholds(noisy, order=order)
    units = recover_measured(noisy, order=order, most_neurons=2 * neurons, rng=rng)
    return {
        **found_numbers(units, truth, is_signed=False),
        "odd threshold": thresholds.singular_values[0],
        "even threshold": thresholds.singular_values[1],
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw errors over samples."""
    words = "median error of a neuron"
    return {"errors.png": draw_by_samples(rows, "median error", words=words, groups=("moments", "inputs", "neurons"))}


TITLE = "neurons up to signs from samples"
COLUMNS = FOUND_COLUMNS | {"odd threshold": "eta_1 of the odd tensor", "even threshold": "eta_1 of the even tensor"}
NOTES = (
    "The number of neurons is not given, only twice as many as an upper bound. Two of the biases are 0 and 1, to "
    "which the odd and the even tensor are blind at order 1.",
    "The theorem promises errors below any epsilon from a polynomial number of samples, without constants. Errors "
    "fall like 1 / sqrt(samples) once a neuron is above the thresholds; dotted lines have that slope.",
    "plain: the estimator of [awasthi, eq. 14]; controlled: the same after a polynomial of degree 2 was taken from "
    "the answers, which [awasthi] does not do.",
    "Ours beyond the printed algorithm: absolute values in step 4, and neurons whose coefficients are within three "
    "of their standard errors are left out after it.",
)
