"""A relu network from Hermite tensors and directions: biases, output weights, affine remainder, signs.

With directions known up to sign, least squares gives for every order k the coefficients ``c_ki = a_i g_k(b_i)``. From
order 2 on they are ``beta_i (-1)^k He_k-2(b_i)`` with ``beta_i = a_i phi(b_i)``: polynomials in the bias, whose
recurrence

    He_n+1(b) = b He_n(b) - n He_n-1(b)

gives the bias as a ratio. Directions with the wrong sign give the negative bias and the same output weight. Conventions
as in `unweave.learn.relu_network.units`; the tensors may be exact or estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64
from scipy.special import eval_hermitenorm, factorial

from unweave.activations import RELU
from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.directions import check_orders
from unweave.learn.relu_network.units import (
    ReluSigns,
    normal_density,
    relu_coefficient,
    resolve_relu_signs,
    unit_parameters,
)
from unweave.networks.network import Network
from unweave.numerics.symmetric_tensors import Tensor, power_coefficients


@dataclass(frozen=True, kw_only=True)
class ScalarRules:
    """How biases are looked for, and which neurons are reliable.

    Args:
        largest_bias: up to which they are searched: beyond, a standard normal argument is on the other side of the kink
            once in 1e9 samples (``Phi(-6)``), and ``exp(b^2 / 2)`` multiplies every error.
        bias_spacing: of the search: a tenth of 0.2, the least scale on which polynomials of the orders in use turn.
        steps: of Gauss-Newton from the best grid point; chosen: that is close, and they converge quadratically.
        noise_margin: a neuron is unreliable if its coefficients are not this many times their noise; chosen: three
            standard errors are customary.
    """

    largest_bias: float = 6.0
    bias_spacing: float = 0.02
    steps: int = 12
    noise_margin: float = 3.0


SCALAR_RULES = ScalarRules()


@dataclass(frozen=True, eq=False)
class ReluScalars:
    """What was read from the coefficients of every neuron.

    Args:
        biases: up to the signs of the directions.
        output_weights: for unit directions.
        misfits: norm of what bias and output weight leave of the coefficients, weighted by ``1 / k!``, relative to
            them. Large for two parallel neurons that were taken for one. Zero where a formula uses all.
        is_reliable: whether the bias is within the range of the search and the coefficients stand out from their noise.
    """

    biases: PerNeuron
    output_weights: PerNeuron
    misfits: PerNeuron
    is_reliable: Bool[np.ndarray, "neurons"]


def coefficient_table(
    tensors: Sequence[Tensor], directions: Atoms, *, orders: Sequence[int]
) -> Float64[np.ndarray, "orders neurons"]:
    """Coefficients of the powers of the directions in the tensors of the given orders, one row per order."""
    rows = [power_coefficients(tensors[order], directions) for order in orders]
    return np.array(rows).reshape(len(orders), len(directions))


def fit_scalars(
    table: Float64[np.ndarray, "orders neurons"],
    *,
    orders: Sequence[int],
    noise: float = 0.0,
    rules: ScalarRules = SCALAR_RULES,
) -> ReluScalars:
    """Biases and output weights that explain the coefficients of several orders best.

    Minimises ``sum_k (c_k - beta (-1)^k He_k-2(b))^2 / k!`` over beta and b, by a grid in b and Gauss-Newton steps.
    There is no blind bias as long as two consecutive orders are used.

    Args:
        table: coefficients, one row per order.
        orders: the orders, at least two and none below 2.
        noise: error of a coefficient, divided by ``sqrt(k!)``; neurons that do not stand out are not reliable.
        rules: how biases are looked for.

    Raises:
        InvalidInput: if there are fewer than two orders, or one below 2.

    Guarantees: the global minimum on the grid, to rounding; exact for exact coefficients.
    """
    if len(orders) < 2 or min(orders) < 2 or len(table) != len(orders):
        raise InvalidInput(f"a fit needs coefficients of two orders from 2 on, got orders {tuple(orders)}.")
    weighted = table / np.sqrt(factorial(np.array(orders)))[:, None]
    grid = np.arange(-rules.largest_bias, rules.largest_bias + rules.bias_spacing / 2, rules.bias_spacing)
    curves = _curves(grid, orders)
    unit = curves / np.linalg.norm(curves, axis=0)
    biases = grid[np.argmax(np.abs(unit.T @ weighted), axis=0)] if table.shape[1] else np.zeros(0)
    biases = _stepped(biases, weighted, orders, rules)
    curves = _curves(biases, orders)
    betas = _heights(curves, weighted)
    rest = np.linalg.norm(weighted - betas * curves, axis=0)
    sizes = np.linalg.norm(weighted, axis=0)
    is_reliable = (np.abs(biases) < rules.largest_bias) & (sizes > rules.noise_margin * noise)
    misfits = rest / np.where(sizes > 0, sizes, 1.0)
    return ReluScalars(biases, betas / normal_density(biases), misfits, is_reliable)


def _curves(biases: np.ndarray, orders: Sequence[int], *, derivative: int = 0) -> Float64[np.ndarray, "orders values"]:
    """``(-1)^k He_k-2(b) / sqrt(k!)``, or its derivative in b, by ``He_n' = n He_n-1``."""
    rows = []
    for order in orders:
        degree = order - 2
        value = eval_hermitenorm(degree, biases) if derivative == 0 else degree * eval_hermitenorm(degree - 1, biases)
        # SciPy defines no polynomial of degree -1; its factor is zero.
        value = np.zeros_like(biases) if derivative and degree == 0 else value
        rows.append((-1.0) ** order * value / np.sqrt(factorial(order)))
    return np.array(rows).reshape(len(orders), len(biases))


