"""Places where something can hide that no line has met: vertices and faces of a box, cut-off corners, and kinks.

A neuron that bends anywhere in a box is on both sides of its kink at vertices: an affine function has its largest and
its smallest value there. So a kink that no answer has met shows at a vertex first.

All points are in standard coordinates, in which a box is [-1, 1]^inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import Atoms, PerNeuron, PerPoint, Points, Vector
from unweave.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class VertexRules:
    """Which vertices are asked.

    Args:
        most_inputs: up to which all of them are: 4,096.
        drawn: where there are more: as many.
    """

    most_inputs: int = 12
    drawn: int = 4_096


VERTICES = VertexRules()


@dataclass(frozen=True, kw_only=True)
class KinkTrials:
    """Where a network is tried at its kinks. Distances are in half-widths of the domain.

    Args:
        beside_kinks: distances from every kink of a network at which it is tried, on both sides of one place each, and
            at one place on it: two kinks that were taken for one differ from it between all three. If their signs
            differ, both are on one side of it, now on this one and now on that; nearer than they are, one of the two
            points is in between. The smallest distance is what rounding leaves to be seen.
        noisy_radius: radius of the parameters from which on there is noise, and two kinks that were taken for one may
            be farther from it than the radius, which then is no radius.
        within_radius: distances for that case, in units of the radius, and at how many places each: two kinks at an
            angle are to the one side of it in some places and to the other in others, and near it in a third of all.
    """

    beside_kinks: tuple[float, ...] = (1e-11, 1e-9, 1e-7, 1e-5, 1e-3)
    noisy_radius: float = 1e-9
    within_radius: tuple[tuple[float, int], ...] = ((0.0, 4), (0.35, 4), (-0.35, 4), (0.7, 6), (-0.7, 6))

    def __call__(self, radius: float) -> tuple[Int[np.ndarray, "trials"], Float64[np.ndarray, "trials"]]:
        """Numbers of places on a kink, and distances from it, at which a network is tried.

        Its parameters are claimed to be right up to a radius.
        """
        numbers, beside = np.arange(1, len(self.beside_kinks) + 1), np.array(self.beside_kinks)
        places, distances = np.concatenate([[0], numbers, numbers]), np.concatenate([[0.0], beside, -beside])
        if self.noisy_radius < radius < 1.0:
            shares, counts = zip(*self.within_radius, strict=True)
            within = radius * np.repeat(shares, counts)
            places = np.append(places, len(numbers) + 1 + np.arange(len(within)))
            distances = np.append(distances, within)
        return places, distances


def vertices(inputs: int, rng: np.random.Generator) -> Points:
    """Give all vertices of the box in random order, or random ones where there are too many."""
    if inputs > VERTICES.most_inputs:
        return rng.choice([-1.0, 1.0], (VERTICES.drawn, inputs))
    numbers = rng.permutation(2**inputs)
    return 2.0 * ((numbers[:, None] >> np.arange(inputs)) & 1) - 1.0


def face_points(inputs: int, count: int, rng: np.random.Generator) -> Points:
    """Draw points on faces of all dimensions, from the large ones to edges and vertices alike."""
    points = rng.uniform(-1.0, 1.0, (count, inputs))
    fixed = rng.integers(1, inputs + 1, count)
    ranks = np.argsort(np.argsort(rng.random((count, inputs)), axis=1), axis=1)
    return np.where(ranks < fixed[:, None], np.where(points < 0.0, -1.0, 1.0), points)


def climb(
    height: Callable[[Points], np.ndarray],
    starts: Points,
    highest: PerPoint,
    *,
    flips: int,
    rounds: int,
    rng: np.random.Generator,
) -> None:
    """Look at a height at the neighbours of vertices where it is known, and go on from there as long as it rises.

    In every round some coordinates are flipped one by one, and then all together by which it rises: what a single
    neuron adds rises by their sum, up to the vertex where it is largest.
    """
    here = starts
    for _ in range(rounds):
        flipped = rng.permutation(starts.shape[1])[:flips]
        neighbours = np.repeat(here[:, None], len(flipped), axis=1)
        neighbours[:, np.arange(len(flipped)), flipped] *= -1.0
        heights = height(neighbours.reshape(-1, starts.shape[1])).reshape(len(here), len(flipped))
        rises = heights > highest[:, None]
        is_rising = np.any(rises, axis=1)
        if not np.any(is_rising):
            return
        here, neighbours, heights, rises = (each[is_rising] for each in (here.copy(), neighbours, heights, rises))
        here[:, flipped] *= np.where(rises, -1.0, 1.0)
        highest, best = height(here), np.argmax(heights, axis=1)
        rows = np.arange(len(here))
        is_alone = heights[rows, best] > highest
        here = np.where(is_alone[:, None], neighbours[rows, best], here)
        highest = np.maximum(highest, heights[rows, best])


def points_beyond(weights: Vector, bias: float, count: int, rng: np.random.Generator) -> Points:
    """Draw points of the box where ``weights x + bias`` is positive, around the vertex where it is largest.

    Uniform points are rare there if a kink cuts off a small corner. No points if it is positive nowhere.
    """
    vertex = np.where(weights < 0.0, -1.0, 1.0)
    height = float(np.sum(np.abs(weights)) + bias)
    if height <= 0.0:
        return np.empty((0, len(weights)))
    # How far each edge can be followed before the hyperplane is met, or the next vertex.
    with np.errstate(divide="ignore", over="ignore"):
        lengths = np.minimum(height / np.abs(weights), 2.0)
    shares = rng.uniform(0.0, 1.0, (count, 1)) * rng.dirichlet(np.ones(len(weights)), count)
    return vertex - shares * lengths * vertex


def points_beyond_each(weights: Atoms, biases: PerNeuron, count: int, rng: np.random.Generator) -> Points:
    """Draw points of the box in the smaller part of it that each hyperplane cuts off, in equal shares."""
    sides = np.where(biases < 0.0, 1.0, -1.0)
    lifted = zip(sides[:, None] * weights, sides * biases, strict=True)
    each = [points_beyond(row, bias, count // len(biases), rng) for row, bias in lifted]
    return np.concatenate(each)


def points_on(
    weights: Vector, offset: float | Float64[np.ndarray, "points"], points: Points, *, is_box: bool
) -> Float64[np.ndarray, "moved inputs"]:
    """Move points of the domain to where ``weights x + offset`` is zero; those that can't get there are left out.

    Where two kinks are so near each other that they were taken for one, only points between them show it.
    """
    values, size = points @ weights + offset, float(weights @ weights)
    if size == 0.0:
        return points[:0]
    if not is_box:
        return points - (values / size)[:, None] * weights
    # Towards the vertex where the sign is most likely another one: the way there stays in the box.
    ends = -np.sign(values)[:, None] * np.where(weights < 0.0, -1.0, 1.0)
    beyond = ends @ weights + offset
    crosses = values * beyond < 0.0
    shares = values[crosses] / (values[crosses] - beyond[crosses])
    return points[crosses] + shares[:, None] * (ends[crosses] - points[crosses])


def beside_kinks(
    network: Network,
    numbers: Int[np.ndarray, "trials"],
    distances: Float64[np.ndarray, "trials"],
    *,
    sample: Callable[[int], Points],
    is_box: bool,
) -> tuple[Points, Points]:
    """Give points at some distances from every kink of the first layer, and the normals of the kinks.

    Args:
        network: whose kinks are meant.
        numbers: of places on each kink; distances with the same number are from the same place.
        distances: from the kink, along its normal.
        sample: draws so many points of the domain.
        is_box: whether the domain is a box.
    """
    hidden = network.layers[0]
    places, normals = [np.empty((0, hidden.inputs))], [np.empty((0, hidden.inputs))]
    for weights, bias in zip(hidden.weights, hidden.biases, strict=True):
        normal = weights / max(float(np.linalg.norm(weights)), np.finfo(float).tiny)
        for kink in hidden.activation.kinks:
            on = points_on(weights, bias - kink, sample(int(np.max(numbers)) + 1), is_box=is_box)
            reached = numbers < len(on)
            places.append(on[numbers[reached]] + distances[reached, None] * normal)
            normals.append(np.tile(normal, (len(places[-1]), 1)))
    points, across = np.concatenate(places), np.concatenate(normals)
    inside = np.all(np.abs(points) <= 1.0, axis=1) if is_box else np.ones(len(points), dtype=bool)
    return points[inside], across[inside]
