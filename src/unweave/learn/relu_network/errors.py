"""Standard errors of the parameters of a shallow relu network that was fitted to noisy labels.

In a fixed activation pattern the network is linear in ``u_i = a_i w_i`` and ``c_i = a_i b_i``, so their covariance is
``sigma^2 (J^T J)^-1``, and to first order ``da = <w, du>``, ``dw = (1 - w w^T) du / a``, ``db = (dc - b da) / a``.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points, Values
from unweave.learn.relu_network.hermite_units import unit_parameters
from unweave.learn.relu_network.pattern_newton import UNDETERMINED, pattern_system
from unweave.networks.network import Network
from unweave.samples.hermite.coordinates import Coordinates

# A neuron is seen if its output weight is this many standard errors, and its direction is known to this angle.
SEEN, LARGEST_ANGLE = 4.0, 0.5


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Of unit weights, biases and output weights; infinite where the samples determine nothing.

    Args:
        weights: of every entry of the unit weights.
        biases: of the biases that belong to unit weights.
        output_weights: of the output weights that belong to unit weights.
    """

    weights: Float64[np.ndarray, "neurons inputs"]
    biases: Float64[np.ndarray, "neurons"]
    output_weights: Float64[np.ndarray, "neurons"]

    @property
    def angles(self) -> Float64[np.ndarray, "neurons"]:
        """Standard error of every direction."""
        return np.linalg.norm(self.weights, axis=1)

    def seen(self, network: Network) -> np.ndarray:
        """Which neurons of the network stand out from the noise."""
        outgoing = np.abs(unit_parameters(network)[2])
        return (outgoing > SEEN * self.output_weights) & (self.angles < LARGEST_ANGLE)


def standard_errors(
    network: Network, points: Points, values: Values, *, noise: float, coordinates: Coordinates
) -> StandardErrors:
    """Standard errors of a network that least squares has fitted to labels with this noise.

    Args:
        network: shallow relu network with one output, in the given coordinates.
        points: where it was fitted, in these coordinates.
        values: the labels there.
        noise: standard deviation of one label.
        coordinates: errors are told for the inputs that these are coordinates of.
    """
    directions, biases, output_weights = unit_parameters(network)
    neurons, inputs = directions.shape
    inverse, is_determined = _inverse(pattern_system(network, points, values).gram)
    axes, origin = coordinates.axes, coordinates.origin
    # Slopes and constants for the inputs: u' = A u, c' = c - <u', origin>.
    to_inputs = np.block([[axes, np.zeros((len(axes), 1))], [-(axes.T @ origin)[None], np.ones((1, 1))]])
    original, shifted = coordinates.pulled_back(directions, biases)
    lengths = np.linalg.norm(original, axis=1)
    weights, heights, places = original / lengths[:, None], output_weights * lengths, shifted / lengths
    errors = np.empty((neurons, len(axes) + 2))
    for k in range(neurons):
        block = slice(k * (inputs + 1), (k + 1) * (inputs + 1))
        if not np.all(is_determined[block]):
            errors[k] = np.inf
            continue
        own = noise**2 * to_inputs @ inverse[block, block] @ to_inputs.T
        w, a, b = weights[k], heights[k], places[k]
        height = np.append(w, 0.0)
        turn = np.column_stack([np.eye(len(w)) - np.outer(w, w), np.zeros(len(w))]) / a
        shift = (np.append(np.zeros(len(w)), 1.0) - b * height) / a
        change = np.vstack([turn, shift, height])
        errors[k] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, own, change), 0.0))
    return StandardErrors(errors[:, :-2], errors[:, -2], errors[:, -1])


def _inverse(
    gram: Float64[np.ndarray, "unknowns unknowns"],
) -> tuple[Float64[np.ndarray, "unknowns unknowns"], Bool[np.ndarray, "unknowns"]]:
    """The pseudoinverse, and which unknowns have no part in a combination that it leaves out."""
    values, vectors = np.linalg.eigh(gram)
    is_known = values > UNDETERMINED * np.max(values, initial=0.0)
    known = vectors[:, is_known]
    is_determined = np.all(np.abs(vectors[:, ~is_known]) <= np.sqrt(UNDETERMINED), axis=1)
    return (known / values[is_known]) @ known.T, is_determined
