"""Other views of an oracle: in standard coordinates, as the logits behind probabilities, or above a known layer.

All measurements are made in standard coordinates, so that no later stage needs to know units: a box becomes
[-1, 1]^inputs, and outputs of very different size count alike.

Where a layer has no more neurons than inputs, and an activation that can be undone, every pattern of its values is
taken somewhere: to ask what the layers above make of it, ask there.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, RELU, inverse_of
from unweave.arrays import Points, Values, Vector
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.oracles.oracle import Box, Domain, Everywhere, Oracle


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


# A spread of so many times the rounding of an answer is one.
ROUNDING_MARGIN = 64.0


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


def standardise(oracle: Oracle, values: Values) -> StandardOracle:
    """Choose units from the domain and from the answers seen so far.

    The size of an output is the spread of the answers seen, or its magnitude where it is constant.
    """
    center, half_width = oracle.domain.frame(oracle.inputs)
    offset = np.mean(values, axis=0)
    spread = np.std(values, axis=0)
    magnitude = np.max(np.abs(values), axis=0)
    # Below the rounding of the answers a spread means nothing.
    rounding = ROUNDING_MARGIN * oracle.ledger.answer_digits * magnitude
    size = np.where(spread > rounding, spread, np.where(magnitude > 0, magnitude, 1.0))
    return StandardOracle(oracle=oracle, center=center, half_width=half_width, offset=offset, size=size)


def layer_in_oracle_units(layer: Layer, oracle: StandardOracle) -> Layer:
    """A first layer in the oracle's inputs."""
    weights = layer.weights / oracle.half_width
    return replace(layer, weights=weights, biases=layer.biases - weights @ oracle.center)


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
