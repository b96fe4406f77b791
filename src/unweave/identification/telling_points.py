"""What answers leave open: how far their errors reach, which others would tell most, which neurons look like one."""

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.certificates.large_jacobians import SINGULAR_RULES
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector, is_shallow, shallow_jacobian


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


def hidden_shift(network: Network, size: float) -> float:
    """How far a kink may be from those of two neurons that were taken for one, if the difference is below a size.

    In units of the neuron, for the one that shows least; 0 for networks without kinks or of several layers. A kink that
    is ``t`` away from both differs by its output weight times ``t`` beside it, one between them by half of that.
    """
    if not is_shallow(network) or not network.layers[0].activation.kinks:
        return 0.0
    hidden, output = network.layers
    activation, kinks = hidden.activation, np.array(hidden.activation.kinks)
    jumps = np.abs(activation(np.nextafter(kinks, np.inf), 1) - activation(np.nextafter(kinks, -np.inf), 1))
    lengths = np.linalg.norm(np.hstack([hidden.weights, hidden.biases[:, None]]), axis=1)
    shown = np.max(np.abs(output.weights), axis=0, initial=0.0) * lengths * float(np.min(jumps))
    with np.errstate(divide="ignore"):
        return float(np.max(2.0 * size / shown, initial=0.0))


def twin_distance(network: Network, points: Points, limit: float) -> float:
    """Give the distance of two smooth neurons, relative to their weights, below which answers show one between them.

    Two halves of a neuron ``a g(z)`` whose weights of an input x differ by ``d`` are not the whole by
    ``a g''(z) (d x)^2 / 8``. The direction in which that is smallest counts, of inputs, bias, and the neuron itself:
    two that are a little more and a little less steep differ by ``a g''(z) (d z)^2 / 8``, which is small in the slab of
    a steep neuron, and which a change of its length, bias and output weight hides in part. Zero if unknown.
    """
    hidden = network.layers[0]
    if not is_shallow(network) or not hidden.activation.is_smooth or hidden.neurons == 0:
        return 0.0
    vector, activation = ParameterVector(network), hidden.activation
    lifted, arguments = np.column_stack([points, np.ones(len(points))]), hidden.preactivations(points)
    bends, slopes = activation(arguments, 2), activation(arguments, 1)
    # Fourth powers of the inputs, weighted by squared bends: means over the points, per neuron and direction.
    squares = np.min((bends**2).T @ lifted**4 / len(points), axis=1)
    changes = np.stack([activation(arguments), slopes, slopes * arguments, np.ones_like(arguments)], axis=2)
    steeper = _unexplained_squares(bends * arguments**2, changes)
    weakest = vector.output_sizes * np.sqrt(np.minimum(vector.neuron_sizes**4 * squares, steeper))
    with np.errstate(divide="ignore"):
        return float(min(np.sqrt(8.0 * limit / np.min(weakest)), 1.0))


def _unexplained_squares(
    values: Float64[np.ndarray, "points neurons"], columns: Float64[np.ndarray, "points neurons columns"]
) -> Float64[np.ndarray, "neurons"]:
    """Give the mean squares that least squares leaves of values, per neuron."""
    grams = np.einsum("pni,pnj->nij", columns, columns)
    products = np.einsum("pni,pn->ni", columns, values)
    solutions = np.einsum("nij,nj->ni", np.linalg.pinv(grams, rcond=1e-12, hermitian=True), products)
    rest = values - np.einsum("pni,ni->pn", columns, solutions)
    return np.mean(rest**2, axis=0)
