"""Chords of the domain, and answers along them that are as dense as the function needs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import PerPoint, Points, Values, Vector
from unweave.identification.walks.lines import Ask, Line


@dataclass(frozen=True, eq=False)
class Chord:
    """The points ``middle + position half`` with positions from -1 to 1."""

    middle: Vector
    half: Vector

    @classmethod
    def of_line(cls, line: Line) -> "Chord":
        """Give the whole of a line that has two ends."""
        first, last = line.points(np.array([line.position(line.first), line.position(line.last)]))
        return cls(0.5 * (first + last), 0.5 * (last - first))

    def points(self, positions: PerPoint) -> Points:
        """Give the points at these positions."""
        return self.middle + np.asarray(positions, dtype=np.float64)[:, None] * self.half


@dataclass(frozen=True, eq=False)
class ChordSamples:
    """Answers along a chord.

    Args:
        positions: in ascending order.
        values: the answers there.
    """

    positions: PerPoint
    values: Values


@dataclass(frozen=True, kw_only=True)
class ChordSampling:
    """Settings of the sampling: intervals are halved until a cubic through their neighbours meets their middles.

    Args:
        first: evenly spaced samples to begin with; chosen: a slab between two of them shows by the level on its sides.
        resolved: error of the cubic, relative to the spread of the answers, up to which an interval is left. Chosen:
            rational functions, which are fitted to the samples, follow tanh where cubics are a thousandth off.
        narrowest: interval that is not halved any more: in a slab that thin, positions have six digits.
        most: samples of one chord.
    """

    first: int = 17
    resolved: float = 1e-3
    narrowest: float = 1e-9
    most: int = 800

    def __call__(self, ask: Ask, chord: Chord) -> ChordSamples:
        """Ask along a chord."""
        return self.sample(lambda positions: ask(chord.points(positions)))

    def sample(self, values_at: Callable[[PerPoint], Values]) -> ChordSamples:
        """Sample a function of the position."""
        positions = np.linspace(-1.0, 1.0, self.first)
        values = values_at(positions)
        waiting = np.arange(self.first - 1)
        while len(waiting) and len(positions) + len(waiting) <= self.most:
            middles, expected = _cubic_middles(positions, values, waiting)
            new = values_at(middles)
            is_rough = np.max(np.abs(new - expected), axis=1) > self.resolved
            order = np.argsort(np.concatenate([positions, middles]), kind="stable")
            rough = np.concatenate([np.zeros(len(positions), dtype=bool), is_rough])[order]
            positions = np.concatenate([positions, middles])[order]
            values = np.concatenate([values, new])[order]
            beside = np.flatnonzero(rough)
            waiting = np.unique(np.concatenate([beside - 1, beside]))
            waiting = waiting[np.diff(positions)[waiting] > self.narrowest]
        return ChordSamples(positions, values)


def _cubic_middles(
    positions: PerPoint, values: Values, intervals: Int[np.ndarray, "intervals"]
) -> tuple[Float64[np.ndarray, "intervals"], Float64[np.ndarray, "intervals outputs"]]:
    """Give the middles of intervals, and there the cubics through the two samples on either side."""
    middles = 0.5 * (positions[intervals] + positions[intervals + 1])
    nearest = np.clip(intervals - 1, 0, len(positions) - 4)[:, None] + np.arange(4)
    nodes = positions[nearest]
    others = ~np.eye(4, dtype=bool)
    gaps = np.where(others, nodes[:, :, None] - nodes[:, None, :], 1.0)
    distances = np.where(others, middles[:, None, None] - nodes[:, None, :], 1.0)
    weights = np.prod(distances / gaps, axis=2)
    return middles, np.einsum("ip,ipo->io", weights, values[nearest])
