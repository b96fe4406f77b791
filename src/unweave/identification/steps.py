"""Functions of steps: answers that are constant around places, and jump between them.

Two values alone do not tell steps from neurons that saturate: a steep hard tanh has two at nearly all places as well.
Halving the distance between two places with different answers does: at a jump the next answer that numbers can tell
apart is as far away as all those behind it, on a rise it is in between.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PointMask, Points, Values, Vector
from unweave.exceptions import OracleError
from unweave.identification import reasons
from unweave.identification.probing import Probe
from unweave.identification.walks.lines import Ask
from unweave.oracles.oracle import Box


@dataclass(frozen=True, eq=False)
class Jump:
    """A place where answers jump.

    Args:
        point: the last one with the answers before.
        change: of the answers.
    """

    point: Vector
    change: Float64[np.ndarray, "outputs"]


@dataclass(frozen=True, kw_only=True)
class JumpLook:
    """Settings of the halving.

    Args:
        finest: distance below which points can't be told apart, relative to that from the origin: two roundings.
        distances: behind the change, in finest distances, at which answers are compared. The first is above rounding;
            the last, a millionth of the distance from the centre, shows rises of models that round their inputs.
        clear: change across the first one, in tolerances, from which on it may be a jump.
        jumped: how much larger changes across the others may be, relative to it: on a rise they are many times larger.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    finest: float = 2.0**-51
    distances: tuple[float, ...] = (2.0**3, 2.0**4, 2.0**10, 2.0**20, 2.0**31)
    clear: float = 1e3
    jumped: float = 0.5

    def __call__(self, ask: Ask, first: Vector, last: Vector, *, tolerance: float, finest: float) -> Jump | None:
        """Find the place between two points where answers leave those of the first, and see whether they jump there.

        Args:
            ask: answers batches of points.
            first: where the line begins.
            last: where it ends, with other answers.
            tolerance: up to which two answers are the same.
            finest: distance below which points can't be told apart.
        """
        before = ask(first[None])[0]
        inside, outside = first, last
        while float(np.linalg.norm(outside - inside)) > finest:
            middle = 0.5 * (inside + outside)
            if np.array_equal(middle, inside) or np.array_equal(middle, outside):
                break
            if np.max(np.abs(ask(middle[None])[0] - before)) <= tolerance:
                inside = middle
            else:
                outside = middle
        along = (last - first) / np.linalg.norm(last - first)
        # Not beyond the end of the line, which may be the face of a box.
        distances = np.minimum(finest * np.array(self.distances), np.linalg.norm(last - inside))
        changes = ask(inside + np.outer(distances, along)) - before
        sizes = np.max(np.abs(changes), axis=1)
        is_jump = sizes[0] > self.clear * tolerance and np.all(sizes < (1.0 + self.jumped) * sizes[0])
        return Jump(inside, changes[0]) if is_jump else None


@dataclass(frozen=True, eq=False)
class Steps:
    """What was seen of a function of steps.

    Args:
        places: random ones around which answers are constant.
        levels: different answers at them, and wherever else was asked.
        point: where answers jump, in the oracle's own inputs.
        height: by how much.
        are_whole: whether all answers are whole numbers, as labels are.
    """

    places: int
    levels: int
    point: Vector
    height: float
    are_whole: bool = False

    @property
    def reason(self) -> str:
        """Why no slopes lead to neurons."""
        return reasons.steps(
            self.places, levels=self.levels, point=self.point, height=self.height, are_whole=self.are_whole
        )


