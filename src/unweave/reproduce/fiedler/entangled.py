"""Entangled weights: the gradients of a deep network's pre-activations, and what they say about its derivatives.

With rows for neurons, ``D_l = diag(g_l'(z_l))`` and ``z_l`` the pre-activations of layer l at a point, the
entangled weights of the layers are ``V_1 = W_1`` and ``V_{l+1} = W_{l+1} D_l V_l``. Gradients are multiples of the
last ones, and every Hessian is a combination of the squares ``v v^T`` of all of them. Only ``V_1`` is the same at
every point; how far the others drift is bounded at the end of this module. Numbers of equations, definitions, lemmas
and theorems are those of [fiedler, Ch. 4].
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, Activation
from unweave.arrays import Atoms, Points, Vector, pack_squares
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import LayerRows
from unweave.networks.network import Network

LayerTables = tuple[Float64[np.ndarray, "outputs _"], ...]


def preactivations(network: Network, point: Vector) -> tuple[Float64[np.ndarray, "_"], ...]:
    """Value before the activation of every neuron, layer by layer (4.5)."""
    values, found = point, []
    for layer in network.layers:
        found.append(layer.weights @ values + layer.biases)
        values = layer.activation(found[-1])
    return tuple(found)


def slopes(network: Network, point: Vector) -> tuple[Float64[np.ndarray, "_"], ...]:
    """The diagonals ``g'(z)`` of every layer, which tie the weights of consecutive layers together."""
    pairs = zip(network.activations, preactivations(network, point), strict=True)
    return tuple(activation(values, 1) for activation, values in pairs)


def entangled_weights(network: Network, point: Vector) -> LayerRows:
    """Gradients of all pre-activations at a point, one matrix per layer with one row per neuron (4.12), (4.18).

    Raises:
        InvalidInput: if the network has a linear part of its own, which is no function of a neuron.
    """
    if network.skip is not None:
        raise InvalidInput("entangled weights are those of a network of layers only: this one has a skip part.")
    rows = [network.layers[0].weights]
    for layer, diagonal in zip(network.layers[1:], slopes(network, point), strict=False):
        rows.append(layer.weights @ (diagonal[:, None] * rows[-1]))
    return tuple(rows)


def sensitivities(network: Network, point: Vector) -> LayerTables:
    """Derivative of every output in the value of every neuron after its activation, layer by layer (4.27)."""
    tables = [np.eye(network.outputs)]
    for layer, diagonal in zip(network.layers[:0:-1], slopes(network, point)[:0:-1], strict=True):
        tables.append((tables[-1] * diagonal) @ layer.weights)
    return tuple(tables[::-1])


def hessian_coefficients(network: Network, point: Vector) -> LayerTables:
    """Coefficient of every ``v v^T`` in the Hessian of every output: sensitivity times ``g''(z)`` (4.27)."""
    bends = (
        activation(values, 2)
        for activation, values in zip(network.activations, preactivations(network, point), strict=True)
    )
    return tuple(table * bend for table, bend in zip(sensitivities(network, point), bends, strict=True))


def hessians_from_entangled(rows: LayerRows, coefficients: LayerTables) -> Float64[np.ndarray, "outputs packed"]:
    """The Hessian of every output, packed, as the sum over all neurons of coefficient times ``v v^T`` (4.26)."""
    parts = [table @ pack_squares(layer) for layer, table in zip(rows, coefficients, strict=True)]
    return np.sum(parts, axis=0)


