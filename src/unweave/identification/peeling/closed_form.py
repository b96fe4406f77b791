"""All scales and shifts of a deep network from the derivatives that gave its directions, without any fit.

At the base point let ``n_k`` be the length of an entangled weight ``n_k v_k`` and ``z_k`` its pre-activation. The
gradients have coefficient ``alpha_k ~ n g'(z)`` on ``v_k a_k^T``. The Hessian coefficient along ``a_k`` is
``~ n^2 g''(z)`` and changes at the rate ``~ n^3 g'''(z)`` along ``v_k``, with the same unknown factor. The ratios

    p = n g''(z) / g'(z)    and    q = n^2 g'''(z) / g'(z)

are two equations for n and z. For tanh ``n^2 = 3 p^2 / 4 - q / 2`` and ``tanh z = -p / (2 n)``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, TANH, Activation
from unweave.arrays import Atoms, PerNeuron, PerOutput, Points, Vector
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import LayerRows
from unweave.identification.peeling.reparametrised import ReparametrisedNetwork, fixed_matrices


@dataclass(frozen=True, kw_only=True)
class ClosedFormRules:
    """Which lengths and pre-activations are believed: errors of derivatives can ask for more than a neuron can give.

    Args:
        largest_tanh: tanh z is kept below this; chosen: beyond, its derivatives are less than 1 % of the largest.
        smallest_length: lengths are kept above this; chosen, away from zero.
        preactivations: up to where those of other activations are looked for, and on how many points: beyond, the base
            point is in the tails and there is no signal.
        largest_output: up to where output activations are inverted: far beyond the ends of float64 for tanh and
            sigmoid.
        halvings: after which an interval where activations are inverted is as short as float64 can tell.
    """

    largest_tanh: float = 0.995
    smallest_length: float = 1e-3
    preactivations: tuple[float, int] = (3.0, 1_201)
    largest_output: float = 40.0
    halvings: int = 60


RULES = ClosedFormRules()


def closed_form_network(
    directions: LayerRows,
    activations: tuple[Activation, ...],
    *,
    effects: tuple[Float64[np.ndarray, "_ outputs"], ...],
    series: tuple[Float64[np.ndarray, "_ points outputs"], ...],
    gradients: Float64[np.ndarray, "outputs inputs"],
    value: PerOutput,
    points: Points,
    center: Vector,
    rules: ClosedFormRules = RULES,
) -> ReparametrisedNetwork:
    """The reparametrised network with all diagonals and shifts read off.

    Args:
        directions: unit rows of every layer; those of the output layer are along `gradients`.
        activations: one per layer; odd up to a constant in the hidden layers, increasing in the last.
        effects: direction in the outputs of every hidden neuron (`effects_on_outputs`).
        series: its Hessian coefficients at `points` (`effects_on_outputs`).
        gradients: of all outputs at the base point.
        value: of all outputs at the base point.
        points: where the Hessians were taken, near the base point.
        center: the base point.
        rules: which lengths and pre-activations are believed.

    Assumes: points so near to the base point that the coefficients are affine in them, and sensitivities vary less
    than ``g''``. Heuristic: a start for a fit, with errors of about a percent.
    """
    lengths, inside = [], []
    for layer, activation in enumerate(activations[:-1]):
        level, rate = _coefficient_lines(directions[layer], effects[layer], series[layer], points - center)
        factors = _gradient_factors(directions[layer], effects[layer], gradients)
        found = lengths_and_preactivations(level / factors, rate / factors, activation, rules=rules)
        lengths.append(found[0])
        inside.append(found[1])
    last = inverse_values(activations[-1], value, largest=rules.largest_output)
    inside.append(last)
    lengths.append(np.linalg.norm(gradients, axis=1) / activations[-1](last, 1))
    return _assembled(directions, activations, lengths, inside, center)


def lengths_and_preactivations(
    p: PerNeuron,
    q: PerNeuron,
    activation: Activation,
    *,
    rules: ClosedFormRules = RULES,
) -> tuple[PerNeuron, PerNeuron]:
    """Solve ``p = n g''(z)/g'(z)``, ``q = n^2 g'''(z)/g'(z)`` for ``n > 0`` and z.

    Where errors leave no solution, the nearest values that a tanh allows are returned, and for other activations
    the pair with ``z = 0``.

    Raises:
        InvalidInput: if the activation is not odd up to a constant: the sign of a direction would matter.
    """
    reflection = activation.reflection
    if reflection is None or reflection.sign != -1 or reflection.slope != 0.0 or activation == IDENTITY:
        raise InvalidInput(f"closed forms need an activation that is odd up to a constant, got {activation}.")
    if (law := activation.rewriting) is not None:
        lengths, inside = lengths_and_preactivations(p, q, law.base, rules=rules)
        return lengths / law.inner, inside / law.inner
    if activation == TANH:
        smallest = np.maximum((0.5 * p / rules.largest_tanh) ** 2, rules.smallest_length**2)
        lengths = np.sqrt(np.maximum(0.75 * p**2 - 0.5 * q, smallest))
        return lengths, np.arctanh(-0.5 * p / lengths)
    return _solve_smallest(p, q, activation, rules)


def inverse_values(activation: Activation, values: PerOutput, *, largest: float = RULES.largest_output) -> PerOutput:
    """Pre-activations of given values of a strictly increasing activation; the ends of the range if outside."""
    if activation == IDENTITY:
        return values
    ends = np.full(len(values), largest)
    return _bisected(lambda t: activation(t) - values, -ends, ends)


def _coefficient_lines(
    directions: Atoms, effects: np.ndarray, series: np.ndarray, offsets: Points
) -> tuple[np.ndarray, np.ndarray]:
    """Level and slope of every neuron's Hessian coefficient as a line in ``<v, x - x*>``."""
    along = np.einsum("kpo,ko->kp", series, effects)
    places = directions @ offsets.T
    centered = places - places.mean(axis=1, keepdims=True)
    rates = np.sum(centered * along, axis=1) / np.sum(centered**2, axis=1)
    return along.mean(axis=1) - rates * places.mean(axis=1), rates


