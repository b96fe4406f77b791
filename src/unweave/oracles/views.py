"""Other views of an oracle: in standard coordinates, as the logits behind probabilities, or above a known layer.

The noise of the answers is measured first, from answers close together on two lines.

All measurements are made in standard coordinates, so that no later stage needs to know units: a box becomes
[-1, 1]^inputs, and outputs of very different size count alike.

Where a layer has no more neurons than inputs, and an activation that can be undone, every pattern of its values is
taken somewhere: to ask what the layers above make of it, ask there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy import special

from unweave.activations import IDENTITY, RELU, inverse_of
from unweave.arrays import Points, Values, Vector, spread_of_columns, unit_of_columns
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.oracles.digits import CONSTANT_UNITS, SUM_UNITS, constant_outputs, last_digits, rounding_error
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere, Oracle

LINE_POINTS = 9
REPEATS = 3
# Spacing in half-widths of the domain: its eighth power is below the rounding of float64, while
# even float32 answers change from one point of the line to the next.
LINE_SPACING = 1e-3
ORDERS = range(4, 8)
# An error of answers that repeat themselves, in units of their rounding, that may be a kink on both lines.
SUSPICIOUS = 1e3


def as_oracle(
    model: Oracle | Network | Callable[..., object],
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
) -> Oracle:
    """Give the oracle that a model is, or one that asks it.

    Raises:
        InvalidInput: if its inputs are not known, or an oracle's settings are given twice.
    """
    if isinstance(model, Oracle):
        if any(setting is not None for setting in (inputs, outputs, domain, budget)):
            raise InvalidInput("an Oracle carries its own inputs, outputs, domain and budget: leave them out.")
        return model
    if isinstance(model, Network) and inputs is None:
        inputs = model.inputs
    if inputs is None:
        raise InvalidInput("identify needs inputs=, the number of inputs of the model.")
    return CallableOracle(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)


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
        """Answers in standard units at points in standard coordinates."""
        return (self.oracle.query(self.center + self.half_width * points) - self.offset) / self.size

    def sample(self, rng: np.random.Generator, points: int, *, margin: float = 0.0) -> Points:
        """Draw points from the domain, `margin` away from the faces of a box."""
        return self.oracle.domain.sample_standard(rng, points, self.inputs, margin)

    def to_standard(self, points: Points) -> Points:
        """Standard coordinates of points of the oracle."""
        return (points - self.center) / self.half_width


def standardise(oracle: Oracle, values: Values, *, scatter: float | np.ndarray = 0.0) -> StandardOracle:
    """Choose units from the domain and from the answers seen so far.

    The size of an output is the spread of the answers seen, or its magnitude where it is constant, which is told with
    `scatter`, the deviation of answers from those next to them.
    """
    center, half_width = oracle.domain.frame(oracle.inputs)
    unit = unit_of_columns(values)
    offset = unit * np.mean(values / unit, axis=0)
    spread = spread_of_columns(values)
    magnitude = np.max(np.abs(values), axis=0)
    units = CONSTANT_UNITS if oracle.ledger.answer_digits > np.finfo(float).eps else SUM_UNITS
    is_constant = constant_outputs(values, last_digits(oracle, values), scatter, units=units)
    size = np.where(is_constant, np.where(magnitude > 0, magnitude, 1.0), spread)
    return StandardOracle(oracle=oracle, center=center, half_width=half_width, offset=offset, size=size)


def layer_in_oracle_units(layer: Layer, oracle: StandardOracle) -> Layer:
    """A first layer in the oracle's inputs."""
    weights = layer.weights / oracle.half_width
    return replace(layer, weights=weights, biases=layer.biases - weights @ oracle.center)


def error_in_oracle_units(layer: Layer, oracle: StandardOracle) -> float:
    """How many times larger a relative error of a first layer's parameters may be in the oracle's inputs.

    Errors are relative to the lengths of weights. A bias there is the difference of one in standard coordinates and of
    all weights times the centre: far from zero, both are larger than what is left, and so are their errors.
    """
    if layer.neurons == 0:
        return 1.0
    lengths, delivered = (
        np.linalg.norm(each.weights, axis=1) for each in (layer, layer_in_oracle_units(layer, oracle))
    )
    of_biases = 1.0 + float(np.linalg.norm(oracle.center / oracle.half_width))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.max(np.where(lengths > 0.0, lengths / delivered, 0.0)))
    return max(1.0, ratio * max(of_biases, float(1.0 / np.min(oracle.half_width))))


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


