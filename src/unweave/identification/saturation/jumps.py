"""Jumps of a saturated function along a far line: where a neuron switches from one side to the other.

Far from the centre every neuron with a saturating activation is constant, but for a thin slab around its hyperplane.
Answers on a far line are plateaus; halving the angles between two different ones leads into a slab, where two answers
already tell how wide it is.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation, Reflection, Tail, inverse_of, simplest_activations
from unweave.arrays import PerOutput, PerPoint, Points, Values, Vector
from unweave.exceptions import StageFailed
from unweave.identification.walks.lines import Ask, Line, Search, run_searches


def is_saturating(activation: Activation) -> bool:
    """Whether an activation is odd, goes from -1 to 1, and can be undone, as tanh and erf."""
    is_odd = activation.reflection == Reflection(sign=-1)
    is_bounded = activation.tails == (Tail(0.0, -1.0), Tail(0.0, 1.0))
    return is_odd and is_bounded and activation.inverse is not None


SATURATING = simplest_activations(is_saturating)


@dataclass(frozen=True, kw_only=True)
class Angles:
    """How many angles of a line are looked at for plateaus.

    Args:
        first: at first.
        per_jump: per plateau that was seen: neighbours whose jumps cancel show up between equal plateaus.
        many: with so many most neighbours are alike, up to several thousand jumps.
        mostly_different: share of neighbours that differ, then, from which on there are no plateaus.
        queries: on one line, per angle, after which a search does not end; eight are seen for a thousand neurons.
    """

    first: int = 24
    per_jump: int = 4
    many: int = 3_000
    mostly_different: float = 0.9
    queries: int = 60


@dataclass(frozen=True)
class Jump:
    """A neuron that switches at a position: ``middle + height g(rate (position - place))``.

    Args:
        position: the place where its argument vanishes.
        rate: change of its argument per length on the line.
        height: output weights times the sign of the direction, per output.
        middle: the value half-way.
        activation: the activation that fits best.
        misfit: root mean square distance from it, relative to the height.
    """

    position: float
    rate: float
    height: PerOutput
    middle: PerOutput
    activation: Activation
    misfit: float

    def argument(self, values: Values) -> PerPoint:
        """The argument of the neuron behind answers in its slab (infinite if saturated)."""
        share = (values - self.middle) @ self.height / (self.height @ self.height)
        with np.errstate(divide="ignore"):
            return inverse_of(self.activation)(np.clip(share, -1.0, 1.0))


@dataclass(frozen=True)
class Sighting:
    """Two answers in the slab of a neuron, between two plateaus.

    Args:
        positions: of the two on the line.
        values: the plateau before, the two, and the plateau after.
        is_weak: whether the two are far apart, because noise hides what is nearer.
    """

    positions: tuple[float, float]
    values: Float64[np.ndarray, "4 outputs"]
    is_weak: bool

    def guess(self, activation: Activation) -> tuple[float, float]:
        """Place and rate of the neuron, if this is its activation."""
        before, first, second, after = self.values
        jump = Jump(0.0, 1.0, 0.5 * (after - before), 0.5 * (after + before), activation, np.inf)
        arguments = jump.argument(np.stack([first, second]))
        if not (np.all(np.isfinite(arguments)) and arguments[1] > arguments[0]):
            # Two jumps close together, or a profile that is not monotone.
            arguments = np.array([0.0, 1.0])
        rate = float((arguments[1] - arguments[0]) / (self.positions[1] - self.positions[0]))
        return self.positions[0] - float(arguments[0]) / rate, rate


@dataclass(frozen=True)
class JumpSearch:
    """Settings of the search for jumps along a far line.

    Args:
        noise: expected error of an answer on a plateau.
        activations: those that are tried.
        margin: expected errors up to which two answers are equal.
        bent: argument beyond which, on both sides, a weak profile has to be seen before it counts.
        narrowest: width, in standard units, below which a slab is a step that hides its neuron.
        angles: how many angles are looked at for plateaus.
        nearby: distance of a second answer in a slab, at least and at most, relative to the interval that led there.
        clear_change: of the profile over this distance, in margins: several times what noise may hide, or a weak neuron
            would look like a plateau.
        tail: an answer this close to a plateau, relative to the jump, belongs to it, and a profile with a larger misfit
            to no known activation.
        arguments: of the activation, where a profile is sampled.
        fit_steps: of the fit to it.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    noise: float
    activations: tuple[Activation, ...] = SATURATING
    margin: float = 6.0
    bent: float = 1.5
    narrowest: float = 1e-2
    angles: Angles = field(default_factory=Angles)
    nearby: tuple[float, float] = (1e-3, 0.25)
    clear_change: float = 20.0
    tail: float = 1e-3
    arguments: tuple[float, ...] = (-9.0, -3.0, -1.5, -0.5, 0.5, 1.5, 3.0, 9.0)
    fit_steps: int = 12

    def __call__(self, ask: Ask, line: Line) -> list[Jump]:
        """Find the jumps on a line, in order.

        Assumes: far out the function is constant between slabs, up to the noise.
        Guarantees: heuristic; jumps that cancel within a quarter of the typical distance can hide.
        """
        angles, values = self._plateaus(ask, line)
        ask = _limited(ask, self.angles.queries * len(angles))
        searches = []
        for k in np.flatnonzero(self._differ(values[:-1], values[1:])):
            low, high = (line.position(angles[i]) for i in (k, k + 1))
            searches.append(self._narrow(line, low, values[k], high, values[k + 1]))
        jumps = self._read(ask, line, run_searches(searches, ask))
        return _distinct(sorted(jumps, key=lambda jump: jump.position))

    def _differ(self, first: Values, second: Values) -> np.ndarray:
        return np.max(np.abs(first - second), axis=-1) > self.margin * self.noise

    def _plateaus(self, ask: Ask, line: Line) -> tuple[np.ndarray, Values]:
        """Answers at evenly spread angles, more of them as more jumps are seen."""
        angles = np.linspace(line.first, line.last, self.angles.first)
        values = ask(line.points(line.unit * np.tan(angles)))
        while True:
            differing = int(np.count_nonzero(self._differ(values[:-1], values[1:])))
            if len(angles) >= self.angles.per_jump * differing:
                return angles, values
            if len(angles) > self.angles.many and differing > self.angles.mostly_different * len(angles):
                raise StageFailed(
                    f"the answers far from the centre have no plateaus: {differing} of {len(angles)} neighbours differ."
                )
            between = 0.5 * (angles[1:] + angles[:-1])
            more = ask(line.points(line.unit * np.tan(between)))
            order = np.argsort(np.concatenate([angles, between]))
            angles, values = np.concatenate([angles, between])[order], np.concatenate([values, more])[order]

    def _narrow(self, line: Line, low: float, before: np.ndarray, high: float, after: np.ndarray) -> Search:
        """Halve the interval between two plateaus until an answer lies in the slab between them."""
        while high - low > self.narrowest:
            height = float(np.max(np.abs(after - before)))
            tail = max(self.tail * height, self.margin * self.noise)
            place = line.position(0.5 * (line.angle(low) + line.angle(high)))
            value = (yield line.points(np.array([place])))[0]
            if np.max(np.abs(value - before)) <= tail:
                low = place
            elif np.max(np.abs(value - after)) <= tail:
                high = place
            else:
                nearby = self._nearby(height)
                beside = place + nearby * min(high - place, place - low)
                second = (yield line.points(np.array([beside])))[0]
                if np.max(np.abs(second - value)) <= self.margin * self.noise:
                    return [
                        self._narrow(line, low, before, place, value),
                        self._narrow(line, place, value, high, after),
                    ]
                if np.max(np.abs(second - after)) > tail:
                    is_weak = nearby > self.nearby[0]
                    return [Sighting((place, beside), np.stack([before, value, second, after]), is_weak)]
                high = beside
        return []

    def _nearby(self, height: float) -> float:
        needed = self.clear_change * self.margin * self.noise / height
        # Differences that hardly exceed the noise are a drift, not a neuron: no distance makes them clear.
        return float(np.clip(needed, *self.nearby)) if needed < 1.0 else self.nearby[0]

    def _read(self, ask: Ask, line: Line, slabs: list[Sighting]) -> list[Jump]:
        """Sample all slabs where two answers say that they are, and fit their profiles."""
        if not slabs:
            return []
        positions, values = (np.array([getattr(each, name) for each in slabs]) for name in ("positions", "values"))
        places, rates = np.array([each.guess(self.activations[0]) for each in slabs]).T
        values, rows, jumps = values[:, 1:3], np.arange(len(slabs)), []
        for is_last in (False, True):
            more = places[:, None] + np.array(self.arguments) / rates[:, None]
            answers = ask(line.points(more.ravel())).reshape(*more.shape, -1)
            positions, values = np.hstack([positions, more]), np.concatenate([values, answers], axis=1)
            fits = [
                fit_jumps(positions, values, places, rates, each, steps=self.fit_steps) for each in self.activations
            ]
            best = [min(each, key=lambda jump: jump.misfit) for each in zip(*fits, strict=True)]
            found, misfits = np.array([[jump.position, jump.rate] for jump in best]), [jump.misfit for jump in best]
            is_odd = ~((found[:, 1] > 0.1 * rates) & (found[:, 1] < 10.0 * rates))
            is_done = (np.array(misfits) < self.tail) | is_odd | is_last
            for k in np.flatnonzero(is_done):
                jumps += [best[k]] if self._counts(line, best[k], positions[k], slabs[rows[k]]) else []
            if np.all(is_done):
                break
            places, rates = found[~is_done].T
            positions, values, rows = positions[~is_done], values[~is_done], rows[~is_done]
        return jumps

    def _counts(self, line: Line, jump: Jump, positions: np.ndarray, seen: Sighting) -> bool:
        """Whether a profile was seen on both sides, or needs not be.

        A straight piece fits the middle of any profile: the tail of a slab, where answers are far apart, or that of a
        function that drifts, whose slab would be wider than it is far away.
        """
        arguments = jump.rate * (positions - jump.position)
        has_saturated = np.min(arguments) < -self.bent and np.max(arguments) > self.bent
        is_drift = jump.rate * np.hypot(line.unit, jump.position) < 1.0
        return bool(has_saturated or not (seen.is_weak or is_drift))


