"""Fits within activation patterns: exact answers give all parameters, noisy ones the least-squares network."""

import numpy as np
import pytest

from plants import disturbed_network
from unweave.activations import RELU, TANH
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.missing_neurons import NextNeuron
from unweave.learn.relu_network.pattern_fit import PatternLeastSquares, PatternNewton, pattern_system
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import match, rescale

BLIND = (0.0, 1.0, -1.0)


@pytest.mark.parametrize("error", [0.01, 0.1])
def test_exact_answers_give_all_parameters(error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=10, neurons=5, special_biases=BLIND)
    points = rng.standard_normal((10_000, 10))
    found = PatternLeastSquares()(disturbed_network(network, rng, error), points, network(points))
    assert found.residual < 1e-12
    assert match(found.network, network).largest_error < 1e-12
    assert found.has_converged
    assert found.history[0] > 1e-3


def test_a_right_pattern_needs_one_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=4)
    points = rng.standard_normal((5_000, 6))
    found = PatternLeastSquares()(disturbed_network(network, rng, 0.001), points, network(points))
    assert found.steps == 1


def test_weights_of_any_length_and_an_affine_part_are_no_obstacle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=3)
    network = Network(network.layers, skip=rng.standard_normal((1, 5)))
    points = rng.standard_normal((4_000, 5))
    start = rescale(disturbed_network(network, rng, 0.01), 0, np.array([0.01, 3.0, 50.0]))
    found = PatternLeastSquares()(start, points, network(points))
    assert found.residual < 1e-12
    assert match(found.network, network).largest_error < 1e-11
    np.testing.assert_allclose(np.linalg.norm(found.network.layers[0].weights, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("error", [0.3, 3.0])
def test_the_residual_never_grows(error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=6)
    points = rng.standard_normal((2_000, 4))
    values = network(points) + 0.2 * rng.standard_normal((2_000, 1))
    start = disturbed_network(network, rng, error)
    found = PatternLeastSquares(rounds=4)(start, points, values)
    assert found.residual <= np.sqrt(np.mean((values - start(points)) ** 2))
    assert found.residual == pytest.approx(np.sqrt(np.mean((values - found.network(points)) ** 2)), rel=1e-12)


def test_the_best_network_of_all_is_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=3)
    points = rng.standard_normal((1_000, 4))
    found = PatternLeastSquares()(network, points, network(points))
    assert found.network is network
    assert found.steps == 0
    assert found.has_converged


def test_a_neuron_whose_kink_is_not_seen_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=3, special_biases=(8.0,))
    points = rng.standard_normal((3_000, 5))
    start = Network.shallow(
        network.layers[0].weights,
        network.layers[0].biases + np.array([0.0, 0.02, 0.02]),
        network.layers[1].weights,
        np.zeros(1),
        RELU,
    )
    found = PatternLeastSquares()(start, points, network(points))
    assert found.residual < 1e-12
    np.testing.assert_array_equal(found.network.layers[0].weights[0], network.layers[0].weights[0])
    assert found.network.layers[0].biases[0] == 8.0


def test_trimming_bears_neurons_that_bend_at_few_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = relu_network(rng, inputs=6, neurons=4, special_biases=(2.8,))
    hidden, output = whole.layers
    points = rng.standard_normal((20_000, 6))
    start = Network.shallow(
        hidden.weights[1:], hidden.biases[1:] + 0.01, output.weights[:, 1:], np.zeros(1), RELU, np.zeros((1, 6))
    )
    truth = Network.shallow(hidden.weights[1:], hidden.biases[1:], output.weights[:, 1:], np.zeros(1), RELU)
    errors = []
    for trimmed in (0.0, 0.03):
        found = PatternLeastSquares(trimmed=trimmed)(start, points, whole(points))
        errors.append(match(Network(found.network.layers), truth).errors.weights)
    assert errors[1] < 1e-10 < errors[0]


