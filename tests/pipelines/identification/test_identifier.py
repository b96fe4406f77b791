"""The whole pipeline: plant a network, recover it from queries, compare up to symmetry."""

from dataclasses import replace

import numpy as np
import pytest

import unweave
from assertions import assert_recovered
from plants import Counted
from unweave.activations import (
    ERF,
    GAUSSIAN,
    GELU,
    RELU,
    SIGMOID,
    SILU,
    SIN,
    SOFTPLUS,
    TANH,
    Activation,
    softplus,
)
from unweave.identification.identifier import Identifier
from unweave.networks.network import Network
from unweave.networks.planted import general_network, unit_network
from unweave.oracles.oracle import CallableOracle


def test_assertion_fails_on_a_wrong_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, other = (general_network(rng, inputs=4, neurons=3) for _ in range(2))
    found = unweave.identify(truth, seed=seed)
    with pytest.raises(AssertionError):
        assert_recovered(found, other)


@pytest.mark.parametrize("activation", [TANH, SIGMOID, SOFTPLUS, softplus(2.5), ERF, GELU, SILU, SIN, GAUSSIAN])
def test_recovers_every_activation_without_being_told(activation: Activation, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 1]), inputs=6, neurons=7, outputs=2, activation=activation)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(1, 1, 1), (2, 2, 1), (3, 1, 3), (6, 12, 1), (9, 4, 1)])
def test_recovers_every_shape(inputs: int, neurons: int, outputs: int, seed: int) -> None:
    truth = general_network(np.random.default_rng([seed, 2]), inputs=inputs, neurons=neurons, outputs=outputs)
    assert_recovered(unweave.identify(truth, seed=seed), truth)


# Five have every activation and every number of outputs.
@pytest.mark.parametrize("number", [*range(5), *(pytest.param(number, marks=pytest.mark.slow) for number in (5, 6, 7))])
def test_small_sweep(number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 3, number])
    inputs = int(rng.integers(3, 8))
    neurons = int(rng.integers(1, min(2 * inputs, inputs * (inputs - 1) // 2 - 1) + 1))
    activation = (TANH, SIGMOID, SOFTPLUS, ERF, GELU)[number % 5]
    truth = general_network(rng, inputs=inputs, neurons=neurons, outputs=1 + number % 3, activation=activation)
    assert_recovered(unweave.identify(truth, seed=number), truth)


@pytest.mark.parametrize(("inputs", "neurons"), [(4, 4), (4, 5), (6, 6), pytest.param(6, 12, marks=pytest.mark.slow)])
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
