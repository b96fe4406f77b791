"""The answers that a run has paid for, kept for every later stage."""

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, Activation
from unweave.arrays import Points, Values, Vector, root_mean_square
from unweave.networks.network import Network
from unweave.oracles.domains import Box
from unweave.oracles.standard import StandardOracle

# Answers per parameter in the refinement. Answers on a few lines or near each other count less, so
# that many must be spread over the domain.
REFINEMENT_SURPLUS = 2.0
SPREAD_SURPLUS = 1.1
# Fresh answers per parameter in the certificate, with bounds.
FRESH_SHARE = 0.4
FEWEST_FRESH, MOST_FRESH = 16, 2_000
# Answers that show a neuron bend, per input; how far its argument must vary over them, and how far
# from the domain, in its half-widths, they are looked for.
TELLING_SHARE = 3.0
TELLING_ARGUMENT, TELLING_SPREAD = 2.5, 0.5
FARTHEST = 100.0
# Where the domain has no end, how much farther than its scale fit points may be drawn, so that neurons bend over
# them. Neurons that are flat there differ in polynomials of high degree only, and least squares is ill-conditioned.
LARGEST_STRETCH, LONG_NEURONS = 10.0, 0.9
SAMPLE = 2_048
SAME_HYPERPLANE = 0.01
# Standard deviation of rounding, in units of the last digit.
ANSWER_ROUNDING = 0.29
# Rounding of a network's own terms, relative to the answers, up to which it excuses a residual: a fit whose terms
# cancel to fewer digits has run away and explains nothing.
LARGEST_ROUNDING = 1e-8


