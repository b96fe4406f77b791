import numpy as np
import pytest

from unweave.activations import RELU, TANH
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.activation_pattern import PatternLeastSquares
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import match, reflect, rescale

BLIND = (0.0, 1.0, -1.0)


def moved(network: Network, rng: np.random.Generator, error: float) -> Network:
    """All parameters off by this share of their neuron, with some neurons flipped."""
    hidden, output = network.layers
    neurons, inputs = hidden.weights.shape
    near = Network.shallow(
        hidden.weights + error / np.sqrt(inputs) * rng.standard_normal((neurons, inputs)),
        hidden.biases + error * rng.standard_normal(neurons),
        output.weights * (1.0 + error * rng.standard_normal((1, neurons))),
        output.biases,
        RELU,
    )
    return reflect(near, 0, rng.random(neurons) < 0.5)


@pytest.mark.parametrize("error", [0.01, 0.1])
def test_exact_answers_give_all_parameters(error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=10, neurons=5, special_biases=BLIND)
    points = rng.standard_normal((10_000, 10))
    found = PatternLeastSquares()(moved(network, rng, error), points, network(points))
    assert found.residual < 1e-12
    assert match(found.network, network).largest_error < 1e-12
    assert found.has_converged
    assert found.history[0] > 1e-3


def test_a_right_pattern_needs_one_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=4)
    points = rng.standard_normal((5_000, 6))
    found = PatternLeastSquares()(moved(network, rng, 0.001), points, network(points))
    assert found.steps == 1


def test_weights_of_any_length_and_an_affine_part_are_no_obstacle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=3)
    network = Network(network.layers, skip=rng.standard_normal((1, 5)))
    points = rng.standard_normal((4_000, 5))
    start = rescale(moved(network, rng, 0.01), 0, np.array([0.01, 3.0, 50.0]))
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
    start = moved(network, rng, error)
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
    found = PatternLeastSquares(margin=2.0)(moved(network, rng, 1e-4), points, network(points))
    assert found.residual < 1e-10


def test_wrong_use_is_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((100, 3))
    smooth = general_network(rng, inputs=3, neurons=2, activation=TANH)
    with pytest.raises(InvalidInput, match="relu"):
        PatternLeastSquares()(smooth, points, smooth(points))
    network = relu_network(rng, inputs=3, neurons=2)
    with pytest.raises(InvalidInput, match="12 answers"):
        PatternLeastSquares()(network, points[:11], network(points[:11]))
