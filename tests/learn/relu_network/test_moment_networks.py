"""Biases, output weights and signs from Hermite tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors import disturbed
from unweave.activations import RELU
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.directions import PooledDirections
from unweave.learn.relu_network.moment_networks import (
    SCALAR_RULES,
    ScalarRules,
    assemble_relu,
    coefficient_table,
    fit_scalars,
    with_affine_remainder,
)
from unweave.learn.relu_network.units import relu_coefficient
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import match, reflect
from unweave.reproduce.awasthi.exact_moments import affine_error, hermite_tensors
from unweave.reproduce.awasthi.tensor_algorithms import ratio_scalars

# Zeros of the polynomials of the first orders, and some others.
BIASES = np.array([0.0, 1.0, -1.0, np.sqrt(3), -np.sqrt(3), np.sqrt(3 + np.sqrt(6)), 0.742, -0.4, 2.8, -3.3])
HEIGHTS = np.array([1.0, -2.0, 0.5, 1.5, -1.0, 3.0, -0.7, 1.0, 2.0, -1.0])
BLIND = (0.0, 1.0, -1.0, float(np.sqrt(3)))
SIZES = [(10, 5, 1), pytest.param(20, 20, 1, marks=pytest.mark.slow), (6, 18, 2), (4, 15, 3)]


def table_of(orders: tuple[int, ...], biases: np.ndarray = BIASES, heights: np.ndarray = HEIGHTS) -> np.ndarray:
    return np.array([heights * relu_coefficient(order, biases) for order in orders])


@pytest.mark.parametrize(("order", "orders"), [(1, (2, 3)), (2, (2, 3, 4, 5)), (3, (3, 4, 5, 6)), (4, (4, 5, 6, 7))])
def test_ratios_find_biases_and_output_weights(order: int, orders: tuple[int, ...]) -> None:
    found = ratio_scalars(table_of(orders), order=order)
    np.testing.assert_allclose(found.biases, BIASES, atol=1e-12)
    np.testing.assert_allclose(found.output_weights, HEIGHTS, atol=1e-11)
    assert np.all(found.is_reliable)


def test_printed_indices_fail() -> None:
    # [awasthi, Alg. 2] has k where k - 2 belongs.
    table = table_of((2, 3, 4))
    is_used = np.abs(table[1]) > np.abs(table[2])
    below, middle, above = table[:, is_used]
    assert np.count_nonzero(is_used) > 2
    assert np.min(np.abs(-(above + 3 * below) / middle - BIASES[is_used])) > 0.1
    np.testing.assert_allclose(-(above + 1 * below) / middle, BIASES[is_used], atol=1e-12)


@pytest.mark.parametrize("orders", [(2, 3), (2, 3, 4), (2, 3, 4, 5, 6), (3, 4, 5, 6, 7, 8)])
def test_the_fit_finds_biases_and_output_weights(orders: tuple[int, ...]) -> None:
    found = fit_scalars(table_of(orders), orders=orders)
    np.testing.assert_allclose(found.biases, BIASES, atol=1e-12)
    np.testing.assert_allclose(found.output_weights, HEIGHTS, atol=1e-11)
    assert np.max(found.misfits) < 1e-13
    assert np.all(found.is_reliable)


@given(bias=st.floats(-4.0, 4.0), height=st.floats(0.1, 10.0), last=st.integers(3, 8))
def test_the_fit_has_no_blind_bias(bias: float, height: float, last: int) -> None:
    orders = tuple(range(2, last + 1))
    table = table_of(orders, np.array([bias, -bias]), np.array([height, -height]))
    found = fit_scalars(table, orders=orders)
    np.testing.assert_allclose(found.biases, [bias, -bias], atol=1e-9)
    np.testing.assert_allclose(found.output_weights, [height, -height], rtol=1e-8)


def test_a_flipped_direction_flips_the_bias_alone(seed: int) -> None:
    network = relu_network(np.random.default_rng(seed), inputs=5, neurons=3)
    hidden, output = network.layers
    signs = np.array([-1.0, 1.0, -1.0])
    table = coefficient_table(hermite_tensors(network, highest=4), signs[:, None] * hidden.weights, orders=(2, 3, 4))
    found = fit_scalars(table, orders=(2, 3, 4))
    np.testing.assert_allclose(found.biases, signs * hidden.biases, atol=1e-12)
    np.testing.assert_allclose(found.output_weights, output.weights[0], atol=1e-12)


@pytest.mark.parametrize("bias", [0.5, 1.0, 2.0])
def test_more_orders_leave_less_of_the_noise(bias: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = (2, 3, 4, 5, 6)
    exact = table_of(orders, np.full(400, bias), np.ones(400))
    scale = np.sqrt([2.0, 6.0, 24.0, 120.0, 720.0])[:, None]
    noisy = exact + 1e-3 * scale * rng.normal(size=exact.shape)
    by_ratio = ratio_scalars(noisy[:2], order=1).biases
    by_fit = fit_scalars(noisy, orders=orders).biases
    assert np.std(by_fit) < np.std(by_ratio)
    assert abs(np.mean(by_fit) - bias) < 5e-3


def test_two_neurons_on_one_direction_show_as_a_misfit() -> None:
    orders = (2, 3, 4, 5, 6)
    both = table_of(orders, np.array([-1.0]), np.ones(1)) + table_of(orders, np.array([1.2]), np.ones(1))
    assert fit_scalars(both, orders=orders).misfits[0] > 0.05


def test_lost_neurons_are_not_reliable() -> None:
    found = fit_scalars(np.full((2, 1), 1e-6), orders=(2, 3), noise=1e-6)
    assert not found.is_reliable[0]
    # The ratio is 100: beyond all biases that can be seen.
    found = ratio_scalars(np.array([[1e-3], [-0.1]]), order=1)
    assert found.biases[0] == SCALAR_RULES.largest_bias
    assert not found.is_reliable[0]
    assert np.all(np.isfinite(ratio_scalars(np.zeros((2, 1)), order=1).output_weights))


def test_biases_outside_of_the_search_are_not_reliable() -> None:
    orders, rules = (2, 3, 4, 5), ScalarRules(largest_bias=1.5)
    is_inside = np.abs(BIASES) < rules.largest_bias
    by_ratio = ratio_scalars(table_of(orders)[:2], order=1, rules=rules)
    for found in (by_ratio, fit_scalars(table_of(orders), orders=orders, rules=rules)):
        np.testing.assert_array_equal(found.is_reliable, is_inside)
        np.testing.assert_allclose(np.abs(found.biases[~is_inside]), rules.largest_bias, atol=1e-12)
        np.testing.assert_allclose(found.biases[is_inside], BIASES[is_inside], atol=1e-12)


def test_no_neurons_have_no_scalars() -> None:
    assert fit_scalars(np.zeros((3, 0)), orders=(2, 3, 4)).biases.shape == (0,)
    assert ratio_scalars(np.zeros((4, 0)), order=2).biases.shape == (0,)


def test_wrong_orders_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two orders"):
        fit_scalars(np.zeros((1, 2)), orders=(2,))
    with pytest.raises(InvalidInput, match="two orders"):
        fit_scalars(np.zeros((2, 2)), orders=(1, 2))
    with pytest.raises(InvalidInput, match="need 4 orders"):
        ratio_scalars(np.zeros((2, 2)), order=2)


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
