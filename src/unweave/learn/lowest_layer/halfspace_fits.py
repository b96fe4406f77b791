"""Half spaces of a union by linear programmes, one per face, from a start that is near.

An inactive sample is outside of every half space, and an active one that is far from all others belongs to the one that
is left. Near the boundary of one half space the samples are therefore labelled by it alone, and separating them is a
linear programme, which is as precise as the samples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy import sparse
from scipy.optimize import linprog

from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points, Vector

Thresholds = PerNeuron


@dataclass(frozen=True, eq=False)
class Face:
    """A half space ``<direction, x> >= threshold`` and how well it separates the points of its programme.

    Args:
        direction: unit vector.
        threshold: its distance from the origin.
        misplaced: share of the points that are on the wrong side.
        margin: distance of all other points from the boundary, if none is misplaced.
    """

    direction: Vector
    threshold: float
    misplaced: float
    margin: float


@dataclass(frozen=True, eq=False)
class PolishedFaces:
    """Half spaces after the last band.

    Args:
        directions: unit vectors, one per half space.
        thresholds: one per half space.
        moved: angle in radians between every direction and its start.
        misplaced: share of misplaced points in the last programme of every half space.
        widths: half width of the last band of every half space; not finite if it had too few points for one.
    """

    directions: Atoms
    thresholds: Thresholds
    moved: PerNeuron
    misplaced: PerNeuron
    widths: PerNeuron


def separating_face(points: Points, is_above: PointMask, direction: Vector, threshold: float) -> Face:
    """The half space near a given one that separates points best.

    Maximises ``margin - sum of slacks`` of ``<w, x> - t >= margin`` above and ``<= -margin`` below, with
    ``<w, direction> = 1``: the widest margin if the points can be separated, and the least total violation otherwise.

    Args:
        points: near the boundary.
        is_above: the side of each.
        direction: a unit vector near the one that is looked for.
        threshold: likewise.
    """
    count, inputs = points.shape
    arguments = points @ direction - threshold
    scale = float(np.max(np.abs(arguments), initial=0.0)) or 1.0
    signs = np.where(is_above, 1.0, -1.0)
    # Unknowns: change of the direction within its orthogonal complement, change of the threshold, margin, slacks.
    tangent = np.linalg.qr(np.column_stack([direction, np.eye(inputs)]))[0][:, 1:]
    known = np.column_stack([-signs[:, None] * (points @ tangent), signs, np.ones(count)])
    programme = linprog(
        np.concatenate([np.zeros(inputs), [-1.0], np.ones(count)]),
        A_ub=sparse.hstack([sparse.csr_array(known), -sparse.eye_array(count)], format="csr"),
        b_ub=signs * arguments / scale,
        bounds=[(None, None)] * inputs + [(0.0, None)] * (count + 1),
        method="highs",
    )
    if programme.x is None:
        return Face(direction, threshold, 1.0, 0.0)
    change, shift, margin = programme.x[: inputs - 1], programme.x[inputs - 1], programme.x[inputs]
    found = direction + scale * tangent @ change
    size = float(np.linalg.norm(found))
    found, level = found / size, (threshold + scale * shift) / size
    misplaced = float(np.mean(((points @ found - level) >= 0) != is_above))
    return Face(found, float(level), misplaced, float(scale * margin / size))


@dataclass(frozen=True)
class HalfspaceProgramme:
    """Settings of the polish.

    Args:
        rounds: bands per half space, narrower each time; chosen, for the time.
        points: largest number of points per side in one programme; chosen, for the time.
        first_width: half width of the first band, in spreads of the inputs: wide enough for starts that are ten degrees
            off, two spreads from where they cross the true boundary (``2 tan(10 degrees)``).
        band_per_step: a band is this many times as wide as the last step was long; chosen, so that it holds the
            boundary that is looked for.
        shrinkage: share of the last band that the next one has at the least, whatever the step; chosen.
        guard: points of other half spaces stay away by this share of the width of the band, and by so many spreads of
            the inputs at the least; chosen.
        points_per_input: on either side, below which nothing is learnt about a face; chosen: a face has as many
            unknowns as there are inputs.
    """

    rounds: int = 5
    points: int = 1_000
    first_width: float = 0.35
    band_per_step: float = 8.0
    shrinkage: float = 0.1
    guard: tuple[float, float] = (0.5, 0.02)
    points_per_input: int = 3

    def __call__(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: Thresholds, rng: np.random.Generator
    ) -> PolishedFaces:
        """Polish all half spaces of a union at once, round by round, so that each knows where the others are now.

        Args:
            points: samples, in coordinates in which they have a spread of about 1.
            is_active: whether a sample is in the union.
            directions: unit vectors near the true ones, pointing into the half spaces.
            thresholds: near the true ones.
            rng: chooses points where there are more than needed.

        Assumes: every half space has samples that no other contains.
        Guarantees: heuristic; for labels without noise, errors of order ``inputs / (samples * density)``.
        """
        start, found, levels = directions, directions.copy(), thresholds.copy()
        widths, misplaced = np.full(len(directions), self.first_width), np.ones(len(directions))
        is_done = np.zeros(len(directions), dtype=bool)
        for _ in range(self.rounds):
            arguments = points @ found.T - levels
            nearest_other = _largest_of_others(arguments)
            for i in map(int, np.flatnonzero(~is_done)):
                chosen, is_all = self._band(arguments[:, i], nearest_other(i), is_active, widths[i], rng)
                if not self._is_enough(is_active[chosen], points.shape[1]):
                    is_done[i], widths[i] = True, np.inf if misplaced[i] == 1.0 else widths[i]
                    continue
                face = separating_face(points[chosen], is_active[chosen], found[i], float(levels[i]))
                step = float(np.linalg.norm(face.direction - found[i]) + abs(face.threshold - levels[i]))
                found[i], levels[i], misplaced[i] = face.direction, face.threshold, face.misplaced
                # A band that was searched completely has nothing more to say once it moves the face no more.
                is_done[i] = is_all and self.band_per_step * step < widths[i]
                if not is_done[i]:
                    widths[i] = np.clip(self.band_per_step * step, self.shrinkage * widths[i], widths[i])
        moved = 2 * np.arcsin(np.clip(np.linalg.norm(found - start, axis=1) / 2, 0.0, 1.0))
        return PolishedFaces(found, levels, moved, misplaced, widths)

    def misplaced_next_to(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: Thresholds
    ) -> PerNeuron:
        """Share of the points of the first band of every half space that are on the wrong side of it; 1 without any."""
        arguments = points @ directions.T - thresholds
        nearest_other, shares = _largest_of_others(arguments), np.ones(len(directions))
        for i in range(len(directions)):
            near = self._near(arguments[:, i], nearest_other(i), is_active, self.first_width)
            if len(near):
                shares[i] = np.mean((arguments[near, i] >= 0) != is_active[near])
        return shares

    def _near(self, argument: PerPoint, nearest_other: PerPoint, is_active: PointMask, width: float) -> np.ndarray:
        """Points near the boundary that are labelled by this half space alone."""
        guard = max(self.guard[1], self.guard[0] * width)
        return np.flatnonzero((np.abs(argument) <= width) & (~is_active | (nearest_other < -guard)))

    def _band(
        self,
        argument: PerPoint,
        nearest_other: PerPoint,
        is_active: PointMask,
        width: float,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, bool]:
        """Some of the points near the boundary, and whether these are all."""
        near = self._near(argument, nearest_other, is_active, width)
        sides = [near[is_active[near]], near[~is_active[near]]]
        chosen = [side if len(side) <= self.points else rng.choice(side, self.points, replace=False) for side in sides]
        return np.concatenate(chosen), all(len(side) <= self.points for side in sides)

    def _is_enough(self, is_active: PointMask, inputs: int) -> bool:
        fewest = min(np.count_nonzero(is_active), np.count_nonzero(~is_active))
        return bool(fewest >= self.points_per_input * inputs)


def _largest_of_others(
    arguments: Float64[np.ndarray, "points neurons"],
) -> Callable[[int], PerPoint]:
    """For every half space the largest argument of the others, from the two largest of all."""
    if arguments.shape[1] == 1:
        return lambda i: np.full(len(arguments), -np.inf)  # noqa: ARG005 - there is only one
    top = np.argmax(arguments, axis=1)
    two = np.partition(arguments, -2, axis=1)[:, -2:]
    return lambda i: np.where(top == i, two[:, 0], two[:, 1])
