"""Rows that are given more than once: they lie on one side of every split, and count once where rows are evidence.

Whoever repeats rows, to balance classes or for weights, would otherwise be judged by rows that were fitted. A row is
known by 64 bits of its numbers, so that parts of a stream agree on it without knowing each other; that two rows of a
billion have the same bits by chance has a probability of 3 %, and moves one row to the side of another.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from unweave.arrays import PerPoint, Points

RowKeys = UInt64[np.ndarray, "points"]

# Multipliers of splitmix64, which spread every bit of a number over all others.
FIRST_MULTIPLIER, SECOND_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Of the bits of a key, those that a float between 0 and 1 holds.
FLOAT_BITS = 53


def row_keys(points: Points, *, seed: int = 0) -> RowKeys:
    """Compute a number of 64 bits for every row, the same for equal rows and as good as random otherwise."""
    salts = np.random.default_rng(seed).integers(1, 2**63, size=points.shape[1] + 1, dtype=np.uint64)
    keys = np.full(len(points), salts[-1])
    for column, salt in zip(points.T, salts[:-1], strict=True):
        # Zero has two signs and is one number.
        bits = np.ascontiguousarray(column + 0.0, dtype=np.float64).view(np.uint64)
        keys = _mixed(keys ^ _mixed(bits + salt))
    return keys


def _mixed(numbers: RowKeys) -> RowKeys:
    """Spread every bit over all others, as splitmix64 does."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST_MULTIPLIER
    numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND_MULTIPLIER
    return numbers ^ (numbers >> np.uint64(31))


def chances(points: Points, *, seed: int) -> PerPoint:
    """Compute a number between 0 and 1 for every row, the same for equal rows and as good as random otherwise."""
    return (row_keys(points, seed=seed) >> np.uint64(64 - FLOAT_BITS)) * 2.0**-FLOAT_BITS


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Which rows are equal.

    Args:
        which: number of the distinct row that each row is, in the order in which they come.
        count: of distinct rows.
    """

    which: Int64[np.ndarray, "points"]
    count: int

    @classmethod
    def of(cls, points: Points) -> "DistinctRows":
        """Find rows that are equal."""
        return cls.of_keys(row_keys(points))

    @classmethod
    def of_keys(cls, keys: RowKeys) -> "DistinctRows":
        """The same, by their keys."""
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = np.arange(len(first))
        return cls(place[which.ravel()], len(first))

    @property
    def have_copies(self) -> bool:
        """Whether any row comes twice."""
        return self.count < len(self.which)

    def one_of_each(self, rng: np.random.Generator) -> Int64[np.ndarray, "distinct"]:
        """A random row of each, in the order of all rows."""
        if not self.have_copies:
            return np.arange(self.count)
        order = rng.permutation(len(self.which))
        return np.sort(order[np.unique(self.which[order], return_index=True)[1]])

    def split(
        self, rng: np.random.Generator, share: float
    ) -> tuple[Int64[np.ndarray, "first"], Int64[np.ndarray, "rest"]]:
        """Rows in random order: those of a share of the distinct ones, and the others."""
        rank = np.empty(self.count, dtype=np.int64)
        rank[rng.permutation(self.count)] = np.arange(self.count)
        rows = np.argsort(rank[self.which], kind="stable")
        first = np.count_nonzero(rank[self.which] < int(share * self.count))
        return rows[:first], rows[first:]

    def folds(self, rng: np.random.Generator, folds: int) -> Int64[np.ndarray, "points"]:
        """A fold for every row, the same for equal rows, unless these are too few to fill all folds."""
        if self.count < folds:
            return rng.permutation(len(self.which)) % folds
        return (rng.permutation(self.count) % folds)[self.which]


def without_copies(
    points: Points, labels: PerPoint
) -> tuple[Float64[np.ndarray, "kept inputs"], Float64[np.ndarray, "kept"], int]:
    """Leave out rows that come again with the same label.

    Inputs with few values repeat themselves, with labels of their own noise; then rows are no copies and all are kept.

    Returns:
        Points and labels, and how many rows were left out.
    """
    distinct = DistinctRows.of(points)
    if not distinct.have_copies:
        return points, labels, 0
    both = DistinctRows.of(np.column_stack([points, labels]))
    copies, repeated = len(points) - both.count, len(points) - distinct.count
    if 2 * copies <= repeated:
        return points, labels, 0
    kept = np.unique(both.which, return_index=True)[1]
    kept.sort()
    return np.ascontiguousarray(points[kept]), labels[kept], copies


def note_of_copies(rows: int, copies: int) -> tuple[str, ...]:
    """Say that rows were left out; nothing if none were."""
    if not copies:
        return ()
    return (f"{copies:,d} of {rows:,d} rows are copies of others, label included: each counts once.",)
