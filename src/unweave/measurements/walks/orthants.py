"""Lines and points in a box at the corner of the orthant of positive values.

A hyperplane with weights of both signs separates the far ends of two axes of the orthant, and one with
weights of one sign cuts off its corner. So lines between neighbours in a round of all axes meet the first
kind at least twice and rays from the corner meet the second kind, while lines between random points of the
box meet only hyperplanes near its middle. Standard coordinates: the box is [-1, 1]^inputs, the corner
of the orthant is at -1.
"""

from collections.abc import Iterator

import numpy as np

from unweave.arrays import Points, Vector
from unweave.measurements.walks.lines import Line, line_between
from unweave.oracles.domains import Domain

# Distance of a line from the edge or corner that it follows, as a share of the width of the box.
BESIDE_EDGE, BESIDE_CORNER = 0.01, 1e-3
# Rays from the corner, in different directions.
RAYS = 2
# Spread of the logarithms of points that are scattered around another.
SCATTER = 0.5


def edge_lines(domain: Domain, inputs: int, rng: np.random.Generator) -> Iterator[Line]:
    """A round of all axes in random order, then rays from the corner."""
    axes = rng.permutation(inputs)
    rounds = zip(axes, np.roll(axes, 1), strict=True) if inputs > 2 else [tuple(axes)] if inputs == 2 else []
    for pair in rounds:
        ends = BESIDE_EDGE * rng.random((2, inputs))
        ends[[0, 1], pair] = rng.uniform(0.5, 1.0, 2)
        yield line_between(2.0 * ends[0] - 1.0, 2.0 * ends[1] - 1.0, domain)
    for _ in range(RAYS):
        corner, end = BESIDE_CORNER * rng.random(inputs), rng.random(inputs)
        yield line_between(2.0 * corner - 1.0, 2.0 * end - 1.0, domain)


def scattered_around(point: Vector, count: int, rng: np.random.Generator) -> Points:
    """Points of the box at a distance that suits the point's own distance from the faces of the orthant."""
    values = 0.5 * (point + 1.0) * np.exp(SCATTER * rng.standard_normal((count, len(point))))
    return np.minimum(2.0 * values - 1.0, 1.0)
