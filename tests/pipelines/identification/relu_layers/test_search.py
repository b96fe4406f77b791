"""Networks with two hidden layers of relu: recovered whole, or the first layer, and never a wrong one."""

from collections.abc import Callable

import numpy as np
import pytest

import unweave
from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification.identifier import Identifier
from unweave.identification.probing import Probe, Probing
from unweave.identification.relu_layers.route import KinksBend
from unweave.identification.relu_layers.search import ReluLayers, TwoLayerSearch
from unweave.identification.relu_layers.upper_layer import UpperReluLayer, UpperRules
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network, general_network
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere
from unweave.oracles.views import StandardOracle, in_oracle_units, layer_in_oracle_units
from unweave.result import Outcome


def is_switching(network: Network) -> bool:
    """Whether every second-layer neuron is on for some values of the first layer and off for others."""
    second = network.layers[1]
    return bool(np.all(np.any(second.weights > 0, axis=1) & np.any(second.weights < 0, axis=1)))


def planted(seed: int, *shape: int, activation: Activation = RELU) -> Network:
    """A random network whose second layer the answers determine."""
    rng = np.random.default_rng([seed, 131])
    while True:
        network = deep_network(rng, shape=shape, activation=activation, shift_deviation=0.3)
        if is_switching(network):
            return network


def started(
    model: Network | Callable[[np.ndarray], np.ndarray],
    seed: int,
    *,
    inputs: int = 8,
    domain: Domain | None = None,
    budget: int | None = None,
) -> tuple[Session, Probe]:
    oracle = CallableOracle(model, inputs=inputs, domain=domain, budget=budget)
    session = Session(oracle, np.random.default_rng([seed, 132]))
    return session, Probing()(session)


def assert_recovered(found: ReluLayers, truth: Network, oracle: StandardOracle, *, atol: float = 1e-10) -> None:
    assert found.outcome is Outcome.IDENTIFIED, found.reason
    assert found.network is not None
    assert found.fresh_error <= 1e-8
    assert unweave.match(in_oracle_units(found.network, oracle), truth).largest_error <= atol


def assert_first_layer_only(found: ReluLayers, truth: Network, oracle: StandardOracle) -> None:
    """No network, the reason, and all neurons of the first layer up to sign."""
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.network is None
    assert found.first_layer is not None
    assert "what is above it was not found" in found.reason
    layer, first = layer_in_oracle_units(found.first_layer, oracle), truth.layers[0]
    assert layer.neurons == first.neurons
    lengths = np.linalg.norm(layer.weights, axis=1) * np.linalg.norm(first.weights, axis=1)[:, None]
    cosines = np.abs(first.weights @ layer.weights.T) / lengths
    np.testing.assert_allclose(np.max(cosines, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 5, 5, 1), (8, 4, 6, 3), (6, 6, 5, 2), (12, 3, 6, 1)], ids=str)
def test_planted_networks_are_recovered(shape: tuple[int, ...], seed: int) -> None:
    truth = planted(seed, *shape)
    session, probe = started(truth, seed, inputs=shape[0])
    found = TwoLayerSearch()(session, probe)
    assert_recovered(found, truth, probe.oracle)
    assert found.has_signs
    assert all(check.verdict is unweave.result.Verdict.OK for check in found.checks)


@pytest.mark.parametrize("slope", [0.01, 0.3])
def test_leaky_networks_are_recovered(slope: float, seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1, activation=leaky_relu(slope))
    session, probe = started(truth, seed)
    assert_recovered(TwoLayerSearch()(session, probe), truth, probe.oracle)


def test_units_of_inputs_and_outputs_do_not_matter(seed: int) -> None:
    plain = planted(seed, 8, 5, 5, 2)
    first, second, output = plain.layers
    center, scale = np.full(8, 20.0), np.linspace(5.0, 50.0, 8)
    weights = first.weights / scale
    truth = Network(
        (
            Layer(weights, first.biases - weights @ center, RELU),
            second,
            Layer(np.array([[1e4], [1e-3]]) * output.weights, output.biases, output.activation),
        )
    )
    session, probe = started(truth, seed, domain=Everywhere(scale=scale, center=center))
    assert_recovered(TwoLayerSearch()(session, probe), truth, probe.oracle, atol=1e-8)


