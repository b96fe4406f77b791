"""The smallest singular value of Jacobians that are too large to be factorised with it.

Four ways: an eigensolver that needs only products with the Jacobian of a shallow network, and gives an estimate; the
normal equations of a deep one, where their rounding does not matter; Lanczos steps on the inverse of a triangle; and
the same with a proof.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64, Int64

from unweave.arrays import Points, Values
from unweave.networks import parameters
from unweave.networks.network import Network
from unweave.numerics.conjugate_gradients import HermitePreconditioner


@dataclass(frozen=True, kw_only=True)
class SingularRules:
    """In which way smallest singular values are found, and when an estimate is believed.

    Args:
        proven_from: parameters from which on they are bounded by a proof, in a third of the time of all of them.
        estimated_from: parameters from which on those of shallow networks are estimated. Chosen: a Jacobian with twice
            as many rows takes 64 MB there, and its factors a second or two.
        lanczos_tol: relative error of Lanczos steps; ten times as much is taken off what they find.
        eigensolver: steps of a round. Chosen: half of what they give is below the exact value, as tests check. And
            rounds at most, for activations with kinks, until the eigenvalue falls by less than a fifth.
        points_per_side: per weight, on each side of a neuron's kinks, below which nothing is estimated: with 1.1 the
            eigensolver was seen to end at the double of the exact value, with 1.25 at 1.002 of it.
    """

    proven_from: int = 500
    estimated_from: int = 2_000
    lanczos_tol: float = 1e-4
    eigensolver: tuple[int, int] = (25, 12)
    points_per_side: float = 1.25


SINGULAR_RULES = SingularRules()


def estimated_singular(network: Network, points: Points, weights: Float64[np.ndarray, "parameters"]) -> float:
    """Estimate, on the safe side, the smallest singular value of the weighted Jacobian of a shallow network."""
    if not _has_both_sides(network, points):
        return 0.0
    # The eigensolver comes from above, within ten percent in practice: half of it is on the safe side. Neurons that are
    # nearly the same are seen by few answers, and hide from it.
    return 0.5 * min(_from_above(network, points, weights), _of_groups(network, points, weights))


def _of_groups(
    network: Network,
    points: Points,
    weights: Float64[np.ndarray, "parameters"],
    *,
    near: float = 0.5,
    most_groups: int = 20,
    most_neurons: int = 5,
) -> float:
    """Give the smallest singular value of the columns of a few neurons that are alike; infinite if none are.

    That of pairs and triples at angles of 0.3 to 1e-5, alone, was 1.0 to 1.5 times that of all columns.

    Args:
        network: a shallow one.
        points: where its Jacobian is taken.
        weights: of its parameters.
        near: sine of the angle of weights and biases below which neurons are alike.
        most_groups: around the nearest pairs.
        most_neurons: of a group.
    """
    hidden = network.layers[0]
    lifted = np.column_stack([hidden.weights, hidden.biases])
    lifted = lifted / np.maximum(np.linalg.norm(lifted, axis=1), np.finfo(float).tiny)[:, None]
    sines = np.sqrt(np.maximum(1.0 - (lifted @ lifted.T) ** 2, 0.0))
    first, second = np.triu_indices(hidden.neurons, 1)
    pairs = np.argsort(sines[first, second])[:most_groups]
    groups: set[tuple[int, ...]] = set()
    for k in pairs[sines[first, second][pairs] < near]:
        distances = np.minimum(sines[first[k]], sines[second[k]])
        order = np.argsort(distances)[:most_neurons]
        groups.add(tuple(sorted({int(first[k]), int(second[k]), *order[distances[order] < near].tolist()})))
    return min((_of_neurons(network, points, weights, np.array(group)) for group in groups), default=np.inf)


def _of_neurons(network: Network, points: Points, weights: np.ndarray, chosen: Int64[np.ndarray, "chosen"]) -> float:
    """Give the smallest singular value of the columns of some neurons, and of the offsets."""
    hidden, output = network.layers
    neurons, inputs, outputs = hidden.neurons, network.inputs, network.outputs
    few = (
        replace(hidden, weights=hidden.weights[chosen], biases=hidden.biases[chosen]),
        replace(output, weights=output.weights[:, chosen]),
    )
    own = [
        (chosen[:, None] * inputs + np.arange(inputs)).ravel(),
        neurons * inputs + chosen,
        (neurons * (inputs + 1 + np.arange(outputs))[:, None] + chosen).ravel(),
        neurons * (inputs + 1 + outputs) + np.arange(outputs),
    ]
    columns = parameters.shallow_jacobian(Network(few), points) / weights[np.concatenate(own)]
    return float(scipy.linalg.svdvals(np.linalg.qr(columns, mode="r"))[-1])


def _has_both_sides(network: Network, points: Points) -> bool:
    """Whether every neuron bends between enough points to be determined by them.

    A neuron that is hardly ever active, or that others and the affine part replace at nearly all points,
    may be undetermined without the eigensolver noticing.
    """
    hidden = network.layers[0]
    if hidden.activation.is_smooth or hidden.neurons == 0:
        return True
    is_steep = hidden.activation(hidden.preactivations(points), 1) > 0.5
    rarer = np.minimum(np.sum(is_steep, axis=0), np.sum(~is_steep, axis=0))
    return bool(np.min(rarer) >= SINGULAR_RULES.points_per_side * (network.inputs + 1))


def _from_above(network: Network, points: Points, weights: Float64[np.ndarray, "parameters"]) -> float:
    """Preconditioned eigensolver on ``J^T J``: approaches the smallest singular value from above."""
    operator, preconditioner = parameters.JacobianOperator(network, points), HermitePreconditioner(network, points)
    count = network.parameters

    def as_operator(apply: Callable[[np.ndarray], np.ndarray]) -> scipy.sparse.linalg.LinearOperator:
        # The stubs describe the class, not what its constructor returns for a shape and functions.
        return scipy.sparse.linalg.LinearOperator(  # pyright: ignore[reportCallIssue]
            (count, count),
            matvec=lambda step: apply(np.ravel(step)),  # pyright: ignore[reportCallIssue]
            dtype=np.float64,  # pyright: ignore[reportCallIssue]
        )

    vector = (weights * preconditioner(np.random.default_rng(0).standard_normal(count)))[:, None]
    value, is_settled = np.inf, False
    # A kinked neuron that is active at few points is nearly undetermined, which no expansion foresees.
    steps, rounds = SINGULAR_RULES.eigensolver
    for _ in range(1 if network.layers[0].activation.is_smooth else rounds):
        if is_settled:
            break
        with warnings.catch_warnings():
            # It warns that it stopped before full accuracy, which is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            values, vector = scipy.sparse.linalg.lobpcg(
                as_operator(lambda step: operator.backward(operator.forward(step / weights)) / weights),
                vector,
                M=as_operator(lambda step: weights * preconditioner(weights * step)),
                largest=False,
                maxiter=steps,
                tol=0.0,
            )
        is_settled, value = values[0] > 0.8 * value, min(float(values[0]), value)
    return float(np.sqrt(max(value, 0.0)))


def singular_by_products(
    jacobian: parameters.LayeredJacobian, residuals: Values, weights: Float64[np.ndarray, "parameters"]
) -> tuple[float, float] | None:
    """Smallest singular value, and the residual in the range, from ``J^T J``; None where its rounding could matter.

    The cost is an eighth of that of factorising J. The rounding errors of the product and of its factorisation are
    below ``(rows + columns) eps trace``.
    """
    gram, target = jacobian.normal_equations(residuals)
    gram /= weights
    gram /= weights[:, None]
    rounding = (residuals.size + 2 * len(weights)) * np.finfo(float).eps * float(np.trace(gram))
    try:
        triangle = scipy.linalg.cholesky(gram, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    square = lanczos_singular(triangle) ** 2 - rounding
    if square < rounding:
        return None
    return float(np.sqrt(square)), float(
        np.linalg.norm(_solve_triangle(triangle, target / weights, is_transposed=True))
    )


def smallest_singular(triangle: Float64[np.ndarray, "parameters parameters"], *, may_prove: bool = True) -> float:
    """Give the smallest singular value of a triangle: itself, a lower bound of it, or an estimate of a large one."""
    if len(triangle) <= SINGULAR_RULES.proven_from:
        return float(scipy.linalg.svdvals(triangle)[-1])
    return proven_singular(triangle) if may_prove else lanczos_singular(triangle)


def lanczos_singular(triangle: Float64[np.ndarray, "parameters parameters"]) -> float:
    """Smallest singular value of a triangle, by Lanczos steps on its inverse."""
    if not np.all(np.diag(triangle)):
        return 0.0

    inverse = scipy.sparse.linalg.LinearOperator(  # pyright: ignore[reportCallIssue]
        triangle.shape,
        matvec=lambda step: _solve_triangle(triangle, _solve_triangle(triangle, np.ravel(step), is_transposed=True)),  # pyright: ignore[reportCallIssue]
        dtype=np.float64,  # pyright: ignore[reportCallIssue]
    )
    start, tol = np.random.default_rng(0).standard_normal(len(triangle)), SINGULAR_RULES.lanczos_tol
    largest = scipy.sparse.linalg.eigsh(inverse, k=1, v0=start, tol=tol, return_eigenvectors=False)  # pyright: ignore[reportArgumentType]
    # Lanczos approaches the largest eigenvalue from below.
    return float((1 - 10 * tol) / np.sqrt(largest[0]))


def proven_singular(
    triangle: Float64[np.ndarray, "parameters parameters"], *, powers: int = 30, most_trials: int = 40
) -> float:
    """Give a lower bound of the smallest singular value of a triangle, a few percent below it.

    The square of its inverse is below a limit if the difference has a Cholesky factor, up to the rounding of both,
    which is added to the limit. That takes a third of the time of all singular values.

    Args:
        triangle: the upper one.
        powers: of the square, that estimate its largest eigenvalue from below.
        most_trials: limits that are tried, each ten percent above the last.
    """
    inverse, failed = scipy.linalg.lapack.dtrtri(triangle)
    unit = float(np.max(np.abs(inverse := np.triu(inverse))))
    if failed or not 0.0 < unit < np.inf:
        return 0.0
    inverse /= unit
    square, count = inverse @ inverse.T, len(triangle)
    rounding = 4 * count * np.finfo(float).eps * float(np.trace(square))
    vector, estimate = np.random.default_rng(0).standard_normal(count), 0.0
    for _ in range(powers):
        vector = square @ (vector / np.linalg.norm(vector))
        estimate = float(np.linalg.norm(vector))
    limit = 1.02 * estimate
    for _ in range(most_trials):
        difference = -square
        difference[np.diag_indices(count)] += limit
        try:
            scipy.linalg.cholesky(difference, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            limit *= 1.1
        else:
            return float(1.0 / (unit * np.sqrt(limit + rounding)))
    return 0.0


def _solve_triangle(triangle: np.ndarray, right: np.ndarray, *, is_transposed: bool = False) -> np.ndarray:
    return scipy.linalg.solve_triangular(triangle, right, trans=int(is_transposed), check_finite=False)