class Answers:
    """All answers in standard coordinates: those that may be fitted, and fresh ones that never are."""

    def __init__(self, oracle: StandardOracle, rng_fit: np.random.Generator, rng_fresh: np.random.Generator) -> None:
        self.oracle = oracle
        self._rng_fit, self._rng_fresh = rng_fit, rng_fresh
        self.points, self.values = np.empty((0, oracle.inputs)), np.empty((0, oracle.outputs))
        self._spread_out, self._stretch = 0, 1.0
        self._excited: list[tuple[Vector, float]] = []
        self.fresh_points, self.fresh_values = self.points, self.values

    def in_units(self, oracle: StandardOracle, offset: np.ndarray, size: np.ndarray) -> "Answers":
        """The same answers in the units of another oracle of the same domain, ``offset + size`` times as large."""
        other = Answers(oracle, self._rng_fit, self._rng_fresh)
        other.points, other.fresh_points = self.points, self.fresh_points
        other.values, other.fresh_values = offset + size * self.values, offset + size * self.fresh_values
        other._spread_out, other._stretch, other._excited = self._spread_out, self._stretch, self._excited
        return other

    def keep(self, points: Points, values: Values, *, are_spread: bool) -> None:
        """Keep answers that another stage has asked for."""
        self.points, self.values = (
            np.concatenate([self.points, points]),
            np.concatenate([self.values, values]),
        )
        self._spread_out += len(points) if are_spread else 0

    def ask(self, count: int) -> None:
        """Ask `count` random points of the domain."""
        points = self._sample(count)
        self.keep(points, self.oracle.query(points), are_spread=True)

    def prepare(self, parameters: int, *, narrowest: int | None = None) -> None:
        """Ask what a fit of so many parameters still needs, and what its certificate still needs.

        An answer tells as many numbers as there are outputs, or as the narrowest layer on the way has neurons.
        """
        per_answer = parameters / min(self.oracle.outputs, narrowest or self.oracle.outputs)
        missing = max(
            REFINEMENT_SURPLUS * per_answer - len(self.points), SPREAD_SURPLUS * per_answer - self._spread_out
        )
        if missing > 0:
            self.ask(int(np.ceil(missing)))
        fresh = int(np.clip(FRESH_SHARE * per_answer, FEWEST_FRESH, MOST_FRESH)) - len(self.fresh_points)
        if fresh > 0:
            points = self.oracle.sample(self._rng_fresh, fresh)
            self.fresh_points = np.concatenate([self.fresh_points, points])
            self.fresh_values = np.concatenate([self.fresh_values, self.oracle.query(points)])

    def stretch(self, network: Network) -> None:
        """Draw later fit points so far out that most neurons bend over them; only where the domain has no end."""
        hidden = network.layers[0]
        if isinstance(self.oracle.oracle.domain, Box) or not hidden.neurons or hidden.activation.is_piecewise_linear:
            return
        # The long neurons set the limit: among points that are too far apart few would meet their bend.
        argument = float(np.quantile(np.linalg.norm(hidden.weights, axis=1), LONG_NEURONS))
        self._stretch = float(np.clip(TELLING_ARGUMENT / max(argument, 1e-300), 1.0, LARGEST_STRETCH))

    def _sample(self, count: int) -> Points:
        return self._stretch * self.oracle.sample(self._rng_fit, count)

    def excite(self, network: Network) -> None:
        """Ask around neurons that bend outside the domain, or hardly inside: no answer tells of them otherwise.

        Only where the domain has no end. Neurons that are very far away are left alone.
        """
        if isinstance(self.oracle.oracle.domain, Box):
            return
        hidden = network.layers[0]
        planned = max(REFINEMENT_SURPLUS * network.parameters / self.oracle.outputs, self._spread_out)
        wanted = int(TELLING_SHARE * (self.oracle.inputs + 2))
        # What the answers of the refinement will tell of a neuron is known before they are asked.
        sample = self._sample(SAMPLE)
        for weights, bias in zip(hidden.weights, hidden.biases, strict=True):
            length = float(np.linalg.norm(weights))
            if length == 0.0 or abs(bias) > FARTHEST * length or FARTHEST * length < TELLING_ARGUMENT:
                continue
            arguments = sample @ weights + bias
            targets = _telling_arguments(hidden.activation, arguments, planned / SAMPLE, wanted, self._rng_fit)
            if len(targets) == 0 or self._is_excited(weights / length, bias / length):
                continue
            points = self.oracle.sample(self._rng_fit, len(targets))
            moves = targets * (length if hidden.activation.homogeneity else 1.0) - (points @ weights + bias)
            points = points + (moves / length**2)[:, None] * weights
            self.keep(points, self.oracle.query(points), are_spread=False)

    def _is_excited(self, normal: Vector, offset: float) -> bool:
        """Whether a hyperplane was asked around before; if not, remember that it is now."""
        seen = any(
            np.linalg.norm(normal - np.sign(normal @ other) * other) < SAME_HYPERPLANE
            and abs(offset - np.sign(normal @ other) * distance) < SAME_HYPERPLANE * (1.0 + abs(offset))
            for other, distance in self._excited
        )
        if not seen:
            self._excited.append((normal, offset))
        return seen

    def ask_more(self, parameters: int) -> None:
        """Ask once more as many answers as there are parameters: the fit needs a better foundation."""
        self.ask(int(np.ceil(parameters / self.oracle.outputs)))

    def floor(self, network: Network, noise: float) -> float:
        """The smallest residual that a right network can have: the noise, or its own rounding."""
        *hidden, output = network.layers
        points = values = self.fresh_points[:64]
        for layer in hidden:
            values = layer.activation(layer.preactivations(values))
        terms = np.abs(values) @ np.abs(output.weights.T)
        if output.activation != IDENTITY:
            arguments = output.preactivations(values)
            terms = np.abs(output.activation(arguments, 1)) * terms + np.abs(output.activation(arguments))
        if network.skip is not None:
            terms = terms + np.abs(points) @ np.abs(network.skip.T)
        # The oracle's own rounding is that of its answers before they were centred.
        centre = np.abs(self.oracle.offset / self.oracle.size)
        sizes = np.abs(self.fresh_values) + centre
        terms = np.finfo(float).eps * root_mean_square(terms + np.abs(output.biases) + centre)
        rounded = ANSWER_ROUNDING * self.oracle.oracle.ledger.answer_digits * root_mean_square(sizes)
        return float(max(noise, rounded, min(terms, LARGEST_ROUNDING * root_mean_square(sizes))))


def _telling_arguments(
    activation: Activation, arguments: np.ndarray, share: float, wanted: int, rng: np.random.Generator
) -> Float64[np.ndarray, "missing"]:
    """Arguments at which a neuron should be asked, if a share of those in a sample say too little about it."""
    if activation.homogeneity:
        before, after = np.count_nonzero(arguments < 0), np.count_nonzero(arguments > 0)
        missing = wanted - int(share * min(before, after))
        side = -1.0 if before < after else 1.0
        return side * np.abs(rng.standard_normal(max(missing, 0)))
    near = arguments[np.abs(arguments) < TELLING_ARGUMENT]
    if share * len(near) >= wanted and np.std(near) > TELLING_SPREAD:
        return np.empty(0)
    return rng.uniform(-TELLING_ARGUMENT, TELLING_ARGUMENT, wanted)
