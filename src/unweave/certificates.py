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
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.networks import Network
from unweave.parameters import JacobianOperator, ParameterVector, dense_jacobian
from unweave.refinement.conjugate_gradients import HermitePreconditioner

CONFIDENCE = 0.95
# Parameters up to which the smallest singular value is computed; above it is estimated.
EXACT_SINGULAR_LIMIT = 2_000
EIGENSOLVER_STEPS = 25


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
        smallest_singular: smallest singular value of the weighted Jacobian per square root of its rows.
        is_singular_estimated: whether that is an estimate (large networks) or computed exactly.
        radius: relative error of any parameter of the exact network, if one lies within `isolation`.
        isolation: no other network with these answers is nearer than this. Both speak of the worst
            neuron for their purpose, so that the radius of a weak neuron may exceed the isolation of
            a strong one.
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
        return bool(np.isfinite(self.radius))


def certify(
    network: Network,
    *,
    points: Points,
    values: Values,
    fresh_points: Float64[np.ndarray, "fresh inputs"],
    fresh_values: Float64[np.ndarray, "fresh outputs"],
    noise: float,
) -> Certificate:
    """Judge a network by the answers it was fitted to and by fresh ones.

    The coverage is distribution-free: if more than ``1 - coverage`` of the domain had larger errors,
    all of `fresh_queries` independent points would miss it with probability below ``1 - confidence``.

    For the parameters: with the distance r weighted so that the residuals bend by at most r^2, every
    exact network has ``F(theta*) - F(theta) = J (theta* - theta) + R``, ``|R| <= r^2 / 2``, so
    ``sigma r <= rho + r^2 / 2``: r is below the smaller or above the larger root of that quadratic.
    `rho` is the part of residuals and answer errors that parameters could explain.

    Assumes: the errors of the answers have a root mean square of at most the noise.
    """
    errors = np.abs(fresh_values - network(fresh_points))
    rms_error = float(np.sqrt(np.mean(errors**2)))
    residuals = values - network(points)
    weights = _curvature_weights(network, points)
    # What the fit left over has no part in the columns of the Jacobian at its minimum; the errors
    # of the answers may. Fresh answers tell how large those are if the noise was underestimated.
    answer_error = max(noise, rms_error) * np.sqrt(values.size)
    sigma, leftover, is_estimated = _singular_value(network, points, residuals, weights)
    rho = leftover + answer_error
    discriminant = sigma**2 - 2 * rho
    root = np.sqrt(max(discriminant, 0.0))
    has_neurons = network.widths[0] > 0
    is_isolated = discriminant > 0 or not has_neurons
    # (sigma - root) without cancellation; dividing by the smallest weight gives a relative error.
    return Certificate(
        largest_error=float(np.max(errors)),
        rms_error=rms_error,
        fresh_queries=len(fresh_points),
        confidence=CONFIDENCE,
        coverage=float((1 - CONFIDENCE) ** (1 / len(fresh_points))),
        noise=noise,
        smallest_singular=float(sigma / np.sqrt(values.size)),
        is_singular_estimated=is_estimated,
        radius=float(2 * rho / (sigma + root) / np.min(weights)) if is_isolated else np.inf,
        isolation=(float((sigma + root) / np.max(weights)) if has_neurons else np.inf) if is_isolated else 0.0,
    )


def _curvature_weights(network: Network, points: Points) -> Float64[np.ndarray, "parameters"]:
    """One weight per parameter so that the residuals bend by at most ``|weights * step|^2`` in norm.

    For neuron k a step changes the argument at x by ``delta . (x, 1)``. By the triangle inequality over
    neurons the norm of the second derivative is at most ``sum_k L_k |step_k|^2`` with, in relative
    parameters, ``L_k = |a_k| (sup|g''| |w_k|^2 sqrt(Q) + sup|g'| |w_k| sqrt(P))``, where P and Q are the
    largest eigenvalues of ``sum (x,1)(x,1)^T`` and of the same sum weighted by ``|(x,1)|^2``. The
    affine part does not bend; it shares the smallest weight.
    """
    vector = ParameterVector(network)
    neurons, inputs, outputs = network.widths[0], network.inputs, network.outputs
    if neurons == 0:
        return np.ones(vector.count)
    activation = network.layers[0].activation
    lifted = np.hstack([points, np.ones((len(points), 1))])
    second = np.linalg.eigvalsh(lifted.T @ lifted)[-1]
    fourth = np.linalg.eigvalsh(lifted.T @ (lifted * np.sum(lifted**2, axis=1, keepdims=True)))[-1]
    length, pull = vector.neuron_sizes, vector.output_sizes
    bends = pull * (
        activation.supremum(2) * length**2 * np.sqrt(fourth) + activation.supremum(1) * length * np.sqrt(second)
    )
    per_neuron = np.sqrt(bends)
    affine = np.full(vector.count - neurons * (inputs + 1 + outputs), np.min(per_neuron))
    return np.concatenate([np.repeat(per_neuron, inputs), per_neuron, np.tile(per_neuron, outputs), affine])


def _singular_value(
    network: Network, points: Points, residuals: Values, weights: Float64[np.ndarray, "parameters"]
) -> tuple[float, float, bool]:
    """Smallest singular value of the weighted Jacobian, the residual in its range, whether it is estimated."""
    if network.parameters <= EXACT_SINGULAR_LIMIT:
        jacobian = dense_jacobian(network, points) / weights
        factor, triangle = np.linalg.qr(jacobian)
        leftover = float(np.linalg.norm(factor.T @ residuals.ravel()))
        return float(scipy.linalg.svdvals(triangle)[-1]), leftover, False
    # The estimate comes from above, within ten percent in practice: half of it is on the safe side.
    return 0.5 * _estimated_singular(network, points, weights), float(np.linalg.norm(residuals)), True


def _estimated_singular(network: Network, points: Points, weights: Float64[np.ndarray, "parameters"]) -> float:
    """Preconditioned eigensolver on ``J^T J``: approaches the smallest singular value from above."""
    operator, preconditioner = JacobianOperator(network, points), HermitePreconditioner(network, points)
    count = network.parameters

    def as_operator(apply: Callable[[np.ndarray], np.ndarray]) -> scipy.sparse.linalg.LinearOperator:
        # The stubs describe the class, not what its constructor returns for a shape and functions.
        return scipy.sparse.linalg.LinearOperator(  # pyright: ignore[reportCallIssue]
            (count, count),
            matvec=lambda step: apply(np.ravel(step)),  # pyright: ignore[reportCallIssue]
            dtype=np.float64,  # pyright: ignore[reportCallIssue]
        )

    start = (weights * preconditioner(np.random.default_rng(0).standard_normal(count)))[:, None]
    with warnings.catch_warnings():
        # It warns that it stopped before full accuracy, which is what was asked for.
        warnings.simplefilter("ignore", UserWarning)
        values, _ = scipy.sparse.linalg.lobpcg(
            as_operator(lambda step: operator.backward(operator.forward(step / weights)) / weights),
            start,
            M=as_operator(lambda step: weights * preconditioner(weights * step)),
            largest=False,
            maxiter=EIGENSOLVER_STEPS,
            tol=0.0,
        )
    return float(np.sqrt(max(values[0], 0.0)))
