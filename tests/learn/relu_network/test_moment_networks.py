import numpy as np
import pytest

from tensors import disturbed
from unweave.activations import RELU
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.hermite_directions import PooledDirections
from unweave.learn.relu_network.hermite_units import affine_error, hermite_tensors
from unweave.learn.relu_network.moment_networks import assemble_relu, with_affine_remainder
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import match, reflect

BLIND = (0.0, 1.0, -1.0, float(np.sqrt(3)))
SIZES = [(10, 5, 1), (20, 20, 1), (6, 18, 2), (4, 15, 3)]


@pytest.mark.parametrize(("inputs", "neurons", "order"), SIZES)
def test_exact_tensors_give_the_network(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    tensors = hermite_tensors(network, highest=2 * order + 2)
    found = assemble_relu(tensors, PooledDirections(order=order)(tensors, rng).directions, order=order)
    assert found.signs.solutions == 1
    assert match(found.network, network).largest_error < 1e-12
    # Signs, too: matching would have flipped neurons.
    nearest = np.max(network.layers[0].weights @ found.network.layers[0].weights.T, axis=1)
    np.testing.assert_allclose(nearest, 1.0, atol=1e-12)
    assert np.max(found.scalars.misfits) < 1e-11


def test_the_function_is_right_whatever_the_signs_are(seed: int) -> None:
    # Directions at 120 degrees with biases that add up to zero: signs are open.
    angles = 2 * np.pi / 3 * np.arange(3)
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    network = Network.shallow(weights, np.array([0.3, 0.5, -0.8]), np.ones((1, 3)), np.zeros(1), RELU)
    signs = np.array([[-1.0], [1.0], [1.0]])
    found = assemble_relu(hermite_tensors(network, highest=6), signs * weights, order=2)
    assert found.signs.solutions == 2
    points = np.random.default_rng(seed).standard_normal((30, 2))
    np.testing.assert_allclose(found.network(points), network(points), atol=1e-12)


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(8, 6, 1), (5, 8, 2)])
def test_errors_are_in_proportion_to_those_of_the_tensors(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    exact = hermite_tensors(network, highest=2 * order + 2)
    sizes = np.array([1e-8, 1e-7, 1e-6, 1e-5])
    errors = []
    for size in sizes:
        noisy = disturbed(exact, np.random.default_rng(seed), float(size))
        directions = PooledDirections(order=order)(noisy, rng, rank=neurons).directions
        found = assemble_relu(noisy, directions, order=order, sign_tol=1e-3)
        errors.append(match(Network(found.network.layers), network).largest_error)
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)
    assert errors[-1] < 0.01


def test_neurons_with_large_biases_become_an_affine_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=8, neurons=5, special_biases=(4.0, -4.5))
    hidden, output = network.layers
    # Moments at which the first two are lost.
    seen = Network.shallow(hidden.weights[2:], hidden.biases[2:], output.weights[:, 2:], np.zeros(1), RELU)
    tensors = hermite_tensors(network, highest=2)[:2] + hermite_tensors(seen, highest=4)[2:]
    found = assemble_relu(tensors, hidden.weights[2:])
    assert found.network.skip is not None
    np.testing.assert_allclose(found.network.skip[0], output.weights[0, 0] * hidden.weights[0], atol=1e-4)
    points = rng.standard_normal((20_000, 8))
    # Rare points decide over the mean square, hence the factor.
    expected = np.sum(np.abs(output.weights[0, :2]) * np.sqrt(affine_error(hidden.biases[:2])))
    assert np.sqrt(np.mean((found.network(points) - network(points)) ** 2)) < 5 * expected


def test_the_remainder_makes_up_for_wrong_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=3)
    flipped = reflect(network, 0, np.array([True, False, True]))
    bare = Network(flipped.layers)
    repaired = with_affine_remainder(bare, hermite_tensors(network, highest=1))
    points = rng.standard_normal((30, 4))
    np.testing.assert_allclose(repaired(points), network(points), atol=1e-12)


def test_missing_tensors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="orders 0 to 4"):
        assemble_relu([np.zeros((2,) * order) for order in range(4)], np.eye(2))