# Difference of a sum of probabilities from one that rounding to float32 explains.
SUM_TOLERANCE = 1e-5


def are_probabilities(values: Values) -> bool:
    """Whether every answer is a list of positive numbers that sum to one."""
    return bool(
        values.shape[1] > 1 and np.all(values > 0) and np.max(np.abs(np.sum(values, axis=1) - 1.0)) < SUM_TOLERANCE
    )


class LogitsOracle(Oracle):
    """The logits behind an oracle that answers with probabilities, centred: softmax does not see a common shift.

    Args:
        oracle: answers probabilities; its ledger counts the queries and keeps the budget.
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(inputs=oracle.inputs, outputs=oracle.outputs, domain=oracle.domain)
        self._oracle, self.ledger = oracle, oracle.ledger

    def _answer(self, points: Points) -> Values:
        return self._oracle.query(points)

    def query(self, points: Points) -> Values:
        """Centred logarithms of the probabilities; what has rounded to zero counts as the smallest number."""
        logits = np.log(np.maximum(self._answer(points), np.finfo(float).tiny))
        return logits - np.mean(logits, axis=1, keepdims=True)


@dataclass(frozen=True)
class PeeledOracle:
    """The layers above a known one, as a function of its values.

    Args:
        oracle: the whole network, in the coordinates of the layer's inputs.
        layer: the known layer, of full row rank.

    Raises:
        InvalidInput: if the layer has more neurons than inputs, or its activation can't be undone.
    """

    oracle: Queryable
    layer: Layer

    def __post_init__(self) -> None:
        if self.layer.neurons > self.layer.inputs:
            raise InvalidInput(
                f"a layer can be peeled off if it has no more neurons than inputs, got {self.layer.neurons} neurons "
                f"and {self.layer.inputs} inputs."
            )
        inverse_of(self.layer.activation)

    @property
    def inputs(self) -> int:
        """Number of inputs: the neurons of the layer."""
        return self.layer.neurons

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.oracle.outputs

    @cached_property
    def lift(self) -> Float64[np.ndarray, "inputs neurons"]:
        """The smallest change of the inputs that changes one argument of the layer, one column each."""
        return np.linalg.pinv(self.layer.weights)

    def preimages(self, points: Points) -> Float64[np.ndarray, "points inputs_below"]:
        """Inputs at which the layer takes these values: the smallest ones."""
        return (inverse_of(self.layer.activation)(points) - self.layer.biases) @ self.lift.T

    def query(self, points: Points) -> Values:
        """Answers where the layer takes these values."""
        return self.oracle.query(self.preimages(points))


class PeeledReluOracle(Oracle):
    """What the layers above a first layer of relu or leaky relu answer to values of that layer.

    With weights of full row rank every value ``y`` that the layer can take is taken at
    ``x = W^+ (g^{-1}(y) - b)``. For relu these are all positive ones: a box in the orthant.

    Args:
        oracle: the whole network; its ledger counts every query and keeps the budget, the one of the peeled oracle
            counts its own.
        first: the first layer, in the coordinates of `oracle`.
        size: values of relu are asked up to this size; of leaky relu they are typically of size one.

    Raises:
        InvalidInput: if the rows of the weights are linearly dependent.
    """

    def __init__(self, oracle: StandardOracle, first: Layer, *, size: float) -> None:
        if first.neurons > first.inputs or np.linalg.matrix_rank(first.weights) < first.neurons:
            raise InvalidInput(f"PeeledReluOracle needs weights of full row rank, got shape {first.weights.shape}.")
        super().__init__(inputs=first.neurons, outputs=oracle.outputs, domain=_values_of(first, size))
        self.ledger.type_digits = oracle.oracle.ledger.answer_digits
        self._oracle, self._first = oracle, first
        self._inverse = np.linalg.pinv(first.weights)

    def origins(self, values: Float64[np.ndarray, "points neurons"]) -> Float64[np.ndarray, "points inputs"]:
        """The smallest inputs at which the first layer takes these values."""
        slope = float(self._first.activation(np.array([-1.0]), 1)[0])
        arguments = values if slope == 0.0 else np.where(values < 0.0, values / slope, values)
        return (arguments - self._first.biases) @ self._inverse.T

    def _answer(self, points: Points) -> object:
        return self._oracle.query(self.origins(points))


def _values_of(first: Layer, size: float) -> Domain:
    return Box(0.0, size) if first.activation == RELU else Everywhere()


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

    deviation: Float64[np.ndarray, "outputs"]
    repeat_spread: float
    scatter: Float64[np.ndarray, "outputs"]
    magnitude: Float64[np.ndarray, "outputs"]
    points: Points
    values: Values

    @property
    def is_deterministic(self) -> bool:
        """Whether asking twice gave the same answer."""
        return self.repeat_spread == 0.0

    def at_least(self, deviation: float | Float64[np.ndarray, "outputs"]) -> "NoiseFloor":
        """The same with an error that more answers have shown to be larger."""
        return replace(self, deviation=np.maximum(self.deviation, deviation))


def measure_noise(oracle: Oracle, rng: np.random.Generator) -> NoiseFloor:
    """Estimate the noise of the answers from 2 x 9 + 3 queries, and 2 x 9 more if kinks may have disturbed it.

    Assumes: the function is smooth over a few percent of the domain on one of the lines.
    Guarantees: heuristic; the estimate is never below the rounding unit of the answers' type.
    """
    lines = _two_lines(oracle, rng)
    first = oracle.query(lines[0])
    # The second call repeats points of the first: a model with a memory shows itself here.
    second = oracle.query(np.concatenate([lines[1], lines[0][:REPEATS]]))
    repeated, second = second[LINE_POINTS:], second[:LINE_POINTS]

    values = np.concatenate([first, second])
    magnitude = np.max(np.abs(values), axis=0)
    # A kink on a line raises its estimate, so the smaller of the two is the noise.
    smooth = np.minimum(_line_noise(first), _line_noise(second))
    change = np.abs(repeated - first[:REPEATS])
    unit = unit_of_columns(values)
    random = unit * np.sqrt(np.mean((change / unit) ** 2, axis=0) / 2)
    rounding = rounding_error(oracle, magnitude)
    points = np.concatenate([lines[0], lines[1]])
    if not np.any(change) and np.any(smooth > SUSPICIOUS * rounding):
        # Noise that repeats itself is rare, kinks on both lines are not: two other lines tell which it is.
        lines = _two_lines(oracle, rng)
        points = np.concatenate([points, lines[0], lines[1]])
        more = oracle.query(np.concatenate([lines[0], lines[1]]))
        values = np.concatenate([values, more])
        smooth = np.minimum(smooth, np.minimum(*(_line_noise(line) for line in np.split(more, 2))))
    scatter = np.maximum(smooth, random)
    return NoiseFloor(
        deviation=np.maximum(scatter, np.maximum(rounding, np.finfo(float).tiny)),
        repeat_spread=float(np.max(change)),
        scatter=scatter,
        magnitude=magnitude,
        points=points,
        values=values,
    )


def _two_lines(oracle: Oracle, rng: np.random.Generator) -> Float64[np.ndarray, "lines points inputs"]:
    """Draw points close together on two random lines."""
    center, half_width = oracle.domain.frame(oracle.inputs)
    starts = oracle.domain.sample_standard(rng, 2, oracle.inputs, LINE_SPACING * LINE_POINTS)
    directions = rng.standard_normal((2, oracle.inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    steps = LINE_SPACING * np.arange(LINE_POINTS)
    return center + half_width * (starts[:, None] + steps[:, None] * directions[:, None])


def _line_noise(values: Values) -> Float64[np.ndarray, "outputs"]:
    """Median over the orders of difference of the implied standard deviation of independent noise."""
    deviations, unit = [], unit_of_columns(values)
    for order in ORDERS:
        differences = np.diff(values / unit, n=order, axis=0)
        gain = special.comb(2 * order, order)
        deviations.append(np.sqrt(np.mean(differences**2, axis=0) / gain))
    return unit * np.median(np.array(deviations), axis=0)
