"""One more neuron for a shallow relu network: the one of many random ones that explains most of what is left.

Moments miss neurons that are weak, or that bend at few samples, and noise hides which samples these are. In what a
fitted network leaves of the labels such a neuron is the largest part that is no noise. The fit of all neurons makes it
exact; this is its start.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.networks.network import Network

# Distances of kinks from the centre of the samples, in standard deviations.
KINKS = (-2.5, -2.0, -1.4, -0.7, 0.0, 0.7, 1.4, 2.0, 2.5)


@dataclass(frozen=True)
class NextNeuron:
    """Settings of the search.

    Args:
        directions: random directions that are tried in every round, with all kinks.
        rounds: rounds; after the first they are drawn around the best direction, ever closer.
        most_rows: rows that are used, the first ones.
    """

    directions: int = 96
    rounds: int = 4
    most_rows: int = 8_000

    def __call__(self, network: Network, points: Points, values: Values, rng: np.random.Generator) -> Network:
        """The network with one neuron more, and an affine part.

        Args:
            network: shallow relu network with one output, fitted to the samples.
            points: of about standard coordinates.
            values: their labels.
            rng: for the directions.
        """
        points, values = points[: self.most_rows], values[: self.most_rows]
        inputs = points.shape[1]
        affine = np.linalg.qr(np.column_stack([points, np.ones(len(points))]))[0]
        left = (values - network(points))[:, 0]
        left -= affine @ (affine.T @ left)
        best, center, spread = (0.0, np.zeros(inputs + 1), 0.0), np.zeros(inputs), 1.0
        for _ in range(self.rounds):
            drawn = center + spread * rng.standard_normal((self.directions, inputs))
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            best = max(best, *(_gain(points, left, affine, drawn, kink) for kink in KINKS), key=lambda each: each[0])
            center, spread = best[1][:-1], 0.5 * spread / np.sqrt(inputs) if spread == 1.0 else 0.5 * spread
        skip = np.zeros((1, inputs)) if network.skip is None else network.skip
        return with_neuron(replace(network, skip=skip), best[1], best[2])


def _gain(
    points: Points,
    left: Float64[np.ndarray, "points"],
    affine: Float64[np.ndarray, "points lifted"],
    directions: Float64[np.ndarray, "directions inputs"],
    kink: float,
) -> tuple[float, Float64[np.ndarray, "lifted"], float]:
    """What the best of some neurons explains beside affine functions; its weights and bias; its output weight.

    The residuals have no affine part any more, so that it suffices to take the size of it off every neuron.
    """
    bent = np.maximum(points @ directions.T - kink, 0.0)
    sizes = np.sum(bent**2, axis=0) - np.sum((affine.T @ bent) ** 2, axis=0)
    sizes = np.where(sizes > 0.0, sizes, np.inf)
    products = left @ bent
    winner = int(np.argmax(products**2 / sizes))
    gain = float(products[winner] ** 2 / sizes[winner])
    return gain, np.append(directions[winner], -kink), float(products[winner] / sizes[winner])


def with_neuron(network: Network, plane: Float64[np.ndarray, "lifted"], height: float) -> Network:
    """A shallow network of one output with one neuron more, given its weights and bias and its output weight."""
    hidden, output = network.layers
    return Network.shallow(
        np.vstack([hidden.weights, plane[:-1]]),
        np.append(hidden.biases, plane[-1]),
        np.append(output.weights, [[height]], axis=1),
        output.biases,
        hidden.activation,
        network.skip,
    )
