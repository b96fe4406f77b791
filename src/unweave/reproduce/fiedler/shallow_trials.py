"""One trial of [fiedler, Sec. 3.6]: plant a shallow network, identify it, compare."""

from dataclasses import replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import TANH
from unweave.arrays import Atoms, PerNeuron, pack_squares, slices
from unweave.networks.network import Network
from unweave.networks.planted import unit_network
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign, projector_gap
from unweave.reproduce.fiedler.shallow_identification import ShallowReference, ShallowReferenceIdentifier

ORDERS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.875, 1.9375, 2.0)
IDENTIFY = ShallowReferenceIdentifier()
# Points of the uniform error are drawn in parts of this size.
ROWS = 50_000


def neurons_of(inputs: int, order: float) -> int:
    """Round ``2/5 inputs^order`` up, but for errors of rounding."""
    return int(np.ceil(0.4 * inputs**order - 1e-9))


def trial(cell: Cell, *, points: int) -> Numbers:
    """Plant a network of the given inputs and order of neurons, run [fiedler, Alg. 3.1], and compare.

    Args:
        cell: with the settings `inputs` and `order`.
        points: Gaussian points of the uniform error.
    """
    inputs = int(cell.settings["inputs"])
    neurons = neurons_of(inputs, float(cell.settings["order"]))
    truth = unit_network(np.random.default_rng([cell.seed, inputs, neurons]), inputs=inputs, neurons=neurons)
    oracle = CallableOracle(truth, inputs=inputs)
    found = IDENTIFY(oracle, TANH, neurons, seed=cell.seed)
    return _found_numbers(found, truth) | _network_numbers(found, truth, seed=cell.seed, points=points)


def _found_numbers(found: ShallowReference, truth: Network) -> Numbers:
    """What the weight recovery gave, and what all of it cost."""
    weights, neurons = truth.layers[0].weights, truth.widths[0]
    squares = np.linalg.qr(pack_squares(weights).T)[0]
    distances = distances_up_to_sign(found.directions.atoms, weights)
    return {
        "neurons": float(neurons),
        "found": float(np.count_nonzero(np.min(distances, axis=0, initial=2.0) <= 0.05)) / neurons,
        "false": float(np.count_nonzero(np.min(distances, axis=1, initial=2.0) > 0.05)),
        "weights": float(np.max(np.min(distances, axis=0, initial=2.0))),
        "span": projector_gap(found.subspace.basis, squares),
        "alpha": found.subspace.learnability,
        "queries": float(sum(found.queries)),
        "seconds": found.seconds[0] + found.seconds[1],
        "descent_seconds": found.seconds[2],
    }


def _network_numbers(found: ShallowReference, truth: Network, *, seed: int, points: int) -> Numbers:
    """Signs, shifts and uniform errors; not numbers where directions are missing."""
    if found.started is None or found.refined is None:
        return dict.fromkeys(("signs", "first_shifts", "shifts", "first_uniform", "uniform", "epochs"), np.nan)
    hidden, refined = truth.layers[0], found.refined.network
    first = replace(refined, layers=(replace(refined.layers[0], biases=found.started.shifts), refined.layers[1]))
    order = matched(found.started.weights, hidden.weights)
    signs = np.sum(found.started.weights[order] * hidden.weights, axis=1) > 0
    rng = np.random.default_rng([seed, points])
    return {
        "signs": float(np.mean(signs)),
        "first_shifts": _distance(found.started.shifts[order], hidden.biases),
        "shifts": _distance(refined.layers[0].biases[order], hidden.biases),
        "first_uniform": uniform_difference(first, truth, points, rng),
        "uniform": uniform_difference(refined, truth, points, rng),
        "epochs": float(found.refined.epochs),
    }


def matched(found: Atoms, truth: Float64[np.ndarray, "neurons inputs"]) -> np.ndarray:
    """Which found vector belongs to each true one, one to one; signs count."""
    rows, columns = scipy.optimize.linear_sum_assignment(scipy.spatial.distance.cdist(found, truth))
    return rows[np.argsort(columns)]


def uniform_difference(one: Network, other: Network, points: int, rng: np.random.Generator) -> float:
    """Largest absolute difference of two networks on standard Gaussian points."""
    largest = 0.0
    for part in slices(points, ROWS):
        asked = rng.standard_normal((min(part.stop, points) - part.start, one.inputs))
        largest = max(largest, float(np.max(np.abs(one(asked) - other(asked)))))
    return largest


def _distance(found: PerNeuron, truth: PerNeuron) -> float:
    return float(np.linalg.norm(found - truth))
