"""The space of symmetric matrices that measured Hessians span, and its dimension."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import packed_size
from unweave.exceptions import InvalidInput


@dataclass(frozen=True)
class GapRules:
    """When singular values show a rank. Heuristic: the noise of the matrices is known by its order of magnitude only.

    Args:
        smallest_gap: ratio of neighbouring singular values below which they are no evidence of a rank. Chosen: random
            matrices show ratios of 2 to 3 at their edge, and this is well above.
        noise_margin: how many times the predicted noise the first singular value outside may be. Chosen: the
            prediction comes from a handful of queries, and is right within this factor.
        noise_alone: if no singular value is larger than this many times the predicted noise, nothing but noise was
            seen. Chosen: about a tenth of `noise_margin`, so that a noise that was predicted far too low may be taken
            for a signal (which checks reject), and a weak signal rarely for noise (which nothing would notice).
    """

    smallest_gap: float = 8.0
    noise_margin: float = 300.0
    noise_alone: float = 30.0


RULES = GapRules()


def gap_after(singular_values: Float64[np.ndarray, "values"], rank: int) -> float:
    """Divide the last singular value of this rank by the next one: infinite if there is none, 0 for rank 0."""
    if rank == 0 or rank >= len(singular_values):
        return np.inf if rank else 0.0
    outside = singular_values[rank]
    return float(singular_values[rank - 1] / outside) if outside > 0 else np.inf


@dataclass(frozen=True)
class MatrixSubspace:
    """An orthonormal basis of packed symmetric matrices and of what is orthogonal to it.

    Args:
        basis: packed orthonormal matrices, one per column.
        complement: packed orthonormal basis of the orthogonal complement.
        singular_values: of the matrix of all Hessians, for the evidence.
        matrices: number of Hessians that it was estimated from.
        inputs: size of the matrices.
        noise: singular value that the expected errors of the Hessians explain.
    """

    basis: Float64[np.ndarray, "packed rank"]
    complement: Float64[np.ndarray, "packed rest"]
    singular_values: Float64[np.ndarray, "values"]
    matrices: int
    inputs: int
    noise: float = 0.0

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return self.basis.shape[1]

    @property
    def gap(self) -> float:
        """Ratio of the last singular value inside to the first outside (infinite if there is none)."""
        return gap_after(self.singular_values, self.rank)

    @property
    def error(self) -> float:
        """Proxy for the subspace error [fiedler, SNM3]: what lies outside, or is expected to, over the least inside.

        With hardly more Hessians than dimensions the singular values outside are smaller than the
        errors that cause them, so these count, too.
        """
        if self.rank == 0:
            return 1.0
        outside = self.singular_values[self.rank] if self.rank < len(self.singular_values) else 0.0
        return float(min(1.0, max(outside, self.noise) / max(self.singular_values[self.rank - 1], 1e-300)))

    @property
    def learnability(self) -> float:
        """Smallest eigenvalue of the Hessians' second moment inside the span (alpha of [fiedler, SNM3])."""
        return float(self.singular_values[self.rank - 1] ** 2 / self.matrices) if self.rank else 0.0


def span_of_hessians(
    hessians: Float64[np.ndarray, "matrices packed"],
    *,
    inputs: int,
    rank: int | None = None,
    floor: float = 0.0,
    rules: GapRules = RULES,
) -> MatrixSubspace:
    """Estimate the space of symmetric matrices that the Hessians span.

    Every Hessian of a shallow network is a combination of the same matrices ``w w^T``, one per
    neuron, so a truncated SVD recovers their span.

    Args:
        hessians: packed, one per row.
        inputs: size of the matrices.
        rank: dimension of the span; found from the largest gap if omitted.
        floor: expected error of one entry of a Hessian; singular values that such errors explain
            are never counted.
        rules: what counts as a gap, where `rank` is omitted.

    Returns:
        An orthonormal basis, its complement, and the singular values that support the rank.

    Raises:
        InvalidInput: if there are fewer Hessians than `rank`.

    Assumes: the matrices ``w w^T`` are linearly independent.
    Guarantees: subspace error of order ``noise / gap`` [wedin1972].
    """
    size = packed_size(inputs)
    if hessians.shape[1] != size:
        raise InvalidInput(f"packed Hessians of {inputs} inputs have {size} entries, got {hessians.shape[1]}.")
    if rank is not None and rank > min(len(hessians), size):
        raise InvalidInput(
            f"span_of_hessians needs at least rank={rank} Hessians of at least that many entries, "
            f"got {len(hessians)} of {size}: measure at more points, or lower rank."
        )
    # With more Hessians than entries the triangular factor has the same left singular vectors.
    tall = len(hessians) > size
    left, values = _left_singular(np.asarray(np.linalg.qr(hessians, mode="r")).T if tall else hessians.T)
    # Errors of size `floor` per entry give a matrix of about this spectral norm.
    rounding = np.finfo(float).eps * max(hessians.shape) * np.max(values, initial=0.0)
    explained = max(floor * (np.sqrt(len(hessians)) + np.sqrt(size)), rounding)
    found = rank_at_gap(values, explained, rules=rules) if rank is None else rank
    return MatrixSubspace(
        basis=left[:, :found],
        complement=left[:, found:],
        singular_values=values,
        matrices=len(hessians),
        inputs=inputs,
        noise=explained,
    )


def rank_at_gap(values: Float64[np.ndarray, "values"], explained: float, *, rules: GapRules = RULES) -> int:
    """Largest gap whose far side is as small as noise; all values that noise does not explain if none."""
    above = int(np.count_nonzero(values > explained))
    if above == 0 or values[0] <= rules.noise_alone * explained:
        return 0
    bounded = np.maximum(values, np.finfo(float).eps * values[0])
    ratios = bounded[:above] / np.append(bounded[1:], np.inf)[:above]
    # A large first singular value (a common mean) makes a gap too, but not one that ends in noise.
    ratios[np.append(values[1:], np.inf)[:above] > rules.noise_margin * explained] = 0.0
    return int(np.argmax(ratios)) + 1 if np.max(ratios) > rules.smallest_gap else above


def _left_singular(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All left singular vectors; the slow driver helps where divide-and-conquer does not converge."""
    try:
        left, values, _ = scipy.linalg.svd(matrix, full_matrices=True, lapack_driver="gesdd")
    except np.linalg.LinAlgError:
        left, values, _ = scipy.linalg.svd(matrix, full_matrices=True, lapack_driver="gesvd")
    return left, values
