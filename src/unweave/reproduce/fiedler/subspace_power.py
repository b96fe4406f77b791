"""The two ways of [fiedler] to the rank-one matrices of a subspace, as printed, for comparison.

`FixedSubspacePower` is [fiedler, Alg. 2.2] in the batched form of its experiments: independent starts,
a fixed number of steps, a threshold. `SpectralNormAscent` is [fiedler, Alg. 2.1], ascent in the matrix
instead of in the vector. The default that recovers more in less time is in `subspace_power.py`.
"""

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from jaxtyping import Bool, Float64, Int

from unweave.arrays import Atoms, PerNeuron, pack_squares, unpack
from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.numerics.subspace_power import Directions, merging_angle

# Starts of the matrix ascent that are in memory at once.
ASCENT_BATCH = 512


@dataclass(frozen=True)
class _AscentCounts:
    """How many ascents there were, and how many of them came to nothing.

    Args:
        starts: all of them.
        rejected: those that converged where no atom is accepted.
        unconverged: those that did not converge.
    """

    starts: int = 0
    rejected: int = 0
    unconverged: int = 0

    def with_more(self, converged: Bool[np.ndarray, "starts"], accepted: Bool[np.ndarray, "starts"]) -> "_AscentCounts":
        """Add ascents, of which these converged and these were accepted."""
        return _AscentCounts(
            self.starts + len(converged),
            self.rejected + int(np.count_nonzero(converged & ~accepted)),
            self.unconverged + int(np.count_nonzero(~converged)),
        )


@dataclass(frozen=True)
class FixedSubspacePower:
    """Settings of the subspace power method as run in [fiedler, Alg. 2.2 and Sec. 3.6].

    Args:
        step: step size; [fiedler] proves ascent up to 1 and computes with 2.
        steps: power steps from every start, always all of them.
        starts_per_atom: starts for every dimension of the span, times the logarithm of the inputs.
        threshold: smallest accepted ``Phi``; 0.9 if omitted, 0.99 from ``rank = 2/5 inputs^2`` on.
        residual_tol: largest accepted stationarity residual; infinite, no test, is the choice of [fiedler].
        merging_distance: distance up to sign below which two ends are the same atom.
    """

    step: float = 2.0
    steps: int = 1_000
    starts_per_atom: float = 5.0
    threshold: float | None = None
    residual_tol: float = np.inf
    merging_distance: float = 0.3

    def __call__(self, subspace: MatrixSubspace, rng: np.random.Generator) -> Directions:
        """Find the atoms of `subspace`.

        If more ends survive than the span has dimensions, those that most starts reached are kept.

        Assumes: the atoms are independent and fewer than D(D-1)/2.
        Guarantees: from almost every start the steps lead to a local maximiser of ``Phi`` for steps
        up to 1 [fiedler, Thm. 2.5]; that 1000 are enough, and that all atoms are met, is heuristic.
        """
        starts = rng.standard_normal((self.starts(subspace), subspace.inputs))
        starts /= np.linalg.norm(starts, axis=1, keepdims=True)
        defect_tol = 1.0 - self.accepted_value(subspace)
        if len(starts) == 0:
            return _collected(subspace, starts, _AscentCounts(), distance=self.merging_distance, defect_tol=defect_tol)
        ascent = kernel.ascend(starts, subspace.basis, is_complement=False, step=self.step, steps=self.steps)
        converged = ascent.residuals <= self.residual_tol
        accepted = converged & (ascent.defects < defect_tol)
        return _collected(
            subspace,
            ascent.points[accepted],
            _AscentCounts().with_more(converged, accepted),
            distance=self.merging_distance,
            defect_tol=defect_tol,
        )

    def starts(self, subspace: MatrixSubspace) -> int:
        """Number of independent starts."""
        return max(subspace.rank, ceil(self.starts_per_atom * subspace.rank * log(subspace.inputs)))

    def accepted_value(self, subspace: MatrixSubspace) -> float:
        """The threshold that applies to `subspace`."""
        if self.threshold is not None:
            return self.threshold
        return 0.99 if 5 * subspace.rank >= 2 * subspace.inputs**2 else 0.9


@dataclass(frozen=True)
class SpectralNormAscent:
    """Settings of the projected ascent of the spectral norm [fiedler, Alg. 2.1].

    The iterate is a matrix M of unit Frobenius norm in the span: ``M <- normalise(P(M + step u u^T))``
    with its leading eigenvector u. Slower than the subspace power method, and independent of it.

    Args:
        step: step size gamma; every positive one makes the leading eigenvalue grow.
        steps: largest number of steps from one start.
        change_tol: change of M, in the Frobenius norm, at which an ascent has converged.
        threshold: smallest accepted leading eigenvalue.
        starts_per_atom: starts for every dimension m of the span, times ``1 + log m``, before giving up.
        merging_distance: distance up to sign below which two ends are the same atom.
    """

    step: float = 2.0
    steps: int = 1_000
    change_tol: float = 1e-10
    threshold: float = 0.9
    starts_per_atom: float = 5.0
    merging_distance: float = 0.3

    def __call__(self, subspace: MatrixSubspace, rng: np.random.Generator) -> Directions:
        """Find the atoms of `subspace`: rounds of one start per dimension until all are found.

        Assumes: the atoms are independent and nearly tight as a frame, for the theory.
        Guarantees: the leading eigenvalue grows in every step [fiedler, Lemma 2.11]; limits are
        stationary, not proved to be maximisers. Which atoms are met is chance (coupon collector).
        """
        allowed = ceil(self.starts_per_atom * subspace.rank * (1.0 + log(max(subspace.rank, 1))))
        ends = np.empty((0, subspace.inputs))
        counts = _AscentCounts()
        while True:
            found = _collected(
                subspace,
                ends,
                counts,
                distance=self.merging_distance,
                defect_tol=1.0 - self.threshold**2,
            )
            count = min(subspace.rank, allowed - counts.starts, ASCENT_BATCH)
            if found.is_complete or count <= 0:
                return found
            vectors, values, converged = self._climb(subspace, rng.standard_normal((count, subspace.rank)))
            accepted = converged & (values >= self.threshold)
            ends = np.concatenate([ends, vectors[accepted]])
            counts = counts.with_more(converged, accepted)

    def _climb(
        self, subspace: MatrixSubspace, coefficients: Float64[np.ndarray, "starts rank"]
    ) -> tuple[Atoms, Float64[np.ndarray, "starts"], Bool[np.ndarray, "starts"]]:
        """Leading eigenvectors and eigenvalues where the ascents end, and which of them converged."""
        coefficients = with_positive_top(coefficients, subspace)
        converged = np.zeros(len(coefficients), dtype=bool)
        for _ in range(self.steps):
            moving = np.flatnonzero(~converged)
            if len(moving) == 0:
                break
            moved = spectral_step(coefficients[moving], subspace, step=self.step)
            change = np.linalg.norm(moved - coefficients[moving], axis=1)
            coefficients[moving] = moved
            converged[moving] = change < self.change_tol
        values, vectors = top_eigenpairs(coefficients, subspace)
        return vectors, values, converged


