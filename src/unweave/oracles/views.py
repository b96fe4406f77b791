"""An oracle in standard coordinates, what its answers look like, and how exact they are.

The noise is measured first, from answers close together on two lines; their digits say how far rounding moves them.
All measurements are made in standard coordinates, so that no later stage needs to know units: a box becomes
[-1, 1]^inputs, and outputs of very different size count alike.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64
from scipy import special

from unweave.activations import IDENTITY
from unweave.arrays import PerOutput, Points, Values, Vector, spread_of_columns, unit_of_columns
from unweave.exceptions import InvalidInput, UnusableAnswer
from unweave.networks.network import Layer, Network
from unweave.oracles.oracle import Box, Oracle

# Standard deviation of rounding, in units of what is rounded to: that of a uniform error, ``sqrt(1 / 12)``.
ROUNDING_DEVIATION = 0.29
# In standard coordinates: no point of the domain is drawn with a coordinate beyond this one (a chance of 1e-15).
FAR_COORDINATE = 8.0
# In units of the spread: larger answers far out are as good as none, since the squares of what fits them overflow.
# A polynomial of degree nine stays below, as far out as walks look.
LARGEST_FAR_ANSWER = 1e60


@runtime_checkable
class Queryable(Protocol):
    """What measurements need: a function that answers batches of points."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        ...

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        ...

    def query(self, points: Points) -> Values:
        """Answers at points."""
        ...


@dataclass(frozen=True)
class StandardOracle:
    """Affine coordinates ``z = (x - center) / half_width`` and ``y = (f - offset) / size``."""

    oracle: Oracle
    center: Vector
    half_width: Vector
    offset: Float64[np.ndarray, "outputs"]
    size: Float64[np.ndarray, "outputs"]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.oracle.inputs

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.size)

    def query(self, points: Points) -> Values:
        """Answers in standard units at points in standard coordinates.

        Raises:
            UnusableAnswer: if an answer far out is too large to be computed with: nothing can be read off there.
        """
        answers = self.oracle.query(self.center + self.half_width * points)
        far = np.max(np.abs(points), axis=1, initial=0.0) > FAR_COORDINATE
        with np.errstate(over="ignore") if np.any(far) else nullcontext():
            standard = (answers - self.offset) / self.size
        if not np.all(np.abs(standard[far]) <= LARGEST_FAR_ANSWER):
            largest = float(np.max(np.abs(answers[far])))
            raise UnusableAnswer(
                f"an answer of {largest:.1e} far from the centre is more than {LARGEST_FAR_ANSWER:.0e} times as large "
                "as the spread of those near it, too large to be computed with: ask in a box.",
                queries=self.oracle.ledger.sent,
            )
        return standard

    def sample(self, rng: np.random.Generator, points: int, *, margin: float = 0.0) -> Points:
        """Draw points from the domain, `margin` away from the faces of a box."""
        return self.oracle.domain.sample_standard(rng, points, self.inputs, margin)

    def to_standard(self, points: Points) -> Points:
        """Standard coordinates of points of the oracle."""
        return (points - self.center) / self.half_width

    def as_asked(self, points: Points) -> Points:
        """Where answers were given in truth: far from zero the oracle rounds coordinates, and moves some into a box."""
        if not np.any(self.center):
            return points
        asked, domain = self.center + self.half_width * points, self.oracle.domain
        if isinstance(domain, Box):
            asked = np.where(domain.contains(asked)[:, None], np.clip(asked, domain.lower, domain.upper), asked)
        return self.to_standard(asked)


def standardise(
    oracle: Oracle, values: Values, *, scatter: float | np.ndarray = 0.0, sum_units: float = 8.0
) -> StandardOracle:
    """Choose units from the domain and from the answers seen so far.

    The size of an output is the spread of the answers seen, or its magnitude where it is constant.

    Args:
        oracle: whose units are chosen.
        values: the answers seen.
        scatter: deviation of answers from those next to them, which tells constants.
        sum_units: of the last digit by which a constant may differ where answers have all digits of float64, as sums
            of terms do that are larger than what is left of them.
    """
    center, half_width = oracle.domain.frame(oracle.inputs)
    unit = unit_of_columns(values)
    offset = unit * np.mean(values / unit, axis=0)
    spread = spread_of_columns(values)
    magnitude = np.max(np.abs(values), axis=0)
    digit, has_few = last_digits(oracle, values), oracle.ledger.answer_digits > np.finfo(float).eps
    is_constant = constant_outputs(values, digit, scatter, units=2.0 if has_few else sum_units)
    size = np.where(is_constant, np.where(magnitude > 0, magnitude, 1.0), spread)
    return StandardOracle(oracle=oracle, center=center, half_width=half_width, offset=offset, size=size)


