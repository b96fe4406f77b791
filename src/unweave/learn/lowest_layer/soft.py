"""Unions of half spaces for prediction on any data: no claim about rows, number chosen by held-out samples."""

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points
from unweave.learn.lowest_layer.layer import LowestLayer
from unweave.learn.lowest_layer.soft_union import SoftUnion, fit_soft_union, logistic_loss
from unweave.learn.lowest_layer.units import STEP
from unweave.samples.hermite.coordinates import Coordinates

Side = Bool[np.ndarray, "points"]
# Half spaces that are tried if their number is not given, and random starts of each.
MOST_HALFSPACES, STARTS = 4, 3
# Share of the samples that choose the number, and the relative gain that another half space must bring.
CHOOSING_SHARE, LEAST_GAIN = 0.3, 0.02
# Penalty of small data sets: about one over the samples.
PENALTY_SAMPLES = 1.0
MOST_SAMPLES = 20_000


def fitted_union(points: Points, is_active: Side, rng: np.random.Generator, *, halfspaces: int | None) -> LowestLayer:
    """A union that predicts as well as logistic fits of its smooth maximum do.

    Args:
        points: samples of any distribution.
        is_active: whether a sample is in the union.
        rng: for subsamples, splits and starts.
        halfspaces: number of half spaces; chosen on held-out samples if None.
    """
    if len(points) > MOST_SAMPLES:
        chosen = rng.choice(len(points), MOST_SAMPLES, replace=False)
        points, is_active = points[chosen], is_active[chosen]
    scale = points.std(axis=0)
    # Inputs that are constant say nothing, whatever their scale.
    coordinates = Coordinates(points.mean(axis=0), np.diag(1.0 / np.where(scale > 0, scale, 1.0)))
    white = np.ascontiguousarray(coordinates.rows_of(points).T)
    count = halfspaces if halfspaces is not None else _chosen_count(white, is_active, rng)
    union = _best_union(white, is_active, rng, count)
    kept = np.linalg.norm(union.slopes, axis=1) > 0
    layer = LowestLayer(union.rows[kept], union.thresholds[kept], np.full(int(kept.sum()), np.nan), STEP)
    return layer.pulled_back(coordinates)


def _chosen_count(points: Points, is_active: Side, rng: np.random.Generator) -> int:
    """The smallest number whose held-out loss no larger number lowers by much."""
    held = np.zeros(len(points), dtype=bool)
    held[rng.choice(len(points), int(CHOOSING_SHARE * len(points)), replace=False)] = True
    if len(np.unique(is_active[~held])) < 2 or not held.any():
        return 1
    best, chosen = np.inf, 1
    for count in range(1, MOST_HALFSPACES + 1):
        union = _best_union(points[~held], is_active[~held], rng, count)
        loss = logistic_loss(union.depths(points[held]), is_active[held])
        if loss < (1.0 - LEAST_GAIN) * best:
            best, chosen = loss, count
    return chosen


def _best_union(points: Points, is_active: Side, rng: np.random.Generator, count: int) -> SoftUnion:
    penalty = PENALTY_SAMPLES / (2 * len(points))
    fits = []
    for _ in range(STARTS if count > 1 else 1):
        slopes, offsets = _random_start(points, is_active, rng, count)
        fits.append(fit_soft_union(points, is_active, slopes, offsets, penalty=penalty))
    return min(fits, key=lambda fit: fit.loss)


def _random_start(
    points: Points, is_active: Side, rng: np.random.Generator, count: int
) -> tuple[Float64[np.ndarray, "neurons inputs"], Float64[np.ndarray, "neurons"]]:
    """Half spaces from the mean of the quiet samples towards random active ones."""
    centre = points[~is_active].mean(axis=0)
    targets = points[is_active].mean(axis=0)[None]
    if count > 1:
        targets = rng.choice(points[is_active], count)
    slopes = targets - centre
    return slopes, np.einsum("ni,ni->n", slopes, 0.5 * (targets + centre))
