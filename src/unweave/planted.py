"""Random networks to plant as secrets: for the demo, the tests and the benchmarks."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from unweave.activations import IDENTITY, RELU, TANH, Activation
from unweave.networks import Layer, Network


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


def document_network(
    rng: np.random.Generator,
    *,
    inputs: int,
    neurons: int,
    activation: Activation = TANH,
    largest_shift: float = 0.5,
) -> Network:
    """The document's model: unit weights, output weights one, shifts uniform in [-0.5, 0.5]."""
    directions = rng.standard_normal((neurons, inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return Network.shallow(
        weights=directions,
        biases=rng.uniform(-largest_shift, largest_shift, neurons),
        output_weights=np.ones((1, neurons)),
        offset=np.zeros(1),
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
    """The document's deep teacher (Section 4.4): unit weight vectors in every layer, Gaussian shifts.

    The document writes N(0, 0.05); only as a standard deviation does this agree with its tables.

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
