"""Directions that explain symmetric tensors of several orders best, by least squares.

Tensors ``T_k`` of a shallow network are ``sum_i c_ki w_i (x) ... (x) w_i``, with directions in common and coefficients
of their own. The coefficients are eliminated (variable projection), so only the directions are searched; orders are
weighted by ``1 / k!``, which makes the sum the squared error of the function that the tensors expand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import Atoms
from unweave.numerics.symmetric_tensors import Tensor, pack_tensor, packed_power_derivatives, packed_powers

# Singular values of the powers below this share of the largest are taken for zero.
RANK_TOL = 1e-12
# Damping after a step that failed, its growth and decay, and where the search gives up.
FIRST_DAMPING, GROWTH, DECAY, LARGEST_DAMPING = 1e-3, 6.0, 0.15, 1e6
# Below this damping the next step is undamped, for fast convergence.
SMALLEST_DAMPING = 1e-6
# Gain of a step, relative to the misfit, below which nothing is left to be gained.
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class JointFit:
    """Fitted directions and how the fit went.

    Args:
        directions: unit vectors, one per row.
        misfit: square root of ``sum_k |T_k - fit|^2 / k!``, relative to that of the tensors.
        start_misfit: the same before the first step.
        steps: accepted steps.
        has_converged: whether the last step changed nothing any more.
    """

    directions: Atoms
    misfit: float
    start_misfit: float
    steps: int
    has_converged: bool


def misfit_of(tensors: Sequence[Tensor], directions: Atoms) -> float:
    """What the best coefficients leave of the tensors, weighted as in `JointFit`."""
    packed = _packed(tensors)
    size = _norm(packed)
    return _norm(_residuals(packed, tensors, directions)) / size if size > 0 else 0.0


def fit_directions(tensors: Sequence[Tensor], directions: Atoms, *, steps: int = 60) -> JointFit:
    """Minimise the misfit over the directions by damped Gauss-Newton steps.

    Args:
        tensors: symmetric, of any orders of at least 2.
        directions: where to start, unit vectors.
        steps: largest number of attempted steps.

    Guarantees: the misfit never grows; a local minimum, of which the start decides.
    """
    packed = _packed(tensors)
    size = _norm(packed) or 1.0
    misfits, damping, accepted, has_converged = [_norm(_residuals(packed, tensors, directions))], 0.0, 0, False
    equations = None
    for _ in range(steps if len(directions) else 0):
        if equations is None:
            equations = _normal_equations(packed, tensors, directions)
        trial = directions + _solved(*equations, damping).reshape(directions.shape)
        trial = trial / np.linalg.norm(trial, axis=1, keepdims=True)
        misfit = _norm(_residuals(packed, tensors, trial)) if np.all(np.isfinite(trial)) else np.inf
        if not misfit < misfits[-1]:
            damping = max(GROWTH * damping, FIRST_DAMPING)
            has_converged = bool(np.max(np.abs(trial - directions)) < np.finfo(float).eps)
            if has_converged or damping > LARGEST_DAMPING:
                break
            continue
        directions, equations, accepted = trial, None, accepted + 1
        misfits.append(misfit)
        damping = 0.0 if DECAY * damping < SMALLEST_DAMPING else DECAY * damping
        if misfits[-2] - misfit < LEAST_GAIN * misfits[-2]:
            has_converged = True
            break
    return JointFit(directions, misfits[-1] / size, misfits[0] / size, accepted, has_converged)


def _packed(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    return [pack_tensor(tensor) / sqrt(factorial(tensor.ndim)) for tensor in tensors]


def _norm(parts: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(sum(np.sum(part**2) for part in parts)))


def _projected(
    packed: np.ndarray, directions: Atoms, order: int
) -> tuple[np.ndarray, np.ndarray, Float64[np.ndarray, "neurons"]]:
    """Residual of one order, the orthonormal basis it is orthogonal to, and the coefficients."""
    left, values, right = np.linalg.svd(packed_powers(directions, order).T, full_matrices=False)
    kept = values > RANK_TOL * float(np.max(values, initial=0.0))
    basis = left[:, kept]
    inside = basis.T @ packed
    return packed - basis @ inside, basis, right[kept].T @ (inside / values[kept])


def _residuals(packed: list[np.ndarray], tensors: Sequence[Tensor], directions: Atoms) -> list[np.ndarray]:
    return [_projected(part, directions, tensor.ndim)[0] for part, tensor in zip(packed, tensors, strict=True)]


def _normal_equations(
    packed: list[np.ndarray], tensors: Sequence[Tensor], directions: Atoms
) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix of the projected derivatives and the right-hand side (Kaufman's approximation)."""
    count = directions.size
    gram, target = np.zeros((count, count)), np.zeros(count)
    for part, tensor in zip(packed, tensors, strict=True):
        residual, basis, coefficients = _projected(part, directions, tensor.ndim)
        derivatives = coefficients[:, None, None] * packed_power_derivatives(directions, tensor.ndim)
        rows = derivatives.reshape(count, -1)
        rows = rows - (rows @ basis) @ basis.T
        gram += rows @ rows.T
        target += rows @ residual
    return gram, target


def _solved(gram: np.ndarray, target: np.ndarray, damping: float) -> np.ndarray:
    """The damped step; the smallest eigenvalues (a scale per direction, at least) are not moved along."""
    values, vectors = scipy.linalg.eigh(gram)
    largest = float(values[-1])
    is_seen = values > RANK_TOL * largest
    along = (vectors.T @ target)[is_seen] / (values[is_seen] + damping * largest)
    return vectors[:, is_seen] @ along
