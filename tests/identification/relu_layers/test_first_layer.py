"""The first layer of deep ReLU networks: all neurons, exactly, and no others."""

import numpy as np
import pytest

from helpers.plants import planter
from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.probing import Probe, Probing
from unweave.identification.relu_layers.first_layer import Bend, FirstReluLayer, FirstReluLayerSearch, SignRules, orient
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network, general_network
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import StandardOracle


def started(network: Network, seed: int) -> tuple[Session, Probe]:
    oracle = CallableOracle(network, inputs=network.inputs)
    session = Session(oracle, np.random.default_rng([seed, 121]))
    return session, Probing()(session)


planted = planter(deep_network, 122, activation=RELU, shift_deviation=0.3)


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
    truth = planted(seed, shape=shape)
    session, probe = started(truth, seed)
    found = FirstReluLayerSearch()(session, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    assert found.is_complete
    assert found.later_kinks > 0
    assert {bend.neuron for bend in found.bends} <= set(range(found.neurons))


def test_the_assertion_can_fail(seed: int) -> None:
    truth = planted(seed, shape=(8, 5, 5, 1))
    session, probe = started(truth, seed)
    found = FirstReluLayerSearch()(session, probe)
    for other in (planted(seed + 1, shape=(8, 5, 5, 1)), planted(seed, shape=(8, 4, 5, 1))):
        with pytest.raises(AssertionError):
            assert_first_layer(found, other, probe.oracle, atol=1e-3)


def test_leaky_layers_are_found(seed: int) -> None:
    truth = planted(seed, shape=(8, 5, 5, 1), activation=leaky_relu(0.1))
    session, probe = started(truth, seed)
    assert_first_layer(FirstReluLayerSearch()(session, probe), truth, probe.oracle, atol=1e-7)


def test_more_readings_are_more_exact(seed: int) -> None:
    truth = planted(seed, shape=(8, 5, 5, 1))
    session, probe = started(truth, seed)
    search = FirstReluLayerSearch()
    found = search(session, probe)
    again = search.read_again(session, probe, found)
    assert_first_layer(again, truth, probe.oracle, atol=1e-10)
    assert np.all(again.terms.errors <= found.terms.errors)


@pytest.mark.parametrize("shape", [(8, 5, 5, 1), (4, 7, 6, 1), (8, 5, 5, 5, 1)], ids=str)
def test_located_points_are_exact(shape: tuple[int, ...], seed: int) -> None:
    truth = planted(seed, shape=shape)
    session, probe = started(truth, seed)
    search = FirstReluLayerSearch()
    found = FirstReluLayerSearch().sharpened(session, probe, search.read_again(session, probe, search(session, probe)))
    is_sharp = found.terms.errors < 1e-11
    assert np.count_nonzero(is_sharp) >= shape[1] - 1
    assert_first_layer(found, truth, probe.oracle, atol=1e-12 if np.all(is_sharp) else 1e-9)


def test_a_shallow_network_has_no_later_kinks(seed: int) -> None:
    rng = np.random.default_rng([seed, 123])
    truth = general_network(rng, inputs=8, neurons=6, outputs=2, activation=RELU)
    session, probe = started(truth, seed)
    found = FirstReluLayerSearch()(session, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    assert found.later_kinks == 0


def test_one_line_can_be_enough(seed: int) -> None:
    """The number of queries is that of one line, not more, where it shows all neurons."""
    truth = planted(seed, shape=(40, 4, 4, 1))
    session, probe = started(truth, seed)
    before = session.oracle.ledger.sent
    found = FirstReluLayerSearch()(session, probe)
    assert_first_layer(found, truth, probe.oracle, atol=1e-7)
    pieces = found.neurons + found.later_kinks + 1
    assert session.oracle.ledger.sent - before <= 4 * 41 * pieces


def test_a_layer_that_is_not_seen_through_is_incomplete(seed: int) -> None:
    truth = planted(seed, shape=(8, 5, 5, 1))
    session, probe = started(truth, seed)
    found = FirstReluLayerSearch(lines=0)(session, probe)
    assert found.neurons == 0
    assert not found.is_complete


def test_one_input_is_refused(seed: int) -> None:
    truth = planted(seed, shape=(1, 3, 3, 1))
    session, probe = started(truth, seed)
    with pytest.raises(StageFailed, match="one input"):
        FirstReluLayerSearch()(session, probe)


def planted_layers(seed: int, activation: Activation = RELU, *, inputs: int = 7, neurons: int = 5) -> Network:
    rng = np.random.default_rng([seed, 91])
    return deep_network(rng, shape=(inputs, neurons, 8, 2), activation=activation, shift_deviation=0.3)


def bends_of(network: Network, seed: int, *, sightings: int = 3) -> list[Bend]:
    """Exact gradients on both sides of every neuron, at random places where it is seen."""
    rng, layer, bends = np.random.default_rng([seed, 92]), network.layers[0], []
    for neuron, (normal, offset) in enumerate(zip(layer.weights, layer.biases, strict=True)):
        seen = 0
        while seen < sightings:
            point, direction = rng.standard_normal((2, network.inputs))
            point = point - (normal @ point + offset) * normal
            before, after = network.gradients(point + 1e-9 * np.array([[-1.0], [1.0]]) * direction)
            if np.linalg.matrix_rank(after - before, tol=1e-6) == 1:
                bends.append(Bend(neuron, direction, before, after))
                seen += 1
    return bends


def assert_oriented(found: Layer, truth: Layer) -> None:
    np.testing.assert_allclose(found.weights, truth.weights, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.biases, truth.biases, rtol=0.0, atol=1e-12)
    assert found.activation == truth.activation


@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.01), leaky_relu(0.37), leaky_relu(-0.2)])
def test_signs_and_slope_are_found(activation: Activation, seed: int) -> None:
    truth = planted_layers(seed, activation)
    signs = np.random.default_rng([seed, 93]).choice([-1.0, 1.0], 5)
    layer = truth.layers[0]
    found = orient(signs[:, None] * layer.weights, signs * layer.biases, bends_of(truth, seed), rules=SignRules())
    assert_oriented(found, layer)


