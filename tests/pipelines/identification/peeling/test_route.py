"""Deep networks from queries: plant one, recover every layer, compare up to symmetry."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import assertions
import unweave
from assertions import EXACT
from unweave.activations import IDENTITY, SIGMOID, TANH, Activation
from unweave.identification.peeling.route import LayerPeeling
from unweave.identification.peeling.wide_starts import WideStarts
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle


def planted(
    seed: int,
    shape: str,
    *,
    output: Activation = IDENTITY,
    hidden: Activation = TANH,
    shift: float = 0.05,
) -> Network:
    return deep_network(
        np.random.default_rng([seed, 3]),
        shape=tuple(map(int, shape.split("-"))),
        activation=hidden,
        output_activation=output,
        shift_deviation=shift,
    )


@cache
def small_and_found(seed: int) -> tuple[Network, unweave.Result]:
    """A small network and what is identified of it, which several tests start from."""
    truth = planted(seed, "6-5-3-2")
    return truth, unweave.identify(truth, seed=seed)


def assert_recovered(found: unweave.Result, truth: Network, *, atol: float = EXACT) -> None:
    """Every layer and the output activation, by peeling."""
    assertions.assert_recovered(found, truth, atol=atol, route=LayerPeeling.name)
    assert found.network is not None
    assert found.network.activations[-1] == truth.activations[-1]
    assert found.first_layer is None


def assert_directions_are_right(layer: Layer | None, truth: Layer, *, atol: float = 1e-4) -> None:
    """Every row found has the direction of a row of the truth, up to sign."""
    assert layer is not None
    found, expected = (each.weights / np.linalg.norm(each.weights, axis=1)[:, None] for each in (layer, truth))
    nearest = np.max(np.abs(found @ expected.T), axis=1)
    np.testing.assert_allclose(nearest, 1.0, atol=atol)


def assert_not_vouched_for(found: unweave.Result, first: Layer | None = None) -> None:
    """No network is claimed; a first layer may be, if there is one."""
    assert not found.is_identified
    assert found.network is None
    assert found.reason
    if found.outcome is unweave.Outcome.PARTLY_IDENTIFIED:
        assert first is not None
        assert_directions_are_right(found.first_layer, first)


def test_assertions_fail_on_another_network(seed: int) -> None:
    truth, found = small_and_found(seed)
    other = planted(seed + 1_000, "6-5-3-2")
    assert_recovered(found, truth)
    with pytest.raises(AssertionError):
        assert_recovered(found, other)
    with pytest.raises(AssertionError):
        assert_directions_are_right(truth.layers[0], other.layers[0])
    with pytest.raises(AssertionError):
        assert_not_vouched_for(found)


@pytest.mark.each_value
@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=repr)
@pytest.mark.parametrize("shape", ["6-5-3-2", "8-6-4-3"])
def test_every_layer_is_recovered(shape: str, output: Activation, seed: int) -> None:
    truth = planted(seed, shape, output=output)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_three_hidden_layers(seed: int) -> None:
    truth = planted(seed, "9-7-5-3-6", output=TANH)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param("5-4-4-3", marks=pytest.mark.slow),
        "5-5-3-2",
        "6-5-3-1",
        pytest.param("5-2-3-2", marks=pytest.mark.slow),
    ],
)
def test_equal_widths_one_output_and_wider_layers_above(shape: str, seed: int) -> None:
    truth = planted(seed, shape)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_larger_shifts(seed: int) -> None:
    truth = planted(seed, "8-6-4-3", shift=0.3)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_sigmoid_layers_are_found_as_tanh_and_written_as_asked(seed: int) -> None:
    truth = planted(seed, "6-5-3-2", hidden=SIGMOID)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert "sigmoid" in found.equivalent_activations
    asked = unweave.identify(truth, activation="sigmoid", seed=seed)
    assert_recovered(asked, truth)
    assert asked.network is not None
    assert asked.network.activations == (SIGMOID, SIGMOID, IDENTITY)


def test_units_do_not_matter(seed: int) -> None:
    truth = planted(seed, "8-6-4-3")
    scale, center = np.logspace(-2, 2, 8), np.random.default_rng([seed, 4]).normal(size=8) * np.logspace(-2, 2, 8)
    shift = np.array([5.0, -3_000.0, 1e4])
    first, second, output = truth.layers
    weights = first.weights / scale
    moved = Network(
        (
            replace(first, weights=weights, biases=first.biases - weights @ center),
            second,
            replace(output, weights=1_000 * output.weights, biases=1_000 * output.biases + shift),
        )
    )
    found = unweave.identify(moved, seed=seed, domain=unweave.Everywhere(scale=scale, center=center))
    assert_recovered(found, moved)


@pytest.mark.parametrize("budget", [60, 300, 900, 1_400, 1_600, 1_750])
def test_a_budget_that_is_too_small_is_kept_and_said(budget: int, seed: int) -> None:
    truth = planted(seed, "6-5-3-2")
    oracle = CallableOracle(truth, inputs=6, budget=budget)
    found = unweave.identify(oracle, seed=seed)
    assert found.queries == oracle.ledger.sent <= budget
    assert "budget is too small" in found.reason
    assert_not_vouched_for(found, truth.layers[0])


def test_what_a_spent_budget_has_shown_of_the_first_layer_is_returned(seed: int) -> None:
    truth, enough = small_and_found(seed)
    # Less than the examination costs, and what comes before it.
    found = unweave.identify(truth, seed=seed, budget=enough.queries - 150)
    assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
    assert found.first_layer is not None
    assert found.first_layer.neurons == 5
    assert_directions_are_right(found.first_layer, truth.layers[0])
    assert "first layer of 5 neurons" in found.reason
    assert "second layer has 3 neurons" in found.reason


def test_the_smallest_budget_that_is_enough_is_enough(seed: int) -> None:
    truth, unlimited = small_and_found(seed)
    needed = unlimited.queries
    found = unweave.identify(truth, seed=seed, budget=needed)
    assert_recovered(found, truth)
    assert found.queries == needed


def test_a_first_layer_wider_than_the_inputs_is_all_that_is_found(seed: int) -> None:
    truth = planted(seed, "4-6-3-2")
    found = unweave.identify(truth, seed=seed)
    assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
    assert_not_vouched_for(found, truth.layers[0])
    assert "4 inputs: its outputs can't be chosen freely" in found.reason


def test_a_box_is_left_with_an_honest_outcome(seed: int) -> None:
    truth = planted(seed, "8-6-4-3")
    found = unweave.identify(truth, seed=seed, domain=unweave.Box(-1.0, 1.0))
    assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
    assert_not_vouched_for(found)


@pytest.mark.parametrize("deviation", [1e-10, 1e-8])
def test_noise_is_covered_by_the_radius(deviation: float, seed: int) -> None:
    truth = planted(seed, "8-6-4-3")
    rng = np.random.default_rng([seed, 5])
    found = unweave.identify(
        lambda points: truth(points) + deviation * rng.standard_normal((len(points), 3)), inputs=8, seed=seed
    )
    if found.is_identified:
        assert_recovered(found, truth, atol=1e4 * deviation)
    else:
        assert_not_vouched_for(found, truth.layers[0])


def waves_of_tanh(seed: int, *, inputs: int, neurons: int, outputs: int) -> tuple[Layer, CallableOracle]:
    """A function with the first layer of a network and sines above it."""
    rng = np.random.default_rng([seed, 6])
    first = planted(seed, f"{inputs}-{neurons}-{outputs}").layers[0]
    mixing = rng.standard_normal((neurons, outputs))
    return first, CallableOracle(
        lambda points: 3.0 * np.sin(1.5 * np.tanh(first.preactivations(points)) @ mixing), inputs=inputs
    )


@pytest.mark.parametrize("outputs", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_sines_above_a_layer_are_no_network(outputs: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Students take their time before they give up: the slow test below has them.
    monkeypatch.setattr(WideStarts, "parameters", lambda *_, **__: 10**6)
    first, oracle = waves_of_tanh(seed, inputs=6, neurons=5, outputs=outputs)
    assert_not_vouched_for(unweave.identify(oracle, seed=seed), first)


def test_the_same_seed_asks_the_same_questions(seed: int) -> None:
    truth, first = small_and_found(seed)
    second = unweave.identify(truth, seed=seed)
    assert first.network is not None
    assert second.network is not None
    assert first.queries == second.queries
    for one, other in zip(first.network.layers, second.network.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.slow
@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=repr)
@pytest.mark.parametrize("shape", ["10-8-6-4", "9-7-5-3-6", "7-5-4-3-3", "6-5-5-2"])
def test_many_networks_are_recovered_or_not_claimed(shape: str, output: Activation) -> None:
    recovered = 0
    for seed in range(5):
        truth = planted(seed, shape, output=output)
        found = unweave.identify(truth, seed=seed)
        if found.is_identified:
            assert_recovered(found, truth)
            recovered += 1
        elif found.network is None:
            assert_not_vouched_for(found, truth.layers[0])
    assert recovered >= 3


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(6, 5, 2), (6, 5, 4), (8, 6, 3)])
def test_no_sines_above_a_layer_are_a_network(sizes: tuple[int, int, int]) -> None:
    inputs, neurons, outputs = sizes
    for seed in range(4):
        first, oracle = waves_of_tanh(seed, inputs=inputs, neurons=neurons, outputs=outputs)
        assert_not_vouched_for(unweave.identify(oracle, seed=seed), first)


@pytest.mark.slow
def test_parallel_neurons_in_the_first_layer_are_not_taken_for_one() -> None:
    for seed in range(2):
        truth = planted(seed, "6-5-3-2")
        first = truth.layers[0]
        weights, biases = first.weights.copy(), first.biases.copy()
        weights[1], biases[1] = weights[0], biases[0] + 0.7
        truth = Network((Layer(weights, biases, TANH), *truth.layers[1:]))
        assert_not_vouched_for(unweave.identify(truth, seed=seed), truth.layers[0])
