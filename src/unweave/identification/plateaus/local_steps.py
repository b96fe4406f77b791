"""Steps that are no layer of neurons: splits of trees, and borders of cells as those of nearest neighbours.

Every hyperplane costs hundreds of queries to read, and such functions have as many as there is budget for. Rows of a
layer are not along single inputs, and go on far away from where they were read.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from unweave.arrays import Points
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.elsewhere import Elsewhere


@dataclass(frozen=True)
class LeastShare:
    """The share of places elsewhere at which hyperplanes are seen at least, if there are enough of something.

    Args:
        count: from which on that is expected.
        share: that is expected then.
    """

    count: int
    share: float

    def is_missed(self, count: int, share: float) -> bool:
        """Whether a share is too small for so many."""
        return count >= self.count and share < self.share


@dataclass(frozen=True, kw_only=True)
class LocalSteps:
    """When a search ends early.

    Args:
        splits: hyperplanes that, if all are along single inputs, are splits of trees: weights that were learnt or drawn
            are not exactly zero.
        along: how near to one the largest entry of a unit normal along an input is, as exact as readings are.
        borders: hyperplanes after which it is looked at how many places elsewhere they are seen.
        with_levels: that share, by the number of different answers there. Units under an "and" or an "or", which has
            two answers, are seen where all others are on, or off. Of 40 sums, parities and networks of steps it was 1,
            of borders of cells of nearest neighbours 0 to 0.27.
        with_planes: the same by the number of hyperplanes, for few answers as well, unless these are equal beyond every
            one of them, as beyond the faces of a polytope: of these only places are seen that are outside of no other
            face, also of those that are not read yet. 30 polytopes had 0.13 to 0.6 with fewer hyperplanes, others in
            20 inputs 0.05 when 12 of 20 were read.
    """

    splits: int = 2
    along: float = 1e-7
    borders: int = 3
    with_levels: LeastShare = LeastShare(8, 0.5)
    with_planes: LeastShare = LeastShare(12, 0.25)

    def refuse(
        self,
        normals: Points,
        look_elsewhere: Callable[[], Elsewhere],
        are_pure_beyond: Callable[[], Bool[np.ndarray, "rows"]],
    ) -> None:
        """End the search if all jumps so far are such.

        Args:
            normals: unit normals of the hyperplanes at which answers jump.
            look_elsewhere: asks where hyperplanes are seen beside where they were read.
            are_pure_beyond: asks whether answers are equal on one side of each.

        Raises:
            StageFailed: with the reason.
        """
        count, inputs = normals.shape
        if inputs > 1 and count >= self.splits and np.all(np.max(np.abs(normals), axis=1) > 1.0 - self.along):
            raise StageFailed(reasons.splits(count))
        if count < self.borders:
            return
        elsewhere = look_elsewhere()
        share = float(np.mean(elsewhere.is_seen))
        are_few = self.with_planes.is_missed(count, share) and not np.all(are_pure_beyond())
        if are_few or self.with_levels.is_missed(elsewhere.levels, share):
            raise StageFailed(reasons.local_steps(count, share=share))
