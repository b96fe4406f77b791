"""How far unit vectors are from orthonormal: frame constants, coherence, Gramians, isometry of few [fiedler, Ch. 2].

Vectors are rows. The constants c1, c2 and c3 are those of [fiedler, Def. 2.3].
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput

# Directions from which subsets far from orthonormal are searched.
STARTS, ROUNDS = 60, 30


@dataclass(frozen=True)
class Incoherence:
    """The constants of [fiedler, Def. 2.3] of given unit vectors.

    Args:
        isometry: the deviation from orthonormal that subsets may have, delta of (Inc1).
        certified: a c1 that is proved: every subset of ``ceil(c1 inputs / log(vectors))`` is that close to orthonormal.
        refuted: a c1 for which a subset is farther from orthonormal was found; infinite if there was none.
        coherence: c2 of (Inc2).
        gramian: c3 of (Inc3), for all orders from two on.
    """

    isometry: float
    certified: float
    refuted: float
    coherence: float
    gramian: float


def incoherence(vectors: Atoms, *, isometry: float, rng: np.random.Generator) -> Incoherence:
    """Measure the constants; c1 lies between what is certified and what is refuted, since all subsets are too many."""
    if not 0 < isometry < 1:
        raise InvalidInput(f"incoherence needs a deviation from orthonormal in (0, 1), got {isometry}.")
    count, inputs = vectors.shape
    unit = np.log(count) / inputs
    # The bound for one vector is 0, and bounds grow with the size.
    certified = int(np.count_nonzero(isometry_bounds(vectors) <= isometry))
    sizes = range(certified + 1, count + 1)
    refuting = (size for size in sizes if isometry_found(vectors, size, rng) > isometry)
    return Incoherence(
        isometry=isometry,
        certified=certified * unit,
        refuted=next(refuting, np.inf) * unit,
        coherence=coherence(vectors) ** 2 / unit,
        gramian=gramian_constant(vectors),
    )


def frame_constant(vectors: Atoms) -> float:
    """Smallest nu of the frame condition [fiedler, (2.10)]: at least 1 if the vectors do not span the space."""
    values = np.linalg.svd(vectors, compute_uv=False) ** 2
    smallest = values[-1] if len(vectors) >= vectors.shape[1] else 0.0
    return float(max(values[0] - 1.0, 1.0 - smallest))


def upper_frame_constant(vectors: Atoms) -> float:
    """Smallest nu of the upper half of [fiedler, (2.10)], which is all that the proofs of its theorems use."""
    return float(np.linalg.norm(vectors, 2) ** 2 - 1.0)


def coherence(vectors: Atoms) -> float:
    """Largest absolute cosine of two different vectors."""
    return float(np.max(_cosines(vectors)))


def welch_bound(count: int, inputs: int) -> float:
    """Least coherence that so many unit vectors can have [fiedler, (2.8)]."""
    return float(np.sqrt(max(count - inputs, 0) / (inputs * (count - 1))))


def gramian(vectors: Atoms, order: int) -> Float64[np.ndarray, "neurons neurons"]:
    """Inner products of the outer powers of this order [fiedler, Sec. 2.6.1]."""
    return (vectors @ vectors.T) ** order


def gramian_constant(vectors: Atoms) -> float:
    """Norm of the inverse Gramian of order two; of higher orders it is not larger [fiedler, Lemma 2.22]."""
    smallest = np.linalg.eigvalsh(gramian(vectors, 2))[0]
    return float(1.0 / smallest) if smallest > 0 else np.inf


def isometry_bounds(vectors: Atoms) -> Float64[np.ndarray, "sizes"]:
    """Bound ``||W_p W_p^T - I||`` over all subsets of one vector, of two, ..., by Gershgorin circles."""
    largest = -np.sort(-_cosines(vectors), axis=1)[:, :-1]
    return np.concatenate([[0.0], np.max(np.cumsum(largest, axis=1), axis=0)])


def isometry_found(vectors: Atoms, size: int, rng: np.random.Generator) -> float:
    """Search a subset of this size that is far from orthonormal: a lower bound for the largest deviation of all.

    In turns the vectors nearest to a direction are taken and the direction in which these are largest, which never
    makes the deviation smaller.
    """
    first, second = np.unravel_index(np.argmax(_cosines(vectors)), (len(vectors), len(vectors)))
    sign = np.sign(vectors[first] @ vectors[second])
    starts = np.vstack([vectors[first] + sign * vectors[second], rng.standard_normal((STARTS, vectors.shape[1]))])
    return max(_deviation_from(vectors, start, size) for start in starts)


def _deviation_from(vectors: Atoms, direction: Float64[np.ndarray, "inputs"], size: int) -> float:
    chosen = np.arange(size)
    for _ in range(ROUNDS):
        before, chosen = chosen, np.sort(np.argsort(-np.abs(vectors @ direction))[:size])
        if np.array_equal(before, chosen):
            break
        direction = np.linalg.svd(vectors[chosen], full_matrices=False)[2][0]
    return float(np.linalg.norm(vectors[chosen] @ vectors[chosen].T - np.eye(size), 2))


def _cosines(vectors: Atoms) -> Float64[np.ndarray, "neurons neurons"]:
    """Absolute cosines, with zeros on the diagonal."""
    cosines = np.abs(vectors @ vectors.T)
    np.fill_diagonal(cosines, 0.0)
    return cosines
