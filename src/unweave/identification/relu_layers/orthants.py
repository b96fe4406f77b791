"""Lines and points in the orthant of positive values.

A hyperplane with weights of both signs separates the far ends of two axes of the orthant, and one with weights
of one sign cuts off its corner. So lines between neighbours in a round of all axes meet the first kind at least
twice and rays from the corner meet the second kind, while lines between random points of a box meet only
hyperplanes near its middle.
"""

from collections.abc import Iterator

import numpy as np

from unweave.arrays import Points, Vector
from unweave.identification.walks.lines import Line

# Rays from the corner, in different directions, and how near to it they begin, relative to their length.
RAYS = 2
BESIDE_CORNER = 1e-3
# Distance of points from the hyperplane that they are asked for, in units of the values.
BESIDE_HYPERPLANE = 0.5


def edge_lines(inputs: int, rng: np.random.Generator, *, axis: float, ray: float, beside: float) -> Iterator[Line]:
    """A round of all axes in random order, then rays from the corner.

    Args:
        inputs: dimension of the orthant.
        rng: chooses the order, and places near the edges.
        axis: distance of the corner from the ends of lines between two axes.
        ray: length of the rays along every axis.
        beside: largest distance of the lines from the edges that they follow.
    """
    order = rng.permutation(inputs)
    for pair in zip(order, np.roll(order, 1), strict=True) if inputs > 1 else ():
        ends = beside * rng.random((2, inputs))
        ends[[0, 1], pair] = axis * rng.uniform(0.5, 1.0, 2)
        yield segment(ends[0], ends[1])
    for _ in range(RAYS):
        yield segment(BESIDE_CORNER * ray * rng.random(inputs), ray * rng.random(inputs))


def segment(start: Vector, end: Vector) -> Line:
    """The line from one point to another, and no farther."""
    length = float(np.linalg.norm(end - start))
    return Line(start, (end - start) / length, unit=length, first=0.0, last=np.pi / 4)


def points_beside(normal: Vector, offset: float, count: int, rng: np.random.Generator) -> Points:
    """Points of the orthant on both sides of a hyperplane, as near to the corner as it comes.

    Random points are moved along the axis that leads fastest across, away from the corner; if there is no such
    axis they are moved towards it.
    """
    points = np.abs(rng.standard_normal((count, len(normal))))
    targets = BESIDE_HYPERPLANE * rng.standard_normal(count)
    missing = targets - offset - points @ normal
    steepest = np.where(missing > 0.0, np.argmax(normal), np.argmin(normal))
    slopes = normal[steepest]
    is_possible = missing * slopes > 0.0
    rows = np.flatnonzero(is_possible)
    points[rows, steepest[rows]] += missing[rows] / slopes[rows]
    # With weights of one sign the hyperplane cuts the corner off: a factor leads to it, and as far beyond.
    factors = (-offset / (points[~is_possible] @ normal)) * rng.uniform(0.0, 2.0, np.count_nonzero(~is_possible))
    points[~is_possible] *= np.maximum(factors, 0.0)[:, None]
    return points