def normalised(rows: Atoms) -> Atoms:
    """Unit vectors along the rows.

    Raises:
        InvalidInput: if a row is zero.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(lengths > 0):
        raise InvalidInput("a zero vector has no direction: a neuron is dead at this point, choose another.")
    return rows / lengths


def bending_layers(activations: tuple[Activation, ...]) -> int:
    """Number of layers that Hessians can see: all but a linear output layer (L* of Definition 4.3)."""
    return len(activations) - (activations[-1] == IDENTITY)


def target_span(network: Network, point: Vector) -> Float64[np.ndarray, "packed rank"]:
    """Orthonormal basis of the space spanned by all ``v v^T`` at a point [fiedler, Def. 4.3]."""
    rows = entangled_weights(network, point)[: bending_layers(network.activations)]
    return np.linalg.qr(pack_squares(normalised(np.concatenate(rows))).T)[0]


@dataclass(frozen=True)
class EntangledBounds:
    """Bounds that hold at every point, one number per layer.

    Args:
        norms: of the spectral norm of the entangled weights (4.28).
        drifts: of the Lipschitz constant of the entangled weights in the point (4.29).
        coefficients: of the norm of one output's Hessian coefficients (4.30).
    """

    norms: tuple[float, ...]
    drifts: tuple[float, ...]
    coefficients: tuple[float, ...]


def entangled_bounds(network: Network, *, is_sharper: bool = True) -> EntangledBounds:
    """Bounds on entangled weights and Hessian coefficients from norms of the weights (Lemma 4.2).

    The plain form takes one constant, the largest of three derivatives of all activations; the sharper one keeps
    the suprema of the first and the second derivative apart.

    Raises:
        InvalidInput: if an activation has no bounded derivatives (kinks, or polynomials).
    """
    slope, bend = _suprema(network.activations, is_sharper=is_sharper)
    sizes = [float(np.linalg.norm(layer.weights, 2)) for layer in network.layers]
    rows = [float(np.max(np.linalg.norm(layer.weights, axis=1))) for layer in network.layers]
    products = np.cumprod([1.0, *sizes])
    depth = len(sizes)
    shares = [bend * slope**k * rows[k] * products[k] for k in range(depth)]
    norms = [slope**index * products[index + 1] for index in range(depth)]
    drifts = [products[i + 1] * slope ** max(i - 1, 0) * sum(shares[:i]) for i in range(depth)]
    last = network.activations[-1].supremum(1) if not is_sharper else slope
    coefficients = [
        last * bend * slope ** (depth - 2 - i) * rows[-1] * float(np.prod(sizes[i + 1 : -1])) for i in range(depth - 1)
    ]
    curvature = bend if network.activations[-1] != IDENTITY else 0.0
    return EntangledBounds(tuple(norms), tuple(drifts), (*coefficients, curvature))


def drift_constant(network: Network, *, is_sharper: bool = True) -> float:
    """Constant C with ``||H_o(x) - P H_o(x)||_F <= C ||x - x*||``, P the projection on the target span at x*.

    It is the deterministic version of the constant of Theorem 4.1 (4.43), with the inner product over the layers
    before.
    """
    bounds = entangled_bounds(network, is_sharper=is_sharper)
    seen = range(1, bending_layers(network.activations))
    return 2.0 * sum(bounds.coefficients[i] * bounds.norms[i] * bounds.drifts[i] for i in seen)


def largest_hessian(network: Network, *, is_sharper: bool = True) -> float:
    """Bound on the Frobenius norm of every Hessian: the sum over the layers of coefficients and squared norms."""
    bounds = entangled_bounds(network, is_sharper=is_sharper)
    return float(sum(s * b**2 for s, b in zip(bounds.coefficients, bounds.norms, strict=True)))


def wedin_bound(difference: float, smallest: float) -> float:
    """Distance of two spans: spectral norm of the difference of the matrices over the last singular value kept.

    [fiedler, Prop. 1.1] has twice this with the Frobenius norm; the projection of the measured
    matrix on the complement of the true span is that of the difference alone, hence factor one.
    """
    return difference / smallest if smallest > 0 else np.inf


def a_priori_bound(*, learnability: float, drift: float, differentiation_error: float = 0.0) -> float:
    """Theorem 4.1 with its denominator corrected: ``2 (C_eps + drift) / (sqrt(alpha / 2) - C_eps)``.

    The printed ``sqrt(alpha / 2 - C_eps^2)`` rests on ``||M M^T - N N^T|| <= ||M - N||_F^2``, which is false;
    Weyl's inequality for singular values gives this one under the same assumptions.

    Args:
        learnability: alpha, the last kept eigenvalue of the expected second moment of the Hessians.
        drift: root mean square over points and outputs of a Hessian's distance to the target span.
        differentiation_error: largest error of a measured Hessian, in the Frobenius norm.
    """
    denominator = np.sqrt(learnability / 2.0) - differentiation_error
    return float(2.0 * (differentiation_error + drift) / denominator) if denominator > 0 else np.inf


def a_posteriori_bound(*, smallest: float, drift: float, differentiation_error: float = 0.0) -> float:
    """Bound on the subspace error from what was measured, given the drift of the recovered network (plug-in).

    The form of [fiedler, Thm. 4.1] after the measurement.

    Args:
        smallest: last kept singular value of the measured Hessians, over the root of their number.
        drift: as in `a_priori_bound`, computed for the recovered network.
        differentiation_error: as there.
    """
    return wedin_bound(differentiation_error + drift, smallest)


def hessians_needed(learnability: float, *, largest: float, neurons: int, failure: float) -> float:
    """Points after which the matrix Chernoff bound fails with probability at most half of `failure`.

    ``8 B^2 log(2 m / failure) / alpha`` with `largest` for B, read off the proof of Theorem 4.1.
    """
    return 8.0 * largest**2 * float(np.log(2.0 * neurons / failure)) / learnability


def measured_drift(network: Network, points: Points, center: Vector) -> float:
    """Spectral norm of the part of all Hessians outside the target span at `center`, per root of their number.

    The tightest plug-in for `a_posteriori_bound`: it needs the network, but no bound on it.
    """
    hessians = network.hessians(points).reshape(-1, len(target := target_span(network, center)))
    outside = hessians - (hessians @ target) @ target.T
    return float(np.linalg.norm(outside, 2) / np.sqrt(len(hessians)))


def _suprema(activations: tuple[Activation, ...], *, is_sharper: bool) -> tuple[float, float]:
    """Bounds of first and second derivatives over all layers; the same number twice in the plain form."""
    table = [[activation.supremum(order) for order in (1, 2, 3)] for activation in activations]
    if not (all(activation.is_smooth for activation in activations) and np.all(np.isfinite(table))):
        raise InvalidInput(f"bounds need three bounded derivatives, which one of {activations} lacks.")
    if is_sharper:
        return max(row[0] for row in table), max(row[1] for row in table)
    return float(np.max(table)), float(np.max(table))
