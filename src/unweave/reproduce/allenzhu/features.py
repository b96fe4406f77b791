"""How far learnt features are from the true ones: they are defined up to an orthogonal map per level."""

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL


def procrustes_error(true: Float64[np.ndarray, "points _"], found: Float64[np.ndarray, "points _"]) -> float:
    """``min_U E|S* - U S|^2 / E|S*|^2`` over orthogonal U; the narrower side is padded by zeros."""
    # The nuclear norm of the cross products is the largest trace that an orthogonal map can reach.
    overlap = np.linalg.svd(true.T @ found, compute_uv=False).sum()
    norm = float(np.sum(true**2))
    return max(float(norm + np.sum(found**2) - 2 * overlap) / norm, 0.0)


def linear_residual(true: Float64[np.ndarray, "points _"], found: Float64[np.ndarray, "points _"]) -> float:
    """Share of the true features that no linear map of the found ones explains."""
    map_, *_ = np.linalg.lstsq(found, true, rcond=None)
    return float(np.sum((true - found @ map_) ** 2) / np.sum(true**2))


def feature_errors(found: QuadraticDenseNet, truth: QuadraticDenseNet, points: Points) -> tuple[float, ...]:
    """Error of every level that both have, up to an orthogonal map, in units in which the output weights are equal.

    The square of a feature enters with the weight of its level, so that ``sqrt(weight) S`` is what the output defines.
    """
    common = min(found.depth, truth.depth)
    errors = []
    for level in range(FIRST_LEVEL, common + 1):
        true_scale = np.sqrt(abs(truth.levels[level - FIRST_LEVEL].weight))
        scale = np.sqrt(abs(found.levels[level - FIRST_LEVEL].weight))
        errors.append(
            procrustes_error(true_scale * truth.features(points, level), scale * found.features(points, level))
        )
    return tuple(errors)
