"""Planted ReLU units with known Hermite moments, and Hermite tensors by brute force."""

from dataclasses import dataclass
from itertools import product
from math import factorial

import numpy as np

from tensors import power
from unweave.activations import activation_named


@dataclass(frozen=True)
class Planted:
    """``sum_i a_i relu(<w_i, x> + b_i)`` with unit weights."""

    weights: np.ndarray
    biases: np.ndarray
    outer: np.ndarray

    def labels(self, points: np.ndarray) -> np.ndarray:
        return np.maximum(points @ self.weights.T + self.biases, 0.0) @ self.outer

    def moment(self, order: int) -> np.ndarray:
        """The tensor ``sum_i a_i g_k(b_i) w_i^k`` in closed form."""
        relu = activation_named("relu")
        total = np.zeros((self.weights.shape[1],) * order)
        for weight, bias, outer in zip(self.weights, self.biases, self.outer, strict=True):
            # The activations have normalised coefficients.
            coefficient = relu.hermite_coefficients(order, bias=float(bias))[order] * np.sqrt(factorial(order))
            total += outer * coefficient * power(weight, order)
        return total


def planted(rng: np.random.Generator, *, inputs: int, neurons: int) -> Planted:
    weights = rng.standard_normal((neurons, inputs))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return Planted(
        weights, rng.uniform(-1.2, 1.2, neurons), rng.choice([-1, 1], neurons) * rng.uniform(0.5, 2, neurons)
    )


def hermite_tensor(point: np.ndarray, order: int) -> np.ndarray:
    """``He_k(x)`` entry by entry, by removing the first index."""

    def entry(index: tuple[int, ...]) -> float:
        if not index:
            return 1.0
        first, rest = index[0], index[1:]
        paired = (entry(rest[:p] + rest[p + 1 :]) for p in range(len(rest)) if rest[p] == first)
        return point[first] * entry(rest) - sum(paired)

    shape = (len(point),) * order
    return np.array([entry(index) for index in product(range(len(point)), repeat=order)]).reshape(shape)


def mean_tensor(points: np.ndarray, labels: np.ndarray, order: int) -> np.ndarray:
    """``mean y He_k(x)`` by brute force."""
    return np.mean([y * hermite_tensor(x, order) for x, y in zip(points, labels, strict=True)], axis=0)