def layer_in_oracle_units(layer: Layer, oracle: StandardOracle) -> Layer:
    """A first layer in the oracle's inputs."""
    weights = layer.weights / oracle.half_width
    return replace(layer, weights=weights, biases=layer.biases - weights @ oracle.center)


def error_in_oracle_units(layer: Layer, oracle: StandardOracle) -> float:
    """How many times larger a relative error of a first layer's parameters may be in the oracle's inputs.

    Errors are relative to the lengths of weights. A bias there is the difference of one in standard coordinates and of
    all weights times the centre: far from zero, both are larger than what is left, and so are their errors. Where the
    scale of a neuron is free, it is set by the length of its weights: if inputs have different units, an error of one
    weight changes that length, and with it the bias, in proportion to its size.
    """
    if layer.neurons == 0:
        return 1.0
    ours = layer_in_oracle_units(layer, oracle)
    lengths, delivered = (np.linalg.norm(each.weights, axis=1) for each in (layer, ours))
    of_weights, of_biases = 1.0 / oracle.half_width, 1.0 + float(np.linalg.norm(oracle.center / oracle.half_width))
    has_free_scale = layer.activation.homogeneity is not None and np.ptp(oracle.half_width) > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = np.linalg.norm(of_weights) * np.abs(ours.biases) / delivered if has_free_scale else 0.0
        factors = lengths / delivered * np.maximum(of_biases + shifts, np.max(of_weights))
        return max(1.0, float(np.max(np.where(lengths > 0.0, factors, 0.0))))


def in_oracle_units(network: Network, oracle: StandardOracle) -> Network:
    """Undo the standard coordinates: ``z = (x - center) / half_width`` and ``f = offset + size y``.

    Raises:
        InvalidInput: if the output activation is not the identity and outputs have other units: only an
            affine output layer can take them in.
    """
    layers = list(network.layers)
    layers[0] = layer_in_oracle_units(layers[0], oracle)
    skip = None if network.skip is None else oracle.size[:, None] * network.skip / oracle.half_width
    output = layers[-1]
    if output.activation != IDENTITY:
        if np.any(oracle.size != 1.0) or np.any(oracle.offset != 0.0) or skip is not None:
            raise InvalidInput(f"a network with {output.activation} outputs can't be given in other output units.")
        return Network(tuple(layers))
    offset = oracle.offset + oracle.size * output.biases
    layers[-1] = replace(
        output,
        weights=oracle.size[:, None] * output.weights,
        biases=offset if skip is None else offset - skip @ oracle.center,
    )
    return Network(tuple(layers), skip)


def are_probabilities(values: Values, *, tolerance: float = 1e-5) -> bool:
    """Whether every answer is a list of positive numbers that sum to one.

    Args:
        values: the answers.
        tolerance: of the sum: what rounding of some dozens of numbers to float32 explains.
    """
    sums = np.sum(values, axis=1)
    return bool(values.shape[1] > 1 and np.all(values > 0) and np.max(np.abs(sums - 1.0)) < tolerance)


def answer_rounding(oracle: Oracle, *, double: float = 4.0, exact_digits: float = 1e-12, single: float = 0.5) -> float:
    """Rounding of answers, as seen so far, relative to the size of the terms that they add up.

    Args:
        oracle: whose answers are meant.
        double: in units of the last digit, as seen for sums of a few hundred terms in float64.
        exact_digits: last digit, relative to answers, below which they are such sums; chosen, far above float64.
        single: in units of the last digit for other answers, which were rounded in the end: half of it at most.
    """
    digits = oracle.ledger.answer_digits
    return (double if digits < exact_digits else single) * digits


