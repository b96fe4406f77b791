"""The lowest layer of step or ReLU units under any function of them, from the edges of plateaus.

In ``f(x) = P(u(w_1 x - t_1), ..., u(w_d x - t_d))`` answers do not change where no unit is on, and between the
hyperplanes of step units they never do. Rays that leave a plateau end at a hyperplane, which is then read exactly. In
directions that the known rows do not see only others can switch, so that every such line shows a row as long as
one is missing; later lines look far out, in directions in which known units only switch off.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64

from unweave.activations import RELU, STEP
from unweave.arrays import Points, Vector
from unweave.exceptions import StageFailed
from unweave.identification.plateaus.continuation import Continuation, Planes
from unweave.identification.plateaus.edges import EdgeKind, Edges, Facet, FacetReading, Plateau, leave
from unweave.identification.plateaus.local_steps import Elsewhere, LocalSteps
from unweave.identification.plateaus.threshold_layer import ThresholdLayer, rows_are_all, rows_are_exact
from unweave.identification.walks.lines import Ask, Search, run_searches
from unweave.networks.network import Layer
from unweave.result import Verdict


@dataclass(frozen=True, kw_only=True)
class FarPlaces:
    """Places of a hyperplane far from where it was read.

    Args:
        places: at which it is looked for.
        needed: that must show it: one can be an accident.
        far: how far, in units of its distance from the centre and that of the domain; chosen.
        sharpness: how sharply, relative to the distance: as exact as readings that agree (`FacetReading.consistent`).
        decades: of distances, where far places can't be chosen.
        corner_decades: by which other places are nearer to a corner, at least and at most.
    """

    places: int = 16
    needed: int = 2
    far: float = 8.0
    sharpness: float = 1e-9
    decades: float = 3.0
    corner_decades: tuple[float, float] = (2.0, 6.0)


@dataclass(frozen=True)
class LowestLayerSearch:
    """Settings of the search.

    Args:
        quiet_lines: lines that must show nothing new before the search ends; chosen by the inputs if omitted.
        homes: places that are tried for a plateau if the centre is on none.
        fewest_quiet: the fewest lines that must show nothing new, if `quiet_lines` is omitted; one per input, too.
        more_quiet: the same per row, if there are more rows than inputs.
        patience: lines without a new hyperplane, in those that are wanted, after which edges that can't be read are
            given up.
        continuation: how kinks are looked for across each other.
        reading: how a hyperplane is read at the edge of a plateau.
        margin: tolerated rounding of an answer on a plateau, in expected errors: six standard deviations.
        same: two readings are of one hyperplane, or a point is on it, up to this share of its distance from the centre:
            far above the 1.5e-12 that readings had at most (`FacetReading`), and a tenth of the roughest that count.
        beside_centre: distance of the first place: models that normalise inputs have no answer at the centre; chosen.
        nearby: steps that tell whether answers are constant around a place, in square roots of the inputs; chosen.
        nearby_steps: how many of them.
        home_scales: distances at which a plateau is looked for if the centre is on none, in square roots of the inputs.
        start_scales: distances of later starts from the centre, in square roots of the inputs; chosen: four times as
            far again and again.
        free_unread: edges that could not be read after which the search ends: each costs many queries.
        unread_per_row: the same per hyperplane that was read.
        local_steps: which steps are no layer.
        elsewhere: where a hyperplane is looked for far from where it was read.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    quiet_lines: int | None = None
    homes: int = 15
    fewest_quiet: int = 12
    more_quiet: int = 4
    patience: int = 3
    continuation: Continuation = field(default_factory=Continuation)
    reading: FacetReading = field(default_factory=FacetReading)
    margin: float = 6.0
    same: float = 1e-7
    beside_centre: float = 1e-3
    nearby: float = 1e-6
    nearby_steps: int = 3
    home_scales: tuple[float, ...] = (0.1, 0.3, 1.0)
    start_scales: tuple[float, ...] = (0.5, 2.0, 8.0, 32.0)
    free_unread: int = 8
    unread_per_row: int = 2
    local_steps: LocalSteps = field(default_factory=LocalSteps)
    elsewhere: FarPlaces = field(default_factory=FarPlaces)

    def __call__(
        self,
        ask: Ask,
        inputs: int,
        rng: np.random.Generator,
        *,
        noise: float = 0.0,
        rounding: float = 2.0**-50,
    ) -> ThresholdLayer:
        """Leave plateaus until no line meets another hyperplane.

        Args:
            ask: answers batches of points of unbounded space, and remembers them: some are asked again.
            inputs: number of inputs.
            rng: chooses the lines.
            noise: standard deviation of an answer.
            rounding: error of an answer relative to its size.

        Raises:
            StageFailed: if no plateau, or no hyperplane around it, was seen.
            BudgetExhausted: before it was known which hyperplanes go on everywhere.

        Assumes: units are steps, or ReLUs that are all off somewhere that is looked at; answers are exact.
        Guarantees: heuristic; a row in general position that changes the answers where the others are off is met by
            every line in directions that the known rows do not see.
        """
        walk = _Walk(ask, inputs, rng, self.margin * noise, self.margin * rounding, self)
        walk.settle()
        is_new = True
        while is_new:
            while self._goes_on(walk):
                walk.follow(walk.rays())
                walk.refuse_local_steps()
            is_new = walk.follow(walk.rays_along_unseen())
        return _result(walk, walk.seen_elsewhere(), self._wanted(walk))

    def _goes_on(self, walk: "_Walk") -> bool:
        """Whether lines have not been quiet for long, and edges can be read."""
        wanted = self._wanted(walk)
        return walk.quiet < wanted and walk.turn < self.patience * wanted and walk.is_readable

    def _wanted(self, walk: "_Walk") -> int:
        """Lines that must show nothing new."""
        # With more rows than inputs no direction shows missing ones alone.
        more = self.more_quiet * len(walk.facets) if len(walk.facets) > walk.inputs else 0
        return self.quiet_lines or max(self.fewest_quiet, walk.inputs, more)


