"""The refinement of [fiedler, (3.72)], kept as a reference: gradient descent on the shifts."""

from dataclasses import dataclass, replace

import numpy as np

from unweave.arrays import Points, Values
from unweave.networks.network import Network
from unweave.numerics.network_fit import Refinement


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
