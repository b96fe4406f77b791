"""Whether fresh answers agree with rows of steps: constant nearby, and equal on the same side of all rows.

Far out a curved boundary follows its asymptotes to all digits, and a function that is constant on one plateau need not
be on others. Points of the domain itself show both.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float64, Int64

from unweave.arrays import PointMask, Points, Values
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.edges import Plateau
from unweave.identification.plateaus.elsewhere import FarPlaces, Planes
from unweave.identification.walks.lines import Ask

Normals = Float64[np.ndarray, "rows inputs"]
Thresholds = Float64[np.ndarray, "rows"]


@dataclass(frozen=True, eq=False)
class FreshAnswers:
    """Answers at fresh points of the domain.

    Args:
        points: where it was asked.
        values: the answers.
        is_steady: whether they are the same nearby.
        tolerance: up to which two answers are the same.
    """

    points: Points
    values: Values
    is_steady: PointMask
    tolerance: float

    @property
    def unsteady(self) -> int:
        """How many answers change nearby."""
        return int(np.count_nonzero(~self.is_steady))

    def mixed(self, normals: Normals, thresholds: Thresholds) -> int:
        """How many answers differ from most others on the same side of all of some hyperplanes."""
        sides = self.points @ normals.T > thresholds
        _, cells = np.unique(sides, axis=0, return_inverse=True)
        kinds = self._kinds()
        cells = cells.ravel()
        return sum(int(np.sum(cells == cell) - np.max(np.bincount(kinds[cells == cell]))) for cell in np.unique(cells))

    def is_pure(self, normals: Normals, thresholds: Thresholds, *, fewest: int = 5) -> Bool[np.ndarray, "rows"]:
        """Whether all answers on one side of a hyperplane are the same, as below an "and" or an "or".

        Args:
            normals: of the hyperplanes.
            thresholds: of the projections.
            fewest: points that there must be on this side; chosen.
        """
        sides, kinds = (self.points @ normals.T > thresholds).T, self._kinds()
        groups = [(kinds[side], kinds[~side]) for side in sides]
        return np.array([any(len(one) >= fewest and np.ptp(one) == 0 for one in pair) for pair in groups], dtype=bool)

    def is_pure_beyond(
        self, ask: Ask, normals: Normals, thresholds: Thresholds, *, points: int = 16
    ) -> Bool[np.ndarray, "rows"]:
        """Whether that holds for points that are mirrored to one side, where there may be no fresh ones.

        Args:
            ask: answers batches of points.
            normals: of the hyperplanes, away from the plateau that they are around.
            thresholds: of the projections.
            points: that are mirrored; chosen.
        """
        is_pure, differ = np.zeros(len(thresholds), dtype=bool), np.ptp(self._kinds()) > 0
        for row, (normal, threshold) in enumerate(zip(normals, thresholds, strict=True)):
            heights = self.points[:points] @ normal - threshold
            # Around a plateau that fills the domain all is the same on its own side.
            for side in (1.0, -1.0) if differ else (1.0,):
                mirrored = self.points[:points] + (side * np.abs(heights) - heights)[:, None] * normal
                is_pure[row] |= bool(np.all(np.ptp(ask(mirrored), axis=0) <= self.tolerance))
        return is_pure

    def _kinds(self) -> Int64[np.ndarray, "points"]:
        """A number for every answer, the same for equal ones."""
        equal = np.max(np.abs(self.values[:, None] - self.values[None]), axis=2) <= self.tolerance
        return np.argmax(equal, axis=1).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class FreshSides:
    """Settings of the look at fresh points.

    Args:
        points: how many: what is wrong in a twentieth of the domain shows at one of them with a confidence of 95 %.
        nearby: how far away answers are compared, in standard coordinates: as for other plateaus.
        crossed: answers that may change nearby: a step may lie just there.
        strong: share of places near the centre at which a row must be seen that fresh answers do not confirm; chosen.
        beside: distance, relative to that from the centre, at which a boundary that is curved is seen beside a row.
        near: places near the centre: asymptotes of curved boundaries are not seen there.
        sharp: share of the places where something is seen beside a row at which it is the row itself; chosen.
    """

    points: int = 59
    nearby: float = 1e-6
    crossed: int = 1
    strong: float = 0.5
    beside: float = 1e-2
    near: FarPlaces = field(default_factory=partial(FarPlaces, far=0.5, reach=2.0, decades=1.0))
    sharp: float = 0.5

    def __call__(
        self, ask: Ask, inputs: int, rng: np.random.Generator, *, noise: float, rounding: float
    ) -> FreshAnswers:
        """Ask fresh points and their neighbours."""
        points = rng.standard_normal((self.points, inputs))
        beside = points + self.nearby * rng.standard_normal(points.shape)
        values, others = np.split(ask(np.concatenate([points, beside])), 2)
        tolerance = noise + rounding * max(float(np.max(np.abs(values))), 1.0)
        is_steady = np.max(np.abs(values - others), axis=1) <= tolerance
        return FreshAnswers(points, values, is_steady, tolerance)

    def seen_near(
        self, ask: Ask, planes: Planes, home: Plateau, fresh: FreshAnswers, *, margin: float
    ) -> Bool[np.ndarray, "neurons"]:
        """Say which jumps are seen near the centre, at most places there if fresh answers speak against them.

        Args:
            ask: answers batches of points.
            planes: at which answers jump.
            home: the plateau that they are around.
            fresh: answers of the domain.
            margin: how far from a hyperplane it is asked, in its errors.

        Raises:
            StageFailed: if answers are not constant on plateaus.
        """
        if fresh.unsteady > self.crossed:
            raise StageFailed(reasons.not_constant(fresh.unsteady, len(fresh.points)))
        seed = int(planes.rng.integers(2**32))
        # The same places twice: exactly where a row should be, and a little beside.
        is_seen, is_beside = (
            look(ask, replace(planes, rng=np.random.default_rng(seed)), home, margin=margin).is_seen
            for look in (self.near, replace(self.near, beside=self.beside))
        )
        goes_on = np.mean(is_seen, axis=1) >= self.sharp * np.mean(is_beside, axis=1)
        if fresh.mixed(planes.normals, planes.thresholds) == 0:
            return goes_on & (np.count_nonzero(is_seen, axis=1) >= self.near.needed)
        is_pure = fresh.is_pure(planes.normals, planes.thresholds) & np.any(is_seen, axis=1)
        return goes_on & strong_rows(is_seen, is_pure, share=self.strong)


def strong_rows(
    is_seen: Bool[np.ndarray, "rows places"], is_pure: Bool[np.ndarray, "rows"], *, share: float
) -> Bool[np.ndarray, "rows"]:
    """Say which rows are seen at many places, or have the same answers on all of one side."""
    return (np.mean(is_seen, axis=1) >= share) | is_pure
