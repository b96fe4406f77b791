"""Standard errors against the spread over repeated noise."""

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.learn.relu_network.candidates import in_inputs
from unweave.learn.relu_network.errors import standard_errors
from unweave.learn.relu_network.hermite_units import unit_parameters
from unweave.learn.relu_network.pattern_newton import PatternNewton
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.samples.hermite.coordinates import Coordinates

ROWS, INPUTS, NOISE = 1_000, 3, 0.03


@pytest.mark.parametrize("is_moved", [False, True])
def test_errors_are_those_of_repeated_fits(seed: int, is_moved: bool) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=2, largest_bias=0.5)
    points = rng.standard_normal((ROWS, INPUTS))
    coordinates = Coordinates.identity(INPUTS)
    if is_moved:
        mixing = np.eye(INPUTS) + 0.3 * rng.standard_normal((INPUTS, INPUTS))
        coordinates = Coordinates.whitening(rng.standard_normal(INPUTS), mixing @ mixing.T)
    clean, found = network(points), []
    for _ in range(120):
        fit = PatternNewton()(network, points, clean + NOISE * rng.standard_normal(clean.shape)).network
        weights, biases, heights = unit_parameters(in_inputs(fit, coordinates))
        found.append(np.column_stack([weights, biases, heights]))
    errors = standard_errors(network, points, clean, noise=NOISE, coordinates=coordinates)
    said = np.column_stack([errors.weights, errors.biases, errors.output_weights])
    assert np.std(found, axis=0) == pytest.approx(said, rel=0.35)
    assert np.mean(np.std(found, axis=0) / said) == pytest.approx(1.0, abs=0.1)


def test_what_no_point_tells_has_infinite_errors() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((500, 2))
    never = Network.shallow(np.eye(2), np.array([0.0, -9.0]), np.ones((1, 2)), np.zeros(1), RELU)
    errors = standard_errors(never, points, never(points), noise=0.1, coordinates=Coordinates.identity(2))
    assert np.isfinite(errors.biases[0])
    assert np.isinf(errors.biases[1])
    assert errors.seen(never).tolist() == [True, False]
