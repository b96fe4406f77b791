"""Places where a rounded answer switches from one number of its grid to the next: there the function is known exactly.

A network that is right up to the rounding says where that is, up to its error. Two answers on both sides of the place
are met within a few questions, and each further question halves the distance between them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from unweave.arrays import PerPoint, PointMask, Points
from unweave.exceptions import StageFailed
from unweave.networks.network import Network
from unweave.oracles.ledger import AnswerKind, Rounding
from unweave.oracles.oracle import Box
from unweave.oracles.views import StandardOracle


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines on which a network meets the middle between two numbers of the grid, one per place.

    Args:
        origins: where they begin.
        directions: of length one, in which the network rises.
        slopes: how fast it does, at the place.
        lower: the number of the grid below the place, in the oracle's units.
        places: where the network meets the middle, as a distance from the origin.
    """

    origins: Points
    directions: Points
    slopes: PerPoint
    lower: PerPoint
    places: PerPoint

    def at(self, distances: PerPoint) -> Points:
        """Points of the lines, one per line."""
        return self.origins + distances[:, None] * self.directions

    def chosen(self, kept: PointMask | Int64[np.ndarray, " kept"]) -> "Lines":
        """Some of the lines, by a mask or by their numbers."""
        each = (self.origins, self.directions, self.slopes, self.lower, self.places)
        return Lines(*(table[kept] for table in each))

    def with_others(self, *others: "Lines") -> "Lines":
        """These and others."""
        tables = zip(*(vars(each).values() for each in (self, *others)), strict=True)
        return Lines(*map(np.concatenate, tables))


@dataclass(frozen=True, eq=False)
class Crossings:
    """Places where the answer switches.

    Args:
        lines: that they lie on.
        distances: from the origins of these.
        errors: how far the function may be from the level there, in standard units.
    """

    lines: Lines
    distances: PerPoint
    errors: PerPoint

    @property
    def points(self) -> Points:
        """The places, in standard coordinates."""
        return self.lines.at(self.distances)

    def with_others(self, others: "Crossings") -> "Crossings":
        """These and others."""
        return Crossings(
            self.lines.with_others(others.lines),
            np.concatenate([self.distances, others.distances]),
            np.concatenate([self.errors, others.errors]),
        )


@dataclass(frozen=True)
class RoundedAnswers:
    """An oracle with one output, in standard coordinates, whose answers are numbers of a grid.

    Args:
        oracle: who answers.
        kind: the grid.
    """

    oracle: StandardOracle
    kind: AnswerKind

    def are_above(self, points: Points, lower: PerPoint) -> Bool[np.ndarray, "points"]:
        """Whether the answer at each point is larger than a number of the grid.

        Raises:
            StageFailed: if an answer is no number of the grid: then it is not what was rounded to.
        """
        asked = self.oracle.center + self.oracle.half_width * points
        values = self.oracle.oracle.query(asked)[:, 0]
        if not np.all(self.kind.holds(values)):
            raise StageFailed(f"an answer is not rounded to {self.kind.name}, as all others were.")
        return values > lower

    def levels(self, lower: PerPoint, rounding: Rounding) -> PerPoint:
        """Where the function switches above numbers of the grid, in standard units."""
        return (self.kind.level(lower, rounding=rounding) - self.oracle.offset[0]) / self.oracle.size[0]

    def nearest(self, values: PerPoint) -> PerPoint:
        """Number of the grid below the middle that is nearest to values in standard units; infinite if there is none.

        Between zero and its neighbours the numbers of a type have other steps, so that these are left out.
        """
        raw = self.oracle.offset[0] + self.oracle.size[0] * values
        number = self.kind.roundings[0](raw)
        below = -self.kind.above(-number)
        lower = np.where(raw >= number, number, below)
        return np.where(np.isfinite(self.kind.above(lower)) & np.isfinite(lower), lower, np.inf)

    def contains(self, points: Points) -> PointMask:
        """Whether each point may be asked."""
        return np.all(np.abs(points) <= 1.0, axis=1) if self.is_box else np.ones(len(points), dtype=bool)

    @property
    def is_box(self) -> bool:
        """Whether the model may be asked in a box only."""
        return isinstance(self.oracle.oracle.domain, Box)


def gradients(network: Network, points: Points) -> Points:
    """Slopes of a shallow network of one output."""
    hidden, output = network.layers
    slopes = (hidden.activation(hidden.preactivations(points), 1) * output.weights[0]) @ hidden.weights
    return slopes if network.skip is None else slopes + network.skip[0]


