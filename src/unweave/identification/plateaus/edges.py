"""Where answers leave a plateau: the hyperplanes of units that switch on, whatever happens above them.

Between the hyperplanes of step units every function of them is constant, and below the thresholds of ReLU units it is.
An answer then says one thing only, whether a point is still on the plateau, and halving finds its edge on a
line to the last digit. The edge is a hyperplane near almost every point of it: parallel lines beside the first one
tell its direction roughly, and points far apart on it then tell it exactly.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerOutput, PerPoint, PointMask, Points, Values, Vector
from unweave.identification.walks.hyperplanes import plane_through
from unweave.identification.walks.lines import Search

# Halving ends at this share of the distance from the origin: two roundings of a coordinate.
FINEST = 2.0**-51


class EdgeKind(Enum):
    """How answers leave a plateau."""

    JUMP = "jump"
    KINK = "kink"


@dataclass(frozen=True)
class Plateau:
    """A part of space where all answers are the same.

    Args:
        point: in it.
        value: the answer.
        tolerance: how far the same answer may be rounded away.
    """

    point: Vector
    value: PerOutput
    tolerance: float

    def holds(self, values: Values) -> PointMask:
        """Which answers are those of the plateau."""
        return np.max(np.abs(values - self.value), axis=1) <= self.tolerance


@dataclass(frozen=True)
class Edges:
    """Pairs of points between which answers leave a plateau.

    Args:
        inside: points on it.
        outside: points off it.
    """

    inside: Points
    outside: Points

    @property
    def points(self) -> Points:
        """The points half-way."""
        return 0.5 * (self.inside + self.outside)

    @property
    def widths(self) -> PerPoint:
        """The distances of the pairs."""
        return np.linalg.norm(self.outside - self.inside, axis=1)


@dataclass(frozen=True)
class Facet:
    """A hyperplane ``normal x = threshold`` that bounds a plateau.

    Args:
        normal: a unit vector that points away from the plateau.
        threshold: of the projection on the normal.
        error: expected error of normal and threshold.
        kind: how answers change across it.
        plateau: which it bounds.
    """

    normal: Vector
    threshold: float
    error: float
    kind: EdgeKind
    plateau: Plateau


def leave(
    plateau: Plateau,
    direction: Vector,
    *,
    unit: float,
    powers: tuple[int, int] = (-1, 7),
    edge_share: float = 1e-9,
) -> Search:
    """Find the edge of a plateau on a ray from its point, or nothing: at most eight queries and those of the halving.

    Args:
        plateau: where the ray begins.
        direction: of the ray, a unit vector.
        unit: of the distances that are asked first.
        powers: of four, the first and the one after the last, that these are: from well inside to far out.
        edge_share: to what share of its distance the edge is located: far below the offsets of the parallel lines
            beside it, the smallest of which is a millionth of this distance.
    """
    inside = plateau.point
    for distance in unit * 4.0 ** np.arange(*powers):
        outside = plateau.point + distance * direction
        values = yield outside[None]
        if not plateau.holds(values)[0]:
            edge = Edges(inside[None], outside[None])
            limit = edge_share * float(np.linalg.norm(outside - plateau.point))
            return [(yield from halved(plateau, edge, limit=limit))]
        inside = outside
    return []


def met_on(plateau: Plateau, direction: Vector, unit: float) -> Search:
    """The edge on a ray, with the plateau that it belongs to."""
    edges = yield from leave(plateau, direction, unit=unit)
    return [(plateau, edge) for edge in edges]


def halved(plateau: Plateau, edges: Edges, *, limit: float = 0.0) -> Generator[Points, Values, Edges]:
    """Halve the distances of all pairs until they are below a limit, or as small as rounding allows."""
    inside, outside = edges.inside.copy(), edges.outside.copy()
    while True:
        middles, widths = 0.5 * (inside + outside), np.linalg.norm(outside - inside, axis=1)
        finest = np.maximum(limit, FINEST * np.linalg.norm(middles, axis=1))
        is_new = np.any(middles != inside, axis=1) & np.any(middles != outside, axis=1)
        rows = np.flatnonzero((widths > finest) & is_new)
        if len(rows) == 0:
            return Edges(inside, outside)
        holds = plateau.holds((yield middles[rows]))
        inside[rows[holds]] = middles[rows[holds]]
        outside[rows[~holds]] = middles[rows[~holds]]


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Settings that tell whether answers jump at a hyperplane or rise from there.

    Args:
        clear_jump: change of answers across the finest distance, in tolerances, from which on it is a jump: a rise of
            slope one changes answers by eight roundings there, which is about one tolerance.
        jumped: relative change up to which answers have jumped, and not risen, if the distance is doubled: half of the
            one that a rise would have.
        clear_rise: tolerances that answers must have risen by before it is looked at how: it is known to 1 % then.
        doubled: share up to which a kink doubles what answers have risen by if the distance is doubled: five times the
            error that `clear_rise` leaves.
        doublings: of the finest distance at which answers are compared, the first and the one after the last: from
            eight roundings, which a jump needs, to the size of the domain.
    """

    clear_jump: float = 1e3
    jumped: float = 0.5
    clear_rise: float = 100.0
    doubled: float = 0.05
    doublings: tuple[int, int] = (3, 40)

    def __call__(
        self, plateau: Plateau, point: Vector, normal: Vector, finest: float
    ) -> Generator[Points, Values, tuple[EdgeKind | None, float]]:
        """Whether answers jump at a point of a hyperplane or rise in proportion from there, how steeply; or neither.

        Args:
            plateau: where answers come from.
            point: of the hyperplane.
            normal: of the hyperplane, away from the plateau.
            finest: distance from the point that its error lets one tell, at least.
        """
        distance = max(float(np.linalg.norm(point)), float(np.linalg.norm(point - plateau.point)))
        rises = 2.0 ** np.arange(*self.doublings)
        steps = max(FINEST * distance, finest / rises[0]) * rises
        values = yield point + steps[:, None] * normal
        changes = np.linalg.norm(values - plateau.value, axis=1)
        if changes[0] > self.clear_jump * plateau.tolerance and changes[1] < (1.0 + self.jumped) * changes[0]:
            return EdgeKind.JUMP, np.inf
        clear = np.flatnonzero(changes[:-1] > self.clear_rise * plateau.tolerance)
        if len(clear) == 0:
            return None, 0.0
        # Later ones may have met other hyperplanes, or a curved function may look straight.
        first = int(clear[0])
        if abs(changes[first + 1] - 2.0 * changes[first]) > self.doubled * changes[first]:
            return None, 0.0
        return EdgeKind.KINK, float((changes[first + 1] - changes[first]) / steps[first])


