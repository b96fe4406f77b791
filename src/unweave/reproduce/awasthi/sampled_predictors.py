"""[awasthi, Alg. 5 and Thm. 3.2]: a predictor from samples, also with neurons whose biases are too large to be seen."""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from unweave.arrays import Points, Values
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import affine_error
from unweave.reproduce.awasthi.measured_noise import noisy_tensors, recover_measured
from unweave.reproduce.awasthi.pictures import draw_by_samples
from unweave.reproduce.awasthi.predictor import TWO_FEATURES, PredictorSettings, consolidated, fit_predictor
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INPUTS, NEURONS, ACCURACY, BOUND = 5, 3, 0.02, 4.0
SAMPLES = {
    Scale.QUICK: (20_000, 200_000),
    Scale.USUAL: (20_000, 200_000, 2_000_000),
    Scale.FULL: (20_000, 200_000, 2_000_000, 20_000_000),
}
# Large biases of two more neurons, of which one is always and one is hardly ever active.
CASES = {"moderate": (), "two large": (3.5, -3.5)}


def settings(scale: Scale) -> list[Settings]:
    """Give biases, estimators of moments and samples."""
    return [
        {"biases": biases, "moments": moments, "samples": samples}
        for biases in CASES
        for moments in ("plain", "controlled")
        for samples in SAMPLES[scale]
    ]


def _recovered(points: Points, values: Values, *, is_controlled: bool, rng: np.random.Generator) -> RecoveredUnits:
    noisy = noisy_tensors(points, values, highest=4, is_controlled=is_controlled)
    return recover_measured(noisy, order=1, most_neurons=2 * NEURONS, rng=rng)


def measure(cell: Cell) -> Numbers:
    """Learn a predictor from one half of the samples, and judge it in closed form."""
    rng, large = np.random.default_rng(cell.seed), CASES[str(cell.settings["biases"])]
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS + len(large), special_biases=(*large, 0.0, 1.0))
    points = rng.standard_normal((int(cell.settings["samples"]), INPUTS))
    is_controlled = cell.settings["moments"] == "controlled"
    found = fit_predictor(
        points,
        truth(points),
        recover=partial(_recovered, is_controlled=is_controlled, rng=rng),
        settings=PredictorSettings(ACCURACY, len(truth.layers[0].biases), BOUND, TWO_FEATURES),
    )
    small = consolidated(found.network)
    return {
        "neurons": float(len(found.units.biases)),
        "units": float(small.widths[0]),
        "risk": sqrt(population_risk(found.network, truth)),
        "empty": sqrt(population_risk(_nothing(), truth)),
        "large": _large_error(truth, len(large)),
        "gap": found.gap,
        "left out": float(found.left_out),
    }


def _nothing() -> Network:
    return relu_network(np.random.default_rng(0), inputs=INPUTS, neurons=0)


def _large_error(truth: Network, count: int) -> float:
    """Root mean square that is left of neurons with large biases by affine functions, at most."""
    hidden, output = truth.layers
    return float(np.abs(output.weights[0, :count]) @ np.sqrt(affine_error(hidden.biases[:count])))


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw risks over samples."""
    words = "root of the population risk"
    return {"risks.png": draw_by_samples(rows, "risk", words=words, groups=("moments", "biases"))}


TITLE = "predictors from samples"
COLUMNS = {
    "neurons": "neurons found in the first half",
    "units": "hidden units of the predictor, at most two more",
    "risk": "root of its population risk",
    "empty": "of the zero function",
    "large": "what large biases may cost",
    "gap": "proven gap of the loss",
    "left out": "samples left out",
}
NOTES = (
    f"{INPUTS} inputs, {NEURONS} neurons with biases up to 1.2, and none or two with biases 3.5 and -3.5, which "
    "are affine functions up to the error of the column.",
    "Mended: parameters beyond their bound are moved to it before features are made of them. As printed, a neuron "
    "of noise with an output weight of a million leaves out every sample, and the predictor is the zero function.",
    "Two features per neuron, as [awasthi, footnote 5] allows; then the consolidated network has at most two more "
    "hidden units than neurons were found.",
    "The risk is in closed form, not measured on samples.",
)
