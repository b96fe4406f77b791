"""Steps that are no layer of neurons: splits of trees, and borders of cells as those of nearest neighbours.

Every hyperplane costs hundreds of queries to read, and such functions have as many as there is budget for. Rows of a
layer are not along single inputs, and go on far away from where they were read.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.plateaus.elsewhere import Elsewhere


@dataclass(frozen=True, kw_only=True)
class LocalSteps:
    """When a search ends early.

    Args:
        splits: hyperplanes that, if all are along single inputs, are splits of trees: weights that were learnt or drawn
            are not exactly zero.
        along: how near to one the largest entry of a unit normal along an input is, as exact as readings are.
        borders: hyperplanes after which it is looked at how many places elsewhere they are seen.
        levels: different answers there from which on this share should be large. Units under an "and" or an "or", which
            has two answers, are seen where all others are on, or off.
        fewest_seen: the share then. Of 40 sums, parities and networks of steps it was 1, of borders of cells of nearest
            neighbours 0 to 0.27.
        many: hyperplanes after which it should not be too small with few answers, either.
        fewest_few: the share then; 30 polytopes had 0.13 to 0.6 with fewer hyperplanes.
    """

    splits: int = 2
    along: float = 1e-7
    borders: int = 3
    levels: int = 8
    fewest_seen: float = 0.5
    many: int = 12
    fewest_few: float = 0.25

    def refuse(self, normals: Points, look_elsewhere: Callable[[], Elsewhere]) -> None:
        """End the search if all jumps so far are such.

        Args:
            normals: unit normals of the hyperplanes at which answers jump.
            look_elsewhere: asks where hyperplanes are seen beside where they were read.

        Raises:
            StageFailed: with the reason.
        """
        count, inputs = normals.shape
        if inputs > 1 and count >= self.splits and np.all(np.max(np.abs(normals), axis=1) > 1.0 - self.along):
            raise StageFailed(reasons.splits(count))
        if count < self.borders:
            return
        elsewhere = look_elsewhere()
        share, has_many = float(np.mean(elsewhere.is_seen)), elsewhere.levels >= self.levels
        if (has_many and share < self.fewest_seen) or (count >= self.many and share < self.fewest_few):
            raise StageFailed(reasons.local_steps(count, share=share))