def with_positive_top(
    coefficients: Float64[np.ndarray, "starts rank"], subspace: MatrixSubspace
) -> Float64[np.ndarray, "starts rank"]:
    """Unit coefficients of matrices in the span, negated where the spectral norm is not an eigenvalue."""
    unit = coefficients / np.linalg.norm(coefficients, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(unpack(unit @ subspace.basis.T, subspace.inputs))
    return np.where((-values[:, 0] > values[:, -1])[:, None], -unit, unit)


def spectral_step(
    coefficients: Float64[np.ndarray, "starts rank"], subspace: MatrixSubspace, *, step: float
) -> Float64[np.ndarray, "starts rank"]:
    """One ascent step ``M <- normalise(P(M + step u u^T))`` [fiedler, (2.26)], in coefficients of the basis."""
    _, vectors = top_eigenpairs(coefficients, subspace)
    moved = coefficients + step * (pack_squares(vectors) @ subspace.basis)
    # Never zero: the norm is at least 1 where the leading eigenvalue is positive [fiedler, Lemma 2.10].
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def top_eigenpairs(
    coefficients: Float64[np.ndarray, "starts rank"], subspace: MatrixSubspace
) -> tuple[Float64[np.ndarray, "starts"], Atoms]:
    """Largest eigenvalue and its eigenvector of the matrices with these coefficients."""
    values, vectors = np.linalg.eigh(unpack(coefficients @ subspace.basis.T, subspace.inputs))
    return values[:, -1], np.ascontiguousarray(vectors[:, :, -1])


def defects_of(vectors: Atoms, subspace: MatrixSubspace) -> PerNeuron:
    """``1 - Phi`` of unit vectors, without cancellation: the part of their squares outside the span."""
    return np.sum((pack_squares(vectors) @ subspace.complement) ** 2, axis=1)


def residuals_of(vectors: Atoms, subspace: MatrixSubspace) -> PerNeuron:
    """Stationarity residual ``||P(u u^T) u - Phi u||`` of unit vectors."""
    outside = unpack((pack_squares(vectors) @ subspace.complement) @ subspace.complement.T, subspace.inputs)
    image = np.einsum("kij,kj->ki", outside, vectors)
    return np.linalg.norm(image - defects_of(vectors, subspace)[:, None] * vectors, axis=1)


def distinct_directions(
    ends: Float64[np.ndarray, "ends inputs"], defects: Float64[np.ndarray, "ends"], *, distance: float
) -> tuple[Atoms, Int[np.ndarray, "neurons"]]:
    """One representative, that of smallest defect, per group of vectors equal up to sign, and group sizes."""
    order = np.argsort(defects, kind="stable")
    rest = ends[order]
    kept, hits = [], []
    # min over signs of |u -+ v|^2 is 2 - 2 |<u, v>| for unit vectors.
    closeness = 1.0 - 0.5 * distance**2
    while len(rest):
        is_same = np.abs(rest @ rest[0]) > closeness
        is_same[0] = True
        kept.append(rest[0])
        hits.append(int(np.count_nonzero(is_same)))
        rest = rest[~is_same]
    return np.array(kept).reshape(-1, ends.shape[1]), np.array(hits, dtype=np.int64)


def _collected(
    subspace: MatrixSubspace,
    ends: Float64[np.ndarray, "ends inputs"],
    counts: _AscentCounts,
    *,
    distance: float,
    defect_tol: float,
) -> Directions:
    """The distinct ends, at most as many as there are dimensions: those that most starts reached."""
    distance = max(distance, merging_angle(subspace))
    atoms, hits = distinct_directions(ends, defects_of(ends, subspace), distance=distance)
    defects = defects_of(atoms, subspace)
    keep = np.lexsort((defects, -hits))[: subspace.rank]
    return Directions(
        atoms=atoms[keep],
        defects=defects[keep],
        residuals=residuals_of(atoms[keep], subspace),
        hits=hits[keep],
        rank=subspace.rank,
        starts=counts.starts,
        rejected=counts.rejected + int(np.sum(hits) - np.sum(hits[keep])),
        unconverged=counts.unconverged,
        defect_tol=defect_tol,
    )