def rounding_error(oracle: Oracle, magnitude: Float64[np.ndarray, "outputs"]) -> Float64[np.ndarray, "outputs"]:
    """Give the standard deviation of the rounding of answers of some size, as far as it is known."""
    # Answers that are all zero tell no unit: that of their rounding is one, as elsewhere.
    return 0.3 * oracle.ledger.answer_digits * np.where(magnitude > 0, magnitude, 1.0)


def last_digits(oracle: Oracle, values: Values) -> Float64[np.ndarray, "outputs"]:
    """Give the unit of the last digit of the largest answers, as far as digits are known.

    Zero has none: answers that were all zero do not tell how small others may be.
    """
    return oracle.ledger.answer_digits * np.where(np.any(values, axis=0), unit_of_columns(values), 0.0)


def constant_outputs(
    values: Values,
    last_digit: np.ndarray,
    scatter: float | np.ndarray,
    *,
    units: float = 2.0,
    rough_units: float = 64.0,
    rough_spread: float = 3.0,
) -> Bool[np.ndarray, "outputs"]:
    """Whether answers are those of a constant, up to the rounding of its sum.

    They differ by two units of the last digit at most; or by a few more, if neighbours do, too. Answers that are the
    same nearby and differ farther away are those of a function with few digits.

    Args:
        values: answers, or what is left of them after an offset was subtracted.
        last_digit: unit of the last digit of the answers, per output.
        scatter: deviation of answers from those next to them, as measured.
        units: of the last digit by which they may differ whatever neighbours do.
        rough_units: the same if neighbours differ as much as others; chosen: a sum of some thousand terms.
        rough_spread: spread, in units of what neighbours differ by, up to which all of it may be rounding; chosen.
    """
    spread = spread_of_columns(values)
    is_rough = (spread <= rough_units * last_digit) & (spread <= rough_spread * scatter)
    return (np.ptp(values, axis=0) <= units * last_digit) | is_rough


@dataclass(frozen=True)
class AnswerDigits:
    """What answers are rounded to, per output, and how far they are from those next to them.

    Args:
        unit: that of their last digit, or the number that they are multiples of.
        scatter: deviation of answers from those next to them, as measured.
        are_rounded: whether all are multiples of one number and were seen to change by one of them at a time.
    """

    unit: Float64[np.ndarray, "outputs"]
    scatter: Float64[np.ndarray, "outputs"]
    are_rounded: bool = False

    def are_cause(self, level: float, spread: Float64[np.ndarray, "outputs"]) -> bool:
        """Whether answers are as far from their neighbours, relative to the spread, as rounding makes them, or less."""
        return level <= float(np.max(self.unit / spread))

    def spreads(
        self, typical: Float64[np.ndarray, "typical outputs"], values: Values
    ) -> Float64[np.ndarray, "outputs"]:
        """Give the standard deviation of typical answers, per output; infinite where all are constant up to rounding.

        Units were chosen from a few first answers, which may be the same where others are not.
        """
        spread = spread_of_columns(typical)
        spread = np.where(spread > self.unit, spread, spread_of_columns(values))
        return np.where(constant_outputs(values, self.unit, self.scatter), np.inf, spread)

    def changes_rarely(
        self, typical: Float64[np.ndarray, "typical outputs"], values: Values
    ) -> Bool[np.ndarray, "outputs"]:
        """Whether typical answers, per output, are constant up to rounding where all together are not."""
        is_typical = spread_of_columns(typical) > self.unit
        return ~is_typical & ~constant_outputs(values, self.unit, self.scatter)


@dataclass(frozen=True)
class NoiseFloor:
    """Standard deviation of the error of one answer, per output, and what it was read from.

    Args:
        deviation: estimated standard deviation of the answers' error, per output.
        repeat_spread: largest change when the same point was asked twice (0: deterministic).
        scatter: what of it was measured; the rest is the rounding of the answers' type.
        magnitude: largest answer seen, per output.
        points: what was asked for the estimate, so that no answer is lost.
        values: what was answered.
    """

    deviation: PerOutput
    repeat_spread: float
    scatter: PerOutput
    magnitude: PerOutput
    points: Points
    values: Values

    @property
    def is_deterministic(self) -> bool:
        """Whether asking twice gave the same answer."""
        return self.repeat_spread == 0.0

    def at_least(self, deviation: float | Float64[np.ndarray, "outputs"]) -> "NoiseFloor":
        """The same with an error that more answers have shown to be larger."""
        return replace(self, deviation=np.maximum(self.deviation, deviation))


