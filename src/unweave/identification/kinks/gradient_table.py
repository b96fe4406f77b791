"""Closed forms for networks with kinks: gradients in roomy cells, and the pattern of active neurons that they share.

Between kinks the network is affine, and its gradient is the sum of ``slope_k a_k w_k`` over its neurons, with slopes
that depend on the cell alone (0 and 1 for relu). So a table of gradients in a few more cells than neurons determines
all products ``a_k w_k``: one small system for every input at once. Biases and the offset follow from the values there.
After a walk cells are known so well that steps can be as long as the cell allows: gradients are exact to rounding.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64

from unweave.arrays import Points, Values, root_mean_square
from unweave.certificates.certify import ParameterClaim
from unweave.exceptions import StageFailed
from unweave.identification.walks.cells import ErrorsAt, measure_gradients, safe_steps
from unweave.networks.network import Layer, Network
from unweave.oracles.views import StandardOracle


@dataclass(frozen=True, kw_only=True)
class GradientTable:
    """Settings of the table.

    Args:
        surplus: cells per neuron: those that are more than needed tell whether a step has crossed a kink.
        more_cells: cells beyond that, for few neurons.
        pool: random points per cell, among which roomy ones are chosen.
        roomy: of these, so many per cell are the roomiest, among which independent patterns are chosen.
        mirrored: of these, so many per neuron are taken to the other side of its kink: few get there by themselves if
            it is far from the centre.
        sides: roomy points on either side of every kink that are chosen from, whatever room others have.
        centring: steps away from the nearest kink, and their length, in half-widths of the domain.
        share_of_room: how far to the nearest kink an axis is followed: the kinks are known to three digits and more.
        longest_step: in half-widths of the domain.
        beside: smallest and largest distance from the kink of a neuron, in half-widths, at which it is asked on both
            sides, near the centre. Values there tell biases without the errors of weights that far cells amplify.
        aside: how far from the place that is nearest to the centre.
        tried: places on each side, of which the roomiest is taken.
    """

    surplus: float = 1.15
    more_cells: int = 6
    centring: tuple[int, float] = (6, 0.05)
    pool: int = 40
    roomy: int = 6
    mirrored: int = 12
    sides: int = 3
    share_of_room: float = 0.9
    longest_step: float = 50.0
    beside: tuple[float, float] = (0.03, 1.0)
    aside: float = 0.5
    tried: int = 12

    def __call__(
        self, oracle: StandardOracle, network: Network, errors_at: ErrorsAt, rng: np.random.Generator
    ) -> "Gradients":
        """Measure gradients in cells of a network that is known roughly.

        Args:
            oracle: what is asked.
            network: roughly right.
            errors_at: largest error of every answer, from points and answers.
            rng: randomness of the cells.

        Raises:
            StageFailed: if there are not enough cells with independent patterns.
        """
        hidden = network.layers[0]
        points = self._cells(oracle, network, rng)
        steps = np.array(
            [
                safe_steps(arguments, hidden.weights, share=self.share_of_room, longest=self.longest_step)
                for arguments in hidden.preactivations(points)
            ]
        )
        table = measure_gradients(oracle.query, points, steps, errors_at)
        near = self._beside_kinks(network, rng)
        values = oracle.query(near)
        return Gradients(points, steps, *table, near, values, errors_at(near, values))

    def _beside_kinks(self, network: Network, rng: np.random.Generator) -> Points:
        """Points on both sides of every kink, where it is nearest to the centre."""
        hidden = network.layers[0]
        lengths = np.linalg.norm(hidden.weights, axis=1)
        normals = hidden.weights / lengths[:, None]
        feet = -(hidden.biases / lengths)[:, None] * normals
        smallest, largest = np.log(self.beside)
        distances = np.exp(rng.uniform(smallest, largest, (hidden.neurons, 2, self.tried)))
        sides = np.array([[1.0], [-1.0]]) * distances
        aside = (
            self.aside * rng.standard_normal((hidden.neurons, 2, self.tried, hidden.inputs)) / np.sqrt(hidden.inputs)
        )
        aside -= np.einsum("kstd,kd->kst", aside, normals)[..., None] * normals[:, None, None]
        points = feet[:, None, None] + aside + sides[..., None] * normals[:, None, None]
        arguments = hidden.preactivations(points.reshape(-1, hidden.inputs)) / lengths
        room = np.min(np.abs(arguments), axis=1).reshape(points.shape[:3])
        best = np.argmax(room, axis=2)
        chosen = np.take_along_axis(points, best[:, :, None, None], axis=2)
        return chosen.reshape(-1, hidden.inputs)

    def _cells(self, oracle: StandardOracle, network: Network, rng: np.random.Generator) -> Points:
        """Points in roomy cells, with independent patterns of active neurons."""
        hidden = network.layers[0]
        cells = int(self.surplus * hidden.neurons) + self.more_cells
        lengths = np.linalg.norm(hidden.weights, axis=1)
        points = oracle.sample(rng, self.pool * cells)
        points = np.concatenate([points, self._mirrored(hidden, points)])
        steps, length = self.centring
        for _ in range(steps):
            distances = hidden.preactivations(points) / lengths
            nearest = np.argmin(np.abs(distances), axis=1)
            signs = np.sign(distances[np.arange(len(points)), nearest])
            away = signs[:, None] * (hidden.weights / lengths[:, None])[nearest]
            points = points + length * away
        distances = hidden.preactivations(points) / lengths
        by_room = np.argsort(-np.min(np.abs(distances), axis=1))
        is_right = distances[by_room] > 0.0
        # The roomiest ones, and the roomiest ones on either side of every kink.
        is_chosen = np.any(np.cumsum(is_right, axis=0) * is_right <= self.sides, axis=1, where=is_right)
        is_chosen |= np.any(np.cumsum(~is_right, axis=0) * ~is_right <= self.sides, axis=1, where=~is_right)
        is_chosen[: self.roomy * cells] = True
        points = points[by_room[is_chosen]]
        patterns = pattern_of(network, points)
        decomposition = scipy.linalg.qr(patterns.T, mode="r", pivoting=True)
        sizes, order = np.abs(np.diag(decomposition[0])), np.asarray(decomposition[-1])
        needed = patterns.shape[1]
        if len(sizes) < needed or sizes[needed - 1] < 1e-6 * sizes[0]:
            raise StageFailed(f"fewer than {needed} of {len(points)} cells have patterns that tell all neurons apart.")
        rest = np.setdiff1d(np.arange(len(points)), order[:needed])[: cells - needed]
        return points[np.concatenate([order[:needed], rest])]

    def _mirrored(self, hidden: Layer, points: Points) -> Float64[np.ndarray, "mirrored inputs"]:
        """The mirror images of some points behind every kink."""
        some = np.tile(points, (-(-self.mirrored * hidden.neurons // len(points)), 1))[: self.mirrored * hidden.neurons]
        neurons = np.repeat(np.arange(hidden.neurons), self.mirrored)
        weights = hidden.weights[neurons]
        arguments = np.sum(weights * some, axis=1) + hidden.biases[neurons]
        return some - (2.0 * arguments / np.sum(weights**2, axis=1))[:, None] * weights


def pattern_of(network: Network, points: Points) -> Float64[np.ndarray, "points columns"]:
    """Slopes of all neurons at some points, and a column of ones if there is an affine part."""
    hidden = network.layers[0]
    slopes = hidden.activation(hidden.preactivations(points), 1)
    return slopes if network.skip is None else np.column_stack([slopes, np.ones(len(points))])


@dataclass(frozen=True)
class TableFit:
    """A network that was solved from gradients.

    Args:
        network: with the orientation and activation that was given.
        residual: what the surplus of answers leaves unexplained, in units of their largest errors: root mean square.
        claim: on its parameters, if no answer is wrong by more than was said.
        amplification: errors of its values in the cells, per error of an answer.
    """

    network: Network
    residual: float
    claim: ParameterClaim
    amplification: float

    @property
    def is_met(self) -> bool:
        """Whether errors of answers explain what is left."""
        return self.residual <= 1.0


@dataclass(frozen=True)
class Gradients:
    """Values and gradients at some points.

    Args:
        points: one in every cell.
        steps: along every axis.
        values: there.
        gradients: there.
        errors: largest ones of the answers after every step and, last, at the points.
        near: points on both sides of every kink, near the centre.
        near_values: at these.
        near_errors: largest ones of these.
    """

    points: Points
    steps: Float64[np.ndarray, "points inputs"]
    values: Values
    gradients: Float64[np.ndarray, "points outputs inputs"]
    errors: Float64[np.ndarray, "points inputs+1"]
    near: Float64[np.ndarray, "near inputs"]
    near_values: Float64[np.ndarray, "near outputs"]
    near_errors: Float64[np.ndarray, "near"]

    @cached_property
    def places(self) -> Float64[np.ndarray, "places inputs"]:
        """All points whose values tell biases."""
        return np.concatenate([self.near, self.points])

    @cached_property
    def place_errors(self) -> Float64[np.ndarray, "places"]:
        """Largest errors of the values there."""
        return np.concatenate([self.near_errors, self.errors[:, -1]])

    @cached_property
    def gradient_errors(self) -> Float64[np.ndarray, "points inputs"]:
        """Largest errors of gradients, the same for every output."""
        return (self.errors[:, :-1] + self.errors[:, -1:]) / np.abs(self.steps)

    def settled(self, network: Network, *, rounds: int = 5) -> "tuple[Gradients, TableFit]":
        """Solve again without the cells in which a step has crossed a kink, until none has.

        Args:
            network: roughly right.
            rounds: of solutions.
        """
        gradients, fit = self, self.solve(network)
        for _ in range(rounds):
            kept = ~gradients._crossed(fit.network)
            enough = np.count_nonzero(kept) >= pattern_of(network, self.points).shape[1]
            if fit.is_met or np.all(kept) or not enough:
                break
            gradients = replace(
                gradients,
                points=gradients.points[kept],
                steps=gradients.steps[kept],
                values=gradients.values[kept],
                gradients=gradients.gradients[kept],
                errors=gradients.errors[kept],
            )
            fit = gradients.solve(fit.network)
        return gradients, fit

    def _crossed(self, network: Network) -> Bool[np.ndarray, "points"]:
        """Whether a step out of each point has crossed a kink."""
        hidden = network.layers[0]
        return np.array(
            [
                np.any((arguments[:, None] + hidden.weights * steps) * np.sign(arguments)[:, None] <= 0.0)
                for arguments, steps in zip(hidden.preactivations(self.points), self.steps, strict=True)
            ]
        )

    def solve(self, network: Network) -> TableFit:
        """Solve for all parameters of a network that is roughly right: its patterns are used, and its orientation."""
        hidden, output = network.layers
        neurons, (outputs, inputs) = hidden.neurons, self.gradients.shape[1:]
        patterns = pattern_of(network, self.points)
        # Cells count as far as their gradients are exact.
        trust = 1.0 / np.sqrt(np.mean(self.gradient_errors**2, axis=1))
        inverse = np.linalg.pinv(trust[:, None] * patterns) * trust
        flat = self.gradients.reshape(len(self.points), -1)
        products = inverse @ flat
        # One step of refinement: the system is solved to rounding.
        products = products + inverse @ (flat - patterns @ products)
        leftover = (flat - patterns @ products).reshape(self.gradients.shape) / self.gradient_errors[:, None]
        rows = products[:neurons].reshape(neurons, outputs, inputs)
        pulls, weights = _factored(rows, hidden.weights)
        skip = None if network.skip is None else products[neurons].reshape(outputs, inputs)
        biases, offset, bias_inverse, unexplained = self._biases(network, pulls, weights, skip)
        solved = replace(
            network,
            layers=(replace(hidden, weights=weights, biases=biases), replace(output, weights=pulls, biases=offset)),
            skip=skip,
        )
        radius, isolation = self._radius(solved, inverse, bias_inverse), self._isolation(solved)
        amplification = self._amplification(patterns @ inverse)
        unexplained = unexplained.reshape(-1, outputs) / (self._trust() * self.place_errors)[:, None]
        residual = max(root_mean_square(leftover), root_mean_square(unexplained) / amplification)
        claim = ParameterClaim(
            smallest_singular=float(np.linalg.svd(patterns, compute_uv=False)[-1]),
            radius=radius,
            isolation=isolation,
            is_made=residual <= 1.0 and radius < isolation,
        )
        return TableFit(solved, residual, claim, amplification)

    def _amplification(self, shares: Float64[np.ndarray, "points points"]) -> float:
        """How much larger than those of answers the errors of values are, where a cell is a mixture of others."""
        errors = np.sum(self.points**2 * (shares**2 @ self.gradient_errors**2), axis=1)
        return float(np.sqrt(1.0 + np.median(errors / self.errors[:, -1] ** 2)))

    def _biases(
        self, network: Network, pulls: np.ndarray, weights: np.ndarray, skip: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Biases and offset from the values, the matrix that gives them, and what they leave."""
        neurons, outputs = len(weights), len(pulls)
        slopes = pattern_of(network, self.places)[:, :neurons]
        rest = np.concatenate([self.near_values, self.values]) - (slopes * (self.places @ weights.T)) @ pulls.T
        rest = rest if skip is None else rest - self.places @ skip.T
        # Errors of weights count far from the centre.
        trust = self._trust()[:, None]
        columns = np.zeros((len(self.places), outputs, neurons + outputs))
        columns[:, :, :neurons] = slopes[:, None, :] * pulls[None]
        columns[:, np.arange(outputs), neurons + np.arange(outputs)] = 1.0
        flat = (trust[:, :, None] * columns).reshape(-1, neurons + outputs)
        sizes = np.linalg.norm(flat, axis=0)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        inverse = np.linalg.pinv(flat / sizes) / sizes[:, None]
        target = (trust * rest).reshape(-1)
        solution = inverse @ target
        solution = solution + inverse @ (target - flat @ solution)
        leftover = target - flat @ solution
        return solution[:neurons], solution[neurons:], inverse, leftover

    def _trust(self) -> Float64[np.ndarray, "places"]:
        return 1.0 / np.sqrt(1.0 + np.sum(self.places**2, axis=1))

    def _radius(self, network: Network, inverse: np.ndarray, bias_inverse: np.ndarray) -> float:
        """The worst case: every answer is wrong by its largest error, with the signs that do most harm."""
        hidden, output = network.layers
        neurons, outputs = hidden.neurons, len(output.weights)
        lengths, pulls = np.linalg.norm(hidden.weights, axis=1), np.linalg.norm(output.weights, axis=0)
        of_rows = np.linalg.norm(np.abs(inverse[:neurons]) @ self.gradient_errors, axis=1)
        of_rows = np.sqrt(outputs) * of_rows
        # Errors of gradients reach biases through the values of weights at the places: as linear as all the rest.
        trust = self._trust()
        shares = pattern_of(network, self.places) @ inverse
        of_biases = np.empty(neurons)
        for neuron in range(neurons):
            row = bias_inverse[neuron].reshape(-1, outputs) * trust[:, None]
            through = np.einsum("ro,rs,ri->osi", row, shares, self.places, optimize=True) / self.steps
            of_steps = np.sum(np.abs(through) * self.errors[:, :-1])
            of_points = np.sum(np.abs(np.sum(through, axis=2)) * self.errors[:, -1])
            of_biases[neuron] = np.sum(np.abs(row) * self.place_errors[:, None]) + of_steps + of_points
        sizes = np.hypot(lengths, hidden.biases)
        if outputs > 1:
            # Output weights of one neuron that are wrong by different shares move the biases of others.
            moved = np.abs(pattern_of(network, self.places))[:, :neurons] @ (of_rows * np.abs(hidden.biases) / lengths)
            of_biases += np.abs(bias_inverse)[:neurons] @ np.repeat(trust * moved, outputs)
        # A length that is wrong scales the bias with it.
        relative = of_rows / (pulls * lengths)
        return float(np.max(relative + of_biases / sizes))

    def _isolation(self, network: Network) -> float:
        """How far arguments are from kinks, at all points that were asked."""
        hidden = network.layers[0]
        sizes = np.hypot(np.linalg.norm(hidden.weights, axis=1), hidden.biases)
        arguments = np.abs(hidden.preactivations(self.places)) / sizes
        smallest = float(np.min(arguments / np.sqrt(1.0 + np.sum(self.places**2, axis=1))[:, None]))
        for point, steps in zip(self.points, self.steps, strict=True):
            arguments = hidden.weights @ point + hidden.biases
            moved = np.abs(arguments[:, None] + hidden.weights * steps)
            reach = np.sqrt(1.0 + point @ point + 2.0 * point * steps + steps**2)
            smallest = min(
                smallest,
                float(np.min(moved / (sizes[:, None] * reach))),
                float(np.min(np.abs(arguments) / (sizes * np.sqrt(1.0 + point @ point)))),
            )
        return smallest


def _factored(rows: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write products of output weights and weights as such, with weights as long and oriented as others are."""
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    pulls, weights = left[:, :, 0] * sizes[:, :1], right[:, 0]
    signs = np.where(np.einsum("ki,ki->k", weights, like) < 0.0, -1.0, 1.0)
    lengths = np.linalg.norm(like, axis=1)
    return (signs / lengths)[None] * pulls.T, (signs * lengths)[:, None] * weights
