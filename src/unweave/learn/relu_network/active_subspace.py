"""The space that the weights of all units span, from the moment of order 2."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import InvalidInput
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.sums import Halved

# An eigenvalue counts if it is this many times the spectral norm of the noise, which no pure noise eigenvalue reaches
# often; heuristic.
NOISE_FACTOR = 2.0


@dataclass(frozen=True, eq=False)
class ActiveSubspace:
    """Leading eigenvectors of ``T_2`` by the absolute value of their eigenvalues.

    Args:
        basis: orthonormal columns.
        eigenvalues: all of them, descending by absolute value.
        noise: spectral norm of the error of ``T_2``, from the two halves.
        linear_outside: length of the part of ``T_1`` outside; units of large bias are linear functions, which ``T_2``
            does not see.
    """

    basis: Float64[np.ndarray, "rank smaller"]
    eigenvalues: Float64[np.ndarray, "rank"]
    noise: float
    linear_outside: float

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return self.basis.shape[1]


def active_subspace(moments: Halved[HermiteMoments], *, rank: int | None = None) -> ActiveSubspace:
    """Estimate the span of the weights.

    ``T_2 = sum_i a_i phi(b_i) w_i w_i^T`` has no coefficient that vanishes, and coefficients of both signs, so the
    eigenvectors of its m eigenvalues of largest absolute value span the weights of m units.

    Args:
        moments: orders 0 to 2 or more, with halves.
        rank: dimension of the span; eigenvalues above twice the noise if not given.

    Assumes: the weights are linearly independent.
    Guarantees: an angle of order ``noise / (|smallest eigenvalue| - noise)`` [wedin1972]; the chosen rank is heuristic.

    Raises:
        InvalidInput: if `rank` is not between 1 and the dimension of the moments.
    """
    dimension = moments.whole.rank
    if rank is not None and not 1 <= rank <= dimension:
        raise InvalidInput(f"the active subspace has a dimension from 1 to {dimension}, got rank={rank}.")
    eigenvalues, vectors = np.linalg.eigh(moments.whole.tensor(2))
    descending = np.argsort(-np.abs(eigenvalues))
    eigenvalues, vectors = eigenvalues[descending], vectors[:, descending]
    noise = float(np.linalg.norm(moments.noise(lambda half: half.tensor(2)), ord=2))
    if rank is None:
        rank = int(np.count_nonzero(np.abs(eigenvalues) > NOISE_FACTOR * noise))
    basis = vectors[:, :rank]
    linear = moments.whole.entries(1)
    outside = linear - basis @ (basis.T @ linear)
    return ActiveSubspace(basis, eigenvalues, noise, float(np.linalg.norm(outside)))