def _heights(curves: np.ndarray, weighted: np.ndarray) -> PerNeuron:
    sizes = np.sum(curves**2, axis=0)
    return np.sum(curves * weighted, axis=0) / np.where(sizes > 0, sizes, 1.0)


def _stepped(biases: np.ndarray, weighted: np.ndarray, orders: Sequence[int], rules: ScalarRules) -> PerNeuron:
    """Take Gauss-Newton steps in the bias with the height eliminated; each is kept only if the misfit does not grow.

    One unknown for each of many neurons at once, undamped, hence apart from `numerics.least_squares`.
    """

    def misfit(at: np.ndarray) -> np.ndarray:
        curves = _curves(at, orders)
        return np.linalg.norm(weighted - _heights(curves, weighted) * curves, axis=0)

    best = misfit(biases)
    for _ in range(rules.steps):
        curves, slopes = _curves(biases, orders), _curves(biases, orders, derivative=1)
        betas = _heights(curves, weighted)
        # The part of the slope that a change of height can't undo.
        slopes = betas * (slopes - _heights(curves, slopes) * curves)
        sizes = np.sum(slopes**2, axis=0)
        rest = weighted - betas * curves
        step = np.sum(slopes * rest, axis=0) / np.where(sizes > 0, sizes, 1.0)
        trial = np.clip(biases + step, -rules.largest_bias, rules.largest_bias)
        trial_misfit = misfit(trial)
        is_better = trial_misfit <= best
        biases, best = np.where(is_better, trial, biases), np.where(is_better, trial_misfit, best)
    return biases


@dataclass(frozen=True, eq=False)
class ReluAssembly:
    """A relu network read from Hermite tensors.

    Args:
        network: unit weights; with an affine part unless signs explain it.
        scalars: biases and output weights before signs were decided, with misfits and reliability.
        coefficients: of every neuron in the tensors of `orders`.
        orders: the orders that the scalars were read from.
        signs: how the signs were decided.
    """

    network: Network
    scalars: ReluScalars
    coefficients: Float64[np.ndarray, "orders neurons"]
    orders: tuple[int, ...]
    signs: ReluSigns


def assemble_relu(
    tensors: Sequence[Tensor],
    directions: Atoms,
    *,
    order: int = 1,
    sign_tol: float = 1e-6,
    noise: float = 0.0,
    rules: ScalarRules = SCALAR_RULES,
) -> ReluAssembly:
    """Find biases, output weights, the affine remainder and signs of neurons with known directions.

    Args:
        tensors: ``tensors[k]`` is the Hermite tensor of order k, for k up to ``2 order + 2``.
        directions: unit vectors up to sign, one per row.
        order: the l from which on the powers of the directions are independent.
        sign_tol: error of the affine remainder, relative to the norm of all ``a_i (w_i, b_i)``: it is dropped if
            some choice of signs leaves less than this.
        noise: error of a coefficient of order k divided by ``sqrt(k!)``, for `ReluScalars.is_reliable`.
        rules: how biases are looked for.

    Raises:
        InvalidInput: if a tensor is missing.

    Assumes: independent powers of this order, and pairwise non-parallel directions.
    Guarantees: for exact tensors and directions exact parameters, up to signs that are reported as open; then the
        network with its affine part is still the same function. No bias is a blind spot.
    """
    check_orders(tensors, highest=2 * order + 2)
    orders = tuple(range(max(2, order), 2 * order + 3))
    table = coefficient_table(tensors, directions, orders=orders)
    scalars = fit_scalars(table, orders=orders, noise=noise, rules=rules)
    neurons = Network.shallow(directions, scalars.biases, scalars.output_weights[None], np.zeros(1), RELU)
    signs = resolve_relu_signs(with_affine_remainder(neurons, tensors), relative_tol=sign_tol)
    return ReluAssembly(signs.network, scalars, table, orders, signs)


def with_affine_remainder(network: Network, tensors: Sequence[Tensor]) -> Network:
    """The same neurons with the affine part that the tensors of orders 0 and 1 leave to them.

    ``v = T_1 - sum_i a_i Phi(b_i) w_i`` and ``c = T_0 - sum_i a_i g_0(b_i)``: best in mean square for these neurons. It
    makes up for wrong signs, and for neurons with large biases, which the other tensors do not show.
    """
    directions, biases, output_weights = unit_parameters(network)
    slope = tensors[1] - (output_weights * relu_coefficient(1, biases)) @ directions
    offset = float(tensors[0]) - float(output_weights @ relu_coefficient(0, biases))
    hidden, output = network.layers
    return Network((hidden, replace(output, biases=np.array([offset]))), skip=slope[None])
