"""Least-squares steps for Jacobians that do not fit in memory.

The Jacobian of a wide shallow network is badly conditioned for one reason: all neurons share the
few polynomials of degree 0, 1 and 2, and only what they have of higher degree tells them apart. For
Gaussian points both parts are known in closed form. With ``e_r = E g^(r)(z)``, z normal, the
network's components of degree 0, 1, 2 are ``sum a e_0``, ``sum a e_1 w`` and
``sum a e_2 w w^T / sqrt 2``; their derivatives in the parameters form a matrix C with few rows. The
remainder is nearly block-diagonal by neuron: a multiple of the identity across the neuron's
direction and a small matrix for (length of the weights, bias, output weights). Block plus C^T C is
inverted by the Woodbury formula.
"""

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import hermite_polynomials
from unweave.arrays import Points, pack, pack_squares, packed_size, unpack
from unweave.networks import Network
from unweave.parameters import JacobianOperator, ParameterVector

QUADRATURE = np.arange(-9.0, 9.0 + 1 / 32, 1 / 16)
SHARED_DEGREE = 2
# Remainder given to the affine part, which lies in the shared polynomials entirely.
AFFINE_REMAINDER = 1e-3
# Neurons whose columns of C are formed at once.
NEURONS_AT_ONCE = 32


