"""Sets of inputs that exponential units share, where they may overlap [goel, Thm. 8 without what its proof adds].

The theorem names no disjoint sets, its proof assumes them. Let k(S) count for every input how many sets of a product S
contain it. Then the moments of ``f = sum_S c_S prod_{r in S} exp(rho (sum_{i in T_r} x_i - t))`` are

    E[f He_n(x)] = rho^n sum_S c_S exp(-rho t |S| + rho^2 |k(S)|^2 / 2) k(S) (x) .. (x) k(S),

in which a single unit stands with the indicator of its set. With products that weigh little:

* two inputs correlate if a set contains both: sets are maximal cliques of the graph of correlations, if no three
  sets meet pairwise in different inputs, which makes one more clique (`clique_sets`);
* linearly independent indicators are the directions of the tensors of orders 2 and 3, however they overlap
  (`tensor_sets`).
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Atoms, PerPoint, Points
from unweave.learn.lowest_layer.directions import WhitenedPower
from unweave.reproduce.goel.exponential_units import IndicatorSets
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import HermiteMoments, LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate

# Correlations below so many standard errors count as so many: ratios of smaller ones are chance.
NOISE_ERRORS = 3.0
# Share of its largest entry above which an input belongs to a direction: entries are all equal, or zero.
SUPPORT_SHARE = 0.5
Graph = Bool[np.ndarray, "inputs inputs"]


def clique_sets(points: Points, labels: PerPoint) -> IndicatorSets:
    """Find sets as maximal cliques of the graph of large correlations ``E[f x_i x_j]``.

    The threshold lies in the largest ratio of neighbouring correlations: those of inputs that share several sets are
    multiples of each other by less.

    Args:
        points: Gaussian samples.
        labels: one per sample.
    """
    centred = labels - labels.mean()
    count, inputs = points.shape
    correlations = (points * centred[:, None]).T @ points / count
    squares = (points**2 * (centred**2)[:, None]).T @ points**2 / count
    above = np.triu_indices(inputs, 1)
    errors = np.sqrt(np.maximum(squares[above] - correlations[above] ** 2, 0.0) / count)
    values = np.sort(np.maximum(correlations[above], NOISE_ERRORS * errors))
    place = int(np.argmax(values[1:] / values[:-1]))
    threshold = float(np.sqrt(values[place] * values[place + 1]))
    edges = correlations >= threshold
    np.fill_diagonal(edges, False)
    found = sorted(clique for clique in maximal_cliques(edges) if len(clique) > 1)
    return IndicatorSets(tuple(found), float(values[place + 1] - values[place]), float(np.median(errors)))


def maximal_cliques(edges: Graph) -> Iterator[tuple[int, ...]]:
    """List all sets of vertices that are joined pairwise and can't be enlarged (Bron and Kerbosch, with pivots)."""
    neighbours = [set(np.flatnonzero(row).tolist()) for row in edges]

    def extend(clique: set[int], candidates: set[int], done: set[int]) -> Iterator[tuple[int, ...]]:
        if not candidates and not done:
            yield tuple(sorted(clique))
            return
        pivot = max(candidates | done, key=lambda vertex: len(neighbours[vertex] & candidates))
        for vertex in sorted(candidates - neighbours[pivot]):
            yield from extend(clique | {vertex}, candidates & neighbours[vertex], done & neighbours[vertex])
            candidates, done = candidates - {vertex}, done | {vertex}

    yield from extend(set(), set(range(len(edges))), set())


def tensor_sets(points: Points, labels: PerPoint, rng: np.random.Generator, *, sets: int) -> IndicatorSets:
    """Find sets as directions of the tensors of orders 2 and 3.

    Args:
        points: Gaussian samples.
        labels: one per sample; their mean is taken off, which changes nothing but the variance.
        rng: for the starts of power iteration.
        sets: their number.

    Raises:
        InvalidInput: if the tensor of order 2 has fewer positive eigenvalues than that.

    Assumes: linearly independent indicators with positive coefficients, and products that weigh little.
    """
    source = ArraySource(points, labels - labels.mean())
    moments = accumulate(source, LabelMoments(Coordinates.identity(points.shape[1]), 3)).finalise()
    whole, even, odd = (_directions(part, rng, sets) for part in (moments.whole, moments.even, moments.odd))
    supports = whole > SUPPORT_SHARE * whole.max(axis=1, keepdims=True)
    inside = np.where(supports, whole, np.inf).min(axis=1)
    outside = np.where(supports, -np.inf, np.abs(whole)).max(axis=1)
    found = sorted(tuple(np.flatnonzero(row).tolist()) for row in supports)
    error = 0.5 * float(np.median(np.abs(_nearest(even, whole) - _nearest(odd, whole))))
    return IndicatorSets(tuple(found), float(np.min(inside - outside)), error)


def _directions(moments: HermiteMoments, rng: np.random.Generator, sets: int) -> Atoms:
    """Unit vectors, with the sign that makes their sums positive."""
    directions = WhitenedPower()(moments.tensor(2), moments.tensor(3), rng, rank=sets).directions
    return directions * np.where(directions.sum(axis=1) < 0, -1.0, 1.0)[:, None]


def _nearest(directions: Atoms, others: Float64[np.ndarray, "sets inputs"]) -> Atoms:
    """For every other vector the direction nearest to it."""
    return directions[np.argmax(others @ directions.T, axis=1)]
