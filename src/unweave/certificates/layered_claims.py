"""What answers say about the parameters of a network of any depth: how far from an exact one, and from all others."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Values
from unweave.certificates.curvature_bound import LayeredCurvature
from unweave.certificates.large_jacobians import SINGULAR_RULES, singular_by_products, smallest_singular
from unweave.networks import parameters
from unweave.networks.network import Network


@dataclass(frozen=True)
class ParameterClaim:
    """What answers say about the parameters.

    Args:
        smallest_singular: of the linear system that determines them.
        radius: relative error of any parameter of the exact network, if one lies within `isolation`.
        isolation: no other network with these answers is nearer than this.
        is_made: whether radius and isolation may be claimed.
    """

    smallest_singular: float
    radius: float
    isolation: float
    is_made: bool


def layered_claim(
    network: Network, points: Points, values: Values, answer_error: float, share: float, *, balls: int = 24
) -> ParameterClaim:
    """Claim something about networks of any depth, with the bound of the ball that isolates farthest.

    Args:
        network: whose parameters are meant.
        points: where answers are known.
        values: the answers.
        answer_error: root mean square of their errors.
        share: of the points that may be left out because they are nearest to a kink.
        balls: tried around the network, from twice the singular value down to where the radius is. Chosen.
    """
    curvature = LayeredCurvature(network, points)
    claim = ParameterClaim(smallest_singular=0.0, radius=np.inf, isolation=0.0, is_made=False)
    if not curvature.is_bounded:
        return claim
    if not all(activation.is_smooth for activation in network.activations):
        points, values = (table[farthest(curvature.reaches, network, share)] for table in (points, values))
        curvature = LayeredCurvature(network, points)
    per_layer, residuals = curvature.weights, values - network(points)
    blocks = parameters.ParameterVector(network).blocks
    weights = np.full(network.parameters, np.min(per_layer))
    for weight, block in zip(per_layer, blocks, strict=False):
        weights[block] = weight
    sigma, leftover = _singular(network, points, residuals, weights)
    rho = leftover + answer_error * np.sqrt(residuals.size)
    claim = replace(claim, smallest_singular=float(sigma / np.sqrt(residuals.size)))
    if sigma**2 <= 2 * rho:
        return claim
    for ball in np.geomspace(2 * sigma, max(rho / sigma, 1e-12 * sigma), balls):
        bend = max(curvature.excess(per_layer, ball), np.finfo(float).tiny)
        if not (np.isfinite(bend) and sigma**2 > 2 * bend * rho):
            continue
        root = np.sqrt(sigma**2 - 2 * bend * rho)
        inner, outer = 2 * rho / (sigma + root), min((sigma + root) / bend, float(ball))
        if inner < outer and outer / np.max(weights) > claim.isolation:
            radius, isolation = float(inner / np.min(weights)), float(outer / np.max(weights))
            claim = replace(claim, radius=radius, isolation=isolation, is_made=True)
    return claim


def _singular(
    network: Network, points: Points, residuals: Values, weights: Float64[np.ndarray, "parameters"]
) -> tuple[float, float]:
    """Smallest singular value of the weighted Jacobian of any network, and the residual in its range."""
    if network.parameters > SINGULAR_RULES.estimated_from:
        found = singular_by_products(parameters.LayeredJacobian(network, points), residuals, weights)
        if found is not None:
            return found
    columns = np.column_stack(
        [parameters.dense_jacobian(network, points) / weights, parameters.with_gauge(network, residuals)]
    )
    factored = np.asarray(np.linalg.qr(columns, mode="r"))
    triangle, leftover = factored[: len(weights), :-1], factored[: len(weights), -1]
    may_prove = network.parameters <= SINGULAR_RULES.estimated_from
    return smallest_singular(triangle, may_prove=may_prove), float(np.linalg.norm(leftover))


def farthest(reaches: PerPoint, network: Network, share: float) -> np.ndarray:
    """All points but a share of those that are nearest to a kink."""
    # With fewer numbers than parameters nothing could be claimed at all.
    spare = len(reaches) - -(-network.parameters // network.outputs)
    return np.sort(np.argsort(reaches)[max(0, min(int(share * len(reaches)), spare)) :])
