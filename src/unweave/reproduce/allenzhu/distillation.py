"""From a wide readout to few features: the rank is read from singular values, and the gauge is fixed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

# A singular value that stands out from the next one by this factor makes a rank believable.
VISIBLE_GAP = 5.0
# Eigenvalues of the change of gauge are kept above this.
LEAST_GAUGE = 1e-6


@dataclass(frozen=True, eq=False)
class Distilled:
    """Features that were read from a wide readout.

    Args:
        features: the matrix K, with main links first.
        singular_values: those that the rank was read from.
        gap: ratio of the last one that was kept to the first one that was not.
    """

    features: Float64[np.ndarray, "features terms"]
    singular_values: Float64[np.ndarray, "values"]
    gap: float

    @property
    def is_rank_visible(self) -> bool:
        """Whether the rank stands out."""
        return self.gap >= VISIBLE_GAP


def distill(
    readout: Float64[np.ndarray, "readouts terms"],
    *,
    main: int,
    width: int | None = None,
    threshold: float | None = None,
) -> Distilled:
    """Split off the few directions that a wide readout uses.

    Args:
        readout: the matrix W.
        main: how many of its columns belong to the link to the level just below.
        width: number of features; found if omitted.
        threshold: if given, as many features as there are singular values of at least this; the largest ratio of
            neighbouring ones decides otherwise.

    Guarantees: for an exact low-rank readout, ``K^T K = W^T W`` on main links and on main times skip links.
    """
    w_main, w_skip = readout[:, :main], readout[:, main:]
    if not w_skip.shape[1]:
        values, vectors = np.linalg.eigh(w_main.T @ w_main)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        count = _rank(values, width, threshold)
        return Distilled(np.sqrt(values[:count, None]) * vectors[:, :count].T, values, _gap(values, count))
    left, values, right = np.linalg.svd(w_skip.T @ w_main, full_matrices=False)
    count = _rank(values, width, threshold)
    roots = np.sqrt(values[:count, None])
    k_skip, k_main = roots * left[:, :count].T, roots * right[:count]
    # Any invertible map of the one and its inverse transpose of the other give the same product: the Gram matrix of
    # the main link decides.
    inverse = np.linalg.pinv(k_main)
    gauge = inverse.T @ (w_main.T @ w_main) @ inverse
    eigenvalues, basis = np.linalg.eigh((gauge + gauge.T) / 2)
    root = np.sqrt(np.maximum(eigenvalues, LEAST_GAUGE))
    k_main, k_skip = (basis * root) @ basis.T @ k_main, (basis / root) @ basis.T @ k_skip
    return Distilled(np.concatenate([k_main, k_skip], axis=1), values, _gap(values, count))


def _rank(values: np.ndarray, width: int | None, threshold: float | None) -> int:
    if width is not None:
        return min(width, len(values))
    if threshold is not None:
        return max(int(np.sum(values >= threshold)), 1)
    most = len(values) - 1
    # Values below rounding would make ratios of noise.
    safe = np.maximum(values, 1e-12 * values[0])
    return 1 + int(np.argmax(safe[:most] / safe[1 : most + 1])) if most > 0 else 1


def _gap(values: np.ndarray, count: int) -> float:
    if count >= len(values) or values[count] <= 0:
        return np.inf
    return float(values[count - 1] / values[count])
