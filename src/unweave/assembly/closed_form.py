"""All scales and shifts of a deep network from the derivatives that gave its directions, without any fit.

At the base point let ``n_k`` be the length of an entangled weight ``n_k v_k`` and ``z_k`` its pre-activation. The
gradients have coefficient ``alpha_k ~ n g'(z)`` on ``v_k a_k^T``. The Hessian coefficient along ``a_k`` is
``~ n^2 g''(z)`` and changes at the rate ``~ n^3 g'''(z)`` along ``v_k``, with the same unknown factor. The ratios

    p = n g''(z) / g'(z)    and    q = n^2 g'''(z) / g'(z)

are two equations for n and z. For tanh ``n^2 = 3 p^2 / 4 - q / 2`` and ``tanh z = -p / (2 n)``.
"""

import numpy as np
from jaxtyping import Float64
from scipy.optimize import root_scalar

from unweave.activations import IDENTITY, TANH, Activation
from unweave.arrays import Atoms, Points, Vector
from unweave.assembly.reparametrised import ReparametrisedNetwork, fixed_matrices
from unweave.entangled import LayerRows
from unweave.exceptions import InvalidInput

# Pre-activations are looked for up to here: beyond, the base point is in the tails and there is no signal.
LARGEST_PREACTIVATION = 3.0
GRID_POINTS = 1_201
# Tanh z is kept below this, and lengths above: errors of p and q can ask for more than a tanh can give.
LARGEST_TANH = 0.995
SMALLEST_LENGTH = 1e-3
# Where strictly increasing output activations are inverted.
INVERSION_RANGE = 40.0


def closed_form_network(
    directions: LayerRows,
    activations: tuple[Activation, ...],
    *,
    effects: tuple[Float64[np.ndarray, "_ outputs"], ...],
    series: tuple[Float64[np.ndarray, "_ points outputs"], ...],
    gradients: Float64[np.ndarray, "outputs inputs"],
    value: Float64[np.ndarray, "outputs"],
    points: Points,
    center: Vector,
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

    Assumes: points so near to the base point that the coefficients are affine in them, and sensitivities vary less
    than ``g''``. Heuristic: a start for a fit, with errors of about a percent.
    """
    lengths, inside = [], []
    for layer, activation in enumerate(activations[:-1]):
        level, rate = _coefficient_lines(directions[layer], effects[layer], series[layer], points - center)
        factors = _gradient_factors(directions[layer], effects[layer], gradients)
        found = lengths_and_preactivations(level / factors, rate / factors, activation)
        lengths.append(found[0])
        inside.append(found[1])
    last = inverse_values(activations[-1], value)
    inside.append(last)
    lengths.append(np.linalg.norm(gradients, axis=1) / activations[-1](last, 1))
    return _assembled(directions, activations, lengths, inside, center)


def lengths_and_preactivations(
    p: Float64[np.ndarray, "neurons"], q: Float64[np.ndarray, "neurons"], activation: Activation
) -> tuple[Float64[np.ndarray, "neurons"], Float64[np.ndarray, "neurons"]]:
    """Solve ``p = n g''(z)/g'(z)``, ``q = n^2 g'''(z)/g'(z)`` for ``n > 0`` and z.

    Where errors leave no solution, the nearest values that a tanh allows are returned, and for other activations
    the pair with ``z = 0``.

    Raises:
        InvalidInput: if the activation is not odd up to a constant: the sign of a direction would matter.
    """
    if activation.reflection.sign != -1 or activation.reflection.slope != 0.0 or activation == IDENTITY:
        raise InvalidInput(f"closed forms need an activation that is odd up to a constant, got {activation}.")
    if (law := activation.rewriting) is not None:
        lengths, inside = lengths_and_preactivations(p, q, law.base)
        return lengths / law.inner, inside / law.inner
    if activation == TANH:
        squares = np.maximum(0.75 * p**2 - 0.5 * q, np.maximum((0.5 * p / LARGEST_TANH) ** 2, SMALLEST_LENGTH**2))
        lengths = np.sqrt(squares)
        return lengths, np.arctanh(-0.5 * p / lengths)
    pairs = np.array([_solved(a, b, activation) for a, b in zip(p, q, strict=True)]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def inverse_values(activation: Activation, values: Float64[np.ndarray, "outputs"]) -> Float64[np.ndarray, "outputs"]:
    """Pre-activations of given values of a strictly increasing activation; the ends of the range if outside."""
    if activation == IDENTITY:
        return values
    low, high = activation(np.array([-INVERSION_RANGE, INVERSION_RANGE]))
    inside = np.clip(values, low + 1e-15, high - 1e-15)
    ends = (-INVERSION_RANGE, INVERSION_RANGE)
    roots = [root_scalar(lambda t, v=v: float(activation(t) - v), bracket=ends, xtol=1e-14) for v in inside]
    return np.array([found.root for found in roots])


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


def _solved(p: float, q: float, activation: Activation) -> tuple[float, float]:
    """The solution with the smallest ``|z|``: n from the second equation, a root of the first in z."""

    def length(z: float | np.ndarray) -> np.ndarray:
        ratio = q * activation(np.asarray(z), 1) / activation(np.asarray(z), 3)
        return np.sqrt(np.where(ratio > 0, ratio, np.nan))

    def misfit(z: float | np.ndarray) -> np.ndarray:
        return length(z) * activation(np.asarray(z), 2) / activation(np.asarray(z), 1) - p

    grid = np.linspace(-LARGEST_PREACTIVATION, LARGEST_PREACTIVATION, GRID_POINTS)
    with np.errstate(divide="ignore", invalid="ignore"):
        misfits = misfit(grid)
    changes = np.flatnonzero(misfits[:-1] * misfits[1:] <= 0)
    if len(changes) == 0:
        fallback = float(np.nan_to_num(length(0.0), nan=1.0))
        return max(fallback, SMALLEST_LENGTH), 0.0
    nearest = changes[np.argmin(np.abs(grid[changes]))]
    ends = (grid[nearest], grid[nearest + 1])
    root = float(root_scalar(lambda z: float(misfit(z)), bracket=ends, xtol=1e-14).root)
    return float(length(root)), root


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
