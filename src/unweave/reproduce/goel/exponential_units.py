"""Rows that are indicators of disjoint sets of inputs, under exponential units: no threshold is needed.

For ``f = sum_S c_S prod_{r in S} exp(rho (sum_{i in T_r} x_i - t))`` the correlation ``E[f x_i x_j]`` is
``rho^2 sum_{S containing r} c_S mu^|S|`` for two inputs of one set, smaller for inputs of different sets and zero for
an input of none, with ``mu = exp(-rho t + rho^2 m / 2)`` for sets of m inputs.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from unweave.arrays import PerPoint, Points, Vector

Labels = PerPoint
# The gap between correlations within and across sets needs to be so many standard errors.
GAP_ERRORS = 6.0
# Entries of a maximum above this share of the largest belong to its set.
SUPPORT_SHARE = 0.3
# Ascent over the simplex: size of the steps relative to the gradient, and their number.
STEP, STEPS = 0.2, 300
# Gain of a set, relative to that of the first, below which no set is left.
LEAST_GAIN = 0.1


@dataclass(frozen=True)
class IndicatorSets:
    """Sets of inputs that are found together.

    Args:
        sets: indices of the inputs, ascending; inputs of no set are left out.
        gap: between what is taken for the same set and what is not.
        error: standard error of what the gap is between.
    """

    sets: tuple[tuple[int, ...], ...]
    gap: float
    error: float

    @property
    def is_reliable(self) -> bool:
        """Whether the gap is far beyond chance."""
        return self.gap >= GAP_ERRORS * self.error


def correlation_graph(points: Points, labels: Labels) -> IndicatorSets:
    """Sets of equal size from the graph of large correlations ``E[f x_i x_j]`` [goel, Alg. 3].

    Args:
        points: Gaussian samples.
        labels: one per sample; their mean is taken off, which changes nothing but the variance.

    Assumes: disjoint sets, and single units that outweigh products by a factor; `is_reliable` judges the gap.
    """
    centred = labels - labels.mean()
    inputs = points.shape[1]
    correlations = (points * centred[:, None]).T @ points / len(points)
    squares = (points**2 * (centred**2)[:, None]).T @ points**2 / len(points)
    rows, columns = np.triu_indices(inputs, 1)
    values = correlations[rows, columns]
    errors = np.sqrt(np.maximum(squares[rows, columns] - values**2, 0.0) / len(points))
    order = np.argsort(values)
    gaps = np.diff(values[order])
    place = int(np.argmax(gaps))
    threshold = float(values[order[place]] + values[order[place + 1]]) / 2
    edges = values >= threshold
    graph = sparse.coo_array((np.ones(edges.sum()), (rows[edges], columns[edges])), shape=(inputs, inputs))
    return IndicatorSets(_components(graph), float(gaps[place]), float(np.median(errors)))


def hessian_clusters(points: Points, labels: Labels) -> IndicatorSets:
    """Sets from the moment of order 2: rows of ``E[f (x x^T - I)]`` are equal for inputs of one set, zero for none.

    For units ``exp(sum_{i in T} x_i)`` without a threshold [goel, Thm. 9], which need no optimisation this way.

    Args:
        points: Gaussian samples.
        labels: one per sample.
    """
    centred = labels - labels.mean()
    inputs = points.shape[1]
    second = (points * centred[:, None]).T @ points / len(points)
    # The diagonal of order 2 continues the pattern of the rest, because the mean of the labels is taken off.
    distances = np.linalg.norm(second[:, None] - second[None], axis=2)
    error = float(np.sqrt(2 * inputs * np.mean((points[:, 0] * points[:, -1] * centred) ** 2) / len(points)))
    sizes = np.linalg.norm(second, axis=1)
    rows, columns = np.triu_indices(inputs, 1)
    values = np.sort(np.concatenate([distances[rows, columns], sizes]))
    place = int(np.argmax(np.diff(values)))
    threshold = float(values[place] + values[place + 1]) / 2
    is_used = sizes > threshold
    edges = (distances[rows, columns] < threshold) & is_used[rows] & is_used[columns]
    graph = sparse.coo_array((np.ones(edges.sum()), (rows[edges], columns[edges])), shape=(inputs, inputs))
    alone = tuple((int(i),) for i in np.flatnonzero(is_used) if not np.any(edges & ((rows == i) | (columns == i))))
    return IndicatorSets(_components(graph) + alone, float(values[place + 1] - values[place]), error)


def simplex_sets(points: Points, labels: Labels, *, radius: float = 1.0, spread: float = 0.1) -> IndicatorSets:
    """Sets as maxima of ``E[f(x + z)] - spread |z|^2`` over ``z >= 0, sum z = radius`` [goel, Thm. 9, corrected].

    The printed objective is unbounded and has no maximum for at least one set; on a simplex it has one for each.

    Args:
        points: Gaussian samples.
        labels: one per sample; positive.
        radius: sum of the entries of z.
        spread: penalty that makes entries of one set equal; relative to the mean of the labels.
    """
    scale, inputs = float(np.mean(labels)), points.shape[1]
    is_free = np.ones(inputs, dtype=bool)
    sets, gains = [], []
    while is_free.any():
        z = _ascended(points, labels / scale, is_free, radius=radius, spread=spread)
        chosen = np.flatnonzero(z > SUPPORT_SHARE * z.max())
        gain = _shifted_mean(points, labels / scale, z)[0] - 1.0
        if gains and gain < LEAST_GAIN * gains[0]:
            break
        sets.append(tuple(int(i) for i in chosen))
        gains.append(gain)
        is_free[chosen] = False
    error = float(np.std(labels / scale) * np.exp(radius**2 / 2) / np.sqrt(len(points)))
    return IndicatorSets(tuple(sets), float(min(gains, default=0.0)), error)


def _shifted_mean(points: Points, labels: Labels, z: Vector) -> tuple[float, Vector]:
    """``E[f(x + z)]`` by weights, and its gradient."""
    weighted = labels * np.exp(points @ z - z @ z / 2)
    return float(np.mean(weighted)), weighted @ points / len(points) - float(np.mean(weighted)) * z


def _ascended(points: Points, labels: Labels, is_free: np.ndarray, *, radius: float, spread: float) -> Vector:
    z = np.where(is_free, radius / is_free.sum(), 0.0)
    # Ties between sets are left by the input whose gradient is largest.
    steepest = int(np.argmax(np.where(is_free, _shifted_mean(points, labels, z)[1], -np.inf)))
    z = _on_simplex(z + STEP * np.eye(len(z))[steepest], is_free, radius)
    for _ in range(STEPS):
        gradient = _shifted_mean(points, labels, z)[1] - 2 * spread * z
        moved = _on_simplex(z + STEP * gradient / max(np.abs(gradient).max(), 1.0), is_free, radius)
        if np.max(np.abs(moved - z)) < 1e-6:
            break
        z = moved
    return z


def _on_simplex(z: Vector, is_free: np.ndarray, radius: float) -> Vector:
    """Nearest point with non-negative free entries of the given sum, and zeros elsewhere."""
    free = np.sort(z[is_free])[::-1]
    excess = (np.cumsum(free) - radius) / np.arange(1, len(free) + 1)
    level = excess[np.flatnonzero(free > excess)[-1]]
    return np.where(is_free, np.maximum(z - level, 0.0), 0.0)


def _components(graph: sparse.coo_array) -> tuple[tuple[int, ...], ...]:
    count, labels = connected_components(graph, directed=False)
    groups = [tuple(int(i) for i in np.flatnonzero(labels == group)) for group in range(count)]
    return tuple(group for group in groups if len(group) > 1)
