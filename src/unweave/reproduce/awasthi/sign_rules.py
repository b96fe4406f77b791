"""[awasthi, Alg. 3]: signs of neurons from a tensor of order 1 with errors, by two rules."""

import numpy as np

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits, fix_signs
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

INPUTS, NEURONS, LARGEST_BIAS = 8, 4, 2.5
NETWORKS = {Scale.QUICK: 100, Scale.USUAL: 1_000, Scale.FULL: 10_000}
NOISE = (0.0, 0.01, 0.03, 0.1)


def settings(scale: Scale) -> list[Settings]:
    """Give all sizes of noise."""
    return [{"noise": noise, "networks": NETWORKS[scale]} for noise in NOISE]


def measure(cell: Cell) -> Numbers:
    """Count networks with a wrong sign, by the printed rule and by the nearer value."""
    rng, count = np.random.default_rng(cell.seed), int(cell.settings["networks"])
    wrong = {False: 0, True: 0}
    for _ in range(count):
        truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS, largest_bias=LARGEST_BIAS)
        hidden, output = truth.layers
        signs = rng.choice([-1.0, 1.0], NEURONS)
        open_signs = RecoveredUnits(signs[:, None] * hidden.weights, signs * hidden.biases, output.weights[0], (0, 0))
        first = hermite_tensors(truth, highest=1)[1]
        first = first + float(cell.settings["noise"]) * rng.standard_normal(INPUTS)
        for is_nearest in wrong:
            fixed = fix_signs(first, open_signs, is_nearest=is_nearest)
            wrong[is_nearest] += int(np.any(fixed.biases != hidden.biases))
    return {"printed": wrong[False] / count, "nearest": wrong[True] / count}


def published(settings: Settings) -> dict[str, float]:
    """Give what the work claims: no wrong sign without noise."""
    return {"printed": 0.0} if settings["noise"] == 0 else {}


TITLE = "signs from the tensor of order 1"
COLUMNS = {"printed": "networks with a wrong sign, printed rule", "nearest": "with the nearer value"}
NOTES = (
    f"{INPUTS} inputs, {NEURONS} neurons, biases up to {LARGEST_BIAS}; all other parameters exact. The unknown "
    "of a neuron is Phi(b) or Phi(b) - 1: the printed rule asks for its sign, with a margin of Phi(-|b|); the "
    "other one which of both is nearer, with a margin of 1/2.",
)