def _gradient_factors(directions: Atoms, effects: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Least squares of the gradients on the products of one layer's directions and effects."""
    products = (directions[:, :, None] * effects[:, None, :]).reshape(len(directions), -1)
    return np.linalg.lstsq(products.T, gradients.T.ravel(), rcond=None)[0]


def _solve_smallest(
    p: np.ndarray, q: np.ndarray, activation: Activation, rules: ClosedFormRules = RULES
) -> tuple[np.ndarray, np.ndarray]:
    """The solutions with the smallest ``|z|``: n from the second equation, a root of the first in z."""

    def lengths(z: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = q * activation(z, 1) / activation(z, 3)
        return np.sqrt(np.where(squares > 0, squares, np.nan))

    def misfits(z: np.ndarray) -> np.ndarray:
        return lengths(z) * activation(z, 2) / activation(z, 1) - p

    largest, points = rules.preactivations
    grid = np.linspace(-largest, largest, points)
    table = np.array([misfits(np.full(len(p), z)) for z in grid])
    # Beyond the inflection of g'' there is no length, and NaN is no change of sign.
    changes = table[:-1] * table[1:] <= 0
    nearest = np.argmin(np.where(changes, np.abs(grid[:-1])[:, None], np.inf), axis=0)
    roots = _bisected(misfits, grid[nearest], grid[nearest + 1])
    roots = np.where(np.any(changes, axis=0), roots, 0.0)
    return np.maximum(np.nan_to_num(lengths(roots), nan=1.0), rules.smallest_length), roots


def _bisected(function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A root of every component between its ends; the end nearer to one where the sign does not change."""
    rises = function(high) > function(low)
    for _ in range(RULES.halvings):
        middle = 0.5 * (low + high)
        is_below = (function(middle) < 0) == rises
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return 0.5 * (low + high)


def _assembled(
    directions: LayerRows,
    activations: tuple[Activation, ...],
    lengths: list[np.ndarray],
    inside: list[np.ndarray],
    center: Vector,
) -> ReparametrisedNetwork:
    """Diagonals of the first exact form, and the shifts that give the known pre-activations at the base point."""
    matrices = fixed_matrices(directions)
    left, shifts, values = [np.ones(len(center))], [], center
    for layer, (matrix, activation) in enumerate(zip(matrices, activations, strict=True)):
        shifts.append(inside[layer] - lengths[layer] * (matrix @ (left[layer] * values)))
        left.append(1.0 / (lengths[layer] * activation(inside[layer], 1)))
        values = activation(inside[layer])
    ones = tuple(np.ones(len(matrix)) for matrix in matrices)
    return ReparametrisedNetwork(matrices, activations, tuple(left[:-1]), tuple(lengths), ones, tuple(shifts))
