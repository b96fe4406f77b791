"""Put a shallow network together from directions and fitted profiles."""

from dataclasses import replace

import numpy as np
import scipy.optimize
from jaxtyping import Float64

from unweave.assembly.profiles import ProfileFit
from unweave.measurements.derivatives import HessianSample
from unweave.networks import Network
from unweave.symmetries import reflect

# Branches of the search for flips, and neurons per equation up to which it is tried.
NODE_LIMIT = 5_000
MOST_UNKNOWNS = 2.5


def assemble(
    sample: HessianSample,
    atoms: Float64[np.ndarray, "neurons rank"],
    fit: ProfileFit,
    *,
    outside: Float64[np.ndarray, "outputs inputs"],
) -> Network:
    """Build ``f(x) = c + sum_k a_k g(s_k <u_k, x> + b_k) + B x`` from atoms along the sample's frame.

    The affine remainder ``c + B x`` comes from the values and gradients that were measured along
    with the Hessians; `outside` is the part of B orthogonal to the frame.
    """
    neurons = Network.shallow(
        weights=fit.scales[:, None] * (atoms @ sample.frame.T),
        biases=fit.biases,
        output_weights=fit.curvatures / fit.scales**2,
        offset=np.zeros(sample.values.shape[1]),
        activation=fit.activation,
        skip=np.zeros((sample.values.shape[1], len(sample.frame))),
    )
    gradients = sample.gradients - neurons.gradients(sample.points) @ sample.frame
    slope = np.mean(gradients, axis=0) @ sample.frame.T + outside
    rest = sample.values - neurons(sample.points) - sample.points @ slope.T
    output = replace(neurons.layers[-1], biases=np.mean(rest, axis=0))
    return replace(neurons, layers=(neurons.layers[0], output), skip=slope)


def without_skip(network: Network) -> Network:
    """The same neurons without the affine part."""
    return replace(network, skip=None)


def absorb_skip(network: Network, *, relative_tol: float) -> Network:
    """Flip neurons so that the affine part vanishes, where some choice of signs does that.

    For activations with ``g(-t) = g(t) - t`` flipping neuron k adds a known multiple of its weights
    to the affine part. Which flips cancel it is a linear system with unknowns 0 or 1, one equation
    per input and output; an integer programme solves it. With many more neurons than equations
    several choices could come close, so none is tried.

    Returns:
        The network with flipped neurons and no skip, or the network unchanged if no flips cancel it.
    """
    hidden, output = network.layers
    slope = hidden.activation.reflection.slope
    if network.skip is None or slope == 0.0 or not 0 < hidden.neurons <= MOST_UNKNOWNS * network.skip.size:
        return network
    # Flipping neuron k changes the skip by -slope a_k w_k (outputs x inputs).
    changes = -slope * (output.weights.T[:, :, None] * hidden.weights[:, None, :]).reshape(hidden.neurons, -1)
    scale = max(float(np.max(np.abs(changes))), np.finfo(float).tiny)
    target = -network.skip.ravel()
    size = float(np.linalg.norm(changes, axis=1).max())
    allowed = relative_tol * size / scale * np.sqrt(target.size)
    flips = _binary_solution(changes.T / scale, target / scale, tolerance=allowed)
    if flips is None:
        return network
    flipped = reflect(network, 0, flips)
    remaining = 0.0 if flipped.skip is None else float(np.max(np.abs(flipped.skip)))
    return replace(flipped, skip=None) if remaining <= relative_tol * size else network


def _binary_solution(matrix: np.ndarray, target: np.ndarray, *, tolerance: float) -> np.ndarray | None:
    """Solve ``matrix z = target`` up to the tolerance with z in {0, 1}, or None."""
    # An orthogonal factor shrinks the equations to at most as many as unknowns, and well scaled.
    factor, triangle = np.linalg.qr(matrix)
    reduced = factor.T @ target
    # The stubs know bounds as numbers only.
    band = scipy.optimize.LinearConstraint(
        triangle,
        reduced - tolerance,  # pyright: ignore[reportArgumentType]
        reduced + tolerance,  # pyright: ignore[reportArgumentType]
    )
    result = scipy.optimize.milp(
        np.zeros(matrix.shape[1]),
        constraints=band,
        bounds=scipy.optimize.Bounds(0.0, 1.0),
        integrality=np.ones(matrix.shape[1]),
        options={"node_limit": NODE_LIMIT},
    )
    return None if result.x is None else np.round(result.x).astype(bool)
