"""Straight lines through the domain, out to where they have met nearly every hyperplane, and searches along them.

A search is a generator: it yields the points it wants to know, receives the answers there, and returns what it found;
whatever it returns that is itself a search is run as well. Many run at once, so that a round of them is one batch.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from unweave.arrays import PerPoint, Points, Values, Vector
from unweave.identification.probing import Probe
from unweave.oracles.oracle import Box, Domain


@dataclass(frozen=True, kw_only=True)
class LineEnds:
    """How far lines go.

    Args:
        angle: how close, in radians, a line without end comes to the direction that it approaches: a random hyperplane
            is met beyond with a probability of two thirds of that.
        margin: how far before its faces a line in a box ends, as a share of its length: of places spread evenly, two
            millionths are missed.
    """

    angle: float = 1e-5
    margin: float = 1e-6


LINE_ENDS = LineEnds()


@dataclass(frozen=True)
class Line:
    """The points ``base + position direction``, with positions ``unit tan(angle)``.

    Seen from `unit` away, angles are those of a half circle: hyperplanes in general position are met
    once, at angles that are spread evenly. Searches therefore halve angles, while the function is
    affine in the position.

    Args:
        base: the point at angle zero, in standard coordinates.
        direction: a unit vector.
        unit: the distance at which the angle is 45 degrees.
        first, last: the range of angles.
    """

    base: Vector
    direction: Vector
    unit: float
    first: float = -np.pi / 2 + LINE_ENDS.angle
    last: float = np.pi / 2 - LINE_ENDS.angle

    def points(self, positions: PerPoint) -> Points:
        """The points at these positions."""
        return self.base + np.asarray(positions, dtype=np.float64)[:, None] * self.direction

    def angle(self, position: float) -> float:
        """The angle of a position."""
        return float(np.arctan(position / self.unit))

    def position(self, angle: float) -> float:
        """The position at an angle."""
        return float(self.unit * np.tan(angle))

    def length(self, position: float, angle: float) -> float:
        """The length on the line that a small `angle` has at a position."""
        return float(self.unit * (1.0 + (position / self.unit) ** 2) * angle)


def far_line(inputs: int, rng: np.random.Generator, *, radius: float, outer: float) -> Line:
    """A line in a random direction, at a distance of `radius` from the centre, to within `outer` of its end."""
    base, direction = np.linalg.qr(rng.standard_normal((inputs, 2)))[0].T
    return Line(radius * base, direction, unit=radius, first=outer - np.pi / 2, last=np.pi / 2 - outer)


def random_line(
    domain: Domain, inputs: int, rng: np.random.Generator, *, turned: float = 0.25, reach: float = np.inf
) -> Line:
    """A line through the domain in a random direction.

    In a box it leads from near a corner to near one that is mostly opposite: other lines are short, and
    meet few hyperplanes.

    Args:
        domain: which is a box, or has no end.
        inputs: of the function.
        rng: for the direction.
        turned: share of the axes along which a line in a box comes back to the side where it began; chosen: with none,
            all lines would pass near the centre, and with half, they would have random directions.
        reach: how far from the centre it may lead where the domain has no end, in standard coordinates.
    """
    if isinstance(domain, Box):
        corner = rng.choice([-1.0, 1.0], inputs)
        opposite = -corner * np.where(rng.random(inputs) < turned, -1.0, 1.0)
        ends = np.stack([corner, opposite]) * rng.uniform(0.3, 1.0, (2, inputs))
        return line_between(ends[0], ends[1], domain)
    base = domain.sample_standard(rng, 1, inputs, 0.0)[0]
    direction = rng.standard_normal(inputs)
    direction /= np.linalg.norm(direction)
    line = Line(base, direction, unit=float(np.sqrt(inputs)))
    return line if np.isinf(reach) else shortened(line, reach)


def shortened(line: Line, reach: float) -> Line:
    """The part of a line that is at most so far from the centre, through its base or a point of it nearer to there."""
    base = line.base * min(1.0, 0.5 * reach / max(float(np.linalg.norm(line.base)), np.finfo(float).tiny))
    middle, half = -base @ line.direction, np.sqrt(reach**2 - base @ base + (base @ line.direction) ** 2)
    ends = line.angle(float(middle - half)), line.angle(float(middle + half))
    return replace(line, base=base, first=max(line.first, ends[0]), last=min(line.last, ends[1]))


def reaches(inputs: int, *, factors: tuple[float, ...] = (1e4, 1e3, 100.0, 30.0, 10.0)) -> list[float]:
    """How far lines may lead, the farthest first: some models do not answer far from the centre.

    Args:
        inputs: of the function.
        factors: of the typical distance of points of the domain; chosen. The last reach is that of its sampled points:
            of normal ones, less than 1e-4 are farther than three standard deviations from where most of them are. What
            does not answer there answers fresh points no better.
    """
    typical = float(np.sqrt(inputs))
    return [np.inf, *(factor * typical for factor in factors if factor * typical > typical + 3.0), typical + 3.0]


def line_between(start: Vector, end: Vector, domain: Domain) -> Line:
    """The line through two points, with its base at the first."""
    distance = float(np.linalg.norm(end - start))
    return clipped(Line(start, (end - start) / distance, unit=distance), domain)


def clipped(line: Line, domain: Domain, *, ends: LineEnds = LINE_ENDS) -> Line:
    """The part of the line inside a box, a little away from its faces."""
    if not isinstance(domain, Box):
        return line
    # Faces that the line runs along are never met.
    runs_along = line.direction == 0.0
    faces = (np.array([[-1.0], [1.0]]) - line.base) / np.where(runs_along, 1.0, line.direction)
    faces = np.where(runs_along, np.array([[-np.inf], [np.inf]]), faces)
    lower, upper = np.max(np.min(faces, axis=0)), np.min(np.max(faces, axis=0))
    margin = ends.margin * (upper - lower)
    return Line(line.base, line.direction, line.unit, line.angle(lower + margin), line.angle(upper - margin))


class TailBehaviour(Enum):
    """How a function continues along rays."""

    JUMPS = "constant, up to an affine part, between jumps"
    KINKS = "affine between kinks"
    NEITHER = "neither constant nor affine"


@dataclass(frozen=True)
class Tails:
    """What was seen on far rays.

    Args:
        behaviour: how the function continues.
        radius: where it was seen.
        is_sloped: whether it grows.
        size: the largest answer, with what was subtracted from it to centre the answers.
    """

    behaviour: TailBehaviour
    radius: float
    is_sloped: bool
    size: float


@dataclass(frozen=True, kw_only=True)
class TailLook:
    """Settings of the look at far rays.

    Args:
        rays: that are asked, with their opposites. Medians of them decide, so that a ray or two may pass through the
            slab of a neuron.
        factors: of the radius: the fewest that show slope and bend.
        farthest: half-widths of the domain: between hyperplanes that far out, the slab in which a tanh is not within
            1e-16 of its limits takes 1e-5 of the directions.
        argument_error: rounding error of arguments that limits the radius: with digits of 6e-8, as in single precision,
            it is 1e4. It keeps three digits in arguments of size one.
        margin: error above which something is seen, in units of what is expected: sums of ``inputs * neurons`` terms
            are rounded more often than one; chosen.
    """

    rays: int = 4
    factors: tuple[float, float, float] = (1.0, 1.5, 2.0)
    farthest: float = 2e6
    argument_error: float = 6e-4
    margin: float = 30.0

    def radius(self, probe: Probe) -> float:
        """Far enough for thin slabs, near enough for the arguments of neurons to keep some digits."""
        return float(min(self.farthest, self.argument_error / probe.oracle.oracle.ledger.answer_digits))


TAIL_LOOK = TailLook()


def measure_tails(probe: Probe, rng: np.random.Generator, *, look: TailLook = TAIL_LOOK) -> Tails:
    """Ask along a few rays and their opposites, 6 queries each.

    Along a ray a saturated function is constant and one with affine tails is affine. Their even parts tell an
    affine part, which has none, from kinks, whose even part grows with the distance.
    """
    oracle, radius = probe.oracle, look.radius(probe)
    rays, factors = look.rays, np.array(look.factors)
    directions = rng.standard_normal((rays, oracle.inputs))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.concatenate([directions, -directions])[:, None] * factors[:, None]
    values = oracle.query(points.reshape(-1, oracle.inputs)).reshape(2 * rays, len(factors), -1)
    size = float(np.max(np.abs(oracle.offset / oracle.size)) + np.max(np.abs(values)))
    error = look.margin * (probe.scale.noise + probe.rounding * size)
    # Medians, because with many neurons some ray passes through a slab.
    bend = np.median(np.max(np.abs(values[:, 0] - 2 * values[:, 1] + values[:, 2]), axis=1))
    slope = np.median(np.max(np.abs(values[:, 2] - values[:, 0]), axis=1))
    even = values[:rays] + values[rays:]
    growth = np.median(np.max(np.abs(even[:, 2] - even[:, 0]), axis=1))
    if bend > error:
        return Tails(TailBehaviour.NEITHER, radius, False, size)
    if growth > error:
        return Tails(TailBehaviour.KINKS, radius, True, size)
    return Tails(TailBehaviour.JUMPS, radius, bool(slope > error), size)


Ask = Callable[[Points], Values]
Search = Generator[Points, Values, list[Any]]


def remembered(ask: Ask) -> Ask:
    """Ask no point twice: answers that are known are given again."""
    known: dict[bytes, np.ndarray] = {}

    def asked(points: Points) -> Values:
        if len(points) == 0:
            return ask(points)
        keys = [blake2b(row.tobytes(), digest_size=16).digest() for row in np.ascontiguousarray(points)]
        new = {key: index for index, key in enumerate(keys) if key not in known}
        if new:
            known.update(zip(new, ask(points[list(new.values())]), strict=True))
        return np.array([known[key] for key in keys])

    return asked


def run_searches(searches: Iterable[Search], ask: Ask) -> list[Any]:
    """Run all searches to their ends and collect what they found, in no particular order."""
    found: list[Any] = []
    waiting: list[tuple[Search, Points]] = []

    def advance(search: Search, answers: Values | None) -> None:
        try:
            waiting.append((search, search.send(answers)))  # pyright: ignore[reportArgumentType]
        except StopIteration as end:
            for item in end.value:
                if isinstance(item, Generator):
                    advance(item, None)
                else:
                    found.append(item)

    for search in searches:
        advance(search, None)
    while waiting:
        asked, waiting = waiting, []
        values = ask(np.concatenate([points for _, points in asked]))
        edges = np.cumsum([len(points) for _, points in asked])[:-1]
        for (search, _), answers in zip(asked, np.split(values, edges), strict=True):
            advance(search, answers)
    return found
