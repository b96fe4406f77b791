"""Errors of recovered neurons as [awasthi, Thm. 3.1 and 5.1] measure them: ``|w - w'| + |a - a'| + |b - b'|``."""

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.arrays import PerNeuron
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

# A neuron with a smaller error counts as found: direction, bias and output weight together.
FOUND = 0.5


def unit_errors(units: RecoveredUnits, truth: Network, *, is_signed: bool) -> PerNeuron:
    """Measure the error of every true neuron; infinite for those without a recovered one.

    Neurons are paired by their directions. Without `is_signed` the better common sign of direction and bias counts.
    """
    directions, biases, output_weights = unit_parameters(truth)
    mine, its = scipy.optimize.linear_sum_assignment(-np.abs(directions @ units.directions.T))
    errors = np.full(len(biases), np.inf)
    signs = np.array([[1.0]] if is_signed else [[1.0], [-1.0]])
    moved = signs[:, :, None] * units.directions[its] - directions[mine]
    shifted = np.abs(signs * units.biases[its] - biases[mine])
    common = np.min(np.linalg.norm(moved, axis=2) + shifted, axis=0)
    errors[mine] = common + np.abs(units.output_weights[its] - output_weights[mine])
    return errors


def found_numbers(units: RecoveredUnits, truth: Network, *, is_signed: bool) -> dict[str, float]:
    """Count and measure what was recovered, for a table."""
    errors = unit_errors(units, truth, is_signed=is_signed)
    is_found = errors < FOUND
    return {
        "returned": float(len(units.biases)),
        "found": float(np.count_nonzero(is_found)),
        "median error": float(np.median(errors)),
        "largest error": float(np.max(errors)),
    }


FOUND_COLUMNS = {
    "returned": "neurons returned",
    "found": f"true neurons with an error below {FOUND}",
    "median error": "median of |w - w'| + |a - a'| + |b - b'|",
    "largest error": "largest of them",
}
