"""Recover a network that hides behind a plain Python function.

python examples/identify_a_callable.py
"""

import numpy as np

import unweave

rng = np.random.default_rng(3)
directions, biases = rng.standard_normal((9, 6)) / 2, rng.uniform(-1, 1, 9)
prices = rng.standard_normal((2, 9))


def black_box(points: np.ndarray) -> np.ndarray:
    """Stand-in for a model that you can only ask: six inputs, two outputs."""
    return np.tanh(points @ directions.T + biases) @ prices.T


found = unweave.identify(black_box, inputs=6, seed=7)
print(found.outcome.value, "-", found.reason)
assert found.network is not None

print("queries:", found.queries, "for", found.network.parameters, "parameters")
print("recovered weights of the first neuron:", np.round(found.network.layers[0].weights[0], 6))

# The recovered network is an ordinary object: call it, differentiate it, save it.
points = rng.standard_normal((1000, 6))
print("largest difference on new points:", np.max(np.abs(found.network(points) - black_box(points))))