@dataclass(frozen=True, kw_only=True)
class CrossingSearch:
    """Settings of the search. Slopes are in standard units.

    Args:
        flat: slope, in units of the median, below which places are left out: a switch there says little per question.
            Also that at a place, in units of that where its line begins.
        newton_steps: of the network along its line to the middle between two numbers of the grid.
        longest: step of these, in half-widths of the domain; chosen.
        first_step: beside the network's own place, in units of its error: most places lie within it.
        widenings: how often that is doubled before a place is given up.
        halvings: of the distance between the sides at most: 53 binary digits and some.
    """

    flat: float = 0.2
    newton_steps: int = 8
    longest: float = 0.3
    first_step: float = 0.7
    widenings: int = 7
    halvings: int = 60

    def lines(
        self, network: Network, answers: RoundedAnswers, points: Points, *, within: Points | None = None
    ) -> Lines:
        """Lay lines along the slope of a network, each up to the nearest middle between two numbers of the grid.

        Args:
            network: shallow, right up to the rounding.
            answers: whose grid it is.
            points: where the lines begin.
            within: normals, one per point, that the lines are to stay orthogonal to.
        """
        slopes = gradients(network, points)
        # Before anything is taken away: what is left of it may be nothing but its rounding.
        usual = float(np.median(np.linalg.norm(slopes, axis=1))) if len(points) else 0.0
        if within is not None:
            slopes = slopes - np.sum(slopes * within, axis=1, keepdims=True) * within
        sizes = np.linalg.norm(slopes, axis=1)
        is_steep = sizes > self.flat * usual
        points, slopes, sizes = points[is_steep], slopes[is_steep], sizes[is_steep]
        lower = answers.nearest(network(points)[:, 0])
        lines = Lines(points, slopes / sizes[:, None], sizes, lower, np.zeros(len(points)))
        lines = lines.chosen(np.isfinite(lower))
        levels = answers.levels(lines.lower, answers.kind.roundings[0])
        return self.aimed(network, lines, levels)

    def aimed(self, network: Network, lines: Lines, levels: PerPoint) -> Lines:
        """The same lines with the places where a network meets some levels; without those where it does not."""

        def slopes_at(places: PerPoint) -> PerPoint:
            return np.sum(gradients(network, lines.at(places)) * lines.directions, axis=1)

        places, flattest = lines.places, self.flat * lines.slopes
        for _ in range(self.newton_steps):
            misses = levels - network(lines.at(places))[:, 0]
            steps = misses / np.maximum(slopes_at(places), flattest)
            places = places + np.clip(steps, -self.longest, self.longest)
        # Distances from a place are errors of the function by the slope that it has there.
        aimed = Lines(lines.origins, lines.directions, slopes_at(places), lines.lower, places)
        misses = np.abs(levels - network(aimed.at(places))[:, 0])
        return aimed.chosen((misses <= 1e-9 * (1.0 + np.abs(levels))) & (aimed.slopes > flattest))

    def __call__(self, answers: RoundedAnswers, lines: Lines, *, error: float, tol: float) -> Crossings:
        """Find where the answers switch on lines, all of them in every batch.

        Args:
            answers: who is asked.
            lines: that lead through the places.
            error: of the network that they were laid for, in standard units.
            tol: how exactly the function is to be known at the places, in standard units.

        Raises:
            BudgetExhausted: if the budget does not allow the next batch.
            StageFailed: if an answer is not rounded as the others are.
        """
        lines, below, above = self._bracketed(answers, lines, error)
        for _ in range(self.halvings):
            wide = (above - below) * lines.slopes > 2.0 * tol
            middle = 0.5 * (below + above)
            wide &= (middle > below) & (middle < above)
            if not np.any(wide):
                break
            asked = lines.chosen(wide)
            is_above = np.zeros(len(wide), dtype=bool)
            is_above[wide] = answers.are_above(asked.at(middle[wide]), asked.lower)
            above = np.where(wide & is_above, middle, above)
            below = np.where(wide & ~is_above, middle, below)
        return Crossings(lines, 0.5 * (below + above), 0.5 * (above - below) * lines.slopes)

    def _bracketed(
        self, answers: RoundedAnswers, lines: Lines, error: float
    ) -> tuple[Lines, Float64[np.ndarray, "kept"], Float64[np.ndarray, "kept"]]:
        """Step away from the network's places until the answers on both sides are known."""
        lines = lines.chosen(answers.contains(lines.at(lines.places)))
        here, steps = lines.places, self.first_step * error / lines.slopes
        is_above = answers.are_above(lines.at(here), lines.lower)
        there, is_open = here.copy(), np.ones(len(here), dtype=bool)
        for _ in range(self.widenings):
            there = np.where(is_open, here + np.where(is_above, -steps, steps), there)
            is_inside = answers.contains(lines.at(there))
            asked = is_open & is_inside
            if not np.any(asked):
                break
            other = is_above.copy()
            chosen = lines.chosen(asked)
            other[asked] = answers.are_above(chosen.at(there[asked]), chosen.lower)
            has_switched = asked & (other != is_above)
            here = np.where(asked & ~has_switched, there, here)
            is_open, steps = is_open & is_inside & ~has_switched, 2.0 * steps
        found = ~is_open & answers.contains(lines.at(there))
        below, above = np.where(is_above, there, here), np.where(is_above, here, there)
        return lines.chosen(found), below[found], above[found]
