"""What answers leave open: how far their errors reach, and which others would tell most."""

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.certificates.large_jacobians import SINGULAR_RULES
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow, shallow_jacobian


def leverages(
    network: Network, points: Points, at: Float64[np.ndarray, "places inputs"]
) -> Float64[np.ndarray, "places"] | None:
    """Say how much errors of fitted answers move the values of a shallow network elsewhere; None if they are too few.

    Independent errors of one standard deviation at the points that were fitted move values by this many of them: the
    square root of what statistics calls the leverage, for the output where it is largest; infinite where values rest on
    parameters that no fitted answer depends on.
    """
    if network.parameters > SINGULAR_RULES.estimated_from or len(points) * network.outputs < network.parameters:
        return None
    if len(at) == 0:
        return np.zeros(0)
    triangle = np.asarray(np.linalg.qr(shallow_jacobian(network, points), mode="r"))
    # Exact zeros would be refused; divided by the smallest number what rests on them is infinite.
    undetermined = np.flatnonzero(np.diagonal(triangle) == 0.0)
    triangle[undetermined, undetermined] = np.finfo(float).tiny
    rows = shallow_jacobian(network, at)[: len(at) * network.outputs]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved = scipy.linalg.solve_triangular(triangle, rows.T, trans="T", check_finite=False)
        lengths = np.linalg.norm(moved, axis=0).reshape(len(at), network.outputs)
    return np.nan_to_num(np.max(lengths, axis=1), nan=np.inf, posinf=np.inf)


def most_telling(
    network: Network, points: Points, candidates: Float64[np.ndarray, "candidates inputs"], count: int
) -> Float64[np.ndarray, "chosen inputs"]:
    """Choose candidates where a shallow network is least determined by the points that it was fitted to.

    They lie where one neuron bends and others do not, as between two kinks that are nearly the same.
    """
    if not is_shallow(network) or (spread := leverages(network, points, candidates)) is None:
        return candidates[:0]
    return candidates[np.argsort(-spread, kind="stable")[:count]]
