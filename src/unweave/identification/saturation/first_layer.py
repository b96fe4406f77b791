"""First-layer neurons under unknown upper layers, read off inside their slabs.

Under upper layers a slab shows an unknown function of one neuron. Its gradient still points along the
neuron's weights, and its tails still fall off like the tails of the activation.
"""

from collections.abc import Generator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float64

from unweave.activations import TANH
from unweave.arrays import Points, Values, Vector
from unweave.identification.saturation.jumps import Jump, JumpSearch
from unweave.identification.session import Probe, Session
from unweave.identification.walks.lines import Ask, Line, Search, far_line, run_searches
from unweave.networks.network import Layer
from unweave.result import Diagnostic, at_most

# Where the steepest place is looked for, and the step of the gradient there, in widths of the slab.
PLACES = np.linspace(-2.0, 2.0, 9)
STEP = 1e-3
# Arguments at which the tails are sampled: as far out as the noise allows, between these, and so much farther again.
# Upper layers bend a tail by its own size, so that farther is better.
NEAREST_TAIL, FARTHEST_TAIL, TAIL_STEP = 3.0, 5.5, 1.5
# Size of the farther sample in units of the noise, and the argument at which tails have come to an end.
TAIL_CLEARANCE, TAIL_END = 1e5, 14.0
# Half-width of the search around the mirror image, in widths of the slab.
MIRROR = np.linspace(-12.0, 12.0, 25)


@dataclass(frozen=True)
class Ridge:
    """A hyperplane across which the function changes.

    Args:
        normal: unit vector, pointing forward along the line it was found on.
        offset: distance of the origin, to about the width of the slab.
        length: rate at which the tails fall off along the normal, as that of tanh.
    """

    normal: Vector
    offset: float
    length: float


def measure_ridges(ask: Ask, line: Line, jumps: list[Jump], *, noise: float) -> list[Ridge]:
    """The hyperplanes behind jumps of any profile, two queries per input and forty more each."""
    return run_searches((_ridge(line, jump, noise) for jump in jumps), ask)


def _ridge(line: Line, jump: Jump, noise: float) -> Search:
    width = 1.0 / jump.rate
    places = jump.position + width * PLACES
    values = yield line.points(places)
    steepest = int(np.argmax(np.max(np.abs(np.diff(values, axis=0)), axis=1)))
    point = line.points(places[steepest : steepest + 2]).mean(axis=0)
    gradient = yield from _gradient(point, STEP * width)
    size = float(np.linalg.norm(gradient))
    along = float(gradient @ line.direction) / size if size > 0 else 0.0
    if along == 0.0:
        return []
    normal = np.sign(along) * gradient / size
    rate = yield from _tail_rate(line, jump, noise)
    shift = yield from _mirror_shift(line, jump, -line.points(np.array([jump.position]))[0])
    if rate is None or shift is None:
        return []
    # The hyperplane is met at x and near -x: half of what is missing there is its distance.
    return [Ridge(normal, -0.5 * abs(along) * shift, rate / abs(along))]


def _gradient(point: Vector, step: float) -> Generator[Points, Values, Float64[np.ndarray, "inputs"]]:
    """Gradient of the output combination that changes most, by central differences."""
    axes = step * np.eye(len(point))
    values = yield np.concatenate([point + axes, point - axes])
    table = values[: len(point)] - values[len(point) :]
    left, _, _ = np.linalg.svd(table, full_matrices=False)
    return left[:, 0]


def _tail_rate(line: Line, jump: Jump, noise: float) -> Generator[Points, Values, float | None]:
    """How fast the function approaches its plateaus: ``exp(-2 |t|)`` for tanh, on the clearer side."""
    visible = -0.5 * np.log(max(TAIL_CLEARANCE * noise, np.finfo(float).tiny)) - TAIL_STEP
    first = float(np.clip(visible, NEAREST_TAIL, FARTHEST_TAIL))
    tail = np.array([first, first + TAIL_STEP, TAIL_END])
    offsets = np.concatenate([tail, -tail]) / jump.rate
    values = yield line.points(jump.position + offsets)
    best: tuple[float, float] | None = None
    for side in (values[:3], values[3:]):
        near, far = (float(np.linalg.norm(side[k] - side[2])) for k in (0, 1))
        if near > far > 0 and (best is None or far > best[0]):
            best = far, float(np.log(near / far)) / (2 * TAIL_STEP) * jump.rate
    return None if best is None else best[1]


