"""How much two sets of weights, or of features, agree."""

import numpy as np
from jaxtyping import Float64
from scipy.optimize import linear_sum_assignment

from unweave.correction.subjects import Weights

Filters = Float64[np.ndarray, "neurons _"]
Features = Float64[np.ndarray, "points _"]


def filters(weights: Weights, unit: str) -> list[Filters]:
    """One row per neuron of every weight array of a unit; a convolution's filter is one vector.

    Arrays of fewer than two axes (biases, norms) are left out.
    """
    arrays = [array for _, array in sorted(weights[unit].items()) if array.ndim >= 2]
    return [array.reshape(len(array), -1).astype(np.float64) for array in arrays]


def weight_correlation(first: Weights, second: Weights, unit: str, *, is_matched: bool = False) -> float:
    """Mean over neurons of the cosine between their weights.

    Args:
        is_matched: whether neurons are first paired for the largest sum of ``|cos|``, and signs ignored. Only for
            independent runs; where one run starts from the other or is pulled to it, neurons keep their places.
    """
    cosines = []
    for ours, theirs in zip(filters(first, unit), filters(second, unit), strict=True):
        table = _normalised(ours) @ _normalised(theirs).T
        cosines.extend(_matched(table) if is_matched else np.diag(table))
    return float(np.mean(cosines))


def linear_cka(first: Features, second: Features) -> float:
    """Linear centred kernel alignment: 1 for features that are equal up to a rotation and a scale."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    cross = float(np.sum((first.T @ second) ** 2))
    norms = float(np.linalg.norm(first.T @ first) * np.linalg.norm(second.T @ second))
    return cross / norms if norms > 0 else float("nan")


def unexplained_share(target: Features, given: Features) -> float:
    """Share of the variance of some features that no affine map of others explains."""
    target, given = target - target.mean(axis=0), given - given.mean(axis=0)
    slopes, *_ = np.linalg.lstsq(given, target, rcond=None)
    total = float(np.sum(target**2))
    return float(np.sum((target - given @ slopes) ** 2)) / total if total > 0 else float("nan")


def _normalised(rows: Filters) -> Filters:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    # A neuron without weights agrees with nothing.
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def _matched(cosines: Float64[np.ndarray, "neurons neurons"]) -> np.ndarray:
    sizes = np.abs(cosines)
    return sizes[linear_sum_assignment(sizes, maximize=True)]
