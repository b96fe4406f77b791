"""Whether hyperplanes at which answers bend go on across each other, as those of a lowest layer do.

Kinks of higher layers follow a hyperplane only up to the next one of a lower layer, where they turn. Beyond every other
hyperplane that was read it is therefore asked whether answers still bend exactly there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool

from unweave.arrays import PointMask, Points, Values
from unweave.identification.plateaus.elsewhere import Planes
from unweave.identification.walks.lines import Ask

# Where answers are asked across a hyperplane, in steps: three second differences, of which the middle one is across it.
ACROSS = np.arange(-3.0, 4.0)


@dataclass(frozen=True)
class PlacesBeside:
    """Points of a hyperplane beside all others, at which it must be seen, every one of them.

    Kinks of a second layer, which turn at the next hyperplane of the first, fill a half of theirs or less, mostly.

    Args:
        places: how many are looked at.
        far: how far they are from the centre, in its units and distances of the hyperplane.
        tries: points that they are chosen from if there are more hyperplanes than inputs.
        fewest: how many there must be then.
    """

    places: int = 40
    far: float = 8.0
    tries: int = 4_000
    fewest: int = 4


@dataclass(frozen=True)
class Continuation:
    """Settings of the look across others.

    Args:
        places: points of a hyperplane beyond each other one at which it is looked for; one that shows it is enough.
        reach: how far they are from the centre, in its units and distances of the hyperplane.
        decades: by how many decades they may be nearer to the other one.
        step: half-width of the second differences, relative to the distance from the centre, and at least so many
            errors of the hyperplane.
        sharper: how many times larger the middle difference must be than those beside it.
        beside: where a hyperplane is looked for beside all others.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    places: int = 4
    reach: float = 4.0
    decades: float = 3.0
    step: tuple[float, float] = (1e-5, 100.0)
    sharper: float = 5.0
    beside: PlacesBeside = field(default_factory=PlacesBeside)

    def __call__(
        self, ask: Ask, planes: Planes, rows: Bool[np.ndarray, "neurons"], *, noise: float, rounding: float
    ) -> Bool[np.ndarray, "neurons"]:
        """Say which of some rows bend answers on the other side of every other hyperplane, too.

        Args:
            ask: answers batches of points.
            planes: all hyperplanes that were read.
            rows: which are to be looked at.
            noise: error of an answer that is excused.
            rounding: the same relative to its size.
        """
        count = len(planes.thresholds)
        pairs = [(int(row), other) for row in np.flatnonzero(rows) for other in range(count) if other != row]
        if not pairs:
            return rows.copy()
        points = np.concatenate([self._places(planes, row, other) for row, other in pairs])
        owners = np.repeat([row for row, _ in pairs], self.places)
        sizes = planes.unit + np.linalg.norm(points, axis=1)
        steps = np.maximum(self.step[0], self.step[1] * planes.errors[owners]) * sizes
        asked = points[:, None] + (ACROSS * steps[:, None])[:, :, None] * planes.normals[owners][:, None]
        values = ask(asked.reshape(-1, points.shape[1])).reshape(len(points), len(ACROSS), -1)
        before, middle, after = (
            np.max(np.abs(values[:, k] + values[:, k + 2] - 2.0 * values[:, k + 1]), axis=1) for k in (0, 2, 4)
        )
        errors = 4.0 * (noise + rounding * np.max(np.abs(values), axis=(1, 2)))
        is_bent = middle > self.sharper * np.maximum(before, after) + errors
        is_seen = np.any(is_bent.reshape(len(pairs), self.places), axis=1)
        goes_on = rows.copy()
        for (row, _), seen in zip(pairs, is_seen, strict=True):
            goes_on[row] &= bool(seen)
        return goes_on

    def alone(
        self,
        ask: Ask,
        planes: Planes,
        rows: Bool[np.ndarray, "neurons"],
        holds: Callable[[Values], PointMask],
    ) -> Bool[np.ndarray, "neurons"]:
        """Say which of some rows bound the plateau wherever all other hyperplanes are away.

        Where the others are off, a unit of the lowest layer changes the answers in the same way at all places.

        Args:
            ask: answers batches of points.
            planes: all hyperplanes that were read.
            rows: which are to be looked at.
            holds: which answers are those of the plateau.
        """
        goes_on = rows.copy()
        for row in np.flatnonzero(rows):
            points = self._alone(planes, int(row))
            sizes = planes.unit + np.linalg.norm(points, axis=1)
            lengths = np.maximum(self.step[0], self.step[1] * planes.errors[row]) * sizes
            steps = lengths[:, None] * planes.normals[row]
            before, after = np.split(holds(ask(np.concatenate([points - steps, points + steps]))), 2)
            goes_on[row] = len(points) >= self.beside.fewest and bool(np.all(before & ~after))
        return goes_on

    def _alone(self, planes: Planes, row: int) -> Points:
        """Points of a hyperplane on the near side of all others: chosen, or those of many that are."""
        rng, scale = planes.rng, self.beside.far * (planes.unit + abs(planes.thresholds[row]))
        others, inputs = np.arange(len(planes.thresholds)) != row, planes.normals.shape[1]
        if planes.are_independent:
            around = scale * rng.standard_normal((self.beside.places, inputs)) / np.sqrt(inputs)
            excess = planes.thresholds - scale * rng.exponential(size=(self.beside.places, len(others)))
            wanted = np.where(others, np.minimum(around @ planes.normals.T, excess), planes.thresholds)
            return around + (wanted - around @ planes.normals.T) @ np.linalg.pinv(planes.normals).T
        radii = scale * 10.0 ** -rng.uniform(0.0, self.decades, (self.beside.tries, 1))
        around = radii * rng.standard_normal((self.beside.tries, inputs)) / np.sqrt(inputs)
        around += (planes.thresholds[row] - around @ planes.normals[row])[:, None] * planes.normals[row]
        gaps = planes.thresholds[others] - around @ planes.normals[others].T
        is_near = np.all(gaps > 10 * self.step[0] * (planes.unit + np.linalg.norm(around, axis=1))[:, None], axis=1)
        return around[is_near][: self.beside.places]

    def _places(self, planes: Planes, row: int, other: int) -> Points:
        """Points of a hyperplane on the far side of another one, on the near side of the rest if that is possible."""
        rng, scale = planes.rng, self.reach * (planes.unit + abs(planes.thresholds[row]))
        margins = scale * rng.exponential(size=(self.places, len(planes.thresholds)))
        margins[:, other] *= -(10.0 ** -rng.uniform(0.0, self.decades, self.places))
        margins[:, row] = 0.0
        inputs = planes.normals.shape[1]
        around = scale * rng.standard_normal((self.places, inputs)) / np.sqrt(inputs)
        # The nearest points with these two values: the others are met only if all values can be chosen.
        chosen = np.arange(len(margins[0])) if planes.are_independent else np.array([row, other])
        normals, wanted = planes.normals[chosen], (planes.thresholds - margins)[:, chosen]
        return around + (wanted - around @ normals.T) @ np.linalg.pinv(normals).T