@dataclass(frozen=True, kw_only=True)
class NoiseLook:
    """How the noise of answers is measured: from points close together on two lines, and from some asked again.

    Args:
        line_points: on each line: one more than the highest difference that is used.
        repeats: points that are asked again; chosen: a model with a memory shows itself at one.
        spacing: of the points, in half-widths of the domain: its eighth power is below the rounding of float64, while
            even float32 answers change from one point of the line to the next.
        orders: of the differences: lower ones contain the function, higher ones need more points.
        suspicious: error of answers that repeat themselves, in units of their rounding, that may be a kink on both
            lines; chosen.
    """

    line_points: int = 9
    repeats: int = 3
    spacing: float = 1e-3
    orders: tuple[int, ...] = (4, 5, 6, 7)
    suspicious: float = 1e3

    def changes_everywhere(self, values: Values) -> bool:
        """Whether every output differs from each point of both lines to the next, going by the answers there."""
        lines = np.array(np.split(values[: 2 * self.line_points], 2))
        return bool(np.all(np.diff(lines, axis=1) != 0.0))

    def __call__(self, oracle: Oracle, rng: np.random.Generator) -> NoiseFloor:
        """Estimate the noise of the answers from 2 x 9 + 3 queries, and 2 x 9 more if kinks may have disturbed it.

        Assumes: the function is smooth over a few percent of the domain on one of the lines.
        Guarantees: heuristic; the estimate is never below the rounding unit of the answers' type.
        """
        lines = self._two_lines(oracle, rng)
        first = oracle.query(lines[0])
        # The second call repeats points of the first: a model with a memory shows itself here.
        second = oracle.query(np.concatenate([lines[1], lines[0][: self.repeats]]))
        repeated, second = second[self.line_points :], second[: self.line_points]

        values = np.concatenate([first, second])
        magnitude = np.max(np.abs(values), axis=0)
        # A kink on a line raises its estimate, so the smaller of the two is the noise.
        smooth = np.minimum(self._line_noise(first), self._line_noise(second))
        change = np.abs(repeated - first[: self.repeats])
        unit = unit_of_columns(values)
        random = unit * np.sqrt(np.mean((change / unit) ** 2, axis=0) / 2)
        rounding = rounding_error(oracle, magnitude)
        points = np.concatenate([lines[0], lines[1]])
        if not np.any(change) and np.any(smooth > self.suspicious * rounding):
            # Noise that repeats itself is rare, kinks on both lines are not: two other lines tell which it is.
            lines = self._two_lines(oracle, rng)
            points = np.concatenate([points, lines[0], lines[1]])
            more = oracle.query(np.concatenate([lines[0], lines[1]]))
            values = np.concatenate([values, more])
            smooth = np.minimum(smooth, np.minimum(*(self._line_noise(line) for line in np.split(more, 2))))
        scatter = np.maximum(smooth, random)
        return NoiseFloor(
            deviation=np.maximum(scatter, np.maximum(rounding, np.finfo(float).tiny)),
            repeat_spread=float(np.max(change)),
            scatter=scatter,
            magnitude=magnitude,
            points=points,
            values=values,
        )

    def _two_lines(self, oracle: Oracle, rng: np.random.Generator) -> Float64[np.ndarray, "lines points inputs"]:
        """Draw points close together on two random lines."""
        center, half_width = oracle.domain.frame(oracle.inputs)
        starts = oracle.domain.sample_standard(rng, 2, oracle.inputs, self.spacing * self.line_points)
        directions = rng.standard_normal((2, oracle.inputs))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        steps = self.spacing * np.arange(self.line_points)
        return center + half_width * (starts[:, None] + steps[:, None] * directions[:, None])

    def _line_noise(self, values: Values) -> Float64[np.ndarray, "outputs"]:
        """Median over the orders of difference of the implied standard deviation of independent noise."""
        deviations, unit = [], unit_of_columns(values)
        for order in self.orders:
            differences = np.diff(values / unit, n=order, axis=0)
            gain = special.comb(2 * order, order)
            deviations.append(np.sqrt(np.mean(differences**2, axis=0) / gain))
        return unit * np.median(np.array(deviations), axis=0)