def test_the_assertions_can_fail(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    session, probe = started(truth, seed)
    found = TwoLayerSearch()(session, probe)
    with pytest.raises(AssertionError):
        assert_recovered(found, planted(seed + 1, 8, 5, 5, 1), probe.oracle)
    with pytest.raises(AssertionError):
        assert_first_layer_only(found, truth, probe.oracle)


def test_without_polish_the_parameters_are_nearly_as_exact(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    session, probe = started(truth, seed)
    assert_recovered(TwoLayerSearch(largest_polish=0)(session, probe), truth, probe.oracle, atol=1e-6)


def test_neurons_that_never_switch_leave_the_function(seed: int) -> None:
    """A second-layer neuron with positive weights and bias is linear for all values: nobody can tell its bias."""
    first, second, output = planted(seed, 8, 5, 5, 1).layers
    weights, biases = second.weights.copy(), second.biases.copy()
    weights[0], biases[0] = np.abs(weights[0]), 0.2
    truth = Network((first, Layer(weights, biases, RELU), output))
    session, probe = started(truth, seed)
    found = TwoLayerSearch()(session, probe)
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.network is not None
    assert "not the only ones" in found.reason
    points = 5.0 * np.random.default_rng([seed, 133]).standard_normal((300, 8))
    network = in_oracle_units(found.network, probe.oracle)
    np.testing.assert_allclose(network(points), truth(points), atol=1e-9)


def test_neurons_that_are_never_on_are_left_out(seed: int) -> None:
    first, second, output = planted(seed, 8, 5, 5, 1).layers
    weights, biases = second.weights.copy(), second.biases.copy()
    weights[0], biases[0] = -np.abs(weights[0]), -0.2
    truth = Network(
        (first, Layer(weights[1:], biases[1:], RELU), Layer(output.weights[:, 1:], output.biases, output.activation))
    )
    session, probe = started(Network((first, Layer(weights, biases, RELU), output)), seed)
    assert_recovered(TwoLayerSearch()(session, probe), truth, probe.oracle)


@pytest.mark.parametrize("shape", [(4, 7, 5, 1), (8, 5, 5, 5, 1)], ids=str)
def test_of_other_shapes_the_first_layer_is_found(shape: tuple[int, ...], seed: int) -> None:
    """Wider than the input, or under three layers."""
    truth = planted(seed, *shape)
    session, probe = started(truth, seed, inputs=shape[0])
    found = TwoLayerSearch()(session, probe)
    assert_first_layer_only(found, truth, probe.oracle)
    assert found.has_signs == (shape[0] > shape[1])


def test_a_budget_ends_with_the_first_layer(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    session, probe = started(truth, seed)
    TwoLayerSearch().first(session, probe)
    budget = session.oracle.ledger.sent + 40
    session, probe = started(truth, seed, budget=budget)
    found = TwoLayerSearch()(session, probe)
    assert_first_layer_only(found, truth, probe.oracle)
    assert "budget" in found.reason
    assert session.oracle.ledger.sent <= budget


def test_a_small_budget_raises(seed: int) -> None:
    session, probe = started(planted(seed, 8, 5, 5, 1), seed, budget=120)
    with pytest.raises(BudgetExhausted):
        TwoLayerSearch()(session, probe)


def test_a_box_is_refused(seed: int) -> None:
    session, probe = started(planted(seed, 8, 5, 5, 1), seed, domain=Box(-1.0, 1.0))
    with pytest.raises(StageFailed, match="which a box excludes"):
        TwoLayerSearch()(session, probe)


def test_a_function_without_full_hyperplanes_is_refused(seed: int) -> None:
    session, probe = started(lambda points: np.max(points, axis=1), seed)
    with pytest.raises(StageFailed, match="no kink was seen whose hyperplane goes on everywhere"):
        TwoLayerSearch()(session, probe)


@pytest.mark.parametrize("outputs", [1, 3])
def test_shallow_and_deep_networks_are_told_apart(outputs: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 134])
    shallow = general_network(rng, inputs=8, neurons=12, outputs=outputs, activation=RELU)
    for model, expected in ((shallow, True), (planted(seed, 8, 6, 6, outputs), False)):
        session, probe = started(model, seed)
        assert KinksBend().looks_shallow(session, probe) is expected
        assert session.diagnostics[-1].name == "share of bends that two parallel lines have in common"


def test_lines_between_values_show_the_second_layer(seed: int) -> None:
    truth = planted(seed, 8, 5, 6, 2)
    first, upper = truth.layers[0], Network(truth.layers[1:])
    _, probe = started(truth, seed)
    rng = np.random.default_rng([seed, 135])
    search = UpperReluLayer(probe, first, rng, LevenbergMarquardt(), first_error=1e-15, rules=UpperRules())
    ends = 20.0 * np.abs(rng.standard_normal((2, 40, 5))) * (rng.random((2, 40, 5)) < 0.5)
    search.walk_between(ends[0], ends[1])
    values = 5.0 * np.abs(rng.standard_normal((100, 5)))
    expected = (upper(values) - probe.oracle.offset) / probe.oracle.size
    np.testing.assert_allclose(search.rough()(values), expected, atol=1e-6)
    np.testing.assert_allclose(search.network(search.refined())(values), expected, atol=1e-11)
    points, answers = search.answers()
    np.testing.assert_allclose(answers, (truth(points) - probe.oracle.offset) / probe.oracle.size, atol=1e-10)


def test_kinks_that_were_seen_may_be_read_without_a_budget(seed: int) -> None:
    """With 784 inputs the default budget was spent before the first of them was read, and more on a wrong way."""
    truth = planted(seed, 40, 6, 4, 1)
    oracle = CallableOracle(truth, inputs=40)
    found = Identifier(free_queries=600, free_queries_per_input=0)(oracle, seed=seed)
    assert found.outcome is Outcome.IDENTIFIED
    assert found.route == "kink walk through two layers"
