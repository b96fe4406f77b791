"""The whole pipeline: plant a network, recover it from queries, compare up to symmetry."""

from dataclasses import replace

import numpy as np
import pytest

import unweave
from assertions import assert_answers_alike, assert_recovered
from plants import Counted
from unweave.activations import (
    ERF,
    GAUSSIAN,
    GELU,
    IDENTITY,
    RELU,
    SIGMOID,
    SILU,
    SIN,
    SOFTPLUS,
    TANH,
    Activation,
    softplus,
)
from unweave.exceptions import InvalidInput, NotIdentified
from unweave.identification.identifier import Identifier
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network, unit_network
from unweave.oracles.oracle import CallableOracle


def test_assertion_fails_on_a_wrong_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, other = (general_network(rng, inputs=4, neurons=3) for _ in range(2))
    found = unweave.identify(truth, seed=seed)
    with pytest.raises(AssertionError):
        assert_recovered(found, other)


def assert_are_among(weights: np.ndarray, truth: np.ndarray, *, atol: float = 1e-4) -> None:
    """Every row has the direction of a different row of the truth, up to sign."""
    rows, truth = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (weights, truth))
    cosines = np.abs(rows @ truth.T)
    assert np.all(np.max(cosines, axis=1) > 1 - atol**2)
    assert len(set(np.argmax(cosines, axis=1))) == len(rows)


def test_assertion_on_directions_can_fail(seed: int) -> None:
    truth = np.random.default_rng(seed).standard_normal((3, 5))
    assert_are_among(-2 * truth[[2, 0]], truth)
    for wrong in (truth + 1e-2 * np.eye(5)[0], truth[[0, 0]]):
        with pytest.raises(AssertionError):
            assert_are_among(wrong, truth)


@pytest.mark.parametrize("activation", [TANH, SIGMOID, SOFTPLUS, softplus(2.5), ERF, GELU, SILU, SIN, GAUSSIAN])
def test_recovers_every_activation_without_being_told(activation: Activation, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 1]), inputs=6, neurons=7, outputs=2, activation=activation)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(1, 1, 1), (2, 2, 1), (3, 1, 3), (6, 12, 1), (9, 4, 1)])
def test_recovers_every_shape(inputs: int, neurons: int, outputs: int, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 2]), inputs=inputs, neurons=neurons, outputs=outputs)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


@pytest.mark.parametrize("number", range(8))
def test_small_sweep(number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 3, number])
    inputs = int(rng.integers(3, 8))
    neurons = int(rng.integers(1, min(2 * inputs, inputs * (inputs - 1) // 2 - 1) + 1))
    activation = (TANH, SIGMOID, SOFTPLUS, ERF, GELU)[number % 5]
    truth = general_network(rng, inputs=inputs, neurons=neurons, outputs=1 + number % 3, activation=activation)
    assert_recovered(unweave.identify(truth, seed=number), truth)


@pytest.mark.parametrize(("inputs", "neurons"), [(4, 4), (4, 5), (6, 6), (6, 12)])
def test_query_bound_with_at_least_as_many_neurons_as_inputs(inputs: int, neurons: int, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 4]), inputs=inputs, neurons=neurons)
    found = Identifier(walks=False)(CallableOracle(truth, inputs=inputs), seed=seed)
    assert_recovered(found, truth)
    assert found.route == "Hessians"
    # The fresh answers of the examination come on top.
    assert found.queries <= 1.3 * neurons * (inputs**2 + inputs + 1) + 3 * truth.parameters + 59


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, RELU])
def test_query_bound_of_walks(activation: Activation, seed: int) -> None:
    """A fixed number of queries per parameter, however many inputs there are."""
    truth = general_network(np.random.default_rng([seed, 10]), inputs=10, neurons=20, activation=activation)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert found.route in ("saturation walk", "kink walk")
    assert found.queries <= 12 * truth.parameters


@pytest.mark.parametrize("neurons", [10, 11, 14, 30])
def test_more_neurons_than_second_derivatives_can_separate(neurons: int, seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=5, neurons=neurons)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert found.route == "saturation walk"


