"""[awasthi, Alg. 1] on exact tensors: all parameters, with signs for order 1 [Thm. 4.1], up to signs above [Thm. 4.2].

The first neurons have biases that odd or even tensors are blind for. The predictor of the second theorem is regression
on both signs of every neuron with exact expectations.
"""

from math import sqrt

import numpy as np

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.population_regression import regress_in_expectation
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.awasthi.tensor_algorithms import recover_exact
from unweave.reproduce.awasthi.unit_errors import unit_errors
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

BLIND = (0.0, 1.0, -1.0, sqrt(3.0), sqrt(3.0 + sqrt(6.0)))
SIZES = {
    Scale.QUICK: [(10, 5, 1), (20, 20, 1), (5, 14, 2), (4, 15, 3)],
    Scale.USUAL: [(10, 5, 1), (20, 20, 1), (30, 30, 1), (5, 14, 2), (6, 18, 2), (8, 30, 2), (4, 15, 3)],
    Scale.FULL: [(10, 5, 1), (20, 20, 1), (40, 40, 1), (5, 14, 2), (6, 18, 2), (10, 50, 2), (4, 15, 3), (5, 30, 3)],
}


def settings(scale: Scale) -> list[Settings]:
    """Give inputs, neurons and the lowest order of a tensor."""
    return [{"inputs": d, "neurons": m, "order": order} for d, m, order in SIZES[scale]]


def measure(cell: Cell) -> Numbers:
    """Recover a network from exact tensors."""
    inputs, neurons, order = (int(cell.settings[name]) for name in ("inputs", "neurons", "order"))
    rng = np.random.default_rng(cell.seed)
    truth = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    found = recover_exact(hermite_tensors(truth, highest=2 * order + 2), order=order, rng=rng)
    errors = unit_errors(found, truth, is_signed=order == 1)
    return {
        "odd": float(found.ranks[0]),
        "even": float(found.ranks[1]),
        "returned": float(len(found.biases)),
        "largest error": float(np.max(errors)),
        "risk": sqrt(population_risk(regress_in_expectation(found, truth), truth)),
    }


def published(settings: Settings) -> dict[str, float]:
    """Give what the work claims: every neuron, and no error."""
    return {"returned": float(settings["neurons"]), "largest error": 0.0, "risk": 0.0}


TITLE = "parameters from exact tensors"
COLUMNS = {
    "odd": "neurons seen in the odd tensor",
    "even": "in the even one",
    "returned": "neurons returned",
    "largest error": "largest |w - w'| + |a - a'| + |b - b'|",
    "risk": "root of the predictor's population risk",
}
NOTES = (
    "Order 1 is measured with signs, which Algorithm 3 finds; from order 2 on signs are open.",
    "The rank of the even tensor is that of its (l, l + 2) flattening: the printed (l, l + 1) has not its order.",
    "The closed form of the risk has rounding errors near 1e-16 of the squares: 1e-8 in its root.",
)