def test_few_points_lower_the_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=3)
    # Hardly any point is that far from all kinks.
    points = rng.standard_normal((600, 4))
    found = PatternLeastSquares(margin=2.0)(disturbed_network(network, rng, 1e-4), points, network(points))
    assert found.residual < 1e-10


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-5, 0.0])
def test_normal_equations_give_the_digits_of_singular_values(spread: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=3)
    points = rng.standard_normal((4_000, 5))
    # Two columns that are nearly, or exactly, the same leave a direction that is hard, or impossible, to see.
    points[:, 4] = points[:, 3] + spread * points[:, 4]
    values = network(points) + 0.01 * rng.standard_normal((4_000, 1))
    start = disturbed_network(network, rng, 0.01)
    quick, orthogonal = (PatternLeastSquares(least_condition=each)(start, points, values) for each in (1e-5, 1.0))
    assert quick.residual == pytest.approx(orthogonal.residual, rel=1e-9)
    np.testing.assert_allclose(quick.network(points), orthogonal.network(points), atol=1e-8)


def test_wrong_use_is_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((100, 3))
    smooth = general_network(rng, inputs=3, neurons=2, activation=TANH)
    with pytest.raises(InvalidInput, match="relu"):
        PatternLeastSquares()(smooth, points, smooth(points))
    network = relu_network(rng, inputs=3, neurons=2)
    with pytest.raises(InvalidInput, match="12 answers"):
        PatternLeastSquares()(network, points[:11], network(points[:11]))


def test_products_are_the_gradient_by_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=2)
    points, values = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    products = pattern_system(network, points, values).products
    weights, biases, heights = network.layers[0].weights, network.layers[0].biases, network.layers[1].weights[0]
    flat = np.column_stack([heights[:, None] * weights, heights * biases]).ravel()

    def loss(parameters: np.ndarray) -> float:
        slopes = parameters.reshape(2, 4)
        sides = np.column_stack([points, np.ones(50)]) @ slopes.T * np.sign(heights)
        return 0.5 * float(np.sum((values[:, 0] - np.maximum(sides, 0.0) @ np.sign(heights)) ** 2))

    steps = 1e-6 * np.eye(len(flat))
    differences = [(loss(flat - step) - loss(flat + step)) / 2e-6 for step in steps]
    assert products == pytest.approx(np.array(differences), abs=1e-5)


def test_small_errors_vanish_for_exact_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=5, neurons=3)
    points = rng.standard_normal((2_000, 5))
    hidden, output = truth.layers
    start = type(truth).shallow(
        hidden.weights + 0.01 * rng.standard_normal(hidden.weights.shape),
        hidden.biases + 0.01,
        1.02 * output.weights,
        output.biases,
        hidden.activation,
    )
    refined = PatternNewton()(start, points, truth(points))
    assert match(refined.network, truth).largest_error < 1e-12
    assert refined.history == tuple(sorted(refined.history, reverse=True))


def test_the_offset_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=4, neurons=2)
    points = rng.standard_normal((1_000, 4))
    refined = PatternNewton()(truth, points, truth(points) + 0.1 * rng.standard_normal((1_000, 1)))
    assert refined.network.layers[1].biases[0] == 0.0
    assert refined.has_converged


@pytest.mark.parametrize("bias", [0.0, -1.5])
def test_the_next_neuron_is_near_the_missing_one(seed: int, bias: float) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=4, neurons=3, special_biases=(bias,))
    points = rng.standard_normal((5_000, 4))
    hidden, output = truth.layers
    fewer = type(truth).shallow(
        hidden.weights[1:], hidden.biases[1:], output.weights[:, 1:], output.biases, hidden.activation
    )
    found = NextNeuron()(fewer, points, truth(points) + 0.05 * rng.standard_normal((5_000, 1)), rng)
    # A neuron and its mirror image differ by an affine part.
    assert abs(found.layers[0].weights[-1] @ hidden.weights[0]) > 0.9