def relu_network(neurons: int, seed: int, *, outputs: int = 1) -> Network:
    """Gaussian weights, small biases, and all output weights one."""
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((neurons, 5)), 0.3 * rng.standard_normal(neurons)
    signs = np.ones((1, neurons)) if outputs == 1 else rng.choice([-1.0, 1.0], (outputs, neurons))
    return Network.shallow(weights, biases, signs, np.zeros(outputs), RELU)


@pytest.mark.parametrize(("neurons", "outputs"), [(1, 1), (5, 1), (20, 1), (40, 4)])
def test_recovers_relu(neurons: int, outputs: int, seed: int) -> None:
    truth = relu_network(neurons, seed, outputs=outputs)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert found.route == "kink walk"
    assert found.network is not None
    assert found.network.skip is None
    assert found.network.layers[0].activation == RELU


@pytest.mark.slow
def test_many_relu_neurons_of_one_output_have_their_signs_or_say_so(seed: int) -> None:
    """40 signs and 5 equations: one choice explains the affine part, or the affine part is kept and reported."""
    truth = relu_network(40, seed)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert found.network is not None
    assert found.network.skip is None or any("signs" in note for note in found.notes)


def test_queries_are_counted_exactly(seed: int) -> None:
    model = Counted(general_network(np.random.default_rng(seed), inputs=4, neurons=3))
    assert unweave.identify(model, inputs=4, seed=seed).queries == model.asked


def test_same_seed_same_result(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=4, neurons=3)
    first, second = (unweave.identify(truth, seed=5) for _ in range(2))
    assert first.queries == second.queries
    assert first.network is not None
    assert second.network is not None
    np.testing.assert_array_equal(first.network.layers[0].weights, second.network.layers[0].weights)


def test_unit_weights_with_more_neurons_than_inputs(seed: int) -> None:
    truth = unit_network(np.random.default_rng(seed), inputs=10, neurons=40)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_box_domain_with_units_is_never_left(seed: int) -> None:
    inner = general_network(np.random.default_rng(seed), inputs=5, neurons=6)
    lower, upper = np.array([0.0, -1, 10, -300, 2]), np.array([1.0, 1, 14, 500, 3])

    def model(points: np.ndarray) -> np.ndarray:
        assert np.all(points >= lower - 1e-9)
        assert np.all(points <= upper + 1e-9)
        return 1e4 * inner(3 * (points - lower) / (upper - lower) - 1.5)

    scale = 3 / (upper - lower)
    hidden, output = inner.layers
    weights = hidden.weights * scale
    truth = Network.shallow(
        weights=weights,
        biases=hidden.biases - 1.5 * hidden.weights.sum(axis=1) - weights @ lower,
        output_weights=1e4 * output.weights,
        offset=1e4 * output.biases,
        activation=TANH,
    )
    found = unweave.identify(model, inputs=5, domain=unweave.Box(lower, upper), seed=seed)
    assert_recovered(found, truth)


def test_given_activation_and_width_are_used(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=5, neurons=6, activation=SIGMOID)
    found = unweave.identify(truth, activation="sigmoid", neurons=6, seed=seed)
    assert_recovered(found, truth)
    assert found.network is not None
    assert found.network.layers[0].activation == SIGMOID
    assert found.equivalent_activations == ("tanh",)


def test_softplus_comes_back_without_an_affine_part(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=9, activation=SOFTPLUS)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth)
    assert found.network is not None
    assert found.network.skip is None


def test_genuine_affine_part_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = replace(general_network(rng, inputs=5, neurons=6), skip=rng.standard_normal((1, 5)))
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_collinear_neurons_are_told_apart(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=6)
    hidden, output = truth.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    weights[1], biases[1] = -1.7 * weights[0], biases[0] + 0.9
    truth = Network((replace(hidden, weights=weights, biases=biases), output))
    assert_recovered(unweave.identify(truth, seed=seed), truth)


def test_identical_neurons_become_one(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=6)
    hidden, output = truth.layers
    weights, biases, out = hidden.weights.copy(), hidden.biases.copy(), output.weights.copy()
    weights[1], biases[1] = weights[0], biases[0]
    twins = Network((replace(hidden, weights=weights, biases=biases), output))
    merged_out = np.delete(out, 1, axis=1)
    merged_out[:, 0] = out[:, 0] + out[:, 1]
    merged = Network.shallow(
        weights=np.delete(weights, 1, axis=0),
        biases=np.delete(biases, 1),
        output_weights=merged_out,
        offset=output.biases,
        activation=TANH,
    )
    assert_recovered(unweave.identify(twins, seed=seed), merged)


