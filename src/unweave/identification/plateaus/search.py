"""The lowest layer of step or ReLU units under any function of them, from the edges of plateaus.

In ``f(x) = P(u(w_1 x - t_1), ..., u(w_d x - t_d))`` answers do not change where no unit is on, and between the
hyperplanes of step units they never do. Rays that leave a plateau end at a hyperplane, which is then read exactly. In
directions that the known rows do not see only others can switch, so that every such line shows a row as long as
one is missing; later lines look far out, in directions in which known units only switch off.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool

from unweave.activations import RELU, STEP
from unweave.arrays import PerNeuron, Points, Values, Vector
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.continuation import Continuation
from unweave.identification.plateaus.edges import EdgeKind, Edges, Facet, FacetReading, Plateau, met_on
from unweave.identification.plateaus.elsewhere import Elsewhere, FarPlaces, Planes
from unweave.identification.plateaus.fresh_sides import FreshAnswers, FreshSides, strong_rows
from unweave.identification.plateaus.local_steps import LocalSteps
from unweave.identification.plateaus.plateau_layer import PlateauLayer, rows_are_all, rows_are_exact
from unweave.identification.walks.lines import Ask, run_searches
from unweave.networks.network import Layer
from unweave.result import Verdict


@dataclass(frozen=True)
class LowestLayerSearch:
    """Settings of the search.

    Args:
        quiet_lines: lines that must show nothing new before the search ends; chosen by the inputs if omitted.
        homes: places that are tried for a plateau if the centre is on none.
        fewest_quiet: the fewest lines that must show nothing new, if `quiet_lines` is omitted; one per input, too. And
            the fewest per row, if there are more rows than inputs.
        patience: lines without a new hyperplane, in those wanted, after which edges that can't be read are given up.
        continuation: how kinks are looked for across each other.
        reading: how a hyperplane is read at the edge of a plateau.
        margin: tolerated rounding of an answer on a plateau, in expected errors: six standard deviations.
        same: two readings are of one hyperplane, or a point is on it, up to this share of its distance from the centre:
            far above the 1.5e-12 that readings had at most (`FacetReading`), and a tenth of the roughest that count.
        beside_centre: distance of the first place: models that normalise inputs have no answer at the centre; chosen.
        nearby, nearby_steps: steps that tell whether answers are constant around a place, in roots of the inputs.
        home_scales: distances at which a plateau is looked for if the centre is on none, in square roots of the inputs.
        start_scales: distances of later starts from the centre, in square roots of the inputs; chosen: four times as
            far again and again.
        free_unread, unread_per_row: edges that could not be read, also per row, at which the search ends.
        local_steps: which steps are no layer.
        elsewhere: where a hyperplane is looked for far from where it was read.
        fresh: how rows of steps are compared with answers of the domain.
        most_in_vain: queries of a search that has seen no row of a layer; no limit if omitted.
        judged_after: queries after which it is looked whether what was read may be a layer; later half as many.
        most_per_row: queries, and those per input, that each row read so far allows beyond that: twice what one takes.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    quiet_lines: int | None = None
    homes: int = 15
    fewest_quiet: tuple[int, int] = (12, 4)
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
    fresh: FreshSides = field(default_factory=FreshSides)
    most_in_vain: int | None = None
    judged_after: int = 2_000
    most_per_row: tuple[int, int] = (500, 150)

    def __call__(
        self,
        ask: Ask,
        inputs: int,
        rng: np.random.Generator,
        *,
        noise: float = 0.0,
        rounding: float = 2.0**-50,
        saw: Callable[[int], None] = lambda _: None,
    ) -> PlateauLayer:
        """Leave plateaus until no line meets another hyperplane.

        Args:
            ask: answers batches of points of unbounded space, and remembers them: some are asked again.
            inputs: number of inputs.
            rng: chooses the lines.
            noise: standard deviation of an answer.
            rounding: error of an answer relative to its size.
            saw: called with the number of hyperplanes so far.

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
                walk.refuse_vain_steps()
                saw(len(walk.facets))
            is_new = walk.follow(walk.rays_along_unseen())
        return _result(walk, walk.seen_elsewhere(), self._wanted(walk))

    def _goes_on(self, walk: "_Walk") -> bool:
        """Whether lines have not been quiet for long, and edges can be read."""
        wanted = self._wanted(walk)
        return walk.quiet < wanted and walk.turn < self.patience * wanted and walk.is_readable

    def _wanted(self, walk: "_Walk") -> int:
        """Lines that must show nothing new."""
        # With more rows than inputs no direction shows missing ones alone.
        fewest, per_row = self.fewest_quiet
        more = per_row * len(walk.facets) if len(walk.facets) > walk.inputs else 0
        return self.quiet_lines or max(fewest, walk.inputs, more)


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
    asked: int = 0

    def __post_init__(self) -> None:
        self.most, self.next_judgement = self.search.most_in_vain, self.search.judged_after
        self.unit = float(np.sqrt(self.inputs))
        self.normals, self.thresholds = np.empty((0, self.inputs)), np.empty(0)

    def query(self, points: Points) -> Values:
        """Ask, within what may be asked in vain."""
        if self.most is not None and self.asked + len(points) > self.most:
            self._refuse_in_vain()
        self.asked += len(points)
        return self.ask(points)

    @cached_property
    def fresh(self) -> FreshAnswers:
        """Answers at fresh points of the domain."""
        return self.search.fresh(self.ask, self.inputs, self.rng, noise=self.noise, rounding=self.rounding)

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
        searches = [met_on(plateau, direction, self.unit) for plateau, direction in rays]
        if not searches:
            return False
        self.lines += 1
        met = [(plateau, edge) for plateau, edge in run_searches(searches, self.query) if not self._is_known(edge)]
        before = len(self.facets)
        if self.most is not None and not self.facets:
            # Whether one can be read at all is seen before two are paid for.
            met = met[:1]
        found = run_searches([self.search.reading(plateau, edge, self.rng) for plateau, edge in met], self.query)
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
        values = self.query(np.vstack([point, point + steps]))
        plateau = Plateau(point, values[0], self.noise + self.rounding * max(float(np.max(np.abs(values[0]))), 1.0))
        return plateau if np.all(plateau.holds(values)) else None

    def rays(self) -> Iterator[tuple[Plateau, Vector]]:
        """Two rays from one start: opposite ones that known rows do not see, or such that switch these off."""
        start = (None if self.turn % 4 < 2 else self._plateau_at(self._far_start())) or self.home
        unseen = self.planes.unseen
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
        if self.planes.are_independent:
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

    def _lift(self, values: PerNeuron) -> Vector:
        """The smallest vector that the known rows map to these values, if there is one."""
        return np.linalg.pinv(self.normals) @ values if len(values) > 0 else np.zeros(self.inputs)

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
        self.dependence, unseen = 0, self.planes.unseen
        if len(unseen) == 0:
            return
        look = self.search.elsewhere
        scales = np.resize(self.search.start_scales, look.places)[:, None]
        points = self.home.point + scales * self.rng.standard_normal((look.places, self.inputs))
        moves = look.far * scales * self.rng.standard_normal((look.places, len(unseen))) @ unseen
        before, after = np.split(self.query(np.concatenate([points, points + moves])), 2)
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
            self.search.local_steps.refuse(self.normals, self.look_elsewhere, self._are_pure_beyond)

    def refuse_vain_steps(self) -> None:
        """End the search where answers jump, if what was read after many queries is no layer."""
        if self.most is None:
            return
        fixed, per_input = self.search.most_per_row
        for_two = fixed + per_input * self.inputs  # which may be read at a time
        are_affordable = not self.facets or self.asked + for_two <= self.most
        if self.asked < self.next_judgement and are_affordable:
            return
        if not self._may_be_layer():
            self._refuse_in_vain()
        self.next_judgement = self.asked + self.search.judged_after // 2
        if self.inputs > 1:
            # With one input all functions of steps are layers of rows, and only their number is judged.
            rows = len(self.facets) * for_two
            self.most = max(self.most, self.search.judged_after + rows, self.asked + for_two)

    def _may_be_layer(self) -> bool:
        """Whether most of what was read is seen elsewhere or bounds equal answers, as rows of steps are and do."""
        if len(self.facets) == 0 or self.unread > len(self.facets):
            return False
        look, planes = self.search.fresh, self.planes
        is_pure = self._are_pure_beyond()
        strong = strong_rows(self.look_elsewhere().is_seen, is_pure, share=self.search.local_steps.with_levels.share)
        if not np.all(is_pure):
            strong &= look.seen_near(self.query, planes, self.home, self.fresh, margin=self.search.margin)
        return 2 * int(np.count_nonzero(strong)) >= len(self.facets)

    def _are_pure_beyond(self) -> Bool[np.ndarray, "rows"]:
        """Whether answers are the same on one side of each hyperplane."""
        return self.fresh.is_pure_beyond(self.query, self.normals, self.thresholds)

    def _refuse_in_vain(self) -> NoReturn:
        raise StageFailed(reasons.vain_steps(self.asked, len(self.facets), unread=self.unread))

    def seen_elsewhere(self) -> Bool[np.ndarray, "neurons"]:
        """Which hyperplanes answers change across far from where these were read, too, and beyond all others."""
        if len(self.facets) == 0:
            return np.empty(0, dtype=bool)
        is_far = np.count_nonzero(self.look_elsewhere().is_seen, axis=1) >= self.search.elsewhere.needed
        planes = self.planes
        is_kink = ~planes.is_jump
        if not np.any(is_kink):
            look = self.search.fresh
            return is_far & look.seen_near(self.query, planes, self.home, self.fresh, margin=self.search.margin)
        is_everywhere = self.search.continuation.alone(self.ask, planes, is_far & is_kink, self.home.holds)
        goes_on = self.search.continuation(self.ask, planes, is_everywhere, noise=self.noise, rounding=self.rounding)
        return np.where(is_kink, goes_on, is_far)

    def look_elsewhere(self) -> Elsewhere:
        """Ask whether answers change across every hyperplane at places far from where it was read."""
        return self.search.elsewhere(self.query, self.planes, self.home, margin=self.search.margin)

    @property
    def planes(self) -> Planes:
        """The hyperplanes so far."""
        is_jump = np.array([facet.kind is EdgeKind.JUMP for facet in self.facets], dtype=bool)
        errors = np.array([facet.error for facet in self.facets])
        return Planes(self.normals, self.thresholds, errors, self.unit, is_jump, self.rng, self.search.same)


def _result(walk: _Walk, is_far: Bool[np.ndarray, "neurons"], wanted: int) -> PlateauLayer:
    """The rows that go on everywhere, with the evidence for them."""
    if not walk.facets:
        raise StageFailed(
            f"{walk.lines} lines from a place where the answers are constant met no hyperplane at which they change"
            + (f", and {walk.unread} edges that are not those of hyperplanes." if walk.unread else ".")
        )
    kept = np.flatnonzero(is_far)
    kinds = {walk.facets[row].kind for row in kept}
    is_step, is_all = kinds == {EdgeKind.JUMP}, all(facet.kind is EdgeKind.JUMP for facet in walk.facets)
    shown = kept if len(kept) else np.arange(len(walk.facets))
    mixed = walk.fresh.mixed(walk.normals[shown], walk.thresholds[shown]) if is_step or is_all else 0
    if not kinds and mixed:
        raise StageFailed(reasons.mixed_sides(mixed, len(walk.fresh.points), len(walk.facets)))
    if len(kinds) != 1:
        raise StageFailed(
            f"answers are constant in regions, but none of {len(walk.facets)} hyperplanes between these goes on far "
            "away, past the others, as those of neurons of the first layer do."
            if not kinds
            else "answers jump at some hyperplanes and bend at others: the first layer has several activations."
        )
    errors = np.array([walk.facets[row].error for row in kept])
    activation = STEP if is_step else RELU
    layer = Layer(walk.normals[kept], -walk.thresholds[kept], activation)
    exact = rows_are_exact(float(np.max(errors)), unread=walk.unread)
    others = rows_are_all(
        elsewhere=len(walk.facets) - len(kept),
        dependence=walk.dependence,
        mixed=mixed,
        quiet=walk.quiet,
        wanted=wanted,
    )
    is_complete = all(check.verdict is Verdict.OK for check in others)
    return PlateauLayer(layer, errors, walk.lines, walk.quiet, is_complete, (*exact, *others))
