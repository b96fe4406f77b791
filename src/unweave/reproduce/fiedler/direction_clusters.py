"""One direction per group of vectors that are equal up to sign and small errors."""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64, Int

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput

# Distance up to sign below which two ends of the power method are the same entangled weight: errors up to 0.08 and
# distances of different weights from 0.55 on were seen at the sizes of [fiedler, Sec. 4.4].
SAME_DIRECTION = 0.2
# k-means is run from this many seedings, and the tightest result counts.
SEEDINGS = 10
LLOYD_STEPS = 100


@dataclass(frozen=True)
class DirectionClusters:
    """Groups of directions.

    Args:
        centers: one unit vector per group.
        hits: number of vectors in each.
        spread: largest distance of a vector to its centre, up to sign.
    """

    centers: Atoms
    hits: Int[np.ndarray, "neurons"]
    spread: float


def without_outputs(
    vectors: Float64[np.ndarray, "ends inputs"], outputs: Atoms, *, distance: float = SAME_DIRECTION
) -> Float64[np.ndarray, "_ inputs"]:
    """The vectors that are farther than `distance` from every output direction, up to sign [fiedler, (4.58)]."""
    return vectors[np.all(_distances(vectors, outputs) > distance, axis=1)]


def leader_clusters(
    vectors: Float64[np.ndarray, "ends inputs"],
    values: Float64[np.ndarray, "ends"],
    *,
    distance: float = SAME_DIRECTION,
) -> DirectionClusters:
    """Group by leaders, best first: join the nearest leader up to sign if it is near, or lead a new group.

    Args:
        vectors: unit vectors with arbitrary signs.
        values: quality of each; the best is the first leader.
        distance: largest distance to the leader.

    Guarantees: the right groups if errors are below half of `distance`, and groups farther apart than twice.
    """
    leaders = np.empty((0, vectors.shape[1]))
    labels = np.full(len(vectors), -1)
    for index in np.argsort(-values, kind="stable"):
        near = _distances(vectors[index : index + 1], leaders)[0]
        if len(near) == 0 or np.min(near) >= distance:
            leaders = np.vstack([leaders, vectors[index]])
            labels[index] = len(leaders) - 1
        else:
            labels[index] = int(np.argmin(near))
    return _summarised(vectors, labels, leaders)


def half_sphere_clusters(
    vectors: Float64[np.ndarray, "ends inputs"], *, count: int, rng: np.random.Generator
) -> DirectionClusters:
    """Group as [fiedler, Sec. 4.4] does: signs by the first coordinate, then k-means with k-means++ seeding.

    A group whose first coordinate is near zero is torn in two by this choice of signs, and one of two close groups
    then has to share its centre: `leader_clusters` has neither weakness. Here for the comparison.

    Raises:
        InvalidInput: if there are fewer vectors than groups.
    """
    if len(vectors) < count:
        raise InvalidInput(f"{count} groups need at least as many vectors, got {len(vectors)}: use more starts.")
    signed = np.where(vectors[:, :1] < 0, -1.0, 1.0) * vectors
    best, smallest = np.zeros(len(signed), dtype=np.int64), np.inf
    for _ in range(SEEDINGS):
        labels, distortion = _lloyd(signed, _plus_plus_seeds(signed, count, rng))
        if distortion < smallest:
            best, smallest = labels, distortion
    centers = np.array([signed[best == group].mean(axis=0) for group in np.unique(best)])
    return _summarised(signed, np.unique(best, return_inverse=True)[1], _unit(centers))


def _plus_plus_seeds(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Every next centre is drawn with probability proportional to the squared distance to the nearest so far."""
    seeds = [points[rng.integers(len(points))]]
    nearest = np.sum((points - seeds[0]) ** 2, axis=1)
    while len(seeds) < count:
        total = float(np.sum(nearest))
        index = rng.choice(len(points), p=nearest / total) if total > 0 else rng.integers(len(points))
        seeds.append(points[index])
        nearest = np.minimum(nearest, np.sum((points - seeds[-1]) ** 2, axis=1))
    return np.array(seeds)


def _lloyd(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, float]:
    labels = np.full(len(points), -1)
    squares = np.empty((len(points), 0))
    for _ in range(LLOYD_STEPS):
        squares = scipy.spatial.distance.cdist(points, centers, "sqeuclidean")
        moved = np.argmin(squares, axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
        # A centre that has lost all its points stays where it is.
        for group in np.unique(labels):
            centers[group] = points[labels == group].mean(axis=0)
    return labels, float(np.sum(np.min(squares, axis=1)))


def _summarised(vectors: np.ndarray, labels: np.ndarray, leaders: Atoms) -> DirectionClusters:
    """Mean direction of every group, members turned towards the leader."""
    towards = np.where(np.sum(vectors * leaders[labels], axis=1) < 0, -1.0, 1.0)[:, None] if len(vectors) else 1.0
    sums = np.zeros_like(leaders)
    np.add.at(sums, labels, towards * vectors)
    centers = _unit(sums)
    spread = np.max(np.min(_distances(vectors, centers), axis=1)) if len(vectors) else 0.0
    return DirectionClusters(centers, np.bincount(labels, minlength=len(leaders)), float(spread))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _distances(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Distances of unit vectors up to sign."""
    return np.sqrt(np.maximum(2.0 - 2.0 * np.abs(vectors @ others.T), 0.0))
