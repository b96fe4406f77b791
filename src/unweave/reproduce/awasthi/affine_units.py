"""[awasthi, Lemma 5.9]: neurons with large biases as affine functions, error and bound."""

from math import sqrt

import numpy as np

from unweave.activations import RELU
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import affine_error
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

INPUTS, NEURONS = 6, 4
BIASES = (1.0, 2.0, 2.5, 3.0, 4.0, 5.0)


def affine_parts(network: Network) -> Network:
    """Replace every neuron by its argument where the bias is positive, and by nothing where it is not."""
    hidden, output = network.layers
    heights = np.where(hidden.biases > 0, output.weights[0], 0.0)
    empty = np.zeros((0, network.inputs))
    offset = output.biases + heights @ hidden.biases
    return Network.shallow(empty, np.zeros(0), np.zeros((1, 0)), offset, RELU, (heights @ hidden.weights)[None])


def settings(_: Scale) -> list[Settings]:
    """Give all sizes of biases."""
    return [{"bias": bias} for bias in BIASES]


def measure(cell: Cell) -> Numbers:
    """Fit a plane to neurons with large biases, and compare with the exact error."""
    bias, rng = float(cell.settings["bias"]), np.random.default_rng(cell.seed)
    signs = rng.choice([-1.0, 1.0], NEURONS)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS, special_biases=tuple(bias * signs))
    heights = np.abs(network.layers[1].weights[0])
    single = sqrt(float(affine_error(np.array([bias]))[0]))
    return {
        "error": sqrt(population_risk(network, affine_parts(network))),
        "bound": float(heights.sum()) * single,
        "single": single,
        "printed": bias * float(np.exp(-(bias**2) / 4)),
    }


TITLE = "neurons with large biases as affine functions"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 20, Scale.FULL: 100}
COLUMNS = {
    "error": "root mean square of all of them",
    "bound": "sum of |a_i| times the error of one",
    "single": "exact error of one, (1 + b^2) Phi(-b) - b phi(b), root",
    "printed": "root of b^2 exp(-b^2 / 2), the bound without its constant",
}
NOTES = (f"{INPUTS} inputs, {NEURONS} neurons with biases of this size and either sign.",)
