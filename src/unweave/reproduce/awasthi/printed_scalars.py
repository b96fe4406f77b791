"""[awasthi, Alg. 2]: biases and output weights by a recurrence, with the indices of its lemma and as printed."""

from math import pi, sqrt

import numpy as np
from jaxtyping import Float64
from scipy.special import eval_hermitenorm

from unweave.arrays import PerNeuron
from unweave.learn.relu_network.moment_networks import coefficient_table
from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.exact_recovery import BLIND
from unweave.reproduce.awasthi.tensor_algorithms import recover_scalars
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

ORDERS = {Scale.QUICK: (1, 2, 3), Scale.USUAL: (1, 2, 3), Scale.FULL: (1, 2, 3, 4)}
INPUTS, NEURONS = 5, 5


def printed_scalars(table: Float64[np.ndarray, "orders neurons"], *, order: int) -> tuple[PerNeuron, PerNeuron]:
    """Follow [awasthi, Alg. 2] to the letter: orders of tensors stand where degrees of polynomials should.

    Args:
        table: coefficients of orders ``l .. l + 3``.
        order: l, at least 2.
    """
    chosen = order + 1 + (np.abs(table[2]) > np.abs(table[1])).astype(np.int64)
    row, neurons = chosen - order, np.arange(table.shape[1])
    middle = table[row, neurons]
    biases = -(table[row + 1, neurons] + chosen * table[row - 1, neurons]) / middle
    heights = sqrt(2 * pi) * (-1.0) ** chosen * middle * np.exp(biases**2 / 2) / eval_hermitenorm(chosen, biases)
    return biases, heights


def settings(scale: Scale) -> list[Settings]:
    """Give all orders."""
    return [{"order": order} for order in ORDERS[scale]]


def measure(cell: Cell) -> Numbers:
    """Compute scalars by the right indices and by the printed ones."""
    order, rng = int(cell.settings["order"]), np.random.default_rng(cell.seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS, special_biases=BLIND)
    hidden, output = truth.layers
    signs = rng.choice([-1.0, 1.0], NEURONS)
    directions, true = signs[:, None] * hidden.weights, signs * hidden.biases
    tensors = hermite_tensors(truth, highest=2 * order + 2)
    biases, heights = recover_scalars(tensors, directions, order=order)
    numbers: Numbers = {
        "bias": float(np.max(np.abs(biases - true))),
        "output weight": float(np.max(np.abs(heights - output.weights[0]))),
    }
    if order > 1:
        table = coefficient_table(tensors, directions, orders=tuple(range(order, order + 4)))
        biases, heights = printed_scalars(table, order=order)
        numbers["printed bias"] = float(np.max(np.abs(biases - true)))
        numbers["printed weight"] = float(np.max(np.abs(heights - output.weights[0])))
    return numbers


def published(_: Settings) -> dict[str, float]:
    """Give the errors that the work claims: none."""
    return {"bias": 0.0, "output weight": 0.0}


TITLE = "biases and output weights from exact coefficients"
COLUMNS = {
    "bias": "largest error of a bias",
    "output weight": "of an output weight",
    "printed bias": "of a bias, indices as printed",
    "printed weight": "of an output weight, indices as printed",
}
NOTES = (
    "Algorithm 2 takes the order q of a tensor for the degree of the polynomial, which is q - 2 [Lemma 4.5 has it "
    "right]; as printed it is wrong from order 2 on. Order 1 has formulas of its own, which are right.",
)