def _limited(ask: Ask, limit: int) -> Ask:
    """Stop a search that does not end: between any two answers that differ there are others."""
    asked = 0

    def limited(points: Points) -> Values:
        nonlocal asked
        asked += len(points)
        if asked > limit:
            raise StageFailed(
                f"the answers far from the centre have no plateaus: the search between them did not come to an end in "
                f"{limit} queries. They drift, or are noisier there than near the centre."
            )
        return ask(points)

    return limited


def _distinct(jumps: list[Jump]) -> list[Jump]:
    """A slab that spans several of the first angles is found from each side of them: once is enough."""
    kept: list[Jump] = []
    for jump in jumps:
        if kept and (jump.position - kept[-1].position) * max(jump.rate, kept[-1].rate) < 1.0:
            kept[-1] = min(kept[-1], jump, key=lambda one: one.misfit)
        else:
            kept.append(jump)
    return kept


@np.errstate(over="ignore", invalid="ignore")
def fit_jumps(
    positions: Float64[np.ndarray, "jumps points"],
    values: Float64[np.ndarray, "jumps points outputs"],
    places: Float64[np.ndarray, "jumps"],
    rates: Float64[np.ndarray, "jumps"],
    activation: Activation,
    *,
    steps: int = 12,
) -> list[Jump]:
    """Fit all profiles at once by undamped Gauss-Newton in place and rate, too small for `numerics.least_squares`."""
    tiny, offsets, means = np.finfo(float).tiny, positions - places[:, None], np.mean(values, axis=1)
    centred, moved = values - means[:, None], np.stack([np.zeros_like(places), np.log(rates)], axis=1)
    is_going = np.ones(len(places), dtype=bool)
    best = (places, rates, values[:, -1], values[:, 0], np.full(len(places), np.inf))
    for _ in range(steps):
        rates = np.exp(moved[:, 1])
        arguments = rates[:, None] * offsets - moved[:, :1]
        profiles = activation(arguments)
        levels = np.mean(profiles, axis=1, keepdims=True)
        profiles = profiles - levels
        squares = np.maximum(np.sum(profiles**2, axis=1, keepdims=True), tiny)
        heights = np.einsum("kp,kpo->ko", profiles, centred) / squares
        residuals = centred - profiles[:, :, None] * heights[:, None]
        sizes = np.maximum(np.linalg.norm(heights, axis=1), tiny)
        now = np.sqrt(np.mean(residuals**2, axis=(1, 2))) / sizes
        is_better = is_going & (now < best[-1])
        is_going &= is_better | (now <= 3 * best[-1])
        found = (places + moved[:, 0] / rates, rates, heights, means - levels * heights, now)
        best = tuple(np.where(is_better, new.T, old.T).T for new, old in zip(found, best, strict=True))
        if not np.any(is_going):
            break
        slopes = activation(arguments, 1)[:, None] * np.stack(
            [-np.ones_like(offsets), rates[:, None] * offsets], axis=1
        )
        slopes -= np.mean(slopes, axis=2, keepdims=True)
        slopes -= (slopes @ profiles[:, :, None] / squares[:, None]) * profiles[:, None]
        is_going &= np.all(np.isfinite(slopes), axis=(1, 2)) & np.all(np.isfinite(residuals), axis=(1, 2))
        slopes[~is_going] = 0.0
        wanted = np.einsum("kpo,ko->kp", residuals, heights / sizes[:, None]) / sizes[:, None]
        steps_now = np.einsum("kpu,kp->ku", np.linalg.pinv(slopes, rcond=1e-12), wanted)
        moved = moved + np.where(is_going[:, None], np.clip(steps_now, -2.0, 2.0), 0.0)
    return [
        Jump(float(place), float(rate), height, middle, activation, float(misfit))
        for place, rate, height, middle, misfit in zip(*best, strict=True)
    ]


