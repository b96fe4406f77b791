"""[awasthi, Alg. 6 and Thm. 3.1]: all parameters with their signs from samples, thresholds from measured noise."""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.measured_noise import noisy_tensors, recover_measured_full_rank
from unweave.reproduce.awasthi.pictures import draw_by_samples
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.awasthi.unit_errors import FOUND_COLUMNS, found_numbers
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZES = {
    Scale.QUICK: [(5, 3, (10_000, 100_000, 1_000_000))],
    Scale.USUAL: [(5, 3, (10_000, 100_000, 1_000_000, 4_000_000)), (10, 5, (100_000, 1_000_000))],
    Scale.FULL: [(5, 3, (10_000, 100_000, 1_000_000, 10_000_000)), (10, 5, (100_000, 1_000_000, 10_000_000))],
}
# Standard deviation of noise in the answers, beside the plain and the controlled estimates of exact ones.
CASES = (("plain", 0.0), ("controlled", 0.0), ("controlled", 0.5))


def settings(scale: Scale) -> list[Settings]:
    """Give sizes, estimators of moments, noise and samples."""
    return [
        {"inputs": d, "neurons": m, "moments": moments, "noise": noise, "samples": samples}
        for d, m, counts in SIZES[scale]
        for moments, noise in CASES
        for samples in counts
    ]


def measure(cell: Cell) -> Numbers:
    """Recover a network with signs from samples."""
    inputs, neurons, samples = (int(cell.settings[name]) for name in ("inputs", "neurons", "samples"))
    rng = np.random.default_rng(cell.seed)
    truth = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=(0.0, 1.0))
    points = rng.standard_normal((samples, inputs))
    answers = truth(points) + float(cell.settings["noise"]) * rng.standard_normal((samples, 1))
    noisy = noisy_tensors(points, answers, highest=4, is_controlled=cell.settings["moments"] == "controlled")
    units = recover_measured_full_rank(noisy, most_neurons=2 * neurons, rng=rng)
    risk = sqrt(population_risk(units.network, truth))
    return {**found_numbers(units, truth, is_signed=True), "risk": risk}


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw errors over samples."""
    words = "median error of a neuron"
    picture = draw_by_samples(rows, "median error", words=words, groups=("moments", "noise", "inputs", "neurons"))
    return {"errors.png": picture}


TITLE = "all parameters with signs from samples, linearly independent weights"
COLUMNS = FOUND_COLUMNS | {"risk": "root of the population risk"}
NOTES = (
    "Errors are measured with signs: a neuron with the wrong one has an error near 2. Signs are decided by the "
    "nearer of the two values that the unknown of Algorithm 3 can have.",
    "The theorem promises errors below any epsilon from a polynomial number of samples, without constants.",
)
