"""[awasthi, Thm. 3.4 and Claim 4.8]: signs that give the same function, and the condition on them as printed.

With all neurons flipped, a network is the same function if and only if ``sum a_i w_i = 0`` and ``sum a_i b_i = 0``.
"""

from math import sqrt

import numpy as np
from scipy.linalg import null_space
from scipy.special import ndtr

from unweave.activations import RELU
from unweave.learn.relu_network.units import relu_coefficient
from unweave.networks.network import Network
from unweave.networks.symmetries import reflect
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

INPUTS = 3
CASES = ("no biases", "biases in balance", "biases out of balance")


def balanced_network(rng: np.random.Generator, *, inputs: int, case: str) -> Network:
    """Plant ``inputs + 2`` neurons with ``sum a_i w_i = 0``, and ``sum a_i b_i = 0`` unless out of balance."""
    neurons = inputs + 2
    weights = rng.standard_normal((neurons, inputs))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    biases = np.zeros(neurons) if case == "no biases" else rng.uniform(-1.0, 1.0, neurons)
    columns = weights if case != "biases in balance" else np.column_stack([weights, biases])
    kernel = null_space(columns.T)
    heights = kernel @ rng.standard_normal(kernel.shape[1])
    return Network.shallow(weights, biases, (heights / np.linalg.norm(heights))[None], np.zeros(1), RELU)


def settings(_: Scale) -> list[Settings]:
    """Give all balances of the weights."""
    return [{"inputs": INPUTS, "neurons": INPUTS + 2, "case": case} for case in CASES]


def measure(cell: Cell) -> Numbers:
    """Flip signs, and compare the functions."""
    rng = np.random.default_rng(cell.seed)
    network = balanced_network(rng, inputs=INPUTS, case=str(cell.settings["case"]))
    hidden, output = network.layers
    heights, biases = output.weights[0], hidden.biases
    # Of `reflect` only the signs are wanted, not the affine part that makes up for them.
    moved = reflect(network, 0, np.ones(len(biases), dtype=bool)).layers[0]
    flipped = Network.shallow(moved.weights, moved.biases, output.weights, output.biases, RELU)
    return {
        "difference": sqrt(population_risk(network, flipped)),
        "order 0": abs(float(heights @ (relu_coefficient(0, -biases) - relu_coefficient(0, biases)))),
        "slope": float(np.linalg.norm((heights * (ndtr(biases) + ndtr(-biases))) @ hidden.weights)),
        "printed offset": abs(float((heights * biases) @ (ndtr(-biases) - ndtr(biases)))),
        "mended offset": abs(float((heights * biases) @ (ndtr(-biases) + ndtr(biases)))),
    }


TITLE = "signs that leave the function as it is: all neurons flipped"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 20, Scale.FULL: 100}
COLUMNS = {
    "difference": "root mean square between both functions",
    "order 0": "difference of order 0",
    "slope": "left of the first equation of (5)",
    "printed offset": "left of the second, as printed",
    "mended offset": "left of the second, with the missing sign",
}
NOTES = (
    "The second equation of (5) lacks a factor xi_i on its left: as printed it is not zero for networks that are "
    "the same function, and the mended one is.",
    "Roots of the closed form of the risk are exact up to 1e-8.",
)
