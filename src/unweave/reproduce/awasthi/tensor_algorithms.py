"""The algorithms of [awasthi] for relu networks from Gaussian samples, as printed, for comparison.

Algorithms 1 (exact tensors), 2 (biases and output weights), 3 (signs), 4 (tensors with errors) and 6 (the same with
signs); [awasthi, Alg. 5], the predictor, is in `predictor.py`. Corrected where the print is wrong: the flattening
for the rank of the even tensor (l and l + 2 axes), the indices in Algorithm 2 (see `ratio_scalars`), and absolute
values in Algorithm 4. The default that needs fewer samples pools all tensors:
`unweave.learn.relu_network.directions`.

Tensors follow `unweave.learn.relu_network.units`: ``tensors[k]`` of order k, full, polynomials not normalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import factorial, sqrt

import numpy as np
from jaxtyping import Float64
from scipy.special import eval_hermitenorm, ndtr

from unweave.activations import RELU
from unweave.arrays import Atoms, PerNeuron, Vector
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.directions import check_orders
from unweave.learn.relu_network.jennrich import Jennrich
from unweave.learn.relu_network.moment_networks import SCALAR_RULES, ReluScalars, ScalarRules, coefficient_table
from unweave.learn.relu_network.units import normal_density
from unweave.networks.network import Network
from unweave.numerics.symmetric_tensors import Tensor, flattened, leading_directions, power_coefficients
from unweave.reproduce.fiedler.subspace_power import distinct_directions

# Directions of exact tensors are the same if they differ by less than this: errors are far below, angles far above.
SAME_DIRECTION = 1e-4
# Errors of exact tensors, in units of the largest norm of a tensor divided by ``sqrt(k!)``.
NOISE_FLOOR = 1e-15


@dataclass(frozen=True, eq=False)
class RecoveredUnits:
    """Relu neurons with unit directions, up to a common sign of direction and bias of each.

    Args:
        directions: one unit vector per row.
        biases: one per neuron.
        output_weights: one per neuron, without ambiguity.
        ranks: terms found in the odd and in the even tensor before they were merged.
    """

    directions: Atoms
    biases: PerNeuron
    output_weights: PerNeuron
    ranks: tuple[int, int]

    @property
    def network(self) -> Network:
        """The network of these neurons."""
        return Network.shallow(self.directions, self.biases, self.output_weights[None], np.zeros(1), RELU)


@dataclass(frozen=True)
class Thresholds:
    """Say what counts as noise in [awasthi, Alg. 4], which has polynomials here that it does not give.

    Args:
        singular_values: of the flattened odd and even tensor, above which a term is counted (eta_1).
        coefficient: absolute coefficient below which a term is dropped (eta_2).
        distance: between directions, up to sign, below which two are the same (eta_3).
    """

    singular_values: tuple[float, float]
    coefficient: float = 0.0
    distance: float = 0.3


@dataclass(frozen=True)
class _Terms:
    """Directions of the terms of one tensor and their coefficients."""

    directions: Atoms
    coefficients: PerNeuron
    # Coefficients of different orders are compared in units of the norm of their polynomials.
    strengths: PerNeuron = field(repr=False)


def recover_exact(
    tensors: Sequence[Tensor], *, order: int, rng: np.random.Generator, diagonalisation: Jennrich | None = None
) -> RecoveredUnits:
    """Recover neurons [awasthi, Alg. 1] from exact Hermite tensors, with signs for ``order = 1`` and up to signs above.

    Args:
        tensors: of orders 0 to ``2 order + 2``.
        order: the l for which the powers of the directions are linearly independent.
        rng: for the random contractions.
        diagonalisation: Jennrich's algorithm.

    Raises:
        InvalidInput: if a tensor is missing.

    Assumes: nonzero output weights, independent powers of order l, no parallel directions.
    Guarantees: all parameters [awasthi, Thm. 4.1 and 4.2]: no bias is a common zero of consecutive orders.
    """
    check_orders(tensors, highest=2 * order + 2)
    method = Jennrich() if diagonalisation is None else diagonalisation
    # An order that is blind for all neurons is nothing but rounding, which only the other orders tell.
    size = max(float(np.linalg.norm(tensor)) / sqrt(factorial(tensor.ndim)) for tensor in tensors)
    odd, even = (_terms(tensors[2 * order + rest], order, method, rng, floor=NOISE_FLOOR * size) for rest in (1, 2))
    units = _assembled(tensors, odd, even, order=order, distance=SAME_DIRECTION)
    return fix_signs(tensors[1], units) if order == 1 else units


def recover_scalars(tensors: Sequence[Tensor], directions: Atoms, *, order: int) -> tuple[PerNeuron, PerNeuron]:
    """Recover biases (up to the signs of the directions) and output weights [awasthi, Alg. 2]."""
    orders = (2, 3) if order == 1 else tuple(range(order, order + 4))
    scalars = ratio_scalars(coefficient_table(tensors, directions, orders=orders), order=order)
    return scalars.biases, scalars.output_weights


def ratio_scalars(
    table: Float64[np.ndarray, "orders neurons"], *, order: int, rules: ScalarRules = SCALAR_RULES
) -> ReluScalars:
    """Compute biases and output weights by the recurrence, from two or four orders [awasthi, Alg. 2].

    For ``order = 1`` from coefficients of orders 2 and 3: ``b = -c_3 / c_2``. For larger l from orders ``l .. l + 3``:
    with k the one of ``l + 1`` and ``l + 2`` that has the larger coefficient, which is never blind,

        b = -(c_k+1 + (k - 2) c_k-1) / c_k,    a = (-1)^k c_k / (He_k-2(b) phi(b)).

    [awasthi, Alg. 2] prints k in place of ``k - 2`` in both formulas; its lemma has the right indices.

    Args:
        table: coefficients of orders 2 and 3, or of ``l .. l + 3``.
        order: l.
        rules: which biases are reliable.

    Raises:
        InvalidInput: if the table does not have two, or four, rows.
    """
    if len(table) != (2 if order == 1 else 4):
        raise InvalidInput(f"ratios with order={order} need {2 if order == 1 else 4} orders, got {len(table)}.")
    if order == 1:
        degrees, below, middle, above = np.zeros(table.shape[1]), np.zeros(table.shape[1]), table[0], table[1]
    else:
        second = np.abs(table[2]) > np.abs(table[1])
        degrees = np.where(second, order, order - 1).astype(np.float64)
        below, middle, above = (np.where(second, table[row + 1], table[row]) for row in range(3))
    is_seen = middle != 0.0
    divisor = np.where(is_seen, middle, 1.0)
    biases = np.where(is_seen, -(above + degrees * below) / divisor, np.inf)
    is_reliable = np.abs(biases) <= rules.largest_bias
    biases = np.clip(biases, -rules.largest_bias, rules.largest_bias)
    values = (-1.0) ** degrees * eval_hermitenorm(degrees.astype(np.int64), biases) * normal_density(biases)
    heights = np.where(values != 0.0, middle / np.where(values != 0.0, values, 1.0), 0.0)
    return ReluScalars(biases, heights, np.zeros(len(biases)), is_reliable)


def fix_signs(first: Vector, units: RecoveredUnits, *, is_nearest: bool = False) -> RecoveredUnits:
    """Find signs [awasthi, Alg. 3] of linearly independent directions from the tensor of order 1.

    The solution of ``sum_i z_i a_i w_i = T_1`` is ``Phi(b_i)`` for a right and ``-Phi(-b_i)`` for a wrong sign.

    Args:
        first: the tensor of order 1.
        units: neurons up to signs.
        is_nearest: decide by which of the two values is nearer, which leaves a margin of 1/2 to every neuron; the
            [awasthi] takes the sign of z, whose margin vanishes for biases that are far from zero.
    """
    columns = units.output_weights[:, None] * units.directions
    solved = np.linalg.lstsq(columns.T, first, rcond=None)[0]
    middle = ndtr(units.biases) - 0.5 if is_nearest else np.zeros(len(solved))
    signs = np.where(solved < middle, -1.0, 1.0)
    return replace(units, directions=signs[:, None] * units.directions, biases=signs * units.biases)


def recover_robust(
    tensors: Sequence[Tensor],
    *,
    order: int,
    thresholds: Thresholds,
    most_neurons: int,
    rng: np.random.Generator,
    diagonalisation: Jennrich | None = None,
) -> RecoveredUnits:
    """Recover neurons [awasthi, Alg. 4] up to signs from tensors with errors.

    Neurons whose coefficients are lost in the errors, those with large biases above all, are left out.

    Args:
        tensors: estimates of orders 0 to ``2 order + 2``.
        order: the l for which the powers of the directions are linearly independent.
        thresholds: what counts as noise.
        most_neurons: upper bound of the number of neurons; either tensor has at most as many terms.
        rng: for the random contractions.
        diagonalisation: Jennrich's algorithm.

    Raises:
        InvalidInput: if a tensor is missing.

    Guarantees: parameters of neurons with moderate biases, with errors of the order of those of the tensors times
        powers of the condition numbers [awasthi, Thm. 5.1, constants not given].
    """
    check_orders(tensors, highest=2 * order + 2)
    method = Jennrich() if diagonalisation is None else diagonalisation
    found = []
    for rest, threshold in zip((1, 2), thresholds.singular_values, strict=True):
        tensor = tensors[2 * order + rest]
        values = np.linalg.svd(flattened(tensor, (order, order + rest)), compute_uv=False)
        rank = min(int(np.count_nonzero(values > threshold)), most_neurons)
        found.append(_strong(_terms(tensor, order, method, rng, rank=rank), thresholds.coefficient))
    return _assembled(tensors, found[0], found[1], order=order, distance=thresholds.distance)


def recover_full_rank(
    tensors: Sequence[Tensor],
    *,
    thresholds: Thresholds,
    most_neurons: int,
    rng: np.random.Generator,
    is_nearest: bool = False,
) -> RecoveredUnits:
    """Recover neurons [awasthi, Alg. 6] with linearly independent directions, signs included, from tensors with errors.

    Arguments as in `recover_robust` and `fix_signs`.

    Guarantees: all parameters, if all biases are moderate [awasthi, Thm. 3.1, constants not given].
    """
    units = recover_robust(tensors, order=1, thresholds=thresholds, most_neurons=most_neurons, rng=rng)
    return fix_signs(tensors[1], units, is_nearest=is_nearest)


def _terms(
    tensor: Tensor,
    order: int,
    method: Jennrich,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
    floor: float = 0.0,
) -> _Terms:
    """Directions of the rank-one terms of a tensor flattened to ``(l, l, rest)``; rank from a gap if not given."""
    scale = sqrt(factorial(tensor.ndim))
    terms = method(flattened(tensor, (order, order, tensor.ndim - 2 * order)), rng, rank=rank, floor=scale * floor)
    directions, _ = leading_directions(terms.factors, tensor.shape[0], order)
    coefficients = power_coefficients(tensor, directions)
    return _Terms(directions, coefficients, np.abs(coefficients) / scale)


def _strong(terms: _Terms, coefficient: float) -> _Terms:
    kept = np.abs(terms.coefficients) >= coefficient
    return _Terms(terms.directions[kept], terms.coefficients[kept], terms.strengths[kept])


def _assembled(tensors: Sequence[Tensor], odd: _Terms, even: _Terms, *, order: int, distance: float) -> RecoveredUnits:
    """Directions of both tensors, of duplicates and antipodes the strongest, with their scalars."""
    directions = np.vstack([odd.directions, even.directions])
    strengths = np.concatenate([odd.strengths, even.strengths])
    merged, _ = distinct_directions(directions, -strengths, distance=distance)
    biases, output_weights = recover_scalars(tensors, merged, order=order)
    return RecoveredUnits(merged, biases, output_weights, (len(odd.directions), len(even.directions)))
