"""The first layer of deep ReLU networks: all neurons, exactly, and no others."""

import numpy as np
import pytest

from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.relu_layers.first_layer import FirstReluLayer, FirstReluLayerSearch, sharpened
from unweave.identification.session import Probe, Run
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network, general_network
from unweave.oracles.callables import CallableOracle
from unweave.oracles.standard import StandardOracle


def started(network: Network, seed: int) -> tuple[Run, Probe]:
    oracle = CallableOracle(network, inputs=network.inputs)
    run = Run(oracle, np.random.default_rng([seed, 121]), lambda *_: None, activation=None, neurons=None)
    return run, run.probe()


def planted(seed: int, *shape: int, activation: Activation = RELU) -> Network:
    rng = np.random.default_rng([seed, 122])
    return deep_network(rng, shape=shape, activation=activation, shift_deviation=0.3)


def planes(layer: Layer) -> np.ndarray:
    """Unit normals and offsets, one row per neuron."""
    lengths = np.linalg.norm(layer.weights, axis=1, keepdims=True)
    return np.hstack([layer.weights, layer.biases[:, None]]) / lengths


def assert_first_layer(found: FirstReluLayer, truth: Network, oracle: StandardOracle, *, atol: float) -> None:
    """Every planted neuron is found once, up to sign."""
    first = truth.layers[0]
    expected = planes(Layer(first.weights * oracle.half_width, first.biases + first.weights @ oracle.center, RELU))
    seen = np.hstack([found.terms.normals, found.terms.offsets[:, None]])
    distances = np.minimum(
        np.linalg.norm(expected[:, None] - seen, axis=2), np.linalg.norm(expected[:, None] + seen, axis=2)
    )
    assert seen.shape == expected.shape
    assert np.max(np.min(distances, axis=1), initial=0.0) <= atol
    assert len(set(np.argmin(distances, axis=1))) == len(expected)


@pytest.mark.parametrize(
    "shape", [(8, 5, 5, 1), (6, 6, 8, 2), (4, 7, 6, 1), (12, 3, 4, 3), (8, 5, 5, 5, 1)], ids=lambda shape: str(shape)
)
def test_planted_first_layers_are_found(shape: tuple[int, ...], seed: int) -> None:
    truth = planted(seed, *shape)
    run, probe = started(truth, seed)
    found = FirstReluLayerSearch()(run, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    assert found.is_complete
    assert found.later_kinks > 0
    assert {bend.neuron for bend in found.bends} <= set(range(found.neurons))


def test_the_assertion_can_fail(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    run, probe = started(truth, seed)
    found = FirstReluLayerSearch()(run, probe)
    for other in (planted(seed + 1, 8, 5, 5, 1), planted(seed, 8, 4, 5, 1)):
        with pytest.raises(AssertionError):
            assert_first_layer(found, other, probe.oracle, atol=1e-3)


def test_leaky_layers_are_found(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1, activation=leaky_relu(0.1))
    run, probe = started(truth, seed)
    assert_first_layer(FirstReluLayerSearch()(run, probe), truth, probe.oracle, atol=1e-7)


def test_more_readings_are_more_exact(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    run, probe = started(truth, seed)
    search = FirstReluLayerSearch()
    found = search(run, probe)
    again = search.read_again(run, probe, found)
    assert_first_layer(again, truth, probe.oracle, atol=1e-10)
    assert np.all(again.terms.errors <= found.terms.errors)


@pytest.mark.parametrize("shape", [(8, 5, 5, 1), (4, 7, 6, 1), (8, 5, 5, 5, 1)], ids=str)
def test_located_points_are_exact(shape: tuple[int, ...], seed: int) -> None:
    truth = planted(seed, *shape)
    run, probe = started(truth, seed)
    search = FirstReluLayerSearch()
    found = sharpened(run, probe, search.read_again(run, probe, search(run, probe)))
    is_sharp = found.terms.errors < 1e-11
    assert np.count_nonzero(is_sharp) >= shape[1] - 1
    assert_first_layer(found, truth, probe.oracle, atol=1e-12 if np.all(is_sharp) else 1e-9)


def test_a_shallow_network_has_no_later_kinks(seed: int) -> None:
    rng = np.random.default_rng([seed, 123])
    truth = general_network(rng, inputs=8, neurons=6, outputs=2, activation=RELU)
    run, probe = started(truth, seed)
    found = FirstReluLayerSearch()(run, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    assert found.later_kinks == 0


def test_one_line_can_be_enough(seed: int) -> None:
    """The number of queries is that of one line, not more, where it shows all neurons."""
    truth = planted(seed, 40, 4, 4, 1)
    run, probe = started(truth, seed)
    before = run.oracle.ledger.answered
    found = FirstReluLayerSearch()(run, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    pieces = found.neurons + found.later_kinks + 1
    assert run.oracle.ledger.answered - before <= 4 * 41 * pieces


def test_a_layer_that_is_not_seen_through_is_incomplete(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    run, probe = started(truth, seed)
    found = FirstReluLayerSearch(lines=0)(run, probe)
    assert found.neurons == 0
    assert not found.is_complete


def test_one_input_is_refused(seed: int) -> None:
    truth = planted(seed, 1, 3, 3, 1)
    run, probe = started(truth, seed)
    with pytest.raises(StageFailed, match="one input"):
        FirstReluLayerSearch()(run, probe)