@pytest.mark.parametrize(("weight", "atol"), [(1e-3, 1e-8), (1e-6, 1e-6)])
def test_neuron_with_tiny_output_weight_is_found(weight: float, atol: float, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 6]), inputs=6, neurons=5)
    hidden, output = truth.layers
    weights = output.weights.copy()
    weights[0, 2] = weight
    truth = Network((hidden, replace(output, weights=weights)))
    assert_recovered(unweave.identify(truth, seed=seed), truth, atol=atol)


@pytest.mark.slow
def test_neuron_below_the_noise_is_not_claimed(seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 6]), inputs=6, neurons=5)
    hidden, output = truth.layers
    weights = output.weights.copy()
    weights[0, 2] = 1e-12
    found = unweave.identify(Network((hidden, replace(output, weights=weights))), seed=seed)
    if found.outcome is unweave.Outcome.IDENTIFIED:
        assert found.network is not None
        assert found.network.widths == (4,)
    else:
        assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED


class TestNoise:
    @pytest.mark.parametrize("activation", [TANH, GELU, SOFTPLUS])
    def test_error_is_in_proportion_to_additive_noise(self, activation: Activation, seed: int) -> None:
        truth = general_network(np.random.default_rng([seed, 7]), inputs=6, neurons=7, activation=activation)
        noise = np.random.default_rng([seed, 8])
        found = unweave.identify(
            lambda points: truth(points) + 1e-8 * noise.standard_normal((len(points), 1)), inputs=6, seed=seed
        )
        assert_recovered(found, truth, atol=1e-3)

    def test_float32_answers(self, seed: int) -> None:
        truth = general_network(np.random.default_rng([seed, 7]), inputs=6, neurons=7)
        found = unweave.identify(lambda points: truth(points).astype(np.float32), inputs=6, seed=seed)
        assert_recovered(found, truth, atol=1e-3)

    @pytest.mark.parametrize("level", [1e-5, 1e-3, 1e-2])
    def test_more_noise_is_never_a_confident_wrong_answer(self, level: float, seed: int) -> None:
        truth = general_network(np.random.default_rng([seed, 7]), inputs=6, neurons=7)
        noise = np.random.default_rng([seed, 9])
        found = unweave.identify(
            lambda points: truth(points) + level * noise.standard_normal((len(points), 1)), inputs=6, seed=seed
        )
        if found.is_identified:
            assert_recovered(found, truth, atol=1e-1)
        else:
            assert found.reason


