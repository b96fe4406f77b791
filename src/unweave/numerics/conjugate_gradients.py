"""Least-squares steps for Jacobians that do not fit in memory.

The Jacobian of a wide shallow network is badly conditioned for one reason: all neurons share the
few polynomials of degree 0, 1 and 2, and only what they have of higher degree tells them apart. For
Gaussian points both parts are known in closed form. With ``e_r = E g^(r)(z)``, z normal, the
network's components of degree 0, 1, 2 are ``sum a e_0``, ``sum a e_1 w`` and
``sum a e_2 w w^T / sqrt 2``; their derivatives in the parameters form a matrix C with few rows. The
remainder is nearly block-diagonal by neuron: a multiple of the identity across the neuron's
direction and a small matrix for (length of the weights, bias, output weights). Block plus C^T C is
inverted by the Woodbury formula. With many inputs there are too many polynomials of degree 2; then
they stay with the neurons, whose squares ``w w^T`` are nearly orthogonal as long as there are not more
neurons than inputs.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import Activation, hermite_polynomials
from unweave.arrays import Points, pack, pack_squares, packed_size, unpack, upper_triangle
from unweave.networks.network import Network
from unweave.networks.parameters import JacobianOperator, ParameterVector, scale_directions

# Numbers in the columns of C that are formed at once, three and more for each neuron.
CHUNK_NUMBERS = 2**23


@dataclass(frozen=True)
class HermiteRules:
    """How the preconditioner approximates. Errors cost iterations of conjugate gradients, and no digits.

    Args:
        quadrature_range: of normal numbers, to both sides. Derived: beyond 9 lie 2e-19 of them, far below eps.
        spacings: between nodes, of smooth activations and of others. Chosen: a smooth integrand is exact at the first,
            a jump costs a percent of its size at the second.
        shared_limit: shared polynomials (of all outputs) up to which those of degree 2 are among them. Derived from
            memory: their matrix takes 1.8 GB.
        affine_remainder: remainder given to the affine part, which lies in the shared polynomials entirely. Chosen:
            any number well below 1 that keeps the matrix definite.
    """

    quadrature_range: float = 9.0
    spacings: tuple[float, float] = (1 / 16, 1 / 64)
    shared_limit: int = 15_000
    affine_remainder: float = 1e-3

    def nodes(self, activation: Activation) -> tuple[Float64[np.ndarray, "nodes"], Float64[np.ndarray, "nodes"]]:
        """Give the nodes of the quadrature and their weights, with the normal density in them."""
        spacing = self.spacings[0] if activation.is_smooth else self.spacings[1]
        t = np.arange(-self.quadrature_range, self.quadrature_range + spacing / 2, spacing)
        return t, np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * spacing


RULES = HermiteRules()


@dataclass(frozen=True)
class MatrixFree:
    """How a step is solved with products only, and when that ends.

    Args:
        preconditioner: how it approximates.
        iterations: largest number. Chosen: the preconditioner leaves few to do, so this only bounds the time of steps
            that make little progress.
        noise_share: share of the noise floor at which residuals are low enough. Chosen: what is left then changes the
            next residuals by less than the noise does.
        stalled: iterations, and the share of the residual of which no more may be left after so many for progress to
            go on; as many are left out at the start, since residuals fall unevenly. Heuristic, chosen: the next step,
            with exact residuals, gains more than iterations of 0.3 % each.
        finest: share of the residual at which a step ends, as products in single precision have no more digits: the
            next step begins with exact residuals. With 1e-6 these were 1.1e-5 of those before all the same, and then
            one step more was made (tanh 30-360-1 in a box).
        renewed: change of a parameter, relative to its neuron, above which the preconditioner is made anew: below, it
            serves as well, and makes up most of a step.
    """

    preconditioner: HermiteRules = RULES
    iterations: int = 250
    noise_share: float = 0.2
    stalled: tuple[int, float] = (10, 0.97)
    finest: float = 1e-5
    renewed: float = 0.03

    def is_over(self, history: list[float], floor: float) -> bool:
        """Say whether root mean squares of residuals are at the floor, or no longer fall."""
        if history[-1] < max(self.noise_share * floor, self.finest * history[0]):
            return True
        patience, share = self.stalled
        is_early = len(history) <= 2 * patience
        return not is_early and history[-1] > share * history[-1 - patience]


MATRIX_FREE = MatrixFree()


class HermitePreconditioner:
    """Approximate inverse of ``J^T J`` in the relative parameters, for points spread like a Gaussian."""

    def __init__(self, network: Network, points: Points, *, rules: HermiteRules = RULES) -> None:
        self._rules = rules
        self._vector = ParameterVector(network)
        self._rows = len(points)
        self._outputs, self._inputs = network.outputs, network.inputs
        hidden, output = network.layers
        # Another distribution is approximated by the Gaussian of the same spread.
        self._spread = float(np.linalg.norm(points) / np.sqrt(points.size))
        self._weights = hidden.weights * self._spread
        self._lengths = np.maximum(np.linalg.norm(self._weights, axis=1), 1e-300)
        self._units = self._weights / self._lengths[:, None]
        self._output_weights = output.weights.T
        self._weight_units = self._vector.neuron_sizes * self._spread
        self._bias_units, self._output_units = self._vector.neuron_sizes, self._vector.output_sizes
        is_affordable = self._outputs * (1 + self._inputs + packed_size(self._inputs)) <= rules.shared_limit
        # A kink leaves so much of higher degree that few neurons stay apart without their squares.
        is_apart = not hidden.activation.is_smooth and hidden.neurons <= self._inputs
        self._degree = 2 if is_affordable and not is_apart else 1
        self._measure_moments(network)
        self._factor_shared()

    def __call__(self, gradient: Float64[np.ndarray, "parameters"]) -> Float64[np.ndarray, "parameters"]:
        """Apply the approximate inverse."""
        local = self._local_inverse(self._split(gradient))
        shared = scipy.linalg.cho_solve(self._shared_factor, self._shared(local).ravel(), check_finite=False)
        correction = self._local_inverse(self._shared_transposed(shared.reshape(self._outputs, -1)))
        return self._join([part - other for part, other in zip(local, correction, strict=True)]) / self._rows

    def _measure_moments(self, network: Network) -> None:
        """Moments ``e_0 .. e_4`` and the neuron's own blocks of the remainder, by quadrature."""
        activation, biases = network.layers[0].activation, network.layers[0].biases
        t, weight = self._rules.nodes(activation)
        arguments = self._lengths[:, None] * t + biases[:, None]
        value, slope = activation(arguments), activation(arguments, 1)
        if activation.is_smooth:
            bend, third = activation(arguments, 2), activation(arguments, 3)
            fourth = (third * t) @ weight / self._lengths
            self._moments = [value @ weight, slope @ weight, bend @ weight, third @ weight, fourth]
        else:
            self._moments = _moments_by_parts(activation, self._lengths, biases)
        size = np.linalg.norm(self._output_weights, axis=1)
        across = slope**2 @ weight - self._moments[1] ** 2
        if self._degree == 2:
            across -= (self._lengths * self._moments[2]) ** 2
        own = np.maximum(across, 1e-6 * (slope**2 @ weight) + 1e-30)
        self._across = np.maximum((size * self._weight_units) ** 2 * own, 1e-30)
        # Functions of t alone, without their part in the shared polynomials: along the weights, bias, value.
        functions = np.stack([slope * t, slope, value], axis=1)
        shared = hermite_polynomials(t, self._degree)
        functions = functions - np.einsum("kft,ht,t->kfh", functions, shared, weight, optimize=True) @ shared
        gram = np.einsum("kft,kgt,t->kfg", functions, functions, weight, optimize=True)
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
        trace = np.einsum("kii->k", block)
        scales = scale_directions(self._vector.network)
        if len(scales):
            # The scale of a neuron moves nothing but its row in the gauge.
            along = np.einsum("ki,ki->k", scales[:, : self._inputs], self._units)
            direction = np.column_stack([along, scales[:, self._inputs :]])
            block += trace[:, None, None] * direction[:, :, None] * direction[:, None, :]
        ridge = 1e-8 * trace + 1e-30
        return np.linalg.inv(block + ridge[:, None, None] * np.eye(2 + outputs))

    def _factor_shared(self) -> None:
        """Cholesky factor of ``I + C D^-1 C^T``, the matrix of the Woodbury formula."""
        features = 1 + self._inputs + (packed_size(self._inputs) if self._degree == 2 else 0)
        system = np.eye(self._outputs * features)
        affine = np.zeros((self._outputs, features))
        affine[:, 0] = 1.0 / self._rules.affine_remainder
        if self._vector.network.skip is not None:
            affine[:, 1 : 1 + self._inputs] = self._spread**2 / self._rules.affine_remainder
        system[np.diag_indices_from(system)] += affine.ravel()
        at_once = max(1, CHUNK_NUMBERS // ((2 + self._outputs) * len(system)))
        for first in range(0, len(self._lengths), at_once):
            chosen = slice(first, first + at_once)
            along = self._along_columns(chosen)
            solved = np.einsum("kfg,kgq->kfq", self._along_inverse[chosen], along)
            system += along.reshape(-1, len(system)).T @ solved.reshape(-1, len(system))
            self._add_across(system.reshape(self._outputs, features, self._outputs, features), chosen)
        self._shared_factor = factored(system)

    def _along_columns(self, chosen: slice) -> Float64[np.ndarray, "neurons parameters shared"]:
        """Columns of C for (length, bias, output weights) of some neurons."""
        e0, e1, e2, e3, e4 = (moment[chosen, None] for moment in self._moments)
        weights, units, lengths = self._weights[chosen], self._units[chosen], self._lengths[chosen, None]
        pull, neurons = self._output_weights[chosen], len(weights)
        length = [e2 * lengths, e1 * units + e3 * lengths * weights]
        bias, value = [e1, e2 * weights], [e0, e1 * weights]
        if self._degree == 2:
            square = pack_squares(weights) / np.sqrt(2)
            length.append((2 * e2 / lengths + e4 * lengths) * square)
            bias.append(e3 * square)
            value.append(e2 * square)
        by_length = np.hstack(length) * self._weight_units[chosen, None]
        by_bias = np.hstack(bias) * self._bias_units[chosen, None]
        along = np.stack([by_length, by_bias], axis=1)[:, :, None, :] * pull[:, None, :, None]
        own = np.zeros((neurons, self._outputs, self._outputs, along.shape[-1]))
        diagonal = np.arange(self._outputs)
        own[:, diagonal, diagonal] = (np.hstack(value) * self._output_units[chosen, None])[:, None, :]
        return np.concatenate([along.reshape(neurons, 2, -1), own.reshape(neurons, self._outputs, -1)], axis=1)

    def _add_across(self, system: Float64[np.ndarray, "outputs f outputs f"], chosen: slice) -> None:
        """Add what the weights of some neurons across their directions give to ``C D^-1 C^T``."""
        weights, pull = self._weights[chosen], self._output_weights[chosen]
        slopes, bends = (moment[chosen] for moment in self._moments[1:3])
        size = self._weight_units[chosen] ** 2 / self._across[chosen]
        for o in range(self._outputs):
            for other in range(self._outputs):
                factors = size * pull[:, o] * pull[:, other]
                bends_used = bends if self._degree == 2 else None
                system[o, 1:, other, 1:] += across_gram(weights, slopes, bends_used, factors)

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
            offset / self._rules.affine_remainder,
            skip / self._rules.affine_remainder,
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
            rows.append([np.array([constant]), linear])
            if self._degree == 2:
                mixed = (self._weights * (pull * e2)[:, None]).T @ weights
                stretch = pull * (e4 * inner + e3 * biases) + e2 * values[:, o]
                square = self._weights.T @ (self._weights * stretch[:, None])
                rows[-1].append(pack(mixed + mixed.T + square) / np.sqrt(2))
        return np.array([np.concatenate(row) for row in rows])

    def _shared_transposed(self, shared: Float64[np.ndarray, "outputs features"]) -> list[np.ndarray]:
        """``C^T y``."""
        e0, e1, e2, e3, e4 = self._moments
        weights = np.zeros_like(self._weights)
        biases, values = np.zeros(len(self._lengths)), np.zeros_like(self._output_weights)
        for o in range(self._outputs):
            pull, constant = self._output_weights[:, o], shared[o, 0]
            linear = shared[o, 1 : 1 + self._inputs]
            along_linear, turned = self._weights @ linear, np.zeros_like(self._weights)
            if self._degree == 2:
                turned = self._weights @ unpack(shared[o, 1 + self._inputs :], self._inputs) / np.sqrt(2)
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


def _moments_by_parts(activation: Activation, lengths: np.ndarray, biases: np.ndarray) -> list[np.ndarray]:
    """Moments ``e_r = E g^(r)(z)`` where the derivatives are measures: by parts, ``E g(z) He_r / length^r``."""
    coefficients = np.array(
        [
            activation.hermite_coefficients(4, scale=float(length), bias=float(bias))
            for length, bias in zip(lengths, biases, strict=True)
        ]
    ).reshape(-1, 5)
    return [coefficients[:, r] * np.sqrt(factorial(r)) / lengths**r for r in range(5)]


def across_gram(
    weights: Float64[np.ndarray, "neurons inputs"],
    slopes: Float64[np.ndarray, " neurons"],
    bends: Float64[np.ndarray, " neurons"] | None,
    factors: Float64[np.ndarray, " neurons"],
) -> Float64[np.ndarray, "shared shared"]:
    """Sum of ``f c c^T`` over neurons and the directions across their weights, without forming the columns c.

    A change d of the weights w, across w, moves a neuron's polynomials of degree 1 and 2 by ``e_1 d`` and by
    ``e_2 (w d^T + d w^T) / sqrt 2``, packed. Summed over an orthonormal basis of these d, ``d d^T`` is the projection
    ``P = I - u u^T``: what I gives is sparse, what ``u u^T`` gives has one column per neuron.

    Args:
        weights: rows w.
        slopes: moments e_1.
        bends: moments e_2; without them only the polynomials of degree 1 are there.
        factors: weights f of the neurons in the sum.
    """
    inputs, squared = weights.shape[1], np.einsum("ki,ki->k", weights, weights)
    per_square = factors / np.maximum(squared, np.finfo(float).tiny)
    linear = np.sum(factors * slopes**2) * np.eye(inputs) - (weights.T * (per_square * slopes**2)) @ weights
    if bends is None:
        return linear
    rows, columns, entries = upper_triangle(inputs)
    places = np.empty((inputs, inputs), dtype=int)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    # Twice on the diagonal, where both places of a pair are the same input.
    counts = entries[places] * (1.0 + np.eye(inputs))
    squares = pack_squares(weights)
    outer = (weights.T * (factors * bends**2 / 2)) @ weights
    square = -2.0 * (squares.T * (per_square * bends**2)) @ squares
    pulls = (factors * slopes * bends / np.sqrt(2)) @ weights
    mixed = -np.sqrt(2) * (weights.T * (per_square * slopes * bends)) @ squares
    for one in range(inputs):
        pairs, count = places[one], counts[one]
        square[np.ix_(pairs, pairs)] += count[:, None] * outer * count
        mixed[one, pairs] += count * pulls
    return np.block([[linear, mixed], [mixed.T, square]])


def conjugate_gradients(
    operator: JacobianOperator,
    preconditioner: HermitePreconditioner,
    residuals: Float64[np.ndarray, "rows"],
    *,
    damping: float,
    floor: float,
    rules: MatrixFree = MATRIX_FREE,
) -> Float64[np.ndarray, "parameters"]:
    """Minimise ``|r - J x|^2 + damping |x|^2``; stops at the noise `floor` or when progress ends.

    Guarantees: the residual falls with every iteration.
    """
    solution = np.zeros(operator.shape[1])
    left = residuals.copy()
    gradient = operator.backward(left)
    direction = preconditioned = preconditioner(gradient)
    slope = float(gradient @ preconditioned)
    history = [float(np.sqrt(np.mean(left**2)))]
    for _ in range(rules.iterations):
        image = operator.forward(direction)
        curvature = float(image @ image) + damping * float(direction @ direction)
        if not (slope > 0 and curvature > 0):
            break
        length = slope / curvature
        solution = solution + length * direction
        left = left - length * image
        history.append(float(np.sqrt(np.mean(left**2))))
        if rules.is_over(history, floor):
            break
        gradient = operator.backward(left) - damping * solution
        preconditioned = preconditioner(gradient)
        new_slope = float(gradient @ preconditioned)
        direction = preconditioned + new_slope / slope * direction
        slope = new_slope
    return solution


def factored(system: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor of a matrix that is positive definite but for rounding, with a ridge where that is needed.

    It preconditions: a ridge costs iterations, and no digits.
    """
    largest = float(np.max(np.diag(system)))
    for ridge in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            return scipy.linalg.cho_factor(system + ridge * largest * np.eye(len(system)))
        except np.linalg.LinAlgError:
            continue
    return scipy.linalg.cho_factor(np.diag(np.maximum(np.diag(system), 1.0)))
