"""Backward feature correction as numbers: how errors of features move while levels are switched on.

Features are defined up to an orthogonal map per level, and so are compared up to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.teacher import Inputs, make_teacher
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reproduce.allenzhu.gram import alternate_gram
from unweave.reproduce.allenzhu.staged import StagedFit


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


@dataclass(frozen=True)
class FeatureTrace:
    """Errors of the features of one level along the training.

    Args:
        level: which level.
        steps: when they were looked at.
        errors: up to a rotation.
        switches: for every higher level the step at which it was switched on.
    """

    level: int
    steps: tuple[int, ...]
    errors: tuple[float, ...]
    switches: dict[int, int]


def trace_features(
    fit: StagedFit, teacher: QuadraticDenseNet, points: Points, *, level: int = FIRST_LEVEL
) -> FeatureTrace:
    """Errors of a level along a training whose target is known."""
    steps, errors, switches, depth = [], [], {}, FIRST_LEVEL
    for step, network in fit.path:
        if network.depth > depth:
            depth = network.depth
            switches[depth] = steps[-1] if steps else 0
        if depth >= level:
            steps.append(step)
            errors.append(feature_errors(network, teacher, points)[level - FIRST_LEVEL])
    return FeatureTrace(level, tuple(steps), tuple(errors), switches)


@dataclass(frozen=True)
class CorrectionLaw:
    """How far the features of level 2 are off, against the weight of level 3.

    Args:
        weights: of level 3.
        errors: for every weight, the error of level 2 alone, then after each correction by level 3.
    """

    weights: tuple[float, ...]
    errors: tuple[tuple[float, ...], ...]

    @property
    def slope(self) -> float:
        """Of the logarithm of the error of level 2 alone against that of the weight; the theory says 2."""
        alone = [rounds[0] for rounds in self.errors]
        return float(np.polyfit(np.log(self.weights), np.log(alone), 1)[0])

    @property
    def contractions(self) -> tuple[float, ...]:
        """For every weight, by what factor the second correction lowers the error; proportional to weight^-2."""
        return tuple(rounds[1] / rounds[2] for rounds in self.errors)


def measure_correction_law(
    rng: np.random.Generator,
    *,
    distribution: Inputs,
    weights: Sequence[float] = (0.03, 0.1, 0.3),
    inputs: int = 20,
    widths: tuple[int, int] = (4, 2),
    samples: int = 6_000,
    rounds: int = 4,
) -> CorrectionLaw:
    """Alternating least squares on the same target with several weights of its third level."""
    points, fresh = distribution(rng, samples, inputs), distribution(rng, samples, inputs)
    seed, errors = int(rng.integers(2**31)), []
    for weight in weights:
        teacher = make_teacher(
            np.random.default_rng(seed),
            inputs=inputs,
            widths=widths,
            level_weights=(1.0, weight),
            distribution=distribution,
        )
        found = alternate_gram(points, teacher(points)[:, 0], np.ones(inputs), width=widths[0], rounds=rounds)
        errors.append(tuple(feature_errors(network, teacher, fresh)[0] for network in found.networks))
    return CorrectionLaw(tuple(weights), tuple(errors))
