"""Directions of a lowest layer from symmetric tensors, and orientation, threshold and coefficient along them.

Let ``T_2 = sum_i a_i w_i w_i^T`` with coefficients of one sign and ``T_k = sum_i b_i w_i (x) ... (x) w_i``. In the
coordinates in which ``|T_2|`` is the identity the vectors ``sqrt(|a_i|) w_i`` are orthonormal, and power iteration with
``T_k`` has them as its only attractors, whatever the positive ``b_i`` are: whitening, then power with deflation.

Dual vectors z_i satisfy ``<w_j, z_i> = 1`` for ``i = j`` and 0 otherwise, so that ``T_k(z_i, .., z_i) = c_i g_k(t_i)``
holds one unit at a time. At the directions themselves it does so for orthonormal ones only.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64
from scipy.special import log_ndtr

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, Vector
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.units import THRESHOLD_RULES, ThresholdRules, monic_coefficients, threshold_of_ratio
from unweave.numerics.symmetric_tensors import Tensor
from unweave.samples.hermite.moments import HermiteMoments

Starts = Float64[np.ndarray, "starts rank"]
Found = Float64[np.ndarray, "found rank"]


@dataclass(frozen=True, eq=False)
class Whitening:
    """Coordinates ``v = to_white^T z`` in which the tensor of order 2 is the identity, up to its sign.

    Args:
        sign: of the tensor.
        eigenvalues: all of them times the sign, descending.
        vectors: eigenvectors of the first ones, one column per coordinate.
    """

    sign: int
    eigenvalues: Vector
    vectors: Float64[np.ndarray, "inputs rank"]

    @property
    def kept(self) -> Vector:
        """Eigenvalues of the coordinates."""
        return self.eigenvalues[: self.vectors.shape[1]]

    @property
    def to_white(self) -> Float64[np.ndarray, "inputs rank"]:
        """One column per coordinate; contracts tensors."""
        return self.vectors / np.sqrt(self.kept)

    @property
    def from_white(self) -> Float64[np.ndarray, "inputs rank"]:
        """Maps orthonormal vectors back to directions; ``from_white^T to_white`` is the identity."""
        return self.vectors * np.sqrt(self.kept)

    @property
    def is_definite(self) -> bool:
        """Whether the kept eigenvalues are the largest in absolute value, too: all coefficients have one sign."""
        return bool(np.min(self.kept) > np.max(-self.eigenvalues, initial=0.0))


@dataclass(frozen=True, eq=False)
class PowerDirections:
    """Directions found by power iteration.

    Args:
        directions: unit vectors with arbitrary signs.
        values: whitened tensor at every direction; ``1 / sqrt(c_i)`` or ``1 / c_i`` up to a common factor.
        agreement: share of the starts of each round that ended at the direction that was taken.
        whitening: what was used.
    """

    directions: Atoms
    values: PerNeuron
    agreement: PerNeuron
    whitening: Whitening


def whitening_of(second: Float64[np.ndarray, "inputs inputs"], *, rank: int) -> Whitening:
    """Whiten with the `rank` largest eigenvalues of the sign that dominates.

    Raises:
        InvalidInput: if fewer than `rank` eigenvalues have that sign; the coefficients then differ in sign.
    """
    sign = 1 if np.trace(second) >= 0 else -1
    values, vectors = np.linalg.eigh(sign * 0.5 * (second + second.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    if not 1 <= rank <= len(values) or values[rank - 1] <= 0:
        positive = int(np.count_nonzero(values > 0))
        raise InvalidInput(f"whitening with rank {rank} needs as many eigenvalues of one sign, got {positive}.")
    return Whitening(sign, values, vectors[:, :rank])


def contracted_with(tensor: Tensor, matrix: Float64[np.ndarray, "inputs rank"]) -> Tensor:
    """The tensor with every axis contracted with the columns of a matrix."""
    for _ in range(tensor.ndim):
        # The first axis is taken and comes back as the last: after all axes the order is as before.
        tensor = np.tensordot(tensor, matrix, axes=(0, 0))
    return tensor


@dataclass(frozen=True)
class WhitenedPower:
    """Settings of whitened power iteration.

    Args:
        starts: random directions per round, of which the one of largest value is taken.
        steps: largest number of steps of a round.
        free_steps: steps without projection that undo the error of deflation.
        still_the_same: cosine down to which two directions count as one.
        rest_tol: change of all starts at which the iteration has come to rest.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    starts: int = 12
    steps: int = 150
    free_steps: int = 10
    still_the_same: float = 0.9
    rest_tol: float = 1e-10

    def __call__(
        self, second: Tensor, tensor: Tensor, rng: np.random.Generator, *, rank: int, sign: int = 0
    ) -> PowerDirections:
        """Find the directions.

        Args:
            second: tensor of order 2.
            tensor: of order 3 or 4; for order 3 its sign does not matter.
            rng: for the starts.
            rank: number of directions.
            sign: of the coefficients of order 4; that of the trace if 0.

        Raises:
            InvalidInput: if the tensor of order 2 has too few eigenvalues of one sign.

        Assumes: linearly independent directions, coefficients of order 2 of one sign, of order 4 of one sign, too.
        Guarantees: exact for exact tensors; errors of order ``noise / coefficient`` otherwise (heuristic constant).
        """
        whitening = whitening_of(second, rank=rank)
        white = contracted_with(tensor, whitening.to_white)
        if tensor.ndim == 4:
            white = white * (sign or (1 if np.einsum("iijj->", white) >= 0 else -1))
        found, values, agreement = np.zeros((0, rank)), [], []
        for _ in range(rank):
            direction, share = self._strongest(white, found, rng)
            found = np.vstack([found, direction])
            values.append(_values(white, direction[None])[0])
            agreement.append(share)
        directions = found @ whitening.from_white.T
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return PowerDirections(directions, np.array(values), np.array(agreement), whitening)

    def _strongest(self, white: Tensor, found: Found, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """The best end of several starts orthogonal to what was found, and the share of starts that ended there."""
        points = _orthogonal(rng.standard_normal((self.starts, len(white))), found)
        for _ in range(self.steps):
            moved = _orthogonal(_power_step(white, points), found)
            change = np.max(np.abs(moved - points))
            points = moved
            if change < self.rest_tol:
                break
        best = int(np.argmax(_values(white, points)))
        share = float(np.mean(np.abs(points @ points[best]) > self.still_the_same))
        free = points[best : best + 1]
        for _ in range(self.free_steps):
            free = _orthogonal(_power_step(white, free), np.zeros((0, len(white))))
        is_same = abs(float(free[0] @ points[best])) > self.still_the_same
        return (free[0] if is_same else points[best]), share


def _contractions(white: Tensor, points: Starts) -> Starts:
    """``T(v, .., v, .)`` for every direction v."""
    size = len(white)
    result = points @ white.reshape(size, -1)
    for _ in range(white.ndim - 2):
        result = np.einsum("pi,pij->pj", points, result.reshape(len(points), size, -1))
    return result


def _values(white: Tensor, points: Starts) -> Float64[np.ndarray, "starts"]:
    return np.einsum("pi,pi->p", _contractions(white, points), points)


def _power_step(white: Tensor, points: Starts) -> Starts:
    images = _contractions(white, points)
    if white.ndim == 3:
        return images
    values = np.einsum("pi,pi->p", images, points)
    # Without a shift an even order may step back and forth where its form is not convex. One of ``order - 1`` times the
    # largest value makes every step an ascent.
    shift = white.ndim - 1.0
    is_falling = values < np.max(np.abs(values)) / shift
    return images + (is_falling * shift * np.max(np.abs(values)))[:, None] * points


def _orthogonal(points: Starts, found: Found) -> Starts:
    """Unit vectors orthogonal to what was found; `found` is only nearly orthonormal, hence the factorisation."""
    basis = np.linalg.qr(found.T)[0] if len(found) else found.T
    points = points - (points @ basis) @ basis.T
    sizes = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(sizes > 0, sizes, 1.0)


@dataclass(frozen=True, eq=False)
class OrientedUnits:
    """Directions that point to where their units are active.

    Args:
        directions: unit vectors.
        thresholds: one per direction.
        coefficients: of the units in the labels, averaged over what the other units do; NaN where not known.
    """

    directions: Atoms
    thresholds: PerNeuron
    coefficients: PerNeuron


def oriented_by_moments(
    moments: HermiteMoments, directions: Atoms, unit: Activation, *, rules: ThresholdRules = THRESHOLD_RULES
) -> OrientedUnits:
    """Signs from order 1, thresholds from the ratio of orders 3 and 2, coefficients from order 2.

    Args:
        moments: orders 0 to 3 of the labels.
        directions: unit vectors of any sign, linearly independent.
        unit: the units whose coefficients these are.
        rules: where thresholds are looked for.

    Guarantees: the coefficient is ``sum_S c_S u_0^(|S| - 1)`` over all products that contain the unit, where ``u_0`` is
    how often a unit is active: that of the unit alone only for large thresholds.
    """
    first, second, third = _along_duals(moments, directions)
    # A negative coefficient turns the sign of all orders; order 2 shows it, because its factor is positive.
    flips = np.where(first * second >= 0, 1.0, -1.0)
    ratios = flips * third / np.where(second == 0, np.finfo(float).tiny, second)
    ratios = np.clip(ratios, -rules.largest, rules.largest)
    thresholds = np.array([threshold_of_ratio(unit, float(ratio), rules=rules) for ratio in ratios])
    factors = np.array([monic_coefficients(unit, float(t), 2)[2] for t in thresholds])
    return OrientedUnits(flips[:, None] * directions, thresholds, second / factors)


def oriented_by_cumulants(
    cumulants: HermiteMoments, directions: Atoms, *, rules: ThresholdRules = THRESHOLD_RULES
) -> OrientedUnits:
    """Signs and thresholds from the cumulants of the indicator of ``<w_i, x> < t_i`` for all i.

    For one direction they are the derivatives of ``log Phi(t - z)`` at zero: the ratio of orders 2 and 1 is ``t + l``
    with ``l = phi(t) / Phi(t)``, which grows with t.

    Args:
        cumulants: orders 0 to 3.
        directions: unit vectors of any sign, linearly independent.
        rules: where thresholds are looked for.
    """
    first, second, _ = _along_duals(cumulants, directions)
    # Where units are quiet, inputs lie on the other side of the direction.
    flips = np.where(first <= 0, 1.0, -1.0)
    ratios = second / np.where(first == 0, np.finfo(float).tiny, first) * flips
    thresholds = np.array([_threshold_of_truncation(float(ratio), rules) for ratio in ratios])
    return OrientedUnits(flips[:, None] * directions, thresholds, np.full(len(directions), np.nan))


def _along_duals(moments: HermiteMoments, directions: Atoms) -> tuple[PerNeuron, PerNeuron, PerNeuron]:
    duals = np.linalg.pinv(directions).T
    first, second, third = (
        np.array([_at(tensor, dual) for dual in duals]) for tensor in map(moments.tensor, (1, 2, 3))
    )
    return first, second, third


def _at(tensor: np.ndarray, vector: np.ndarray) -> float:
    for _ in range(tensor.ndim):
        tensor = tensor @ vector
    return float(tensor)


def _threshold_of_truncation(ratio: float, rules: ThresholdRules) -> float:
    def excess(threshold: float) -> float:
        return threshold + float(np.exp(-0.5 * threshold**2 - log_ndtr(threshold)) / np.sqrt(2 * np.pi)) - ratio

    low, high = -rules.largest, rules.largest
    if excess(low) >= 0:
        return low
    return (
        high
        if excess(high) <= 0
        else float(scipy.optimize.root_scalar(excess, bracket=(low, high), xtol=rules.root_tol).root)
    )
