"""What may be claimed about a recovered network, and on what evidence.

Two independent claims. Fresh answers bound the error of the function: they were not used to fit
it. The Jacobian at the recovered network bounds the error of its parameters: every network of the
same architecture that gives the same answers is either within `radius` or farther than `isolation`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from unweave.arrays import Points, Values
from unweave.networks import Network
from unweave.parameters import JacobianOperator, ParameterVector, dense_jacobian
from unweave.refinement.conjugate_gradients import HermitePreconditioner

CONFIDENCE = 0.95
# Parameters up to which the smallest singular value is computed; above it is estimated.
EXACT_SINGULAR_LIMIT = 2_000
NORMAL_SINGULAR_LIMIT = 4_000
EIGENSOLVER_STEPS = 40


@dataclass(frozen=True)
class Certificate:
    """Evidence for a recovered network. Errors of values are in units of the spread of the output.

    Args:
        largest_error: largest error of the function on the fresh queries.
        rms_error: root mean square error on the fresh queries.
        fresh_queries: how many there were.
        confidence: probability of the claim on `coverage`.
        coverage: at least this share of the domain has errors of at most `largest_error`.
        noise: noise of one answer, same units.
        smallest_singular: smallest singular value of the Jacobian per square root of its rows.
        is_singular_estimated: whether that is an estimate (large networks) or computed.
        radius: relative error of any parameter of the exact network, if one lies within `isolation`.
        isolation: no other network with these answers is nearer than this, in the same units.
    """

    largest_error: float
    rms_error: float
    fresh_queries: int
    confidence: float
    coverage: float
    noise: float
    smallest_singular: float
    is_singular_estimated: bool
    radius: float
    isolation: float

    @property
    def is_isolated(self) -> bool:
        """Whether the Newton-Kantorovich inequality holds, so that radius and isolation are finite."""
        return np.isfinite(self.radius)


def certify(
    network: Network, *, points: Points, values: Values, fresh_points: Points, fresh_values: Values, noise: float
) -> Certificate:
    """Judge a network by the answers it was fitted to and by fresh ones.

    The coverage is distribution-free: if more than ``1 - coverage`` of the domain had larger errors,
    all of `fresh_queries` independent points would miss it with probability below ``1 - confidence``.

    For the parameters: F(theta*) - F(theta) = J (theta* - theta) + R with ``|R| <= L r^2 / 2``, so
    ``sigma r <= rho + L r^2 / 2`` for every exact network at distance r; the roots of that quadratic
    are `radius` and `isolation`.
    """
    errors = np.abs(fresh_values - network(fresh_points))
    residual = float(np.linalg.norm(values - network(points)))
    rows = values.size
    sigma, is_estimated = _smallest_singular(network, points)
    curvature = _curvature_bound(network, points)
    rho = residual + noise * np.sqrt(rows)
    discriminant = sigma**2 - 2 * curvature * rho
    isolated = discriminant > 0 and curvature > 0
    root = np.sqrt(max(discriminant, 0.0))
    affine = curvature == 0.0 and sigma > 0
    return Certificate(
        largest_error=float(np.max(errors)),
        rms_error=float(np.sqrt(np.mean(errors**2))),
        fresh_queries=len(fresh_points),
        confidence=CONFIDENCE,
        coverage=float((1 - CONFIDENCE) ** (1 / len(fresh_points))),
        noise=noise,
        smallest_singular=sigma / np.sqrt(rows),
        is_singular_estimated=is_estimated,
        # (sigma - root) / L without cancellation
        radius=2 * rho / (sigma + root) if isolated or affine else np.inf,
        isolation=np.inf if affine else (sigma + root) / curvature if isolated else 0.0,
    )


def _curvature_bound(network: Network, points: Points) -> float:
    """Bound L on the second derivative of all residuals in the relative parameters.

    With ``q^2 = |x|^2 + 1`` a unit step of neuron k changes its argument by at most ``|w_k| q``, so one
    value bends by at most ``|a_k| (sup|g''| |w_k|^2 q^2 + sup|g'| |w_k| q)``.
    """
    hidden = network.layers[0]
    if hidden.neurons == 0:
        return 0.0
    vector = ParameterVector(network)
    slope, bend = hidden.activation.supremum(1), hidden.activation.supremum(2)
    q = np.sqrt(np.sum(points**2, axis=1) + 1.0)[:, None] * vector.neuron_sizes
    per_point = np.max(vector.output_sizes * (bend * q**2 + slope * q), axis=1)
    return float(np.linalg.norm(per_point))


def _smallest_singular(network: Network, points: Points) -> tuple[float, bool]:
    """Smallest singular value of the Jacobian, and whether it is only an estimate."""
    count = network.parameters
    if count <= EXACT_SINGULAR_LIMIT:
        triangle = scipy.linalg.qr(dense_jacobian(network, points), mode="r", overwrite_a=True)[0][:count]
        return float(scipy.linalg.svdvals(triangle)[-1]), False
    if count <= NORMAL_SINGULAR_LIMIT:
        jacobian = dense_jacobian(network, points)
        smallest = scipy.linalg.eigh(jacobian.T @ jacobian, eigvals_only=True, subset_by_index=(0, 0))[0]
        return float(np.sqrt(max(smallest, 0.0))), False
    return _estimated_singular(network, points), True


def _estimated_singular(network: Network, points: Points) -> float:
    """Preconditioned eigensolver on ``J^T J``: approaches the smallest singular value from above."""
    operator, preconditioner = JacobianOperator(network, points), HermitePreconditioner(network, points)
    count = network.parameters

    def as_operator(apply: Callable[[np.ndarray], np.ndarray]) -> scipy.sparse.linalg.LinearOperator:
        return scipy.sparse.linalg.LinearOperator(
            (count, count), matvec=lambda step: apply(np.ravel(step)), dtype=np.float64
        )

    start = np.random.default_rng(0).standard_normal((count, 1))
    with warnings.catch_warnings():
        # It warns that it stopped before full accuracy, which is what was asked for.
        warnings.simplefilter("ignore", UserWarning)
        values, _ = scipy.sparse.linalg.lobpcg(
            as_operator(lambda step: operator.backward(operator.forward(step))),
            np.column_stack([preconditioner(column) for column in start.T]),
            M=as_operator(preconditioner),
            largest=False,
            maxiter=EIGENSOLVER_STEPS,
            tol=0.0,
        )
    return float(np.sqrt(max(values[0], 0.0)))