def test_the_assertion_on_signs_can_fail(seed: int) -> None:
    truth, layer = planted_layers(seed), planted_layers(seed).layers[0]
    found = orient(layer.weights, layer.biases, bends_of(truth, seed), rules=SignRules())
    for other in (
        Layer(-layer.weights, layer.biases, RELU),
        Layer(layer.weights, layer.biases + 1e-9, RELU),
        Layer(layer.weights, layer.biases, leaky_relu(0.01)),
    ):
        with pytest.raises(AssertionError):
            assert_oriented(found, other)


def test_more_neurons_than_inputs_are_refused(seed: int) -> None:
    truth = planted_layers(seed, inputs=4, neurons=5)
    layer = truth.layers[0]
    with pytest.raises(StageFailed, match="the 5 hyperplanes that were read in 4 inputs are linearly dependent"):
        orient(layer.weights, layer.biases, bends_of(truth, seed, sightings=1), rules=SignRules())


def test_parallel_neurons_are_refused(seed: int) -> None:
    truth, layer = planted_layers(seed), planted_layers(seed).layers[0]
    weights = layer.weights.copy()
    weights[1] = weights[0]
    with pytest.raises(StageFailed, match="linearly dependent"):
        orient(weights, layer.biases, bends_of(truth, seed), rules=SignRules())


def test_a_neuron_without_a_bend_is_refused(seed: int) -> None:
    truth, layer = planted_layers(seed), planted_layers(seed).layers[0]
    bends = [bend for bend in bends_of(truth, seed) if bend.neuron != 3]
    with pytest.raises(StageFailed, match="not read well enough"):
        orient(layer.weights, layer.biases, bends, rules=SignRules())


def test_a_missing_neuron_is_noticed(seed: int) -> None:
    truth, layer = planted_layers(seed), planted_layers(seed).layers[0]
    bends = [bend for bend in bends_of(truth, seed) if bend.neuron < 4]
    with pytest.raises(StageFailed, match=r"no layer of relu|bends both ways"):
        orient(layer.weights[:4], layer.biases[:4], bends, rules=SignRules())
