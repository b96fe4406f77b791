"""Gauss-Newton for shallow relu networks in slopes and constants: all rows at once, no free scale, no offset.

With ``u_i = a_i w_i`` and ``c_i = a_i b_i`` a network is linear between kinks, so that the Jacobian is the activation
pattern times ``(x, 1)``. Noise keeps the pattern from being exact, but near the optimum it hardly changes.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import Points, Values, root_mean_square
from unweave.learn.relu_network.hermite_units import unit_parameters
from unweave.networks.network import Network
from unweave.numerics.refined import Refinement

# Numbers of a block of the Jacobian: 32 MB.
BLOCK_NUMBERS = 2**22
# Singular values below this share of the largest: what they belong to is not determined and stays.
UNDETERMINED = 1e-12
# Halvings of a step that does not lower the residual.
HALVINGS = 6
# Relative gain of a step below which nothing more is to be had.
GAIN = 1e-10


@dataclass(frozen=True, eq=False)
class PatternSystem:
    """Normal equations of a network in slopes and constants.

    Args:
        gram: ``J^T J``; one block of ``inputs + 1`` per neuron, and one for the affine part if there is one.
        products: ``J^T r`` with the residuals r.
    """

    gram: Float64[np.ndarray, "unknowns unknowns"]
    products: Float64[np.ndarray, "unknowns"]

    def step(self) -> Float64[np.ndarray, "unknowns"]:
        """The change that solves the equations, without what they leave open."""
        values, vectors = np.linalg.eigh(self.gram)
        is_known = values > UNDETERMINED * np.max(values, initial=0.0)
        known = vectors[:, is_known]
        return known @ ((known.T @ self.products) / values[is_known])


def pattern_system(network: Network, points: Points, values: Values) -> PatternSystem:
    """The normal equations in the activation pattern of the network, block by block.

    Args:
        network: shallow relu network with one output; its slope counts as unknown if it has one, and so does then its
            offset, which otherwise stays.
        points: where answers are known.
        values: the answers.
    """
    directions, biases, _ = unit_parameters(network)
    blocks = len(directions) + (network.skip is not None)
    unknowns = blocks * (network.inputs + 1)
    gram, products = np.zeros((unknowns, unknowns)), np.zeros(unknowns)
    step = max(1, BLOCK_NUMBERS // max(unknowns, 1))
    for first in range(0, len(points), step):
        rows = slice(first, first + step)
        lifted = np.column_stack([points[rows], np.ones(len(points[rows]))])
        pattern = np.ones((len(lifted), blocks), dtype=bool)
        pattern[:, : len(directions)] = points[rows] @ directions.T + biases > 0.0
        jacobian = (pattern[:, :, None] * lifted[:, None, :]).reshape(len(lifted), unknowns)
        gram += jacobian.T @ jacobian
        products += jacobian.T @ (values[rows] - network(points[rows]))[:, 0]
    return PatternSystem(gram, products)


@dataclass(frozen=True)
class PatternNewton:
    """Settings of the Gauss-Newton method in slopes and constants.

    Args:
        steps: largest number of steps.
    """

    steps: int = 12

    def __call__(self, network: Network, points: Points, values: Values) -> Refinement:
        """Fit a network without slope; its offset stays as it is.

        Args:
            network: shallow relu network with one output and no skip, near the optimum.
            points: where answers are known.
            values: the answers.

        Guarantees: never a larger residual.
        """
        residual = root_mean_square(values - network(points))
        history, has_converged = [residual], False
        for _ in range(self.steps if network.widths[0] else 0):
            change = pattern_system(network, points, values).step()
            trial, trial_residual = network, np.inf
            for halving in range(HALVINGS):
                trial = _changed(network, change * 0.5**halving)
                trial_residual = root_mean_square(values - trial(points))
                if trial_residual < residual:
                    break
            has_converged = not trial_residual < residual * (1.0 - GAIN)
            if trial_residual < residual:
                network, residual = trial, trial_residual
                history.append(residual)
            if has_converged:
                break
        return Refinement(network, residual, len(history) - 1, has_converged, tuple(history))


def _changed(network: Network, change: Float64[np.ndarray, "unknowns"]) -> Network:
    """Unit weights, biases and output weights of changed slopes and constants; neurons stay on their side."""
    directions, biases, output_weights = unit_parameters(network)
    blocks = change.reshape(len(directions), network.inputs + 1)
    slopes = output_weights[:, None] * directions + blocks[:, :-1]
    constants = output_weights * biases + blocks[:, -1]
    heights = np.linalg.norm(slopes, axis=1)
    heights = np.where(output_weights < 0.0, -heights, heights)
    divisor = np.where(heights != 0.0, heights, 1.0)
    offset = network.layers[1].biases
    return Network.shallow(slopes / divisor[:, None], constants / divisor, heights[None], offset, RELU)
