"""Put a relu network together from Hermite tensors and directions: scalars, affine remainder, signs.

Conventions as in `unweave.learn.relu_network.hermite_units`; the tensors may be exact or estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import Atoms
from unweave.learn.relu_network.hermite_directions import check_orders
from unweave.learn.relu_network.hermite_units import relu_coefficient, unit_parameters
from unweave.learn.relu_network.scalars import ReluScalars, coefficient_table, fit_scalars
from unweave.learn.relu_network.signs import ReluSigns, resolve_relu_signs
from unweave.networks.network import Network
from unweave.numerics.symmetric_tensors import Tensor


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
    tensors: Sequence[Tensor], directions: Atoms, *, order: int = 1, sign_tol: float = 1e-6, noise: float = 0.0
) -> ReluAssembly:
    """Find biases, output weights, the affine remainder and signs of neurons with known directions.

    Args:
        tensors: ``tensors[k]`` is the Hermite tensor of order k, for k up to ``2 order + 2``.
        directions: unit vectors up to sign, one per row.
        order: the l from which on the powers of the directions are independent.
        sign_tol: error of the affine remainder, relative to the norm of all ``a_i (w_i, b_i)``: it is dropped if
            some choice of signs leaves less than this.
        noise: error of a coefficient of order k divided by ``sqrt(k!)``, for `ReluScalars.is_reliable`.

    Raises:
        InvalidInput: if a tensor is missing.

    Assumes: independent powers of this order, and pairwise non-parallel directions.
    Guarantees: for exact tensors and directions exact parameters, up to signs that are reported as open; then the
        network with its affine part is still the same function. No bias is a blind spot.
    """
    check_orders(tensors, highest=2 * order + 2)
    orders = tuple(range(max(2, order), 2 * order + 3))
    table = coefficient_table(tensors, directions, orders=orders)
    scalars = fit_scalars(table, orders=orders, noise=noise)
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
