"""Regression on neurons that are known up to signs, in expectation: the predictor of [awasthi, Thm. 4.2].

With exact expectations instead of samples the matrix ``E[phi phi^T]`` of the features ``relu(+-(<w_i, x> + b_i))`` and
the vector ``E[phi f]`` are known in closed form, and least squares gives the target itself.
"""

import numpy as np

from unweave.activations import RELU
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.reproduce.awasthi.risk import relu_products
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

# Singular values below this share of the largest are rounding: features of a neuron and its opposite are nearly affine
# together.
RANK_TOL = 1e-12


def regress_in_expectation(units: RecoveredUnits, truth: Network) -> Network:
    """Give the network on both signs of every neuron that has the least population risk.

    Args:
        units: neurons up to signs.
        truth: the target, without an affine part, whose expectations are asked for.
    """
    weights = np.vstack([units.directions, -units.directions])
    biases = np.concatenate([units.biases, -units.biases])
    directions, true_biases, output_weights = unit_parameters(truth)
    gram = relu_products(weights, biases, weights, biases)
    target = relu_products(weights, biases, directions, true_biases) @ output_weights
    solution = np.linalg.lstsq(gram, target, rcond=RANK_TOL)[0]
    return Network.shallow(weights, biases, solution[None], np.zeros(1), RELU)