class HermitePreconditioner:
    """Approximate inverse of ``J^T J`` in the relative parameters, for points spread like a Gaussian."""

    def __init__(self, network: Network, points: Points) -> None:
        self._vector = ParameterVector(network)
        self._rows = len(points)
        self._outputs, self._inputs = network.outputs, network.inputs
        hidden, output = network.layers
        # Another distribution is approximated by the Gaussian of the same spread.
        self._spread = float(np.sqrt(np.mean(points**2)))
        self._weights = hidden.weights * self._spread
        self._lengths = np.maximum(np.linalg.norm(self._weights, axis=1), 1e-300)
        self._units = self._weights / self._lengths[:, None]
        self._output_weights = output.weights.T
        self._weight_units = self._vector.neuron_sizes * self._spread
        self._bias_units, self._output_units = self._vector.neuron_sizes, self._vector.output_sizes
        self._measure_moments(network)
        self._factor_shared()

    def __call__(self, gradient: Float64[np.ndarray, "parameters"]) -> Float64[np.ndarray, "parameters"]:
        """Apply the approximate inverse."""
        local = self._local_inverse(self._split(gradient))
        shared = scipy.linalg.cho_solve(self._shared_factor, self._shared(local).ravel())
        correction = self._local_inverse(self._shared_transposed(shared.reshape(self._outputs, -1)))
        return self._join([part - other for part, other in zip(local, correction, strict=True)]) / self._rows

    def _measure_moments(self, network: Network) -> None:
        """Moments ``e_0 .. e_4`` and the neuron's own blocks of the remainder, by quadrature."""
        activation = network.layers[0].activation
        weight = np.exp(-0.5 * QUADRATURE**2) / np.sqrt(2 * np.pi) * (QUADRATURE[1] - QUADRATURE[0])
        arguments = self._lengths[:, None] * QUADRATURE + network.layers[0].biases[:, None]
        value, slope, bend, third = (activation(arguments, order) for order in range(4))
        fourth = (third * QUADRATURE) @ weight / self._lengths
        self._moments = [value @ weight, slope @ weight, bend @ weight, third @ weight, fourth]
        size = np.linalg.norm(self._output_weights, axis=1)
        across = slope**2 @ weight - self._moments[1] ** 2 - (self._lengths * self._moments[2]) ** 2
        own = np.maximum(across, 1e-6 * (slope**2 @ weight) + 1e-30)
        self._across = np.maximum((size * self._weight_units) ** 2 * own, 1e-30)
        # Functions of t alone, without their part of degree at most two: along the weights, bias, value.
        functions = np.stack([slope * QUADRATURE, slope, value], axis=1)
        shared = hermite_polynomials(QUADRATURE, SHARED_DEGREE)
        functions = functions - np.einsum("kft,ht,t->kfh", functions, shared, weight) @ shared
        gram = np.einsum("kft,kgt,t->kfg", functions, functions, weight)
        self._along_inverse = self._invert_blocks(gram, size)

    def _invert_blocks(self, gram: Float64[np.ndarray, "neurons 3 3"], size: np.ndarray) -> np.ndarray:
        """Blocks for (length, bias, one output weight per output): outputs couple through the first two."""
        outputs, neurons = self._outputs, len(gram)
        block = np.zeros((neurons, 2 + outputs, 2 + outputs))
        inner = np.stack([self._weight_units, self._bias_units], axis=1)
        block[:, :2, :2] = gram[:, :2, :2] * inner[:, :, None] * inner[:, None, :] * (size**2)[:, None, None]
        cross = gram[:, :2, 2, None] * inner[:, :, None] * self._output_weights[:, None, :]
        block[:, :2, 2:] = cross * self._output_units[:, None, None]
        block[:, 2:, :2] = np.swapaxes(block[:, :2, 2:], 1, 2)
        diagonal = np.arange(2, 2 + outputs)
        block[:, diagonal, diagonal] = (gram[:, 2, 2] * self._output_units**2)[:, None]
        ridge = 1e-8 * np.einsum("kii->k", block) + 1e-30
        return np.linalg.inv(block + ridge[:, None, None] * np.eye(2 + outputs))

    def _factor_shared(self) -> None:
        """Cholesky factor of ``I + C D^-1 C^T``, the matrix of the Woodbury formula."""
        features = 1 + self._inputs + packed_size(self._inputs)
        system = np.eye(self._outputs * features)
        affine = np.zeros((self._outputs, features))
        affine[:, 0] = 1.0 / AFFINE_REMAINDER
        if self._vector.network.skip is not None:
            affine[:, 1 : 1 + self._inputs] = self._spread**2 / AFFINE_REMAINDER
        system[np.diag_indices_from(system)] += affine.ravel()
        for first in range(0, len(self._lengths), NEURONS_AT_ONCE):
            chosen = slice(first, first + NEURONS_AT_ONCE)
            across, along = self._columns(chosen)
            flat = across.reshape(-1, system.shape[0])
            system += flat.T @ (flat / np.repeat(self._across[chosen], self._inputs)[:, None])
            solved = np.einsum("kfg,kgq->kfq", self._along_inverse[chosen], along)
            system += along.reshape(-1, system.shape[0]).T @ solved.reshape(-1, system.shape[0])
        self._shared_factor = scipy.linalg.cho_factor(system, overwrite_a=True)

    def _columns(self, chosen: slice) -> tuple[np.ndarray, np.ndarray]:
        """Columns of C for some neurons: across their directions, and for (length, bias, output weights)."""
        e0, e1, e2, e3, e4 = (moment[chosen, None] for moment in self._moments)
        weights, units, pull = self._weights[chosen], self._units[chosen], self._output_weights[chosen]
        square, neurons, axes = pack_squares(weights) / np.sqrt(2), len(weights), np.eye(self._inputs)
        mixed = weights[:, None, :, None] * axes[None, :, None, :]
        packed = pack(mixed + np.swapaxes(mixed, 2, 3)) / np.sqrt(2)
        by_weight = np.concatenate(
            [
                (e2 * weights)[:, :, None],
                e1[:, :, None] * axes + e3[:, :, None] * weights[:, :, None] * weights[:, None, :],
                e2[:, :, None] * packed + e4[:, :, None] * weights[:, :, None] * square[:, None, :],
            ],
            axis=2,
        )
        by_weight *= self._weight_units[chosen, None, None]
        length = np.einsum("ki,kiq->kq", units, by_weight)
        across = by_weight - units[:, :, None] * length[:, None, :]
        bias = np.hstack([e1, e2 * weights, e3 * square]) * self._bias_units[chosen, None]
        value = np.hstack([e0, e1 * weights, e2 * square]) * self._output_units[chosen, None]
        along = np.stack([length, bias], axis=1)[:, :, None, :] * pull[:, None, :, None]
        own = np.zeros((neurons, self._outputs, self._outputs, value.shape[1]))
        own[:, np.arange(self._outputs), np.arange(self._outputs)] = value[:, None, :]
        across = across[:, :, None, :] * pull[:, None, :, None]
        return across.reshape(neurons, self._inputs, -1), np.concatenate(
            [along.reshape(neurons, 2, -1), own.reshape(neurons, self._outputs, -1)], axis=1
        )

    def _split(self, vector: np.ndarray) -> list[np.ndarray]:
        neurons, edges = (
            len(self._lengths),
            np.cumsum([len(self._lengths) * self._inputs, len(self._lengths)]),
        )
        weights, biases, rest = np.split(vector, edges)
        output_weights, offset, skip = np.split(rest, np.cumsum([self._outputs * neurons, self._outputs]))
        return [
            weights.reshape(neurons, -1),
            biases,
            output_weights.reshape(self._outputs, neurons).T,
            offset,
            skip.reshape(-1, self._inputs),
        ]

    def _join(self, parts: list[np.ndarray]) -> np.ndarray:
        weights, biases, output_weights, offset, skip = parts
        return np.concatenate([weights.ravel(), biases, output_weights.T.ravel(), offset, skip.ravel()])

    def _local_inverse(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        weights, biases, output_weights, offset, skip = parts
        along = np.einsum("ki,ki->k", self._units, weights)
        block = np.column_stack([along, biases, output_weights])
        solved = np.einsum("kfg,kg->kf", self._along_inverse, block)
        across = (weights - self._units * along[:, None]) / self._across[:, None]
        return [
            across + self._units * solved[:, :1],
            solved[:, 1],
            solved[:, 2:],
            offset / AFFINE_REMAINDER,
            skip / AFFINE_REMAINDER,
        ]

    def _shared(self, parts: list[np.ndarray]) -> Float64[np.ndarray, "outputs features"]:
        """``C x``: change of the network's components of degree 0, 1 and 2."""
        e0, e1, e2, e3, e4 = self._moments
        weights = parts[0] * self._weight_units[:, None]
        biases, values = parts[1] * self._bias_units, parts[2] * self._output_units[:, None]
        inner = np.einsum("ki,ki->k", self._weights, weights)
        rows = []
        for o in range(self._outputs):
            pull = self._output_weights[:, o]
            constant = pull @ (e2 * inner + e1 * biases) + e0 @ values[:, o] + parts[3][o]
            linear = (pull * e1) @ weights + (pull * (e3 * inner + e2 * biases) + e1 * values[:, o]) @ self._weights
            if len(parts[4]):
                linear = linear + self._spread * parts[4][o]
            mixed = (self._weights * (pull * e2)[:, None]).T @ weights
            square = self._weights.T @ (
                self._weights * (pull * (e4 * inner + e3 * biases) + e2 * values[:, o])[:, None]
            )
            rows.append(np.concatenate([[constant], linear, pack(mixed + mixed.T + square) / np.sqrt(2)]))
        return np.array(rows)

    def _shared_transposed(self, shared: Float64[np.ndarray, "outputs features"]) -> list[np.ndarray]:
        """``C^T y``."""
        e0, e1, e2, e3, e4 = self._moments
        weights = np.zeros_like(self._weights)
        biases, values = np.zeros(len(self._lengths)), np.zeros_like(self._output_weights)
        for o in range(self._outputs):
            pull, constant = self._output_weights[:, o], shared[o, 0]
            linear, square = (
                shared[o, 1 : 1 + self._inputs],
                unpack(shared[o, 1 + self._inputs :], self._inputs),
            )
            turned = self._weights @ square / np.sqrt(2)
            along_linear = self._weights @ linear
            along_square = np.einsum("ki,ki->k", turned, self._weights)
            radial = pull * (e2 * constant + e3 * along_linear + e4 * along_square)
            weights += radial[:, None] * self._weights
            weights += (pull * e1)[:, None] * linear + 2 * (pull * e2)[:, None] * turned
            biases += pull * (e1 * constant + e2 * along_linear + e3 * along_square)
            values[:, o] = e0 * constant + e1 * along_linear + e2 * along_square
        has_skip = self._vector.network.skip is not None
        return [
            weights * self._weight_units[:, None],
            biases * self._bias_units,
            values * self._output_units[:, None],
            shared[:, 0],
            self._spread * shared[:, 1 : 1 + self._inputs] if has_skip else np.empty((0, self._inputs)),
        ]


def conjugate_gradients(
    operator: JacobianOperator,
    preconditioner: HermitePreconditioner,
    residuals: Float64[np.ndarray, "rows"],
    *,
    damping: float,
    floor: float,
    iterations: int,
) -> Float64[np.ndarray, "parameters"]:
    """Minimise ``|r - J x|^2 + damping |x|^2``; stops at the noise `floor` or when progress ends.

    Guarantees: the residual falls with every iteration.
    """
    solution = np.zeros(operator.shape[1])
    left = residuals.copy()
    gradient = operator.backward(left)
    direction = preconditioned = preconditioner(gradient)
    slope = float(gradient @ preconditioned)
    history = [np.inf]
    for _ in range(iterations):
        image = operator.forward(direction)
        curvature = float(image @ image) + damping * float(direction @ direction)
        if not (slope > 0 and curvature > 0):
            break
        length = slope / curvature
        solution = solution + length * direction
        left = left - length * image
        history.append(float(np.sqrt(np.mean(left**2))))
        if history[-1] < 0.2 * floor or (len(history) > 20 and history[-1] > 0.97 * history[-11]):
            break
        gradient = operator.backward(left) - damping * solution
        preconditioned = preconditioner(gradient)
        new_slope = float(gradient @ preconditioned)
        direction = preconditioned + new_slope / slope * direction
        slope = new_slope
    return solution
