"""The refinement of [fiedler, (3.72)], kept as a reference: gradient descent on the shifts, in full and by batches."""

from dataclasses import dataclass, replace

import numpy as np

from unweave.activations import Activation
from unweave.arrays import Points, Values, slices
from unweave.networks.network import Network
from unweave.numerics.network_fit import Refinement

# Samples whose errors are in memory at once.
ROWS_AT_ONCE = 8_192


@dataclass(frozen=True)
class ShiftDescent:
    """Descend along the gradient in the biases alone, with weights frozen [fiedler, (3.72)].

    Args:
        steps: number of gradient steps.
        rate: step size; one over the largest eigenvalue of the Gauss-Newton matrix if omitted.
    """

    steps: int = 1_000
    rate: float | None = None

    def __call__(self, network: Network, points: Points, values: Values) -> Refinement:
        """Descend ``1/2 mean (f - f_hat)^2`` in the biases of the hidden layer."""
        hidden = network.layers[0]
        pull = network.layers[1].weights
        biases, history = hidden.biases, []
        rate = self.rate
        for _ in range(self.steps):
            current = replace(network, layers=(replace(hidden, biases=biases), network.layers[1]))
            residuals = current(points) - values
            history.append(float(np.sqrt(np.mean(residuals**2))))
            slopes = hidden.activation(points @ hidden.weights.T + biases, 1)
            if rate is None:
                columns = (slopes[:, None, :] * pull).reshape(-1, hidden.neurons)
                rate = len(points) / float(np.linalg.norm(columns, 2)) ** 2
            biases = biases - rate * np.mean(slopes * (residuals @ pull), axis=0)
        final = replace(network, layers=(replace(hidden, biases=biases), network.layers[1]))
        history.append(float(np.sqrt(np.mean((final(points) - values) ** 2))))
        return Refinement(final, history[-1], self.steps, False, tuple(history))


@dataclass(frozen=True)
class StochasticDescent:
    """What stochastic descent on the shifts came to.

    Args:
        network: with the last shifts.
        epochs: passes over the samples.
        losses: mean squared error over all samples, at the start and after every epoch.
        is_converged: whether it fell below the level at which descent ends.
    """

    network: Network
    epochs: int
    losses: tuple[float, ...]
    is_converged: bool


@dataclass(frozen=True)
class StochasticShiftDescent:
    """Stochastic descent in the biases alone, with the settings of [fiedler, Sec. 3.6].

    There the time is limited to 180 s of a GPU; here the passes are, so that a result does not depend on the machine.

    Args:
        rate: step size for ``1/2 mean (f - f_hat)^2``, the loss of (3.10).
        batch: samples per step.
        tol: mean squared error over all samples at which it ends, looked at after every epoch.
        epochs: most passes over the samples.
    """

    rate: float = 1e-3
    batch: int = 64
    tol: float = 1e-8
    epochs: int = 40

    def __call__(self, network: Network, points: Points, values: Values, rng: np.random.Generator) -> StochasticDescent:
        """Descend in the biases of the hidden layer of a network with one output."""
        hidden, outer = network.layers
        pull, target = outer.weights[0], values[:, 0] - outer.biases[0]
        # Weights are frozen, so that this product is needed once.
        projected = points @ hidden.weights.T
        biases, losses = hidden.biases.copy(), [_mean_square(hidden.activation, projected, hidden.biases, pull, target)]
        while losses[-1] >= self.tol and len(losses) <= self.epochs:
            order = rng.permutation(len(target))
            for first in range(0, len(order), self.batch):
                rows = order[first : first + self.batch]
                arguments = projected[rows] + biases
                residuals = hidden.activation(arguments) @ pull - target[rows]
                biases -= self.rate / len(rows) * pull * (residuals @ hidden.activation(arguments, 1))
            losses.append(_mean_square(hidden.activation, projected, biases, pull, target))
        found = replace(network, layers=(replace(hidden, biases=biases), outer))
        return StochasticDescent(found, len(losses) - 1, tuple(losses), losses[-1] < self.tol)


def _mean_square(
    activation: Activation, projected: np.ndarray, biases: np.ndarray, pull: np.ndarray, target: np.ndarray
) -> float:
    errors = (activation(projected[rows] + biases) @ pull - target[rows] for rows in slices(len(target), ROWS_AT_ONCE))
    return float(sum(np.sum(each**2) for each in errors)) / len(target)