@dataclass(frozen=True, kw_only=True)
class PlateauLook:
    """How it is seen whether answers are constant around places. Distances are in half-widths of the domain.

    Args:
        places: random ones that are looked at: what is not constant around a sixth of all places shows at one of them
            with a confidence of 95 % (``0.05^(1 / 16) = 0.83``).
        more_places: that are asked for a different answer if all so far are the same: one that a twentieth of the
            domain has shows at one of them with a confidence of 95 %.
        far: how far from the centre it is looked, too, if the domain has no end; chosen.
        pairs: of places with different answers between which a jump is looked for; chosen: one may end where other
            steps are close.
        jumps: how a jump is told from a rise.
        margin: change of an answer nearby, in expected errors, up to which it is constant: six standard deviations.
        visible: the same, in margins, that a function of slope one shows at the distance that is asked; chosen.
        distances: the smallest and the largest that are asked; chosen: kinks are rarely nearer, and float64 tells such
            points apart; farther away steps could be crossed.
        crossed: places at which a step may have been crossed all the same, and it is looked nearer.
        nearer: how much.
        beside_centre: how far beside the centre it is asked: models that normalise inputs have no answer at zero;
            chosen, far below the distance of most kinks.
    """

    places: int = 16
    more_places: int = 59
    far: float = 30.0
    pairs: int = 3
    jumps: JumpLook = field(default_factory=JumpLook)
    margin: float = 6.0
    visible: float = 10.0
    distances: tuple[float, float] = (1e-5, 0.5)
    crossed: int = 2
    nearer: float = 1e-3
    beside_centre: float = 1e-3

    def distance(self, error: float) -> float:
        """So far that answers which are not constant change visibly: by about as much as they are asked apart."""
        return float(np.clip(self.visible * self.margin * error, *self.distances))

    def shows(self, distance: float, error: float) -> bool:
        """Whether answers that are not constant change visibly there."""
        return distance >= self.visible * self.margin * error

    def is_constant_around(self, points: Points, probe: Probe, rng: np.random.Generator) -> bool:
        """Whether answers are constant around all of some points: two queries each."""
        nearby, error = self.distance(probe.answer_error), probe.answer_error
        values = probe.oracle.query(points)
        probe.answers.keep(points, values, are_spread=False)
        changes = self._changes(points, values, nearby, probe, rng)
        nearer = self.nearer * nearby
        if 0 < np.count_nonzero(changes) <= self.crossed and self.shows(nearer, error):
            # A border may lie just there.
            changes[changes] = self._changes(points[changes], values[changes], nearer, probe, rng)
        return not np.any(changes)

    def _changes(
        self, points: Points, values: Values, distance: float, probe: Probe, rng: np.random.Generator
    ) -> PointMask:
        """Whether answers change at most so far from some points."""
        # Towards the centre, which stays inside a box.
        steps = np.where(points > 0.0, -distance, distance) * rng.uniform(0.0, 1.0, points.shape)
        beside = probe.oracle.query(points + steps)
        errors = probe.answer_error + probe.rounding * np.max(np.abs(values), axis=1)
        return np.max(np.abs(values - beside), axis=1) > self.margin * errors

    def _more(self, probe: Probe, rng: np.random.Generator) -> tuple[Points, Values]:
        """All answers, with those at more places of the domain, and far from its centre if it has no end."""
        points = probe.oracle.sample(rng, self.more_places)
        probe.answers.keep(points, probe.oracle.query(points), are_spread=True)
        points, values = probe.answers.points, probe.answers.values
        if isinstance(probe.oracle.oracle.domain, Box):
            return points, values
        far = self.far * probe.oracle.sample(rng, self.places)
        try:
            return np.concatenate([far, points]), np.concatenate([probe.oracle.query(far), values])
        except OracleError:
            # A model need not answer there.
            return points, values

    def steps(self, probe: Probe, rng: np.random.Generator) -> Steps | None:
        """Look for a jump between answers that differ; None if all are the same, or rise between places.

        Args:
            probe: with answers at places around which they are constant, last.
            rng: chooses more places.
        """
        points, values = probe.answers.points, probe.answers.values
        tolerance = self.margin * (probe.answer_error + probe.rounding * float(np.max(np.abs(values))))
        if np.all(np.ptp(values, axis=0) <= tolerance):
            points, values = self._more(probe, rng)
        differ = np.max(np.abs(values - values[-1]), axis=1) > tolerance
        oracle = probe.oracle
        frame = float(np.max(np.abs(oracle.center / oracle.half_width)))
        for last in points[np.flatnonzero(differ)[-self.pairs :]]:
            finest = self.jumps.finest * max(float(np.linalg.norm(points[-1])), float(np.linalg.norm(last)), frame)
            jump = self.jumps(oracle.query, points[-1], last, tolerance=tolerance, finest=finest)
            if jump is not None:
                place, change = oracle.center + oracle.half_width * jump.point, oracle.size * jump.change
                raw = oracle.offset + oracle.size * values
                are_whole = bool(np.allclose(raw, np.rint(raw), rtol=1e-12, atol=1e-9))
                levels, height = _different(values, tolerance), float(np.max(np.abs(change)))
                return Steps(self.places, levels, place, height, are_whole)
        return None


def _different(values: Values, tolerance: float) -> int:
    """Count answers that differ."""
    return sum(bool(np.all(np.max(np.abs(values[:k] - values[k]), axis=1) > tolerance)) for k in range(len(values)))
