"""Kernel ridge regression with kernels that need far too many samples for deep quadratic networks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Vector

Predictor = Callable[[Points], PerPoint]
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Ridges that are tried, relative to the mean of the diagonal, and the share of rows that choose among them.
RIDGES, CHOOSING_SHARE = (1e-8, 1e-5, 1e-3, 1e-1), 0.2
FEWEST_ROWS = 10


@dataclass(frozen=True)
class PolynomialKernel:
    """``(1 + <x, x'> / inputs)^degree``."""

    degree: int

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel of all pairs."""
        return (1 + left @ right.T / left.shape[1]) ** self.degree


@dataclass(frozen=True)
class GaussianKernel:
    """``exp(-|x - x'|^2 / (2 inputs))``."""

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel of all pairs."""
        distances = np.sum(left**2, axis=1)[:, None] + np.sum(right**2, axis=1) - 2 * left @ right.T
        return np.exp(-np.maximum(distances, 0.0) / (2 * left.shape[1]))


@dataclass(frozen=True)
class NeuralTangentKernel:
    """That of an infinitely wide relu network with `depth` layers of weights."""

    depth: int = 3

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel of all pairs."""
        sizes = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)
        covariance = left @ right.T
        tangent = covariance.copy()
        for _ in range(self.depth - 1):
            cosine = np.clip(covariance / np.where(sizes > 0, sizes, 1.0), -1.0, 1.0)
            angle = np.arccos(cosine)
            covariance = sizes * (np.sin(angle) + (np.pi - angle) * cosine) / np.pi
            tangent = covariance + tangent * (np.pi - angle) / np.pi
        return tangent


def fit_kernel(kernel: Kernel, points: Points, labels: PerPoint) -> Predictor:
    """Ridge regression; the ridge is chosen on rows that are held out, then all rows are used."""
    mean = float(np.mean(labels))
    gram = kernel(points, points)
    unit = float(np.mean(np.diag(gram)))
    choosing = max(int(CHOOSING_SHARE * len(points)), 1) if len(points) >= FEWEST_ROWS else 0
    own, other = slice(choosing, None), slice(0, choosing)
    best, lowest = RIDGES[-1], np.inf
    for ridge in RIDGES if choosing else ():
        weights = _solve(gram[own, own], ridge * unit, labels[own] - mean)
        error = float(np.mean((gram[other, own] @ weights + mean - labels[other]) ** 2))
        if error < lowest:
            best, lowest = ridge, error
    weights = _solve(gram, best * unit, labels - mean)
    return lambda fresh: kernel(fresh, points) @ weights + mean


def _solve(gram: np.ndarray, ridge: float, labels: np.ndarray) -> np.ndarray:
    system = gram + ridge * np.eye(len(gram))
    try:
        return scipy.linalg.solve(system, labels, assume_a="pos", check_finite=False)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(system, labels, rcond=1e-12)[0]


def with_squares(points: Points, mean_squares: Vector) -> Float64[np.ndarray, "points doubled"]:
    """Inputs, and beside them their centred squares in the same unit."""
    return np.concatenate([points, (points**2 - mean_squares) / np.sqrt(2.0)], axis=1)
