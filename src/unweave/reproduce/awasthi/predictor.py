"""[awasthi, Alg. 5]: a predictor by regression on neurons that are known up to signs.

Whatever the signs are, the target is nearly linear in ``+-a relu(+-<w, x> +- b)`` of all neurons that were found, and
in ``(x, 1)``, which stands for neurons with large biases.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import log, sqrt

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import PerPoint, Points, Values
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

# Neurons, up to signs, from samples: tensors and [awasthi, Alg. 4].
Recover = Callable[[Points, Values], RecoveredUnits]
# Signs of weights, bias and output weight of the eight features of a neuron, and of the two that suffice here.
EIGHT_FEATURES = tuple((first, second, third) for first, second, third in product((1.0, -1.0), repeat=3))
TWO_FEATURES = ((1.0, 1.0, 1.0), (-1.0, -1.0, 1.0))
# Steps of projected gradient descent before giving up on the accuracy; the regression is small, so they are cheap.
MOST_STEPS = 200_000


@dataclass(frozen=True)
class PredictorSettings:
    """Hold what [awasthi, Alg. 5] needs to know.

    Args:
        accuracy: aimed root mean squared error (epsilon).
        neurons: upper bound of the number of neurons (m).
        bound: largest absolute parameter (B).
        features: signs of the features of every neuron; [awasthi] uses eight, of which two suffice because weights
            and bias share their sign and the output weight has none open.
    """

    accuracy: float
    neurons: int
    bound: float
    features: tuple[tuple[float, float, float], ...] = EIGHT_FEATURES

    def radius(self, found: int) -> float:
        """Norm up to which coefficients are searched."""
        return sqrt(8.0 * found) + self.neurons * (1.0 + self.bound)

    def cutoff(self, found: int, inputs: int) -> float:
        """Norm of the features from which on a sample is left out (tau)."""
        inside = max(self.neurons * inputs * self.bound * max(found, 1) / self.accuracy, np.e)
        return 20.0 * self.neurons * (8 * found + inputs) * self.bound * sqrt(log(inside))


@dataclass(frozen=True, eq=False)
class Predictor:
    """A fitted predictor.

    Args:
        network: relu neurons and an affine part.
        loss: mean squared error on the samples of the regression.
        gap: proven bound of how far that loss is above the least one within the radius, of all samples, also those that
            the regression left out.
        steps: gradient steps.
        left_out: samples of the regression whose features exceeded the cutoff.
        units: neurons found in the first half of the samples, of which the features were made.
    """

    network: Network
    loss: float
    gap: float
    steps: int
    left_out: int
    units: RecoveredUnits


def fit_predictor(points: Points, values: Values, *, recover: Recover, settings: PredictorSettings) -> Predictor:
    """Fit a predictor [awasthi, Alg. 5]: neurons from the first half of the samples, regression on the second.

    Args:
        points: standard Gaussian inputs.
        values: one answer per point, as a column.
        recover: steps 1 and 2, from samples to neurons up to signs.
        settings: accuracy and bounds.

    Guarantees: root mean squared error of at most the accuracy, with high probability, for enough samples [awasthi,
        Lemma 5.8].
    """
    half = len(points) // 2
    return regress_on_units(recover(points[:half], values[:half]), points[half:], values[half:], settings=settings)


def regress_on_units(
    units: RecoveredUnits, points: Points, values: Values, *, settings: PredictorSettings
) -> Predictor:
    """Carry out steps 3 and 4 of [awasthi, Alg. 5]: truncated least squares in a ball, by projected gradient descent.

    Parameters beyond their bound are moved to it, which takes none of them farther from the truth: neurons that were
    made of noise have output weights of a million, and with such features every sample would be beyond the cutoff.
    """
    if values.shape != (len(points), 1) or len(points) == 0:
        raise InvalidInput(f"one answer per point is needed as a column, got {values.shape} for {len(points)}.")
    signs = np.array(settings.features)
    found, inputs = len(units.biases), points.shape[1]
    weights = (signs[:, 0, None, None] * units.directions).reshape(-1, inputs)
    bound = settings.bound
    biases = (signs[:, 1, None] * np.clip(units.biases, -bound, bound)).ravel()
    heights = (signs[:, 2, None] * np.clip(units.output_weights, -bound, bound)).ravel()
    neurons = np.maximum(points @ weights.T + biases, 0.0) * heights
    features = np.hstack([neurons, points, np.ones((len(points), 1))])
    kept = np.linalg.norm(features, axis=1) < settings.cutoff(found, inputs)
    radius = settings.radius(found)
    solution, steps = _projected_descent(
        features[kept], values[kept, 0], len(points), radius, settings.accuracy**2 / 100.0
    )
    split = len(heights)
    network = Network.shallow(
        weights, biases, (solution[:split] * heights)[None], solution[-1:], RELU, solution[None, split:-1]
    )
    residuals = features @ solution - values[:, 0]
    gap = _gap(2.0 * features.T @ residuals / len(points), solution, radius)
    return Predictor(network, float(np.mean(residuals**2)), gap, steps, int(np.count_nonzero(~kept)), units)


def consolidated(network: Network) -> Network:
    """The same function with one neuron per kink and without a slope [awasthi, Claim B.5].

    Neurons with the same weights and bias up to a common sign become one by ``a relu(z) + a' relu(-z) = (a + a')
    relu(z) - a' z``, and the slope becomes ``relu(z) - relu(-z)`` of one more direction. A constant without a slope
    stays an offset: no neuron with unit weights is constant, which the claim overlooks.

    Args:
        network: shallow relu network with one output and unit weights.
    """
    hidden, output = network.layers
    weights, biases, heights = hidden.weights, hidden.biases, output.weights[0]
    slope = np.zeros(network.inputs) if network.skip is None else network.skip[0].copy()
    offset = float(output.biases[0])
    kept: dict[int, float] = {}
    for index, (vector, bias, height) in enumerate(zip(weights, biases, heights, strict=True)):
        same = next((k for k in kept if np.array_equal(weights[k], vector) and biases[k] == bias), None)
        opposite = next((k for k in kept if np.array_equal(weights[k], -vector) and biases[k] == -bias), None)
        if same is not None:
            kept[same] += height
        elif opposite is not None:
            kept[opposite] += height
            slope, offset = slope + height * vector, offset + height * bias
        else:
            kept[index] = height
    chosen = list(kept)
    return _with_affine_neurons(weights[chosen], biases[chosen], np.array([kept[k] for k in chosen]), slope, offset)


def _with_affine_neurons(
    weights: np.ndarray, biases: np.ndarray, heights: np.ndarray, slope: np.ndarray, offset: float
) -> Network:
    size = float(np.linalg.norm(slope))
    if size == 0.0:
        return Network.shallow(weights, biases, heights[None], np.array([offset]), RELU)
    direction, shift = slope / size, offset / size
    return Network.shallow(
        np.vstack([weights, direction, -direction]),
        np.append(biases, [shift, -shift]),
        np.append(heights, [size, -size])[None],
        np.zeros(1),
        RELU,
    )


def _projected_descent(
    features: Float64[np.ndarray, "points features"],
    values: PerPoint,
    samples: int,
    radius: float,
    tolerance: float,
) -> tuple[Float64[np.ndarray, "features"], int]:
    """Least squares in a ball up to `tolerance` in the mean squared error, and the steps that it took.

    Accelerated, because the features are collinear by construction.
    """
    gram, target = features.T @ features / samples, features.T @ values / samples
    curvature = 2.0 * max(float(np.linalg.norm(gram, 2)), np.finfo(float).tiny)
    solution = previous = np.zeros(len(target))
    for step in range(1, MOST_STEPS + 1):
        gradient = 2.0 * (gram @ solution - target)
        if _gap(gradient, solution, radius) <= tolerance:
            return solution, step - 1
        ahead = solution + (step - 1) / (step + 2) * (solution - previous)
        moved = ahead - 2.0 * (gram @ ahead - target) / curvature
        size = float(np.linalg.norm(moved))
        previous, solution = solution, moved if size <= radius else moved * (radius / size)
    return solution, MOST_STEPS


def _gap(gradient: Float64[np.ndarray, "features"], solution: Float64[np.ndarray, "features"], radius: float) -> float:
    """What is left to be gained in the ball, by convexity: at most ``<gradient, beta> + radius |gradient|``."""
    return float(gradient @ solution + radius * np.linalg.norm(gradient))