@dataclass
class _Walk:
    """What lines have shown so far."""

    ask: Ask
    inputs: int
    rng: np.random.Generator
    noise: float
    rounding: float
    search: LowestLayerSearch
    facets: list[Facet] = field(default_factory=list)
    lines: int = 0
    quiet: int = 0
    turn: int = 0
    unread: int = 0
    dependence: int = 0
    next_look: int = 2

    def __post_init__(self) -> None:
        self.unit = float(np.sqrt(self.inputs))
        self.normals, self.thresholds = np.empty((0, self.inputs)), np.empty(0)

    def settle(self) -> None:
        """Find a plateau to start from: at the centre, or near it.

        Raises:
            StageFailed: if answers are constant nowhere.
        """
        home = self._plateau_at(self.search.beside_centre * self.rng.standard_normal(self.inputs))
        homes, scales = self.search.homes, self.search.home_scales
        for number in range(homes):
            if home is not None:
                break
            home = self._plateau_at(scales[number % len(scales)] * self.rng.standard_normal(self.inputs))
        if home is None:
            raise StageFailed(
                f"the answers are constant around none of {homes + 1} places: the units are not steps, and nowhere "
                "near the centre are all of them off."
            )
        self.home = home

    @property
    def is_readable(self) -> bool:
        """Whether not too many edges were unlike those of hyperplanes."""
        return self.unread < self.search.free_unread + self.search.unread_per_row * len(self.facets)

    def follow(self, rays: Iterable[tuple[Plateau, Vector]]) -> bool:
        """Leave plateaus and read the hyperplanes that are met for the first time; whether there are any."""
        searches = [_met(plateau, direction, self.unit) for plateau, direction in rays]
        if not searches:
            return False
        self.lines += 1
        met = [(plateau, edge) for plateau, edge in run_searches(searches, self.ask) if not self._is_known(edge)]
        before = len(self.facets)
        found = run_searches([self.search.reading(plateau, edge, self.rng) for plateau, edge in met], self.ask)
        for facet in found:
            self._keep(facet)
        self.unread += len(met) - len(found)
        self.turn += 1
        if len(self.facets) > before:
            self.quiet = self.turn = 0
        elif len(met) == len(found):
            self.quiet += 1
        return self.turn == 0

    def _plateau_at(self, point: Vector) -> Plateau | None:
        """The plateau around a point, None if answers change there."""
        steps = self.search.nearby * self.unit * self.rng.standard_normal((self.search.nearby_steps, self.inputs))
        values = self.ask(np.vstack([point, point + steps]))
        plateau = Plateau(point, values[0], self.noise + self.rounding * max(float(np.max(np.abs(values[0]))), 1.0))
        return plateau if np.all(plateau.holds(values)) else None

    def rays(self) -> Iterator[tuple[Plateau, Vector]]:
        """Two rays from one start: opposite ones that known rows do not see, or such that switch these off."""
        start = (None if self.turn % 4 < 2 else self._plateau_at(self._far_start())) or self.home
        unseen = self._unseen_directions()
        if len(unseen) > 0 and self.turn % 2 == 0:
            direction = self.rng.standard_normal(len(unseen)) @ unseen
            directions = [direction, -direction]
        else:
            directions = [self._outward(start, each) for each in self.rng.standard_normal((2, self.inputs))]
        for direction in directions:
            length = float(np.linalg.norm(direction))
            if length > self.search.same:
                yield start, direction / length

    def _outward(self, start: Plateau, direction: Vector) -> Vector:
        """A direction in which known units only switch off or, if there is none, towards a corner of their cell."""
        if self._can_choose:
            return direction - self._lift(np.maximum(self.normals @ direction, 0.0))
        reach = self.search.start_scales[-1] * self.unit
        bounds = np.column_stack([self.home.point - reach, self.home.point + reach])
        corner = scipy.optimize.linprog(-direction, A_ub=self.normals, b_ub=self.thresholds, bounds=bounds)
        return direction if corner.x is None else corner.x - start.point

    def _far_start(self) -> Vector:
        """A random place, every other time and below ReLUs always one where all known units are off."""
        scale = self.search.start_scales[self.rng.integers(len(self.search.start_scales))]
        point = self.home.point + scale * self.rng.standard_normal(self.inputs)
        if self.turn % 8 < 4 or any(facet.kind is EdgeKind.KINK for facet in self.facets):
            excess = np.maximum(self.normals @ point - self.thresholds + self.search.same * self.unit, 0.0)
            point = point - self._lift(excess * (1.0 + self.rng.random(len(excess))))
        return point

    def _lift(self, values: Float64[np.ndarray, "neurons"]) -> Vector:
        """The smallest vector that the known rows map to these values, if there is one."""
        return np.linalg.pinv(self.normals) @ values if len(values) > 0 else np.zeros(self.inputs)

    def _unseen_directions(self) -> Points:
        if len(self.facets) == 0:
            return np.eye(self.inputs)
        _, sizes, directions = np.linalg.svd(self.normals)
        return directions[np.count_nonzero(sizes > self.search.same) :]

    def _is_known(self, edge: Edges) -> bool:
        point = edge.points[0]
        distances = np.abs(self.normals @ point - self.thresholds)
        return bool(np.any(distances <= self.search.same * (self.unit + float(np.linalg.norm(point)))))

    def _keep(self, facet: Facet) -> None:
        """Add a hyperplane that is new, with its normal away from home."""
        side = 1.0 if facet.normal @ self.home.point < facet.threshold else -1.0
        normal, threshold = side * facet.normal, side * facet.threshold
        gaps = np.linalg.norm(self.normals - normal, axis=1) + np.abs(self.thresholds - threshold) / self.unit
        if np.any(gaps <= self.search.same):
            return
        self.facets.append(facet)
        self.normals = np.vstack([self.normals, normal])
        self.thresholds = np.append(self.thresholds, threshold)

    def rays_along_unseen(self) -> Iterator[tuple[Plateau, Vector]]:
        """Rays in directions that no row sees, from places where they are known to lead to other answers."""
        self.dependence, unseen = 0, self._unseen_directions()
        if len(unseen) == 0:
            return
        look = self.search.elsewhere
        scales = np.resize(self.search.start_scales, look.places)[:, None]
        points = self.home.point + scales * self.rng.standard_normal((look.places, self.inputs))
        moves = look.far * scales * self.rng.standard_normal((look.places, len(unseen))) @ unseen
        before, after = np.split(self.ask(np.concatenate([points, points + moves])), 2)
        sizes, lengths = np.maximum(np.max(np.abs(before), axis=1), 1.0), np.linalg.norm(moves, axis=1)
        # Errors of the rows turn moves into small changes of what they see.
        errors = self.noise + (self.rounding + look.sharpness * lengths) * sizes
        changed = np.flatnonzero(np.max(np.abs(after - before), axis=1) > errors)
        self.dependence = len(changed)
        for index in changed:
            plateau = self._plateau_at(points[index])
            if plateau is not None:
                yield plateau, moves[index] / lengths[index]

    def refuse_local_steps(self) -> None:
        """End the search early on steps that are no layer."""
        if len(self.facets) >= self.next_look and all(facet.kind is EdgeKind.JUMP for facet in self.facets):
            self.next_look = int(np.ceil(1.5 * len(self.facets)))
            self.search.local_steps.refuse(self.normals, self.look_elsewhere)

    def seen_elsewhere(self) -> Bool[np.ndarray, "neurons"]:
        """Which hyperplanes answers change across far from where these were read, too, and beyond all others."""
        if len(self.facets) == 0:
            return np.empty(0, dtype=bool)
        is_far = np.count_nonzero(self.look_elsewhere().is_seen, axis=1) >= self.search.elsewhere.needed
        is_kink = np.array([facet.kind is not EdgeKind.JUMP for facet in self.facets])
        errors = np.array([facet.error for facet in self.facets])
        planes = Planes(self.normals, self.thresholds, errors, self.unit, self.rng)
        is_everywhere = self.search.continuation.alone(self.ask, planes, is_far & is_kink, self.home.holds)
        goes_on = self.search.continuation(self.ask, planes, is_everywhere, noise=self.noise, rounding=self.rounding)
        return np.where(is_kink, goes_on, is_far)

    def look_elsewhere(self) -> Elsewhere:
        """Ask whether answers change across every hyperplane at places far from where it was read."""
        rows, look = len(self.facets), self.search.elsewhere
        places = np.concatenate([self._places_on(row) for row in range(rows)])
        owners = np.repeat(np.arange(rows), look.places)
        errors = np.array([facet.error for facet in self.facets])[owners]
        widths = (look.sharpness + self.search.margin * errors) * (self.unit + np.linalg.norm(places, axis=1))
        steps = widths[:, None] * self.normals[owners]
        before, after = np.split(values := self.ask(np.concatenate([places - steps, places + steps])), 2)
        is_jump = np.array([facet.kind is EdgeKind.JUMP for facet in self.facets])[owners]
        differ = np.max(np.abs(after - before), axis=1) > self.home.tolerance
        is_seen = differ & (is_jump | self.home.holds(before))
        return Elsewhere(is_seen.reshape(rows, look.places), len(np.unique(values, axis=0)))

    @property
    def _can_choose(self) -> bool:
        """Whether a point can be on any side of all hyperplanes."""
        return self.inputs - len(self._unseen_directions()) == len(self.facets)

    def _places_on(self, row: int) -> Points:
        """Random points of a hyperplane where the other units are off; at half of them some are on.

        More rows than inputs can't be chosen freely: then points at all distances from the nearest one.
        """
        look = self.search.elsewhere
        scale = look.far * (self.unit + abs(self.thresholds[row]))
        unseen = self._unseen_directions()
        if not self._can_choose:
            radii = scale * 10.0 ** -self.rng.uniform(0.0, look.decades, (look.places, 1))
            foot = self.thresholds[row] * self.normals[row]
            points = foot + radii * self.rng.standard_normal((look.places, self.inputs)) / self.unit
        else:
            margins = self._margins(row, scale)
            points = (self.thresholds - margins) @ np.linalg.pinv(self.normals).T
            points = points + scale * self.rng.standard_normal((look.places, len(unseen))) @ unseen
        missing = self.thresholds[row] - points @ self.normals[row]
        return points + missing[:, None] * self.normals[row]

    def _margins(self, row: int, scale: float) -> Float64[np.ndarray, "places neurons"]:
        """How far below their thresholds units are at places on a hyperplane; above them where negative."""
        look = self.search.elsewhere
        rows, places = len(self.facets), np.arange(look.places)
        margins = scale * self.rng.exponential(size=(look.places, rows))
        if rows > 1:
            other = (row + self.rng.integers(1, rows, look.places)) % rows
            if self.facets[row].kind is EdgeKind.JUMP:
                margins[::2] *= self.rng.choice([-1.0, 1.0], margins[::2].shape)
            else:
                # A unit that acts only in products is seen where another one is on.
                margins[places[::2], other[::2]] *= -1.0
                # Kinks of higher units that are dead on the plateau look alike, but turn before others switch on.
                margins[places[1::2], other[1::2]] *= 10.0 ** -self.rng.uniform(*look.corner_decades, look.places // 2)
        margins[:, row] = 0.0
        return margins


def _met(plateau: Plateau, direction: Vector, unit: float) -> Search:
    """The edge on a ray, with the plateau that it belongs to."""
    edges = yield from leave(plateau, direction, unit=unit)
    return [(plateau, edge) for edge in edges]


def _result(walk: _Walk, is_far: Bool[np.ndarray, "neurons"], wanted: int) -> ThresholdLayer:
    """The rows that go on everywhere, with what speaks for them."""
    if not walk.facets:
        raise StageFailed(
            f"{walk.lines} lines from a place where the answers are constant met no hyperplane at which they change"
            + (f", and {walk.unread} edges that are not those of hyperplanes." if walk.unread else ".")
        )
    kept = np.flatnonzero(is_far)
    kinds = {walk.facets[row].kind for row in kept}
    if len(kinds) != 1:
        raise StageFailed(
            f"none of {len(walk.facets)} hyperplanes at the edge of a plateau goes on far away and beyond the others: "
            "they are not those of the lowest layer."
            if not kinds
            else "answers jump at some hyperplanes and bend at others: the units are of several kinds."
        )
    errors = np.array([walk.facets[row].error for row in kept])
    activation = STEP if kinds == {EdgeKind.JUMP} else RELU
    layer = Layer(walk.normals[kept], -walk.thresholds[kept], activation)
    exact = rows_are_exact(float(np.max(errors)), unread=walk.unread)
    others = rows_are_all(
        elsewhere=len(walk.facets) - len(kept), dependence=walk.dependence, quiet=walk.quiet, wanted=wanted
    )
    is_complete = all(check.verdict is Verdict.OK for check in others)
    return ThresholdLayer(layer, errors, walk.lines, walk.quiet, is_complete, (*exact, *others))
