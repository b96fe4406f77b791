"""Whether a kink lies on a full hyperplane: look for it again, far away in opposite directions.

Under further layers the kinks of first-layer neurons lie on full hyperplanes. Those of later neurons
are flat only as long as no earlier neuron switches, and every earlier neuron switches somewhere on a
long line: at its two ends the same kink can't lie on the same hyperplane. So a kink that is seen at
both ends of lines within its hyperplane belongs to the first layer.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from unweave.arrays import PerOutput, Points, Values, Vector
from unweave.identification.walks.lines import Search

# Doubled answers are added up with weights 1, 2, 1 in a second difference.
SECOND_DIFFERENCE = 4.0


@dataclass(frozen=True, kw_only=True)
class CrossingRules:
    """Limits that decide whether a kink lies on a full hyperplane.

    Args:
        far: distance of the two ends, in distances of the kink from the centre. A given hyperplane in general position
            is met beyond with a probability of about its inverse.
        look: half-width of a look across the hyperplane, relative to the distance: 3e-3 units of the domain, in which
            another kink is rare, and far above the errors of normals that were read well.
        first_pairs: of ends, after which it is given up if nothing was seen.
        pairs: of ends at most: where upper layers are dead nothing is seen at an end; chosen: if an end shows the
            kink with a chance of a half, two of sixteen pairs do with a chance of 94 %.
        needed_pairs: with the kink at both ends: one can be an accident, after many lines.
        nearby: distances at which points are located, in square roots of the number of inputs: of the size of the
            domain, and not so near that an error of the normal is not seen.
        sharp: a kink is on the hyperplane if its place there is known to this share of the width: by accident one in
            sight is with a chance of a tenth at most.
        margin: tolerated difference in units of the expected error: six standard deviations, as in `KinkSearch`.
    """

    far: float = 1_000.0
    look: float = 3e-6
    first_pairs: int = 2
    pairs: int = 16
    needed_pairs: int = 2
    nearby: tuple[float, float] = (0.5, 3.0)
    sharp: float = 0.05
    margin: float = 6.0


@dataclass(frozen=True)
class Plane:
    """A hyperplane near a kink that may continue everywhere.

    Args:
        index: of the kink.
        point: on the kink.
        normal: a unit vector.
        error: expected error of the normal.
    """

    index: int
    point: Vector
    normal: Vector
    error: float


@dataclass(frozen=True)
class Accuracy:
    """How exact answers are far out.

    Args:
        noise: standard deviation of an answer.
        rounding: error of an answer relative to the size of the terms that it adds up.
        slope: largest slope that was seen; times a distance, the size of these terms.
        rules: what follows from it.
    """

    noise: float
    rounding: float
    slope: float
    rules: CrossingRules = field(default_factory=CrossingRules)

    def error(self, point: Vector, values: Values) -> float:
        """Expected error of answers around a point."""
        size = float(np.max(np.abs(values))) + self.slope * float(np.linalg.norm(point))
        return self.noise + self.rounding * size


def continues_everywhere(plane: Plane, accuracy: Accuracy, rng: np.random.Generator) -> Search:
    """Find the index of a kink if its hyperplane is full, else nothing.

    Assumes: upper layers see the neuron at both ends of some of the random lines.
    Guarantees: heuristic; at both ends of a random line a kink of a later layer is seen with a probability of about
        ``(2 / far)^neurons``, where `neurons` are those of the first layer that it depends on.
    """
    rules = accuracy.rules
    distance = rules.far * (1.0 + float(np.linalg.norm(plane.point)))
    seen = pairs = 0
    for number in range(rules.pairs):
        along = distance * _direction_within(plane.normal, rng)
        before = yield from _shift_at(plane, plane.point - along, accuracy)
        after = yield from _shift_at(plane, plane.point + along, accuracy)
        pairs += before is not None and after is not None
        seen += (before is not None) + (after is not None)
        if pairs == rules.needed_pairs:
            return [plane.index]
        if number + 1 >= rules.first_pairs and seen == 0:
            break
    return []


def locate_nearby(plane: Plane, accuracy: Accuracy, rng: np.random.Generator) -> Search:
    """Find a point of a hyperplane exactly, with its index, at a random place not far away; or nothing."""
    size = float(np.sqrt(len(plane.normal)))
    point = plane.point + size * rng.uniform(*accuracy.rules.nearby) * _direction_within(plane.normal, rng)
    shift = yield from _shift_at(plane, point, accuracy)
    return [] if shift is None else [(plane.index, point + shift * plane.normal)]


def _direction_within(normal: Vector, rng: np.random.Generator) -> Vector:
    """A random unit vector in a hyperplane."""
    along = rng.standard_normal(len(normal))
    along -= (along @ normal) * normal
    return along / np.linalg.norm(along)


def _shift_at(plane: Plane, point: Vector, accuracy: Accuracy) -> Generator[Points, Values, float | None]:
    """How far beside a point of the hyperplane its kink is; None if it is not there, or another one nearby."""
    distance = float(np.linalg.norm(point - plane.point))
    width = accuracy.rules.look * distance
    values = yield point + width * np.array([-1.0, 0.0, 1.0])[:, None] * plane.normal
    error = accuracy.error(point, values)
    bend = values[0] + values[2] - 2 * values[1]
    if not np.max(np.abs(bend)) > accuracy.rules.margin * SECOND_DIFFERENCE * error:
        return None
    halves = yield point + 0.5 * width * np.array([-1.0, 1.0])[:, None] * plane.normal
    left, right = 2 * halves[0] - values[0], 2 * halves[1] - values[2]
    jump = 2 * ((values[2] - halves[1]) - (halves[0] - values[0])) / width
    shift, doubt = _meeting(left, right, jump, SECOND_DIFFERENCE * error)
    allowed = accuracy.rules.margin * (doubt + plane.error * distance)
    # If any kink in sight would do, it is no evidence.
    if not abs(shift) <= allowed <= accuracy.rules.sharp * width:
        return None
    # The two pieces meet in the middle; if there is no other kink, the answer there is where they meet.
    rest = np.abs(values[1] - 0.5 * (left + right))
    is_single = np.all(rest <= accuracy.rules.margin * SECOND_DIFFERENCE * error + np.abs(jump * shift))
    return shift if is_single else None


def _meeting(left: PerOutput, right: PerOutput, jump: np.ndarray, error: float) -> tuple[float, float]:
    """Where two pieces with these values at zero meet, and its expected error."""
    size = float(np.linalg.norm(jump))
    if size == 0.0:
        return np.inf, 0.0
    return float((left - right) @ jump) / size**2, error / size
