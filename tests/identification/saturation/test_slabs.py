"""Neurons read in their slabs, against planted saturating networks."""

import numpy as np
import pytest

from unweave.activations import ERF, TANH, Activation
from unweave.identification.saturation.jumps import TAIL, JumpWalk
from unweave.identification.saturation.slabs import Slab, measure_slabs
from unweave.identification.walks.lines import Line, far_line
from unweave.networks.network import Network
from unweave.networks.planted import general_network

RADIUS = 2e6
NOISE = 1e-14


def line_of(seed: int, inputs: int) -> Line:
    return far_line(inputs, np.random.default_rng([seed, 31]), radius=RADIUS, outer=1e-5)


def planted(
    seed: int, *, inputs: int = 5, neurons: int = 9, outputs: int = 1, activation: Activation = TANH
) -> Network:
    rng = np.random.default_rng([seed, 32])
    return general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)


def assert_slabs(slabs: list[Slab], network: Network, line: Line, *, atol: float = 1e-7) -> None:
    """Weights, bias and output weights of all neurons, with the sign that grows along the line.

    Most weights to `atol`; those that nearly saturate the neuron lose digits, but not more than two.
    """
    hidden, output = network.layers
    signs = np.sign(hidden.weights @ line.direction)
    weights, biases, heights = signs[:, None] * hidden.weights, signs * hidden.biases, signs * output.weights
    assert len(slabs) == len(weights)
    nearest = [int(np.argmin(np.linalg.norm(weights - slab.weights, axis=1))) for slab in slabs]
    assert sorted(nearest) == list(range(len(weights)))
    sizes = np.linalg.norm(weights[nearest], axis=1, keepdims=True)
    errors = np.abs(np.array([slab.weights for slab in slabs]) - weights[nearest]) / sizes
    assert np.median(errors) < atol
    assert np.max(errors) < 100 * atol
    np.testing.assert_allclose([slab.bias for slab in slabs], biases[nearest], atol=atol)
    np.testing.assert_allclose([slab.height for slab in slabs], heights.T[nearest], atol=atol)
    assert all(slab.mismatch < 1e-3 for slab in slabs)


def test_the_assertion_on_slabs_can_fail(seed: int) -> None:
    truth, line = planted(seed), line_of(seed, 5)
    slabs = measure_slabs(truth, line, JumpWalk(NOISE)(truth, line))
    assert_slabs(slabs, truth, line)
    hidden, output = truth.layers
    for other in (
        Network.shallow(hidden.weights + 1e-4, hidden.biases, output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases + 1e-6, output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases, output.weights + 1e-6, output.biases, TANH),
    ):
        with pytest.raises(AssertionError):
            assert_slabs(slabs, other, line)
    with pytest.raises(AssertionError):
        assert_slabs(slabs[1:], truth, line)


@pytest.mark.parametrize("activation", [TANH, ERF])
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(2, 1, 1), (5, 9, 1), (4, 6, 3), (12, 10, 1)])
def test_planted_neurons_are_read(activation: Activation, inputs: int, neurons: int, outputs: int, seed: int) -> None:
    truth = planted(seed, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    line = line_of(seed, inputs)
    slabs = measure_slabs(truth, line, JumpWalk(NOISE)(truth, line))
    assert_slabs(slabs, truth, line)


def test_a_neuron_costs_one_query_per_input_and_a_few_more(seed: int) -> None:
    truth, line = planted(seed, inputs=12, neurons=8), line_of(seed, 12)
    jumps = JumpWalk(NOISE)(truth, line)
    asked = []

    def ask(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return truth(points)

    measure_slabs(ask, line, jumps)
    assert sum(asked) <= 8 * (12 + 12)
    assert len(asked) <= 10


def test_weights_of_very_different_size_are_read(seed: int) -> None:
    """A step that is right for the smallest weight saturates the neuron along the largest."""
    rng = np.random.default_rng([seed, 33])
    line = line_of(seed, 4)
    weights = rng.standard_normal((3, 4))
    weights[:, 1] *= 40.0
    # Nearly parallel to the line, so that the rate is small against the largest weight.
    weights -= 0.9 * np.outer(weights @ line.direction, line.direction)
    truth = Network.shallow(weights, np.array([0.1, -0.4, 0.8]), np.array([[1.0, -0.6, 1.7]]), np.zeros(1), TANH)
    clear = [jump for jump in JumpWalk(NOISE)(truth, line) if jump.misfit < TAIL]
    slabs = measure_slabs(truth, line, clear)
    assert len(slabs) == 3
    assert_slabs(slabs, truth, line, atol=1e-6)


def test_no_jumps_no_queries(seed: int) -> None:
    def ask(points: np.ndarray) -> np.ndarray:
        raise AssertionError(f"{len(points)} queries")

    assert measure_slabs(ask, line_of(seed, 5), []) == []