@dataclass(frozen=True, kw_only=True)
class FacetReading:
    """Settings of the reading of a hyperplane at the edge of a plateau.

    Args:
        rough_offsets: of the parallel lines, relative to the distance of the edge: far above its own width (`leave`),
            and smaller ones if other hyperplanes are in the way.
        rough_reaches: half-lengths of the parallel lines, relative to their offset: an edge that they meet at an angle
            of less than one in a thousand is not read.
        rough_share: to what share of the offset the edge is located there: the rough normal then has five digits, and
            points a radius away are looked for within 1e-4 of it.
        foot_radii: of the points that tell the hyperplane exactly, relative to the distance of its nearest point: the
            larger, the more exact, and the smaller, the rarer is another hyperplane in the way.
        edge_radii: the same relative to the distance of the edge that was met first, if the nearest point is hidden.
        more_points: beyond the fewest that determine a hyperplane: what they leave over is the evidence for it.
        more_radii: of these, as shares of the radius: neither at the centre nor beside the others.
        consistent: error up to which points agree with each other. 923 planted hyperplanes, up to 15 in 8 inputs, had
            1.5e-12 at most, and all were right to 6e-14.
        roughest: error above which they are on no hyperplane; chosen: between the two the best of all places counts.
        look: half-width of a look across a rough hyperplane, in its expected errors: beyond six standard deviations.
        departure: what tells how answers leave the plateau there.
        beyond: errors of a hyperplane beyond which answers tell how they leave it: 2 % of the distance is not sure
            then, less than `Departure.doubled` allows.
    """

    rough_offsets: tuple[float, ...] = (1e-3, 3e-5, 1e-6)
    rough_reaches: tuple[float, ...] = (4.0, 64.0, 1024.0)
    rough_share: float = 1e-5
    foot_radii: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    edge_radii: tuple[float, ...] = (0.1, 0.03, 1e-2, 3e-3, 1e-3)
    more_points: int = 3
    more_radii: tuple[float, float] = (0.3, 0.8)
    consistent: float = 1e-9
    roughest: float = 1e-6
    look: float = 10.0
    departure: Departure = field(default_factory=Departure)
    beyond: float = 50.0

    def __call__(self, plateau: Plateau, edge: Edges, rng: np.random.Generator) -> Search:
        """Find the hyperplane on which an edge lies, or nothing if answers beside it do not fit one.

        About 60 queries per input: every answer tells one binary digit of a weight.

        Assumes: answers are exact up to rounding, and near the edge there is no other one.
        Guarantees: heuristic; the error is that of points which were not needed to determine the hyperplane.
        """
        found: list[Facet] = []
        for offset in self.rough_offsets:
            normal, error = yield from self._rough_normal(plateau, edge, offset)
            if normal is None:
                continue
            for center, radius in self._places(plateau, edge, normal):
                width = self.look * error * (float(np.linalg.norm(center - edge.points[0])) + radius)
                if not width < radius:
                    continue
                brackets = yield from _brackets(plateau, self._star(center, radius, normal, rng), width * normal)
                if brackets is None:
                    continue
                points = (yield from halved(plateau, brackets)).points
                facet = yield from self._facet(plateau, points, normal)
                found += [] if facet is None else [facet]
                # Points of two hyperplanes that are nearly the same lie on neither: closer together they are of one.
                if facet is not None and facet.error <= self.consistent:
                    return [facet]
        return sorted((facet for facet in found if facet.error <= self.roughest), key=lambda facet: facet.error)[:1]

    def _facet(self, plateau: Plateau, points: Points, rough: Vector) -> Generator[Points, Values, Facet | None]:
        """The hyperplane through points, if answers jump or bend there."""
        normal, threshold, error = plane_through(points)
        forward = 1.0 if normal @ rough > 0 else -1.0
        reach = max(1.0, float(np.linalg.norm(np.mean(points, axis=0))))
        kind, slope = yield from self.departure(plateau, points[0], forward * normal, self.beyond * reach * error)
        if kind is None:
            return None
        # A rise is not noticed as long as it is below the tolerance.
        late = plateau.tolerance / slope
        return Facet(forward * normal, forward * threshold - late, reach * error + late, kind, plateau)

    def _rough_normal(
        self, plateau: Plateau, edge: Edges, share: float
    ) -> Generator[Points, Values, tuple[Vector | None, float]]:
        """The direction of the hyperplane from parallel lines beside the edge, with its expected error."""
        point, inputs = edge.points[0], edge.points.shape[1]
        along = (edge.outside - edge.inside)[0] / edge.widths[0]
        beside = np.linalg.qr(np.column_stack([along, np.eye(inputs)]))[0].T[1:]
        offset = share * float(np.linalg.norm(point - plateau.point))
        starts = point + offset * beside
        edges = None
        for reach in self.rough_reaches:
            edges = yield from _brackets(plateau, starts[:, None], reach * offset * along)
            if edges is not None:
                break
        if edges is None:
            return None, np.inf
        edges = yield from halved(plateau, edges, limit=self.rough_share * offset)
        normal = along - ((edges.points - starts) @ along / offset) @ beside
        length = float(np.linalg.norm(normal))
        return normal / length, np.sqrt(inputs) * (self.rough_share + edge.widths[0] / offset) / length

    def _places(self, plateau: Plateau, edge: Edges, normal: Vector) -> list[tuple[Vector, float]]:
        """Points of a rough hyperplane and radii around them, best first: the nearest point is rarely hidden."""
        away = edge.points[0] - plateau.point
        height, distance = float(away @ normal), float(np.linalg.norm(away))
        foot = plateau.point + height * normal
        near = [(foot, radius * height) for radius in self.foot_radii]
        return near + [(edge.points[0], radius * distance) for radius in self.edge_radii]

    def _star(
        self, center: Vector, radius: float, normal: Vector, rng: np.random.Generator
    ) -> Float64[np.ndarray, "points 2 inputs"]:
        """Points of a rough hyperplane around a centre, each with a second choice on the other side of the centre."""
        inputs = len(normal)
        within = np.linalg.qr(np.column_stack([normal, rng.standard_normal((inputs, inputs - 1))]))[0].T[1:]
        more = rng.standard_normal((self.more_points if inputs > 1 else 0, inputs - 1)) @ within
        more *= rng.uniform(*self.more_radii, (len(more), 1)) / np.linalg.norm(more, axis=1, keepdims=True)
        first = np.vstack([np.zeros((1, inputs)), within, more])
        # The centre has no other side: a point beside it is its second choice.
        second = np.vstack([0.5 * np.sum(within[:1], axis=0, keepdims=True), -within, -more])
        return center + radius * np.stack([first, second], axis=1)


def _brackets(
    plateau: Plateau, starts: Float64[np.ndarray, "points choices inputs"], step: Vector
) -> Generator[Points, Values, Edges | None]:
    """Pairs behind and before every start, on and off the plateau, at its first choice with one; None if none has."""
    count, choices, inputs = starts.shape
    inside, outside = np.empty((count, inputs)), np.empty((count, inputs))
    missing = np.arange(count)
    for choice in range(choices):
        ends = np.stack([starts[missing, choice] - step, starts[missing, choice] + step])
        holds = plateau.holds((yield ends.reshape(-1, inputs))).reshape(2, -1)
        is_seen = holds[0] & ~holds[1]
        inside[missing[is_seen]], outside[missing[is_seen]] = ends[0, is_seen], ends[1, is_seen]
        missing = missing[~is_seen]
        if len(missing) == 0:
            return Edges(inside, outside)
    return None
