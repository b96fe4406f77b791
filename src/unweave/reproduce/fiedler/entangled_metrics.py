"""Distances of spans, directions, layers and networks to others [fiedler, Sec. 4.4].

Where the others are true ones, only tests and benchmarks can hold them. Directions are compared up to sign, and
distances are norms of differences: computed from a cosine they could not fall below 1.5e-8.
"""

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, Values

Basis = Float64[np.ndarray, "packed rank"]


def projector_distance(first: Basis, second: Basis) -> float:
    """``||P - Q||_F`` of the projections on two spans of equal dimension, given by orthonormal columns."""
    # The residual form of 2 (rank - ||first^T second||_F^2), without its cancellation.
    return float(np.sqrt(2.0) * np.linalg.norm(second - first @ (first.T @ second)))


def projector_gap(first: Basis, second: Basis) -> float:
    """Operator norm of ``P - Q``, the sine of the largest angle between two spans of equal dimension."""
    return float(np.linalg.norm(second - first @ (first.T @ second), 2))


def distances_up_to_sign(
    found: Atoms, truth: Float64[np.ndarray, "true inputs"]
) -> Float64[np.ndarray, "neurons true"]:
    """Distance of every found unit vector (rows) to every true one (columns), up to sign."""
    cosines = found @ truth.T
    distances = np.sqrt(np.maximum(2.0 - 2.0 * np.abs(cosines), 0.0))
    # Near pairs once more, by their difference.
    rows, columns = np.nonzero(distances < 0.5)
    signs = np.where(cosines[rows, columns] < 0, -1.0, 1.0)[:, None]
    distances[rows, columns] = np.linalg.norm(found[rows] - signs * truth[columns], axis=1)
    return distances


def worst_of_truth(found: Atoms, truth: Float64[np.ndarray, "true inputs"]) -> float:
    """Largest distance of a true direction to the nearest found one (4.78)."""
    return float(np.max(np.min(distances_up_to_sign(found, truth), axis=0))) if len(found) else np.inf


def worst_of_found(found: Atoms, truth: Float64[np.ndarray, "true inputs"]) -> float:
    """Largest distance of a found direction to the nearest true one (4.80)."""
    return float(np.max(np.min(distances_up_to_sign(found, truth), axis=1)))


def false_positives(found: Atoms, truth: Float64[np.ndarray, "true inputs"], *, distance: float = 0.1) -> float:
    """Share of the found directions that are not within `distance` of any true one."""
    return float(np.mean(np.min(distances_up_to_sign(found, truth), axis=1) > distance)) if len(found) else 0.0


def rightly_assigned(found: Atoms, truth: Float64[np.ndarray, "true inputs"], *, distance: float = 0.1) -> float:
    """Share of a layer's columns that are within `distance` of a true one of that layer (4.79)."""
    return float(np.mean(np.min(distances_up_to_sign(found, truth), axis=1) < distance))


def mean_error(found: Values, truth: Values) -> float:
    """Mean over points of the Euclidean distance of two outputs (4.81)."""
    return float(np.mean(np.linalg.norm(found - truth, axis=1)))


def uniform_error(found: Values, truth: Values) -> float:
    """Largest distance of two outputs over the largest norm of the true ones (4.82)."""
    return float(np.max(np.linalg.norm(found - truth, axis=1)) / np.max(np.linalg.norm(truth, axis=1)))


def shift_error(
    found: PerNeuron,
    truth: PerNeuron,
    *,
    found_directions: Atoms,
    true_directions: Float64[np.ndarray, "true inputs"],
) -> float:
    """Relative distance of absolute shifts of a layer, its neurons paired by their entangled weights (4.83)."""
    rows, columns = scipy.optimize.linear_sum_assignment(distances_up_to_sign(found_directions, true_directions))
    difference = np.abs(truth[columns]) - np.abs(found[rows])
    return float(np.linalg.norm(difference) / np.linalg.norm(truth))
