"""What answers in slabs and near the centre say about the parameters of a network that saturates.

The change ``zeta`` of a neuron, in units of its argument at its farthest points, obeys its own small system: what is
left of the differences within places, errors of answers, tails of other neurons, and a square. So

    zeta_k <= | s_k + |A_k^+| (e_k + T_k max zeta + q_k zeta_k^2) |

with the inverse of every block, entry by entry. The least fixed point bounds the error of every neuron; no other
network is nearer than where the inequality holds with equality again. Points near the centre sharpen what far ones
leave open. Everything is linear or quadratic: nothing is estimated but the errors of answers, whose bound is given.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from threadpoolctl import threadpool_limits

from unweave.arrays import PerNeuron, PerPoint, Points, batched_by_size
from unweave.certificates.certify import ParameterClaim
from unweave.identification.saturation.far_blocks import Blocks
from unweave.identification.saturation.near_rows import Near, NearSystem
from unweave.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class BlockRules:
    """What bounds by blocks assume.

    Args:
        largest_change: of arguments, up to which slopes in tails grow by a tenth at most.
        constant_tail: slope of tanh, and of what falls faster, where tails count as constant, times the argument and a
            little more.
        rounds: in which the least fixed point is looked for. Chosen: it is reached in a few, or there is none.
        trials: of where there is no other network, evenly in the logarithm. Chosen.
        sharpened: neurons with the widest bounds, for which turns of all weights are added up as vectors; for all of
            them that would take longer than the rest. Chosen: the weakest neuron alone is by far the widest.
        rounded_squares: relative error of sums of squares over inputs.
    """

    largest_change: float = 1e-3
    constant_tail: float = float(4.0 * np.exp(-40.0))
    rounds: int = 100
    trials: int = 60
    sharpened: int = 8
    rounded_squares: float = 1e-13


RULES = BlockRules()


@dataclass(frozen=True)
class FarClaim:
    """Bounds of the changes of all neurons; infinite if there are none.

    Args:
        sideways: of weights across their direction.
        lengths: of weights along it, relatively.
        biases: of biases.
        pulls: of output weights, relative to all of a neuron.
        isolation: of a neuron, in units of its argument at its farthest points, below which there is no other network.
        singular: smallest singular value of any block, per output weight.
        residual: what blocks leave, in units of the largest errors of answers: root mean square.
    """

    sideways: PerNeuron
    lengths: PerNeuron
    biases: PerNeuron
    pulls: PerNeuron
    isolation: PerNeuron
    singular: float
    residual: float

    @property
    def is_made(self) -> bool:
        """Whether there are bounds."""
        return bool(np.all(np.isfinite(self.lengths)) and self.residual <= 1.0)


def far_claim(blocks: Blocks, network: Network, errors: Float64[np.ndarray, "neurons rows"]) -> FarClaim:
    """Bound the change of every neuron by its block.

    Args:
        blocks: answers in slabs.
        network: the solution.
        errors: largest ones of the answers, and of the network there.
    """
    hidden, output = network.layers
    sizes = np.linalg.norm(output.weights, axis=0)[:, None]
    residuals, columns = blocks.residuals(network), blocks.columns(hidden)
    with threadpool_limits(1):
        orthogonal, triangle = np.linalg.qr(columns)
        inverse = np.linalg.solve(triangle, np.swapaxes(orthogonal, 1, 2))
        of_direction = np.linalg.norm(inverse[:, 1:-2], ord=2, axis=(1, 2))
        inverse = np.abs(inverse)
        singular = float(np.min(np.linalg.svd(triangle, compute_uv=False)[:, -1]))
    allowed = np.sqrt(network.outputs) * blocks.sums(errors)
    steps = np.abs(blocks.steps(network, columns, residuals))
    first = steps + np.einsum("kpr,kr->kp", inverse, allowed / sizes)
    tails, bends = _tails(blocks, network) / sizes, _bends(blocks, network)
    coupling, square = np.einsum("kpr,kr->kp", inverse, tails), np.einsum("kpr,kr->kp", inverse, bends)
    zeta, isolation = _fixed_points(*(np.linalg.norm(each, axis=1) for each in (first, coupling, square)))
    if not np.all(np.isfinite(zeta)):
        return FarClaim(zeta, zeta, zeta, zeta, isolation, singular, blocks.misfit(network, errors))
    bounds = first + coupling * np.max(zeta) + square * zeta[:, None] ** 2
    rows = allowed / sizes + tails * np.max(zeta) + bends * zeta[:, None] ** 2
    # The worst errors for one component are not the worst ones for all of them.
    sideways = np.linalg.norm(steps[:, 1:-2], axis=1) + of_direction * np.linalg.norm(rows, axis=1)
    sideways = np.minimum(sideways, np.linalg.norm(bounds[:, 1:-2], axis=1)) / blocks.radii
    # Output weights across those of a neuron are told by its values alone.
    units = output.weights.T / sizes
    across = residuals - np.einsum("kro,ko->kr", residuals, units)[:, :, None] * units[:, None]
    rows = rows + np.linalg.norm(across, axis=2) / sizes
    values = columns[:, :, -1]
    shares = np.einsum("kr,kr->k", np.abs(values), rows) / np.einsum("kr,kr->k", values, values)
    pulls = np.hypot(bounds[:, -1], shares) if network.outputs > 1 else bounds[:, -1]
    return FarClaim(sideways, bounds[:, 0], bounds[:, -2], pulls, isolation, singular, blocks.misfit(network, errors))


def _fixed_points(first: np.ndarray, coupling: np.ndarray, square: np.ndarray) -> tuple[PerNeuron, PerNeuron]:
    """The smallest and the largest changes with ``zeta = first + coupling max zeta + square zeta^2``, or below."""
    none = np.full(len(first), np.inf), np.zeros(len(first))
    zeta = first
    for _ in range(RULES.rounds):
        following = first + coupling * np.max(zeta) + square * zeta**2
        if not np.max(following) < RULES.largest_change:
            return none
        if np.all(following <= zeta * (1.0 + 1e-9)):
            break
        zeta = following
    zeta = zeta * (1.0 + 1e-6)
    for largest in np.geomspace(RULES.largest_change, max(float(np.max(zeta)), 1e-15), RULES.trials):
        constant = first + coupling * largest
        roots = np.sqrt(np.maximum(1.0 - 4.0 * square * constant, 0.0))
        lower, upper = 2.0 * constant / (1.0 + roots), np.minimum((1.0 + roots) / (2.0 * square), largest)
        if np.all((4.0 * square * constant < 1.0) & (lower <= upper)):
            return zeta, upper
    return none


def _bends(blocks: Blocks, network: Network) -> Float64[np.ndarray, "neurons differences"]:
    """How far differences are from their linear part, per output weight and square of the change."""
    hidden = network.layers[0]
    arguments = blocks.arguments(hidden)
    distances = np.einsum("kri,kri->kr", blocks.points, blocks.points) / blocks.radii[:, None] ** 2
    moved = np.sqrt((arguments - hidden.biases[:, None]) ** 2 + distances + 1.0)
    curvature, slope = hidden.activation.supremum(2), hidden.activation.supremum(1)
    return blocks.sums(0.5 * curvature * moved**2 + slope * moved)


def _tails(blocks: Blocks, network: Network) -> Float64[np.ndarray, "neurons differences"]:
    """How far differences in a block move per change of all other neurons, which are in their tails there."""
    hidden, output = network.layers
    sizes, radii = np.linalg.norm(output.weights, axis=0), blocks.radii
    farthest = float(np.max(radii))
    constant = 2.0 * RULES.constant_tail * float(np.sum(sizes * (24.0 + farthest / radii)))
    moved = np.full((len(radii), len(blocks.differences(blocks.values[:1])[0])), constant)
    for neuron, others in blocks.others():
        points = blocks.points[neuron]
        arguments = points @ hidden.weights[others].T + hidden.biases[others]
        distances = np.linalg.norm(points, axis=1)[:, None] / radii[others]
        slopes = 1.1 * hidden.activation(arguments, 1) + np.finfo(float).eps
        tails = 1.0 - np.abs(hidden.activation(arguments)) + np.finfo(float).eps
        reach = np.abs(arguments - hidden.biases[others]) + distances + 1.0
        moved[neuron] += blocks.sums(((slopes * reach + tails) @ sizes[others])[None])[0]
    return moved


def whole_claim(
    far: FarClaim,
    blocks: Blocks,
    near: Near,
    system: NearSystem,
    network: Network,
    errors: PerPoint,
    *,
    rounds: int = 4,
) -> ParameterClaim:
    """Sharpen lengths, biases and output weights by points near the centre, and put the claim together.

    Args:
        far: bounds from blocks, finite ones.
        blocks: answers in slabs.
        near: answers near the centre.
        system: of these.
        network: the solution.
        errors: largest ones of the answers near the centre.
        rounds: of sharpening: squares of bounds are in the bounds.
    """
    hidden, output = network.layers
    neurons, outputs, lengths = hidden.neurons, network.outputs, np.linalg.norm(hidden.weights, axis=1)
    sizes = np.linalg.norm(output.weights, axis=0)
    arguments = hidden.preactivations(near.points)
    slopes, along = hidden.activation(arguments, 1), np.abs(arguments - hidden.biases)
    distances = np.linalg.norm(near.points, axis=1)
    turned = distances * (slopes @ (sizes * far.sideways))
    residuals, inverse = near.residuals(network), system.inverse()
    own = np.abs(system.solution(residuals))
    bounds = np.stack([far.lengths, far.biases, far.pulls])
    curvature, slope = hidden.activation.supremum(2), hidden.activation.supremum(1)
    bent = np.zeros(len(near.points))
    for _ in range(rounds):
        of_length, of_bias, of_pull = bounds
        moved = along * of_length + of_bias + distances[:, None] * far.sideways
        bent = (0.5 * curvature * moved**2) @ sizes + (slope * moved) @ (sizes * of_pull)
        found = own + _worst_sums(inverse, np.tile(errors + turned + bent, outputs))
        bounds = np.minimum(bounds, _by_parameter(found[: neurons * (2 + outputs)], neurons))

    def radii() -> PerNeuron:
        of_length, of_bias, of_pull = bounds
        return far.sideways / lengths + of_length + of_pull + of_bias / np.hypot(lengths, hidden.biases)

    worst = np.argsort(-radii())[: RULES.sharpened]
    rows = (np.arange(2 + outputs)[:, None] * neurons + worst).ravel()
    turns = _Turns(network, near.points, slopes, far.sideways).moved(inverse[rows])
    found = own[rows] + _worst_sums(inverse[rows], np.tile(errors + bent, outputs)) + turns
    bounds[:, worst] = np.minimum(bounds[:, worst], _by_parameter(found, len(worst)))
    isolation = far.isolation / (2.0 + np.abs(hidden.biases) + blocks.radii * lengths)
    left = float(np.sqrt(np.mean((residuals / np.tile(errors, outputs)) ** 2)))
    return ParameterClaim(
        smallest_singular=far.singular,
        radius=float(np.max(radii())),
        isolation=float(np.min(isolation)),
        is_made=left <= 1.0,
    )


@dataclass(frozen=True)
class _Turns:
    """How far weights that turn sideways move what a linear system makes of answers.

    Args:
        network: the solution.
        points: where answers are.
        slopes: of all neurons there.
        sideways: how far weights may turn, at most.
    """

    network: Network
    points: Points
    slopes: Float64[np.ndarray, "points neurons"]
    sideways: PerNeuron

    def moved(self, rows: Float64[np.ndarray, "unknowns numbers"]) -> Float64[np.ndarray, "unknowns"]:
        """The largest change of some unknowns, by the rows of the inverse that give them.

        A weight turns in one direction at all points: its effects there are added up as vectors, and the length of
        their sum across the weight counts, not the sum of their lengths.
        """
        hidden, output = self.network.layers
        directions = hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True)
        per_output = rows.reshape(len(rows), len(output.weights), len(self.points))
        squares, along = np.zeros((2, len(rows), hidden.neurons))
        for axis, coordinates in enumerate(self.points.T):
            effect = sum(
                ((per_output[:, number] * coordinates) @ self.slopes) * pulls
                for number, pulls in enumerate(output.weights)
            )
            squares += effect**2
            along += effect * directions[:, axis]
        # What is left of nearly equal squares is rounded.
        across = np.sqrt(np.maximum(squares - along**2, 0.0) + RULES.rounded_squares * squares)
        return across @ self.sideways


def _worst_sums(
    inverse: Float64[np.ndarray, "unknowns numbers"], errors: Float64[np.ndarray, "numbers"]
) -> Float64[np.ndarray, "unknowns"]:
    """What errors of answers do at most, with the signs that do most harm; a copy of the inverse would fill memory."""
    return np.concatenate(
        [np.abs(inverse[some]) @ errors for some in batched_by_size(list(range(len(inverse))), len(errors))]
    )


def _by_parameter(found: Float64[np.ndarray, "unknowns"], neurons: int) -> Float64[np.ndarray, "3 neurons"]:
    """Bounds of lengths, biases and output weights, of all outputs together."""
    pulls = np.linalg.norm(found[2 * neurons :].reshape(-1, neurons), axis=0)
    return np.stack([found[:neurons], found[neurons : 2 * neurons], pulls])
