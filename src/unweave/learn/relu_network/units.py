"""Shallow relu networks in unit parameters: Hermite coefficients in closed form, and signs of the neurons.

Conventions throughout: inputs are standard Gaussian; polynomials are the probabilists' ones without normalisation,
``He_0 = 1, He_1 = t, He_k+1 = t He_k - k He_k-1``; the tensor of order k is ``T_k = E[f(x) He_k(x)]``, full and
symmetric. With unit directions w_i (rows), ``f(x) = sum_i a_i relu(<w_i, x> + b_i) + <v, x> + c`` has

    T_k = sum_i a_i g_k(b_i) w_i (x) ... (x) w_i   (+ c for k = 0, + v for k = 1),   g_k(b) = E[relu(t + b) He_k(t)].

``phi`` and ``Phi`` are density and distribution function of the standard normal law.

Signs: ``relu(t) = relu(-t) + t``. With the neurons of a set F flipped, ``(w_i, b_i) -> (-w_i, -b_i)``, a network keeps
its function if the affine part grows by ``sum_F a_i (<w_i, x> + b_i)``. So a network whose affine part vanishes has the
same function under other signs if and only if ``sum_F a_i w_i = 0`` and ``sum_F a_i b_i = 0``: this is all that
[awasthi, Thm. 3.4] leaves open. In contrast to `unweave.networks.signs`, the offset has to vanish as well, which is one
equation more.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64
from scipy.special import eval_hermitenorm, ndtr

from unweave.activations import IDENTITY, RELU
from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.signs import resolved
from unweave.networks.symmetries import reflect
from unweave.numerics.binary_systems import BinarySystem
from unweave.samples.hermite.inputs import Coordinates

Biases = PerNeuron


def normal_density(t: Biases) -> Biases:
    """``phi(t)``."""
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def relu_coefficient(order: int, biases: Biases) -> Biases:
    """``g_k(b) = E[relu(t + b) He_k(t)]`` for t standard normal.

    ``g_0 = b Phi(b) + phi(b)``, ``g_1 = Phi(b)`` and ``g_k = (-1)^k He_k-2(b) phi(b)`` from order 2 on. Each is the
    derivative of the one before, and ``g_k(-b) = (-1)^k g_k(b)`` from order 2 on. Order 3 is blind for b = 0, order 4
    for b = 1 and -1; order 2 never is, and no two consecutive orders are for the same bias.
    """
    if order == 0:
        return biases * ndtr(biases) + normal_density(biases)
    if order == 1:
        return ndtr(biases)
    return (-1.0) ** order * eval_hermitenorm(order - 2, biases) * normal_density(biases)


def unit_parameters(network: Network) -> tuple[Atoms, Biases, Biases]:
    """Unit directions, biases and output weights of a shallow relu network with one output.

    ``a relu(<w, x> + b) = |w| a relu(<w, x> / |w| + b / |w|)``.

    Raises:
        InvalidInput: if it is another kind of network, or the weights of a neuron are all zero.
    """
    if len(network.layers) != 2 or network.activations != (RELU, IDENTITY) or network.outputs != 1:
        raise InvalidInput(f"a shallow relu network with one output is needed, got layers of {network.activations}.")
    hidden, output = network.layers
    norms = np.linalg.norm(hidden.weights, axis=1)
    if np.any(norms == 0.0):
        raise InvalidInput("a neuron with zero weights is a constant: move it to the offset.")
    return hidden.weights / norms[:, None], hidden.biases / norms, output.weights[0] * norms


def with_labels_in(network: Network, spread: float) -> Network:
    """The network with labels in another unit."""
    hidden, output = network.layers
    skip = None if network.skip is None else network.skip / spread
    return Network.shallow(
        hidden.weights, hidden.biases, output.weights / spread, output.biases / spread, hidden.activation, skip
    )


def with_neurons(network: Network, kept: Bool[np.ndarray, "neurons"]) -> Network:
    """The network without all other neurons."""
    hidden, output = network.layers
    weights = output.weights[:, kept]
    return Network.shallow(
        hidden.weights[kept], hidden.biases[kept], weights, output.biases, hidden.activation, network.skip
    )


@dataclass(frozen=True, eq=False)
class SignChoices:
    """All flips of neurons that leave a network the same function.

    Args:
        flips: one row per choice; the first flips nothing.
        is_complete: whether there are no others.
    """

    flips: Bool[np.ndarray, "choices neurons"]
    is_complete: bool

    @property
    def open_signs(self) -> Bool[np.ndarray, "neurons"]:
        """Neurons whose sign is not the same in all choices."""
        return np.any(self.flips, axis=0)


@dataclass(frozen=True, eq=False)
class ReluSigns:
    """A relu network with signs that leave as little of an affine part as possible.

    Args:
        network: with the signs that were found, and without an affine part if that is explained by them; otherwise the
            function that came.
        open_signs: neurons whose sign is open.
        solutions: 0 if no choice removes the affine part, 1 if exactly one does, 2 if several do or may.
        margin: 1/2 minus the largest distance of an unknown of the least-squares solution from 0 and 1, where this
            decided; otherwise NaN.
        remainder: norm of slope and offset that are left, relative to the largest of all neurons.
        is_complete: whether all choices were covered.
    """

    network: Network
    open_signs: Bool[np.ndarray, "neurons"]
    solutions: int
    margin: float
    remainder: float
    is_complete: bool


def equivalent_signs(network: Network, *, relative_tol: float = 1e-9) -> SignChoices:
    """All choices of signs that give the same function without changing offset and slope.

    Args:
        network: shallow relu network with one output.
        relative_tol: what may be left of ``sum_F a_i (w_i, b_i)``, relative to the norm of all its terms.

    Raises:
        InvalidInput: if it is another kind of network.

    Guarantees: the condition is exact for every network; that no change of other parameters gives the same function
        needs pairwise non-parallel weights [awasthi, Thm. 3.4].
    """
    columns = flip_columns(network)
    tolerance = relative_tol * float(np.linalg.norm(columns))
    choices = BinarySystem(columns, np.zeros(len(columns)), tolerance).solutions()
    return SignChoices(choices.vectors[choices.residuals <= 1.0], choices.is_complete)


def resolve_relu_signs(
    network: Network,
    *,
    relative_tol: float,
    has_offset: bool = False,
    full_rank: float = 1e-6,
    largest_rounding: float = 0.25,
) -> ReluSigns:
    """Decide which signs remove slope and offset of the affine part.

    With linearly independent columns ``a_i (w_i, b_i)`` least squares gives the flips, with a margin of 1/2 for every
    neuron whatever its bias; so up to one neuron more than inputs. Otherwise all choices of 0 and 1 are searched.

    Args:
        network: shallow relu network with one output; slope and offset as measured for these signs.
        relative_tol: error of slope and offset, relative to the norm of all columns. What exceeds it is kept as an
            affine part: neurons with large biases leave one.
        has_offset: whether the network may have an offset of its own: then only the slope has to vanish, which is one
            equation less, and the offset that goes with the signs is kept.
        full_rank: singular values of the columns below this share of the largest leave flips to the search: least
            squares multiply errors by up to its inverse, and 1e-8 for exact answers still gives flips to 1e-2.
        largest_rounding: flips by least squares come out as 0 or 1 up to errors. Half way to 1/2, where it is open
            which of them is nearer, they are no evidence any more.

    Raises:
        InvalidInput: if it is another kind of network.
    """
    equations = slice(None, -1) if has_offset else slice(None)
    columns, target = flip_columns(network)[equations], -_affine_part(network)[equations]
    largest = float(np.max(np.linalg.norm(columns, axis=0), initial=0.0))
    tolerance = relative_tol * float(np.linalg.norm(columns))
    values = np.linalg.svd(columns, compute_uv=False)
    if columns.shape[1] <= len(columns) and np.all(values > full_rank * values[:1]):
        return _rounded(network, columns, target, tolerance, has_offset=has_offset, largest_rounding=largest_rounding)
    resolution = resolved(network, BinarySystem(columns, target, tolerance))
    found = resolution.network
    is_flipped = np.sum(found.layers[0].weights * network.layers[0].weights, axis=1) < 0.0
    remainder = float(np.linalg.norm(columns @ is_flipped - target)) / (largest or 1.0)
    found = _without_affine_part(found, has_offset=has_offset) if resolution.solutions == 1 else found
    return ReluSigns(found, resolution.open_signs, resolution.solutions, np.nan, remainder, resolution.is_complete)


def flip_columns(network: Network) -> Float64[np.ndarray, "equations neurons"]:
    """What a flip of every neuron adds to slope and offset: ``a_i w_i`` above ``a_i b_i``, one column per neuron."""
    directions, biases, output_weights = unit_parameters(network)
    return output_weights * np.vstack([directions.T, biases])


def _affine_part(network: Network) -> Float64[np.ndarray, "equations"]:
    slope = np.zeros(network.inputs) if network.skip is None else network.skip[0]
    return np.append(slope, network.layers[1].biases)


def _without_affine_part(network: Network, *, has_offset: bool) -> Network:
    hidden, output = network.layers
    return Network((hidden, output if has_offset else replace(output, biases=np.zeros(1))))


def _rounded(
    network: Network,
    columns: np.ndarray,
    target: np.ndarray,
    tolerance: float,
    *,
    has_offset: bool,
    largest_rounding: float,
) -> ReluSigns:
    """Least squares, rounded to 0 and 1; neurons that are not clearly one or the other stay open."""
    solved = np.linalg.lstsq(columns, target, rcond=None)[0]
    flips = solved > 0.5
    distances = np.abs(solved - flips)
    is_open = distances > largest_rounding
    margin = 0.5 - float(np.max(distances, initial=0.0))
    largest = float(np.max(np.linalg.norm(columns, axis=0), initial=0.0)) or 1.0
    if np.any(is_open):
        remainder = float(np.linalg.norm(target)) / largest
        return ReluSigns(network, is_open, 0, margin, remainder, True)
    flipped = reflect(network, 0, flips)
    left = float(np.linalg.norm(_affine_part(flipped)[: len(columns)]))
    is_explained = left <= tolerance
    found = _without_affine_part(flipped, has_offset=has_offset) if is_explained else flipped
    return ReluSigns(found, is_open, int(is_explained), margin, left / largest, True)


def unknowns_of(network: Network) -> int:
    """Free numbers: slope and constant of every neuron, and of the affine part."""
    return (network.widths[0] + (network.skip is not None)) * (network.inputs + 1)


def in_inputs(network: Network, coordinates: Coordinates, *, spread: float = 1.0) -> Network:
    """The network for the inputs themselves, with unit weights, and labels in their own unit."""
    hidden, output = network.layers
    weights, biases = coordinates.pulled_back(hidden.weights, hidden.biases)
    lengths = np.linalg.norm(weights, axis=1)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    skip, offset = None, output.biases
    if network.skip is not None:
        skip, offset = coordinates.pulled_back(network.skip, output.biases)
    return Network.shallow(
        weights / lengths[:, None],
        biases / lengths,
        spread * output.weights * lengths,
        spread * offset,
        hidden.activation,
        None if skip is None else spread * skip,
    )