def _mirror_shift(line: Line, jump: Jump, center: Vector) -> Generator[Points, Values, float | None]:
    """Where the function changes most near the mirrored point, along the line."""
    offsets = MIRROR / jump.rate
    values = yield center + offsets[:, None] * line.direction
    changes = np.linalg.norm(np.diff(values, axis=0), axis=1)
    total = float(np.sum(changes))
    middles = 0.5 * (offsets[1:] + offsets[:-1])
    return float(changes @ middles) / total if total > 0 else None


FEWEST_LINES, LINES = 3, 8
# Two directions are one if their difference is below this. A true hyperplane is met on nearly every
# line; a reading in two slabs that overlap a little is off by as much, one where they overlap more is met once.
SAME_DIRECTION = 5e-3
SIGHTINGS = 2
# Lines are walked until the two best sightings of every hyperplane agree so well.
AGREEMENT = 3e-5
# Angle at which lines end, before their last direction.
OUTER = 1e-2


def find_first_layer(session: Session, probe: Probe, *, radius: float, noise: float) -> tuple[Layer, Diagnostic]:
    """Walk far lines until one shows no new hyperplane that was met twice."""
    oracle = probe.oracle
    found: list[list[Ridge]] = []
    new = 0
    for number in range(1, LINES + 1):
        line = far_line(oracle.inputs, session.rng_walk, radius=radius, outer=OUTER)
        jumps = JumpSearch(noise, (TANH,))(oracle.query, line)
        before = sum(len(sightings) >= SIGHTINGS for sightings in found)
        for ridge in measure_ridges(oracle.query, line, jumps, noise=noise):
            same = next((sightings for sightings in found if _is_same(ridge, sightings[0])), None)
            if same is None:
                found.append([ridge])
            else:
                same.append(ridge)
        new = sum(len(sightings) >= SIGHTINGS for sightings in found) - before
        confirmed = [sightings for sightings in found if len(sightings) >= SIGHTINGS]
        is_settled = all(_best_pair(sightings)[0] < AGREEMENT for sightings in confirmed)
        if new == 0 and is_settled and number >= FEWEST_LINES:
            break
    seen = [_mean(sightings) for sightings in found if len(sightings) >= SIGHTINGS]
    lengths = np.array([ridge.length for ridge in seen])
    layer = Layer(
        weights=lengths[:, None] * np.array([ridge.normal for ridge in seen]).reshape(-1, oracle.inputs),
        biases=lengths * np.array([ridge.offset for ridge in seen]),
        activation=TANH,
    )
    return layer, at_most(
        "hyperplanes that the last far line was the second to show",
        new,
        0.0,
        "others may be missing: the first layer is not complete",
    )


def _mean(sightings: list[Ridge]) -> Ridge:
    """One reading of a hyperplane: direction and length of the two that agree best, the median offset."""
    _, one, other = _best_pair(sightings)
    normal = one.normal + _sign(one, other) * other.normal
    offset = float(np.median([_sign(one, ridge) * ridge.offset for ridge in sightings]))
    return Ridge(normal / np.linalg.norm(normal), offset, 0.5 * (one.length + other.length))


def _best_pair(sightings: list[Ridge]) -> tuple[float, Ridge, Ridge]:
    """The two sightings whose directions agree best, and by how much they differ."""
    pairs = [(_distance(one, other), one, other) for one, other in combinations(sightings, 2)]
    return min(pairs, key=lambda pair: pair[0])


def _is_same(one: Ridge, other: Ridge) -> bool:
    return _distance(one, other) < SAME_DIRECTION


def _distance(one: Ridge, other: Ridge) -> float:
    return float(np.linalg.norm(one.normal - _sign(one, other) * other.normal))


def _sign(one: Ridge, other: Ridge) -> float:
    return 1.0 if one.normal @ other.normal > 0 else -1.0
