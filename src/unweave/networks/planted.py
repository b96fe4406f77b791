"""Random networks to plant as secrets: for the demo, the tests and the benchmarks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, RELU, TANH, Activation
from unweave.arrays import Points, Values
from unweave.networks.network import Layer, Network


def general_network(
    rng: np.random.Generator, *, inputs: int, neurons: int, outputs: int = 1, activation: Activation = TANH
) -> Network:
    """A random shallow network in general form: scales 0.5 to 2, biases in [-1, 1], Gaussian output weights."""
    directions = rng.standard_normal((neurons, inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return Network.shallow(
        weights=rng.uniform(0.5, 2.0, (neurons, 1)) * directions,
        biases=rng.uniform(-1.0, 1.0, neurons),
        output_weights=rng.standard_normal((outputs, neurons)),
        offset=rng.standard_normal(outputs),
        activation=activation,
    )


def unit_network(
    rng: np.random.Generator,
    *,
    inputs: int,
    neurons: int,
    activation: Activation = TANH,
    largest_shift: float = 0.5,
) -> Network:
    """Draw a network as in [fiedler, Ch. 3]: unit weights, output weights one, shifts uniform in [-0.5, 0.5]."""
    directions = rng.standard_normal((neurons, inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return Network.shallow(
        weights=directions,
        biases=rng.uniform(-largest_shift, largest_shift, neurons),
        output_weights=np.ones((1, neurons)),
        offset=np.zeros(1),
        activation=activation,
    )


def fan_in_network(rng: np.random.Generator, *, inputs: int, neurons: int, activation: Activation = TANH) -> Network:
    """Draw weights N(0, 1)/sqrt(inputs), biases and an offset 0.3 N(0, 1), output weights uniform in ±(0.3, 2)."""
    return Network.shallow(
        weights=rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
        biases=0.3 * rng.standard_normal(neurons),
        output_weights=rng.choice([-1.0, 1.0], (1, neurons)) * rng.uniform(0.3, 2.0, (1, neurons)),
        offset=0.3 * rng.standard_normal(1),
        activation=activation,
    )


def relu_network(
    rng: np.random.Generator,
    *,
    inputs: int,
    neurons: int,
    special_biases: tuple[float, ...] = (),
    largest_bias: float = 1.2,
) -> Network:
    """A relu network without an offset: unit weights, output weights of either sign with sizes from 0.5 to 2.

    The first neurons get the `special_biases` (0, 1 and -1 are blind spots of some moments), the others uniform ones.
    """
    directions = rng.standard_normal((neurons, inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    biases = rng.uniform(-largest_bias, largest_bias, neurons)
    count = min(neurons, len(special_biases))
    biases[:count] = special_biases[:count]
    return Network.shallow(
        weights=directions,
        biases=biases,
        output_weights=(rng.choice([-1.0, 1.0], neurons) * rng.uniform(0.5, 2.0, neurons))[None],
        offset=np.zeros(1),
        activation=RELU,
    )


def deep_network(
    rng: np.random.Generator,
    *,
    shape: Sequence[int],
    activation: Activation = TANH,
    output_activation: Activation = IDENTITY,
    shift_deviation: float = 0.05,
) -> Network:
    """Draw a deep teacher as in [fiedler, Sec. 4.4]: unit weight vectors in every layer, Gaussian shifts.

    [fiedler] writes N(0, 0.05); only as a standard deviation does this agree with its tables.

    Args:
        rng: source of the numbers.
        shape: the number of inputs, the widths of the hidden layers and the number of outputs.
        activation: of the hidden layers.
        output_activation: of the output layer.
        shift_deviation: standard deviation of the shifts.
    """
    layers = []
    for inputs, neurons in pairwise(shape):
        directions = rng.standard_normal((neurons, inputs))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        layers.append(Layer(directions, shift_deviation * rng.standard_normal(neurons), activation))
    return Network((*layers[:-1], replace(layers[-1], activation=output_activation)))


UnitValues = Float64[np.ndarray, "points units"]


@dataclass(frozen=True, eq=False)
class ThresholdFunction:
    """A function ``P(u(w_1 x - t), ..., u(w_d x - t))`` of thresholded units.

    Args:
        lowest: the rows, with minus the thresholds as biases, and the activation u.
        above: any function P of the values of the units.
    """

    lowest: Layer
    above: Callable[[UnitValues], Values]

    def __call__(self, points: Points) -> Values:
        """Answers at points."""
        return self.above(self.lowest.activation(self.lowest.preactivations(points)))


def threshold_function(
    rng: np.random.Generator,
    *,
    inputs: int,
    threshold: float,
    activation: Activation,
    above: Callable[[UnitValues], Values],
    condition: float = 1.0,
    rows: int | None = None,
) -> ThresholdFunction:
    """Random unit rows with a condition number and one threshold, under a function of their units.

    Args:
        rng: source of the numbers.
        inputs: number of inputs.
        threshold: of every unit.
        activation: of the units.
        above: the function of the units, such as `any_of`, `sum_and_pairs` or an `upper_network`.
        condition: ratio of the largest and the smallest singular value of the rows.
        rows: number of units; as many as inputs if omitted.
    """
    count = inputs if rows is None else rows
    weights = conditioned_rows(rng, count, inputs, condition=condition)
    return ThresholdFunction(Layer(weights, np.full(count, -threshold), activation), above)


def conditioned_rows(
    rng: np.random.Generator, rows: int, inputs: int, *, condition: float
) -> Float64[np.ndarray, "rows inputs"]:
    """Random unit rows whose singular values spread evenly from the smallest to `condition` times as much.

    Rows are made unit and singular values spread in turn, until both hold.
    """
    weights, spread = rng.standard_normal((rows, inputs)), np.linspace(condition, 1.0, min(rows, inputs))
    for _ in range(200):
        left, _, right = np.linalg.svd(weights, full_matrices=False)
        weights = (left * spread) @ right
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return weights


def any_of(values: UnitValues) -> Values:
    """The polynomial ``1 - prod_i (1 - X_i)``: for steps, whether any unit is on."""
    return 1.0 - np.prod(1.0 - values, axis=1, keepdims=True)


def sum_and_pairs(values: UnitValues) -> Values:
    """The polynomial ``sum_i X_i + sum_{i<j} X_i X_j``."""
    return np.sum(values, axis=1, keepdims=True) + pairs_only(values)


def pairs_only(values: UnitValues) -> Values:
    """The polynomial ``sum_{i<j} X_i X_j``, in which no unit acts alone."""
    return 0.5 * (np.sum(values, axis=1, keepdims=True) ** 2 - np.sum(values**2, axis=1, keepdims=True))


def upper_network(
    rng: np.random.Generator, units: int, *, neurons: int | None = None, activation: Activation = TANH
) -> Network:
    """A random network with one output and two hidden layers of `neurons`, as many as units if omitted."""
    width = units if neurons is None else neurons
    shape, kinds = (units, width, width, 1), (activation, activation, IDENTITY)
    layers = [
        Layer(rng.standard_normal((after, before)) / np.sqrt(before), 0.3 * rng.standard_normal(after), kind)
        for (before, after), kind in zip(pairwise(shape), kinds, strict=True)
    ]
    return Network(tuple(layers))