class TestHonestFailures:
    def test_affine_function(self, seed: int) -> None:
        slope = np.random.default_rng(seed).standard_normal((2, 5))
        found = unweave.identify(lambda points: points @ slope.T + 1.5, inputs=5, seed=seed)
        assert found.is_identified
        assert found.network is not None
        assert found.network.widths == (0,)
        assert found.network.skip is not None
        np.testing.assert_allclose(found.network.skip, slope, atol=1e-12)
        assert "affine" in found.reason

    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_constant_function(self, value: float) -> None:
        """audit A3: a constant answer is no evidence against features that are too narrow to be met."""
        found = unweave.identify(lambda points: np.full(len(points), value), inputs=5)
        assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
        assert "constant on at least 95%" in found.reason

    @pytest.mark.parametrize("width", [1, pytest.param(3, marks=pytest.mark.slow), 8])
    def test_deep_network(self, width: int, seed: int) -> None:
        """The network within its radius, or the first layer with the planted directions, or one that answers alike."""
        rng = np.random.default_rng(seed)
        first, second = rng.standard_normal((width, 5)) / 2, rng.standard_normal((4, width))
        truth = Network(
            (
                Layer(first, np.full(width, 0.1), TANH),
                Layer(second, np.full(4, 0.2), TANH),
                Layer(np.ones((1, 4)), np.zeros(1), IDENTITY),
            )
        )
        found = unweave.identify(truth, seed=seed)
        if found.is_identified:
            assert found.network is not None
            assert found.certificate is not None
            assert unweave.match(found.network, truth).largest_error <= found.certificate.radius
            return
        if found.is_imitation:
            assert_answers_alike(found, truth, unweave.Everywhere(), 5)
            return
        assert found.network is None
        assert "shallow" in found.reason
        assert (found.outcome is unweave.Outcome.PARTLY_IDENTIFIED) == (found.first_layer is not None)
        if found.first_layer is not None:
            assert_are_among(found.first_layer.weights, first)

    @pytest.mark.parametrize("neurons", [14, 30])
    def test_too_many_neurons_for_second_derivatives(self, neurons: int, seed: int) -> None:
        truth, domain = general_network(np.random.default_rng(seed), inputs=5, neurons=neurons), unweave.Box(-2.0, 2.0)
        found = unweave.identify(truth, domain=domain, seed=seed)
        if found.is_identified:
            assert found.network is not None
            assert found.network.widths == (neurons,)
            return
        if found.is_imitation:
            assert_answers_alike(found, truth, domain, 5)
            return
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "more neurons than second derivatives can separate" in found.reason

    def test_quadratic_function(self, seed: int) -> None:
        weights = np.random.default_rng(seed).standard_normal((4, 5))
        found = unweave.identify(lambda points: ((points @ weights.T + 1) ** 2).sum(axis=1), inputs=5, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "quadratic" in found.reason

    def test_unknown_activation(self, seed: int) -> None:
        weights = np.random.default_rng(seed).standard_normal((2, 14)) / 4
        found = unweave.identify(lambda points: np.arctan(points @ weights.T + 0.2).sum(axis=1), inputs=14, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "not among the known ones" in found.reason
        with pytest.raises(NotIdentified, match="known kinds"):
            found.require()

    @pytest.mark.parametrize("budget", [1, 20, 39, 100, 300])
    def test_budget_too_small_is_respected_to_the_query(self, budget: int, seed: int) -> None:
        model = Counted(general_network(np.random.default_rng(seed), inputs=6, neurons=6))
        found = unweave.identify(model, inputs=6, budget=budget, seed=seed)
        assert model.asked == found.queries <= budget
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "budget" in found.reason

    def test_exact_budget_is_enough(self, seed: int) -> None:
        truth = general_network(np.random.default_rng(seed), inputs=4, neurons=3)
        needed = unweave.identify(truth, seed=seed).queries
        assert_recovered(unweave.identify(truth, budget=needed, seed=seed), truth)
        assert not unweave.identify(truth, budget=needed - 1, seed=seed).is_identified

    def test_random_answers(self, seed: int) -> None:
        truth, luck = general_network(np.random.default_rng(seed), inputs=5, neurons=4), np.random.default_rng(seed)
        found = unweave.identify(
            lambda points: truth(points) * (luck.random((len(points), 1)) > 0.3), inputs=5, seed=seed
        )
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "change between calls" in found.reason

    def test_model_with_a_memory(self, seed: int) -> None:
        truth, calls = general_network(np.random.default_rng(seed), inputs=5, neurons=4), []

        def model(points: np.ndarray) -> np.ndarray:
            calls.append(len(points))
            return truth(points) + 0.05 * len(calls)

        found = unweave.identify(model, inputs=5, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "change between calls" in found.reason


class TestWrongUse:
    @pytest.mark.usefixtures("without_type_checks")
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "needs inputs="),
            ({"inputs": 0}, "inputs to be a whole number"),
            ({"inputs": 3, "activation": "identity"}, "determines its neurons"),
            ({"inputs": 3, "activation": "quadratic"}, "determines its neurons"),
            ({"inputs": 3, "activation": "nonsense"}, "unknown activation"),
            ({"inputs": 3, "neurons": 0}, "neurons to be a whole number"),
            ({"inputs": 3, "budget": 0}, "budget to be a whole number"),
            ({"inputs": 3, "seed": -1}, "seed of at least 0"),
            ({"inputs": 3, "domain": unweave.Box(np.zeros(2), np.ones(2))}, "3 in all, got 2"),
        ],
    )
    def test_nothing_is_queried(self, settings: dict, message: str) -> None:
        def model(_: np.ndarray) -> np.ndarray:
            raise AssertionError("queried")

        with pytest.raises(InvalidInput, match=message):
            unweave.identify(model, **settings)
