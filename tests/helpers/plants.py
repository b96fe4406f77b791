"""Truths that several tests plant and recover."""

from collections.abc import Callable
from typing import Any

import numpy as np

from unweave.activations import TANH, Activation
from unweave.certificates.certify import Certificate, certify
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector
from unweave.networks.planted import general_network
from unweave.networks.symmetries import reflect
from unweave.oracles.oracle import CallableOracle, Domain
from unweave.oracles.views import StandardOracle


def planter(plant: Callable[..., Network], salt: int, **kind: Any) -> Callable[..., Network]:
    """A function from a seed to its network, of this kind unless told otherwise; salts keep tests apart."""

    def planted(seed: int, **other: Any) -> Network:
        return plant(np.random.default_rng([seed, salt]), **(kind | other))

    return planted


def shallow_network(
    rng: np.random.Generator,
    *,
    inputs: int,
    neurons: int,
    outputs: int = 1,
    activation: Activation = TANH,
    has_skip: bool = False,
) -> Network:
    """A shallow network in general form, with a random affine part beside its neurons if that is wanted."""
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    return Network(network.layers, rng.normal(size=(outputs, inputs))) if has_skip else network


def shallow_and_points(
    seed: int,
    *,
    inputs: int,
    per_parameter: int,
    fresh: int = 0,
    **kind: Any,
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A shallow network of some kind, Gaussian points to fit it to, so many per parameter, and fresh ones."""
    rng = np.random.default_rng(seed)
    network = shallow_network(rng, inputs=inputs, **kind)
    points = rng.standard_normal((per_parameter * network.parameters, inputs))
    return network, points, rng.standard_normal((fresh, inputs))


def unit_rows(rng: np.random.Generator, rows: int, inputs: int) -> np.ndarray:
    """Directions that are uniform on the sphere."""
    vectors = rng.standard_normal((rows, inputs))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def disturbed_network(network: Network, rng: np.random.Generator, error: float) -> Network:
    """A shallow network with all parameters off by this share of their neuron, and some neurons flipped."""
    hidden, output = network.layers
    neurons, inputs = hidden.weights.shape
    near = Network.shallow(
        hidden.weights + error / np.sqrt(inputs) * rng.standard_normal((neurons, inputs)),
        hidden.biases + error * rng.standard_normal(neurons),
        output.weights * (1.0 + error * rng.standard_normal((1, neurons))),
        output.biases,
        hidden.activation,
    )
    return reflect(near, 0, rng.random(neurons) < 0.5)


def perturbed(
    network: Network, seed: int, size: float, layers: tuple[int, ...] | None = None, *, salt: int = 1
) -> Network:
    """A network with all parameters, or those of some layers, moved at random, in units of their neuron."""
    vector = ParameterVector(network)
    step = size * np.random.default_rng([seed, salt]).normal(size=vector.count)
    return vector.moved(step if layers is None else np.where(vector.of_layers(layers), step, 0.0))


def certified(network: Network, truth: Network, points: np.ndarray, fresh: np.ndarray, noise: float) -> Certificate:
    """The certificate of a network by answers of the true one, at points that it was fitted to and at fresh ones."""
    answers, fresh_answers = truth(points), truth(fresh)
    return certify(network, points=points, values=answers, fresh_points=fresh, fresh_values=fresh_answers, noise=noise)


class Counted:
    """A function of points that counts those it was asked for."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self._function, self.asked = function, 0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.asked += len(points)
        return self._function(points)


def in_own_units(
    function: Callable[..., object], *, inputs: int, outputs: int = 1, domain: Domain | None = None
) -> StandardOracle:
    """An oracle whose standard coordinates are those of the function itself."""
    oracle = CallableOracle(function, inputs=inputs, outputs=outputs, domain=domain)
    return StandardOracle(oracle, np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs))


def hashed(points: np.ndarray) -> np.ndarray:
    """Noise that is the same whenever the same point is asked."""
    return np.modf(np.abs(np.sin(points @ np.arange(1.0, points.shape[1] + 1) * 12_989.8) * 43_758.5))[0] - 0.5
