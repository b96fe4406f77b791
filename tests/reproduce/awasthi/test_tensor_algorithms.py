import numpy as np
import pytest

from assertions import largest_distance
from tensors import disturbed
from unweave.activations import RELU
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import match
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.tensor_algorithms import (
    RecoveredUnits,
    Thresholds,
    fix_signs,
    recover_exact,
    recover_full_rank,
    recover_robust,
    recover_scalars,
)

BLIND = (0.0, 1.0, -1.0, float(np.sqrt(3)), float(np.sqrt(3 + np.sqrt(6))))
SIZES = [(10, 5, 1), (20, 20, 1), (6, 18, 2), (4, 15, 3)]


def parameter_error(units: RecoveredUnits, network: Network) -> float:
    """Largest relative error of a weight, bias or output weight, up to signs."""
    errors = match(units.network, network).errors
    return max(errors.weights, errors.biases, errors.output_weights)


def units_of(network: Network) -> RecoveredUnits:
    hidden, output = network.layers
    return RecoveredUnits(hidden.weights, hidden.biases, output.weights[0], (0, 0))


# Algorithm 1


@pytest.mark.parametrize(("inputs", "neurons", "order"), SIZES)
def test_exact_tensors_give_all_parameters(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    found = recover_exact(hermite_tensors(network, highest=2 * order + 2), order=order, rng=rng)
    assert len(found.biases) == neurons
    assert parameter_error(found, network) < 1e-12


def test_signs_are_found_where_directions_are_independent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=9, neurons=9, special_biases=BLIND)
    found = recover_exact(hermite_tensors(network, highest=4), order=1, rng=rng)
    points = rng.standard_normal((50, 9))
    np.testing.assert_allclose(found.network(points), network(points), atol=1e-10)


def test_each_tensor_loses_the_neurons_it_is_blind_for(seed: int) -> None:
    # 0 for order 3 and 1, -1 for order 4; for order 5 it is 0 and the roots of 3.
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=7, neurons=6, special_biases=(0.0, 1.0, -1.0, 0.0))
    assert recover_exact(hermite_tensors(network, highest=4), order=1, rng=rng).ranks == (4, 4)
    network = relu_network(rng, inputs=4, neurons=8, special_biases=(0.0, 1.0, -1.0, float(np.sqrt(3))))
    assert recover_exact(hermite_tensors(network, highest=6), order=2, rng=rng).ranks == (6, 8)


@pytest.mark.parametrize("biases", [(0.0,) * 5, (1.0, -1.0, 1.0, -1.0, 1.0)])
def test_one_tensor_may_lose_them_all(biases: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=5, special_biases=biases)
    found = recover_exact(hermite_tensors(network, highest=4), order=1, rng=rng)
    assert min(found.ranks) == 0
    assert parameter_error(found, network) < 1e-12


def test_missing_tensors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="orders 0 to 6"):
        recover_exact([np.zeros((2,) * k) for k in range(5)], order=2, rng=np.random.default_rng(0))


# Algorithm 2


@pytest.mark.parametrize("order", [1, 2, 3])
def test_scalars_are_found_for_directions_with_any_signs(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=5, special_biases=BLIND)
    hidden, output = network.layers
    signs = rng.choice([-1.0, 1.0], 5)
    tensors = hermite_tensors(network, highest=2 * order + 2)
    biases, output_weights = recover_scalars(tensors, signs[:, None] * hidden.weights, order=order)
    np.testing.assert_allclose(biases, signs * hidden.biases, atol=1e-11)
    np.testing.assert_allclose(output_weights, output.weights[0], atol=1e-10)


# Algorithm 3


@pytest.mark.parametrize("is_nearest", [True, False])
def test_signs_of_independent_directions_are_fixed(is_nearest: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=6)
    units = units_of(network)
    signs = rng.choice([-1.0, 1.0], 6)
    scrambled = RecoveredUnits(signs[:, None] * units.directions, signs * units.biases, units.output_weights, (6, 6))
    fixed = fix_signs(hermite_tensors(network, highest=1)[1], scrambled, is_nearest=is_nearest)
    np.testing.assert_array_equal(fixed.directions, units.directions)
    np.testing.assert_array_equal(fixed.biases, units.biases)


def test_the_nearest_rule_bears_more_noise_than_the_printed_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wrong = {True: 0, False: 0}
    for _ in range(100):
        network = relu_network(rng, inputs=8, neurons=4, largest_bias=2.5)
        first = hermite_tensors(network, highest=1)[1] + 0.03 * rng.standard_normal(8)
        for is_nearest in wrong:
            fixed = fix_signs(first, units_of(network), is_nearest=is_nearest)
            wrong[is_nearest] += int(np.any(fixed.biases != network.layers[0].biases))
    assert wrong[True] <= 1
    assert wrong[False] > 5


# Algorithms 4 and 6


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(8, 5, 1), (5, 8, 2)])
def test_errors_are_in_proportion_to_those_of_the_tensors(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=(0.0, 1.0, -1.0))
    exact = hermite_tensors(network, highest=2 * order + 2)
    # Terms that are weak in one tensor are poor copies of those in the other.
    limits = Thresholds((1e-4, 1e-4), coefficient=0.05, distance=0.01)
    sizes = np.array([1e-10, 1e-9, 1e-8, 1e-7])
    errors = []
    for size in sizes:
        noisy = disturbed(exact, np.random.default_rng(seed), float(size))
        found = recover_robust(noisy, order=order, thresholds=limits, most_neurons=neurons, rng=rng)
        errors.append(parameter_error(found, network))
    assert errors[-1] < 1e-2
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.25)


def test_the_robust_algorithm_finds_the_signs_as_well(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=8, neurons=4, special_biases=(0.0, 1.0))
    noisy = disturbed(hermite_tensors(network, highest=4), rng, 1e-6)
    for is_nearest in (True, False):
        found = recover_full_rank(
            noisy, thresholds=Thresholds((1e-4, 1e-4)), most_neurons=4, rng=rng, is_nearest=is_nearest
        )
        points = rng.standard_normal((50, 8))
        np.testing.assert_allclose(found.network(points), network(points), atol=0.02)


def test_nothing_above_the_noise_is_no_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensors = hermite_tensors(relu_network(rng, inputs=4, neurons=3), highest=4)
    found = recover_full_rank(tensors, thresholds=Thresholds((1e3, 1e3)), most_neurons=3, rng=rng)
    assert found.ranks == (0, 0)
    assert found.network.widths == (0,)


def test_weak_terms_are_dropped_whatever_their_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((6, 6)))[0][:3]
    heights = np.array([1.0, -1.5, -1e-3])
    network = Network.shallow(directions, np.array([0.4, -0.5, 0.6]), heights[None], np.zeros(1), RELU)
    tensors = hermite_tensors(network, highest=4)
    limits = Thresholds((1e-9, 1e-9), coefficient=1e-2)
    found = recover_robust(tensors, order=1, thresholds=limits, most_neurons=6, rng=rng)
    assert largest_distance(found.directions, directions[:2]) < 1e-9


def test_neurons_with_large_biases_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=8, neurons=4, special_biases=(5.0, 0.3, -0.4, 0.8))
    noisy = disturbed(hermite_tensors(network, highest=4), rng, 1e-5)
    found = recover_robust(noisy, order=1, thresholds=Thresholds((1e-3, 1e-3)), most_neurons=8, rng=rng)
    assert largest_distance(found.directions, network.layers[0].weights[1:]) < 0.05
