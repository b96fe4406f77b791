"""How much two sets of weights, or of features, agree."""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

Filters = Float64[np.ndarray, "neurons _"]
Features = Float64[np.ndarray, "points _"]


def filters(weights: Mapping[str, np.ndarray], names: Sequence[str]) -> list[Filters]:
    """One row per neuron of every named array of a unit; a convolution's filter is one vector."""
    return [weights[name].reshape(len(weights[name]), -1).astype(np.float64) for name in names]


def weight_correlation(
    first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], names: Sequence[str], *, is_matched: bool = False
) -> float:
    """Mean over neurons of the cosine between their weights, of two runs of one unit.

    Args:
        names: of the arrays that hold weights of neurons.
        is_matched: whether neurons are first paired for the largest sum of ``|cos|``, and signs ignored. Only for
            independent runs; where one run starts from the other or is pulled to it, neurons keep their places.
    """
    cosines = []
    for ours, theirs in zip(filters(first, names), filters(second, names), strict=True):
        table = _normalised(ours) @ _normalised(theirs).T
        cosines.extend(_matched(table) if is_matched else np.diag(table))
    return float(np.mean(cosines)) if cosines else float("nan")


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
    return sizes[scipy.optimize.linear_sum_assignment(sizes, maximize=True)]
