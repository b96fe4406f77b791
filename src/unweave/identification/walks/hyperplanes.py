"""The hyperplanes behind the kinks on a line: gradients on both sides of a kink differ by its neuron."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, Points, Values, Vector, batched_by_size, root_mean_square, with_rows
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import Ask, Search, run_searches


@dataclass(frozen=True)
class Hyperplanes:
    """Kinked terms ``jump max(0, normal x + offset)`` whose sum bends like the function on a line.

    Args:
        normals: unit vectors, pointing forward along the line they were found on.
        offsets: distance of the origin.
        jumps: change of the gradient along the normal, per output.
        errors: expected relative error of the normals.
        unresolved: kinks on the line that could not be read.
        kinks: index of the kink on the line, per neuron.
    """

    normals: Atoms
    offsets: PerNeuron
    jumps: Float64[np.ndarray, "neurons outputs"]
    errors: PerNeuron
    unresolved: int
    kinks: tuple[int, ...]

    def chosen(self, rows: list[int]) -> "Hyperplanes":
        """Some of the hyperplanes."""
        return replace(with_rows(self, rows), kinks=tuple(self.kinks[row] for row in rows))


@dataclass(frozen=True)
class Side:
    """The gradient in the middle of an affine piece.

    Args:
        index: of the piece on its line.
        point: where it was measured.
        gradient: of every output.
        error: expected error of an entry.
    """

    index: int
    point: Vector
    gradient: Float64[np.ndarray, "outputs inputs"]
    error: float


def measure_sides(
    ask: Ask, walked: KinkedLine, settings: KinkSearch, pieces: Iterable[int], *, known: "Hyperplanes | None" = None
) -> dict[int, Side]:
    """Measure the gradient in some affine pieces of a line; those that could not be measured are left out.

    Args:
        ask: answers points.
        walked: the line.
        settings: of the search.
        pieces: their indices.
        known: hyperplanes that steps are known not to cross: they are as long as these and other kinks allow.
    """
    inputs = len(walked.line.base)
    sides: dict[int, Side] = {}
    # All pieces at once would be one table of as many points as weights, times the number of inputs.
    for some in batched_by_size(list(pieces), inputs * (inputs + 1)):
        searches = [_side(walked, settings, index, known) for index in some]
        sides |= {side.index: side for side in run_searches(searches, ask)}
    return sides


def measure_hyperplanes(ask: Ask, walked: KinkedLine, settings: KinkSearch) -> Hyperplanes:
    """Measure the gradient in every affine piece of a line and read the neurons off the differences.

    A piece costs one query per input and one more.

    Assumes: every kink is a hyperplane (a network with one hidden layer).
    """
    sides = measure_sides(ask, walked, settings, range(len(walked.pieces)))
    return hyperplanes_between(sides, walked, settings)


def read_weak_kinks(ask: Ask, walked: KinkedLine, settings: KinkSearch, met: Hyperplanes) -> Hyperplanes:
    """Read kinks again that were read badly or not at all, with the long steps that the others allow.

    Steps that know nothing are so short that rounding hides the normal of a neuron with a small output weight, although
    its kink is clear.
    """
    well_read = [row for row, error in enumerate(met.errors) if error <= settings.poor]
    good = {met.kinks[row] for row in well_read}
    poor = [index for index, kink in enumerate(walked.kinks) if kink.is_resolved and index not in good]
    pieces = sorted({piece for index in poor for piece in (index, index + 1)})
    sides = measure_sides(ask, walked, settings, pieces, known=met.chosen(well_read))
    if not sides:
        return met
    again = hyperplanes_between(sides, walked, settings)
    before = {kink: float(error) for kink, error in zip(met.kinks, met.errors, strict=True)}
    better = [row for row, kink in enumerate(again.kinks) if again.errors[row] < before.get(kink, np.inf)]
    again = again.chosen([row for row in better if again.kinks[row] in poor])
    kept = met.chosen([row for row, kink in enumerate(met.kinks) if kink not in again.kinks])
    return _joined(kept, again, unresolved=_unread(walked, [*kept.errors, *again.errors], settings))


def _joined(first: Hyperplanes, second: Hyperplanes, *, unresolved: int) -> Hyperplanes:
    return Hyperplanes(
        normals=np.concatenate([first.normals, second.normals]),
        offsets=np.concatenate([first.offsets, second.offsets]),
        jumps=np.concatenate([first.jumps, second.jumps]),
        errors=np.concatenate([first.errors, second.errors]),
        unresolved=unresolved,
        kinks=(*first.kinks, *second.kinks),
    )


def _unread(walked: KinkedLine, errors: list[float], settings: KinkSearch) -> int:
    """How many kinks of a line were not read clearly."""
    return len(walked.kinks) - int(np.count_nonzero(np.array(errors) < settings.largest_error))


def hyperplanes_between(sides: dict[int, Side], walked: KinkedLine, settings: KinkSearch) -> Hyperplanes:
    """Read a hyperplane off every kink with a gradient on both sides."""
    normals, offsets, jumps, errors, read = [], [], [], [], []
    for index, kink in enumerate(walked.kinks):
        before, after = sides.get(index), sides.get(index + 1)
        if before is None or after is None:
            continue
        left, values, right = np.linalg.svd(after.gradient - before.gradient, full_matrices=False)
        error = np.hypot(before.error, after.error) * np.sqrt(len(walked.line.base)) / max(values[0], 1e-300)
        if not error < settings.largest_error:
            continue
        if not kink.is_resolved:
            # Perhaps a weak kink, perhaps several: any clear reading on another line is better.
            error = settings.largest_error
        forward = 1.0 if right[0] @ walked.line.direction > 0 else -1.0
        normals.append(forward * right[0])
        offsets.append(-normals[-1] @ walked.line.points(np.array([kink.position]))[0])
        jumps.append(forward * values[0] * left[:, 0])
        errors.append(error)
        read.append(index)
    inputs, outputs = len(walked.line.base), next(iter(sides.values())).gradient.shape[0] if sides else 1
    return Hyperplanes(
        normals=np.array(normals).reshape(-1, inputs),
        offsets=np.array(offsets),
        jumps=np.array(jumps).reshape(-1, outputs),
        errors=np.array(errors),
        unresolved=_unread(walked, errors, settings),
        kinks=tuple(read),
    )


def plane_through(points: Points) -> tuple[Vector, float, float]:
    """The hyperplane nearest to some points: unit normal, its product with points there, error of the normal."""
    center = np.mean(points, axis=0)
    _, spreads, directions = np.linalg.svd(points - center, full_matrices=False)
    # What is left between the points and the hyperplane is their own error.
    error = max(float(spreads[-1] / spreads[-2]), float(np.finfo(float).eps)) if len(spreads) > 1 else 0.0
    return directions[-1], float(directions[-1] @ center), error


def _side(walked: KinkedLine, settings: KinkSearch, index: int, known: Hyperplanes | None) -> Search:
    """Measure one gradient, and check it against the slope along the line."""
    piece, line = walked.pieces[index], walked.line
    place = _middle(walked, index, settings.outer_angle)
    if piece is None or place is None:
        return []
    position, room = place
    point = line.points(np.array([position]))[0]
    size = max(float(np.max(np.abs(piece.slope))), np.finfo(float).tiny)
    error = settings.noise + settings.rounding * (float(np.max(np.abs(piece.at(position)))) + size * abs(position))
    # A flat piece has no slope that limits the step: it may be the longest one.
    visible = max(settings.gradient_error * size * room, error / settings.largest_step, np.finfo(float).tiny)
    # Towards the centre of the domain, which a box contains.
    steps = np.where(point > 0, -1.0, 1.0) * room * max(error / visible, settings.step)
    if known is not None:
        steps = _longer(steps, point, known, longest=settings.largest_step * room)
    gradient = yield from _differences(point, steps)
    expected, doubt = piece.slope, piece.error(position) / max(piece.last - piece.first, 1e-300)

    def fits() -> bool:
        allowed = 2 * error * float(np.linalg.norm(line.direction / steps)) + doubt
        return bool(np.all(np.abs(gradient @ line.direction - expected) <= settings.margin * allowed))

    if not fits():
        steps = settings.second_step * steps
        finer = yield from _differences(point, steps)
        crossed = np.any(np.abs(gradient - finer) > settings.margin * 2 * error / np.abs(steps), axis=0)
        gradient = np.where(crossed, finer, gradient)
        if not fits():
            return []
    return [Side(index, point, gradient, 2 * error * root_mean_square(1.0 / steps))]


def _longer(steps: Vector, point: Vector, known: Hyperplanes, *, longest: float, share: float = 0.5) -> Vector:
    """Make steps along the axes longer, up to a share of the way to the nearest known hyperplane.

    Args:
        steps: short ones.
        point: where they begin.
        known: the hyperplanes.
        longest: what others that are not known allow.
        share: chosen: half of the way leaves room for errors of the hyperplanes.
    """
    distances = known.normals @ point + known.offsets
    approach = -np.sign(distances)[:, None] * known.normals * np.sign(steps)
    with np.errstate(divide="ignore"):
        ways = np.where(approach > 0.0, np.abs(distances)[:, None] / np.abs(approach), np.inf)
    reach = np.minimum(share * np.min(ways, axis=0, initial=np.inf), longest)
    return np.sign(steps) * np.maximum(np.abs(steps), reach)


def _differences(point: Vector, steps: Vector) -> Generator[Points, Values, np.ndarray]:
    """Gradient by one difference along every axis."""
    moved = point + np.diag(steps)
    values = yield np.concatenate([point[None], moved])
    return ((values[1:] - values[0]) / (np.diag(moved) - point)[:, None]).T


def _middle(walked: KinkedLine, index: int, outer_angle: float) -> tuple[float, float] | None:
    """The middle of an affine piece, and how far the kinks are."""
    line, kinks = walked.line, walked.kinks
    before, after = kinks[index - 1 : index] if index > 0 else (), kinks[index : index + 1]
    first = max((line.angle(kink.position + kink.width) for kink in before), default=None)
    last = min((line.angle(kink.position - kink.width) for kink in after), default=None)
    if first is None and last is None:
        return line.position(0.5 * (line.first + line.last)), line.unit
    low = first if first is not None else max(line.first, (last or 0.0) - outer_angle)
    high = last if last is not None else min(line.last, (first or 0.0) + outer_angle)
    if not low < high:
        return None
    position = line.position(0.5 * (low + high))
    edges = [kink.position + kink.width for kink in before] + [kink.position - kink.width for kink in after]
    return position, float(min(abs(edge - position) for edge in edges))