@dataclass(frozen=True)
class Slab:
    """A neuron ``height g(weights x + bias)`` in standard coordinates, and how well the slab agrees with it.

    Args:
        weights: one per input.
        bias: the bias.
        height: output weights.
        jump: where it was found.
        mismatch: relative difference between the weights along the line and the rate of the jump.
    """

    weights: Vector
    bias: float
    height: PerOutput
    jump: Jump
    mismatch: float


@dataclass(frozen=True, kw_only=True)
class SlabReading:
    """Settings of the reading of neurons in their slabs.

    Args:
        step: along the axes, in units of the slab's width along the line.
        largest_argument: beyond it an axis is asked again: answers there are too near to a plateau.
        shrink: factor of the step then.
        attempts: at it.
        plateau: how far on both sides of the mirror image its plateaus are looked for, in arguments.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    step: float = 0.6
    largest_argument: float = 2.5
    shrink: float = 0.05
    attempts: int = 4
    plateau: float = 40.0

    def __call__(self, ask: Ask, line: Line, jumps: list[Jump]) -> list[Slab]:
        """Read the neuron behind every jump: one query per input and about five more."""
        return run_searches((self._neuron(line, jump) for jump in jumps), ask)

    def _neuron(self, line: Line, jump: Jump) -> Search:
        point = line.points(np.array([jump.position]))[0]
        weights = np.full(len(point), np.nan)
        step = self.step / jump.rate
        for _ in range(self.attempts):
            axes = np.flatnonzero(np.isnan(weights))
            values = yield point + step * np.eye(len(point))[axes]
            arguments = jump.argument(values)
            is_seen = np.abs(arguments) < self.largest_argument
            # What is added is what the rounded points differ by.
            moved = (point[axes] + step) - point[axes]
            weights[axes[is_seen]] = arguments[is_seen] / moved[is_seen]
            if np.all(is_seen):
                break
            step *= self.shrink
        if np.any(np.isnan(weights)):
            return []
        along = float(weights @ line.direction)
        shift = yield from self._mirror(line, jump, -point)
        if shift is None and abs(weights @ point) < 0.4 * self.plateau:
            # The mirror image should have been seen, but for another slab across it: another line will do.
            return []
        bias = -0.5 * jump.rate * shift if shift is not None else float(-weights @ point)
        return [Slab(weights, bias, jump.height, jump, abs(along - jump.rate) / jump.rate)]

    def _mirror(self, line: Line, jump: Jump, center: Vector) -> Generator[Points, Values, float | None]:
        """How far from the mirrored point, along the line, the hyperplane is met again; None if it is not seen."""
        reach = self.plateau / jump.rate
        left, value, right = yield center + np.array([-reach, 0.0, reach])[:, None] * line.direction
        size = float(np.max(np.abs(jump.height)))
        if np.max(np.abs(right - left - 2 * jump.height)) > 1e-2 * size:
            return None
        mirrored = Jump(0.0, jump.rate, jump.height, 0.5 * (left + right), jump.activation, jump.misfit)
        shift = 0.0
        for _ in range(self.attempts + 4):
            argument = float(mirrored.argument(value[None])[0])
            if abs(argument) < self.largest_argument / 2:
                return shift - argument / jump.rate
            shift -= float(np.clip(argument, -8.0, 8.0)) / jump.rate
            value = (yield center[None] + shift * line.direction)[0]
        return None
