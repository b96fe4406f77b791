"""Signs of the neurons of a relu network without an affine part of its own, and which signs are open.

``relu(t) = relu(-t) + t``: with the neurons of a set F flipped, ``(w_i, b_i) -> (-w_i, -b_i)``, a network keeps its
function if the affine part grows by ``sum_F a_i (<w_i, x> + b_i)``. So a network whose affine part vanishes has the
same function under other signs if and only if ``sum_F a_i w_i = 0`` and ``sum_F a_i b_i = 0``: this is all that the
theorem on signs leaves open. In contrast to `unweave.networks.signs`, the offset has to vanish as well, which is one
equation more.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.learn.relu_network.hermite_units import unit_parameters
from unweave.networks.network import Network
from unweave.networks.signs import resolved
from unweave.networks.symmetries import reflect
from unweave.numerics.binary_systems import BinarySystem

# Singular values of the flips below this share of the largest leave flips open to least squares.
FULL_RANK = 1e-6
# Flips by least squares come out as 0 or 1 up to errors; farther from both than this they are no evidence.
LARGEST_ROUNDING = 0.25


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
        needs pairwise non-parallel weights [document, Theorem 3.4].
    """
    columns = flip_columns(network)
    tolerance = relative_tol * float(np.linalg.norm(columns))
    choices = BinarySystem(columns, np.zeros(len(columns)), tolerance).solutions()
    return SignChoices(choices.vectors[choices.residuals <= 1.0], choices.is_complete)


def resolve_relu_signs(network: Network, *, relative_tol: float, has_offset: bool = False) -> ReluSigns:
    """Decide which signs remove slope and offset of the affine part.

    With linearly independent columns ``a_i (w_i, b_i)`` least squares gives the flips, with a margin of 1/2 for every
    neuron whatever its bias; so up to one neuron more than inputs. Otherwise all choices of 0 and 1 are searched.

    Args:
        network: shallow relu network with one output; slope and offset as measured for these signs.
        relative_tol: error of slope and offset, relative to the norm of all columns. What exceeds it is kept as an
            affine part: neurons with large biases leave one.
        has_offset: whether the network may have an offset of its own: then only the slope has to vanish, which is one
            equation less, and the offset that goes with the signs is kept.

    Raises:
        InvalidInput: if it is another kind of network.
    """
    equations = slice(None, -1) if has_offset else slice(None)
    columns, target = flip_columns(network)[equations], -_affine_part(network)[equations]
    largest = float(np.max(np.linalg.norm(columns, axis=0), initial=0.0))
    tolerance = relative_tol * float(np.linalg.norm(columns))
    values = np.linalg.svd(columns, compute_uv=False)
    if columns.shape[1] <= len(columns) and np.all(values > FULL_RANK * values[:1]):
        return _rounded(network, columns, target, tolerance, has_offset=has_offset)
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
    network: Network, columns: np.ndarray, target: np.ndarray, tolerance: float, *, has_offset: bool
) -> ReluSigns:
    """Least squares, rounded to 0 and 1; neurons that are not clearly one or the other stay open."""
    solved = np.linalg.lstsq(columns, target, rcond=None)[0]
    flips = solved > 0.5
    distances = np.abs(solved - flips)
    is_open = distances > LARGEST_ROUNDING
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
