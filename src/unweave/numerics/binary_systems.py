"""Linear systems whose unknowns are 0 or 1: all solutions within a tolerance, or the limit that was met.

A pivoted QR factorisation leaves as many free unknowns as the matrix lacks in column rank; each choice of
the free ones determines the others by back substitution, which must come out as 0 or 1. With full column
rank that is one solution of least squares, rounded; otherwise the choices of two halves of the free unknowns
are matched by sorting (meet in the middle), and beyond that an integer programme looks for two solutions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64
from scipy.special import gammaln

Array = np.ndarray

# Pairs that are looked at in one go: 16 MB per array.
PAIRS_AT_ONCE = 2**21


@dataclass(frozen=True)
class ProgrammeLimits:
    """How long an integer programme looks for solutions. Chosen so that it ends within seconds; heuristic.

    Args:
        most_unknowns: per equation, up to which it is tried. Chosen: beyond, accidents are likely and branches many.
        branches: of one programme.
        seconds: of one programme; only a fuse, because the branches end it before.
        attempts: how many times it is asked. Chosen: two solutions settle the question, and it is feasible only to
            1e-7, so some answers may solve nothing.
    """

    most_unknowns: float = 2.5
    branches: int = 5_000
    seconds: float = 30.0
    attempts: int = 6

    def allow(self, *, unknowns: int, equations: int) -> bool:
        """Say whether a system is small enough for its equations."""
        return unknowns <= self.most_unknowns * equations


@dataclass(frozen=True)
class BinaryRules:
    """What counts as a solution of a binary system, and how far one is looked for.

    Args:
        window: tolerances up to which a vector counts as a second solution. Chosen: the tolerance is an estimate
            itself, and this is twice the factor of 2 that estimates are off by.
        rank_margin: singular values below this many windows determine no unknown. Derived: an unknown is rounded to 0
            or 1, so its error, at most the reciprocal of this, has to be well below 1/2.
        half: free unknowns of one half. Chosen: 2^20 sums in a few rows are 40 MB and take a second.
        programme: limits of the integer programme, for more free unknowns than two halves.
        rows: equations that pairs of halves are matched and filtered by. Chosen: each leaves few of the pairs, and the
            sums of every one take memory.
        most_pairs: of halves that are looked at in all. Chosen: a few seconds.
        most_solutions: that are kept. Chosen: enough to see which unknowns differ among them.
    """

    window: float = 4.0
    rank_margin: float = 10.0
    half: int = 20
    programme: ProgrammeLimits = field(default_factory=ProgrammeLimits)
    rows: int = 4
    most_pairs: int = 10**8
    most_solutions: int = 2**10


@dataclass(frozen=True)
class BinarySolutions:
    """Vectors of zeros and ones that solve a system up to the window of its rules, best first.

    Args:
        vectors: one row per solution.
        residuals: Euclidean norm of what remains of each, in tolerances.
        is_complete: whether there are no others.
        is_full_rank: whether full column rank proves that there can't be two.
    """

    vectors: Bool[np.ndarray, "solutions unknowns"]
    residuals: Float64[np.ndarray, "solutions"]
    is_complete: bool
    is_full_rank: bool = False


@dataclass(frozen=True, eq=False)
class BinarySystem:
    """The system ``matrix z = target`` with z in {0, 1}, which is to hold up to `tolerance` (Euclidean norm).

    Args:
        matrix: one column per unknown.
        target: what the chosen columns have to add up to.
        tolerance: of the sum.
        rules: what counts as a solution, and how far one is looked for.
    """

    matrix: Float64[np.ndarray, "equations unknowns"]
    target: Float64[np.ndarray, "equations"]
    tolerance: float
    rules: BinaryRules = field(default_factory=BinaryRules)

    @property
    def window(self) -> float:
        """Largest residual of a solution."""
        return self.rules.window * self.tolerance

    @cached_property
    def elimination(self) -> "Elimination":
        """The unknowns that the others determine, and how."""
        return _eliminated(self)

    def solutions(self) -> BinarySolutions:
        """Find all solutions, as far as the limits of the rules allow."""
        rank, unknowns = self.elimination.rank, self.matrix.shape[1]
        most_free = 2 * self.rules.half
        if rank == 0:
            # Every column is close to the tolerance: all that can be said is whether single ones fit.
            few = np.vstack([np.zeros(unknowns), np.eye(unknowns)]).astype(bool)
            return self._verified(few, is_complete=unknowns == 0, is_full_rank=unknowns == 0)
        free = unknowns - rank
        if free > most_free and self.rules.programme.allow(unknowns=unknowns, equations=len(self.target)):
            return _programmed(self)
        # If there are too many free unknowns, the first ones stay 0: solutions that are found are solutions.
        vectors, is_complete = _met_in_the_middle(self, self.elimination, held=max(0, free - most_free))
        return self._verified(vectors, is_complete=is_complete, is_full_rank=free == 0)

    def expected_accidents(self) -> float:
        """Expected number of vectors within the tolerance of a target that has nothing to do with the matrix.

        The sums ``matrix z`` of random z are treated as Gaussian, at their densest; along directions in which
        they do not spread, the target is taken as spread like the size of the matrix. Heuristic.
        """
        size = float(np.linalg.norm(self.matrix))
        singular = np.linalg.svd(self.matrix, compute_uv=False)
        reached = singular[singular / 2 > self.tolerance] / 2
        equations, unknowns = self.matrix.shape
        if size == 0.0 or self.tolerance == 0.0:
            return 0.0
        spread = np.sum(np.log(reached)) + (equations - len(reached)) * np.log(size)
        ball = equations * (np.log(np.pi) / 2 + np.log(self.tolerance)) - gammaln(equations / 2 + 1)
        density = -equations / 2 * np.log(2 * np.pi) - spread
        return float(np.exp(min(unknowns * np.log(2.0) + ball + density, 700.0)))

    def residuals(self, vectors: Bool[np.ndarray, "vectors unknowns"]) -> Float64[np.ndarray, "vectors"]:
        """Euclidean norm of ``matrix z - target`` for every row z."""
        return np.linalg.norm(vectors.astype(np.float64) @ self.matrix.T - self.target, axis=1)

    def _verified(self, vectors: Array, *, is_complete: bool, is_full_rank: bool = False) -> BinarySolutions:
        residuals = self.residuals(vectors)
        order = np.argsort(residuals, kind="stable")
        order = order[residuals[order] <= self.window]
        in_tolerances = residuals[order] / (self.tolerance if self.tolerance > 0.0 else 1.0)
        return BinarySolutions(vectors[order], in_tolerances, is_complete, is_full_rank)


@dataclass(frozen=True)
class Elimination:
    """``z[basic] = constants - coefficients z[free]``, up to `errors` if the system holds up to the window."""

    basic: np.ndarray
    free: np.ndarray
    constants: Float64[np.ndarray, "rank"]
    coefficients: Float64[np.ndarray, "rank free"]
    errors: Float64[np.ndarray, "rank"]

    @property
    def rank(self) -> int:
        """Number of unknowns that the others determine."""
        return len(self.basic)


def _eliminated(system: BinarySystem) -> Elimination:
    if min(system.matrix.shape) == 0:
        columns = np.arange(system.matrix.shape[1])
        return Elimination(columns[:0], columns, np.zeros(0), np.zeros((0, len(columns))), np.zeros(0))
    # The stubs do not tell the modes of qr apart.
    factors: tuple[Array, Array, Array] = scipy.linalg.qr(  # pyright: ignore[reportAssignmentType]
        system.matrix, mode="economic", pivoting=True
    )
    orthogonal, triangle, order = factors
    smallest = max(system.rules.rank_margin * system.window, np.finfo(float).eps * float(np.linalg.norm(system.matrix)))
    rank = int(np.sum(np.abs(np.diag(triangle)) > smallest))
    while rank > 0 and np.linalg.svd(triangle[:rank, :rank], compute_uv=False)[-1] <= smallest:
        rank -= 1
    rows = triangle[:rank, :rank]
    rest = np.column_stack([(orthogonal.T @ system.target)[:rank], triangle[:rank, rank:], np.eye(rank)])
    solved = scipy.linalg.solve_triangular(rows, rest) if rank else rest
    free = len(order) - rank
    rounding = np.finfo(float).eps * (1.0 + np.sum(np.abs(solved[:, : 1 + free]), axis=1))
    errors = system.window * np.linalg.norm(solved[:, 1 + free :], axis=1) + 10.0 * rounding
    return Elimination(order[:rank], order[rank:], solved[:, 0], solved[:, 1 : 1 + free], errors)


def _met_in_the_middle(system: BinarySystem, rule: Elimination, *, held: int) -> tuple[Array, bool]:
    """Vectors whose determined unknowns come out as 0 or 1, and whether these are all."""
    free, rules = len(rule.free) - held, system.rules
    # Rows that exclude most: a small error for the spread of the sums.
    rows = np.argsort(rule.errors / (np.linalg.norm(rule.coefficients, axis=1) + 1e-9))[: rules.rows]
    columns = rule.coefficients[rows][:, held:]
    left, right = _subset_sums(columns[:, : free // 2]), _subset_sums(columns[:, free // 2 :])
    found, kept, pairs = [np.zeros((0, system.matrix.shape[1]), dtype=bool)], 0, 0
    constant, error = float(rule.constants[rows[0]]), float(rule.errors[rows[0]])
    for first, second in _close_pairs(left[0], right[0], constant, error):
        pairs += len(first)
        for row, index in enumerate(rows):
            basic = rule.constants[index] - left[row][first] - right[row][second]
            fits = _is_binary(basic, rule.errors[index])
            first, second = first[fits], second[fits]
        for start in range(0, len(first), rules.most_solutions):
            part = slice(start, start + rules.most_solutions)
            patterns = np.hstack([_bits(first[part], free // 2), _bits(second[part], free - free // 2)])
            vectors = _completed(rule, np.hstack([np.zeros((len(patterns), held), dtype=bool), patterns]))
            found.append(vectors[system.residuals(vectors) <= system.window])
            kept += len(found[-1])
            if kept >= rules.most_solutions:
                return np.vstack(found), False
        if pairs > rules.most_pairs:
            return np.vstack(found), False
    return np.vstack(found), held == 0


def _subset_sums(columns: Float64[Array, "rows columns"]) -> Float64[Array, "rows subsets"]:
    """Sum of every subset of the columns; bit k of its number says whether column k is in it."""
    sums = np.zeros((len(columns), 1))
    for column in columns.T:
        sums = np.hstack([sums, sums + column[:, None]])
    return sums


def _bits(numbers: Array, width: int) -> Array:
    return (numbers[:, None] >> np.arange(width)) & 1 == 1


def _is_binary(values: Array, error: Array | float) -> Array:
    return np.abs(values - np.clip(np.round(values), 0.0, 1.0)) <= error


def _completed(rule: Elimination, patterns: Array) -> Array:
    """Add the unknowns that the free ones determine, where they are 0 or 1."""
    basic = rule.constants - patterns @ rule.coefficients.T
    fits = np.all(_is_binary(basic, rule.errors), axis=1)
    vectors = np.zeros((int(fits.sum()), len(rule.basic) + len(rule.free)), dtype=bool)
    vectors[:, rule.free] = patterns[fits]
    vectors[:, rule.basic] = np.round(basic[fits]) == 1.0
    return vectors


def _close_pairs(left: Array, right: Array, constant: float, error: float) -> Iterator[tuple[Array, Array]]:
    """Indices of all pairs with ``constant - left - right`` within the error of 0 or 1, in bounded blocks."""
    by_left, by_right = np.argsort(left), np.argsort(right)
    # Queries in order keep the binary searches in the cache.
    wanted = constant - left[by_left]
    sums = right[by_right]
    for digit in (0.0, 1.0):
        starts = np.searchsorted(sums, wanted - digit - error, side="left")
        counts = np.searchsorted(sums, wanted - digit + error, side="right") - starts
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(ends):
            before = ends[begin - 1] if begin else 0
            # At least one left sum at a time, even if it meets all right sums.
            stop = max(begin + 1, int(np.searchsorted(ends, before + PAIRS_AT_ONCE, side="right")))
            block = counts[begin:stop]
            total = int(block.sum())
            if total:
                shifts = np.repeat(starts[begin:stop] - (np.cumsum(block) - block), block)
                yield np.repeat(by_left[begin:stop], block), by_right[shifts + np.arange(total)]
            begin = stop


def _programmed(system: BinarySystem) -> BinarySolutions:
    """Two solutions by an integer programme, every one verified and then excluded."""
    tried: list[Array] = []
    is_complete = False
    for _ in range(system.rules.programme.attempts):
        vector, is_complete = _programme(system, tried)
        if vector is None:
            break
        # The programme is feasible only to about 1e-7, so it may offer vectors that solve nothing.
        tried.append(vector)
        if np.sum(system.residuals(np.array(tried)) <= system.window) == 2:
            break
    vectors = np.array(tried, dtype=bool).reshape(len(tried), system.matrix.shape[1])
    return system._verified(vectors, is_complete=is_complete)


def _programme(system: BinarySystem, excluded: list[Array]) -> tuple[Array | None, bool]:
    """A vector that is none of the excluded ones, and whether it is proven that there is none."""
    unknowns = system.matrix.shape[1]
    # An orthogonal factor shrinks the equations to at most as many as unknowns, and well scaled.
    factor, triangle = np.linalg.qr(system.matrix)
    scale = float(np.max(np.abs(system.matrix)))
    reduced, band = factor.T @ system.target / scale, system.window / scale
    rows, lower, upper = [triangle / scale], [reduced - band], [reduced + band]
    for vector in excluded:
        # At least one unknown differs: sum over zeros of z + sum over ones of (1 - z) >= 1.
        rows.append(np.where(vector, -1.0, 1.0)[None])
        lower.append(np.array([1.0 - np.sum(vector)]))
        upper.append(np.array([np.inf]))
    # The stubs know bounds as numbers only.
    constraint = scipy.optimize.LinearConstraint(
        np.vstack(rows),
        np.concatenate(lower),  # pyright: ignore[reportArgumentType]
        np.concatenate(upper),  # pyright: ignore[reportArgumentType]
    )
    limits = system.rules.programme
    result = scipy.optimize.milp(
        np.zeros(unknowns),
        constraints=constraint,
        bounds=scipy.optimize.Bounds(0.0, 1.0),
        integrality=np.ones(unknowns),
        options={"node_limit": limits.branches, "time_limit": limits.seconds},
    )
    return (None if result.x is None else np.round(result.x).astype(bool)), result.status == 2
