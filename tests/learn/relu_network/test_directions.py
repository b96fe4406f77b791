import numpy as np
import pytest

from assertions import largest_distance
from plants import unit_rows
from tensors import disturbed, sum_of_powers
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.directions import (
    DirectionRules,
    PooledDirections,
    pooled_tensor,
    power_step,
    powered_directions,
    smallest_order,
)
from unweave.networks.planted import relu_network
from unweave.numerics.symmetric_tensors import fit_directions, misfit_of
from unweave.reproduce.awasthi.exact_moments import hermite_tensors

BLIND = (0.0, 1.0, -1.0, float(np.sqrt(3)))
SIZES = [(10, 5, 1), pytest.param(20, 20, 1, marks=pytest.mark.slow), (6, 18, 2), (4, 15, 3)]


@pytest.mark.parametrize(("inputs", "neurons", "order"), SIZES)
def test_all_directions_are_found_in_exact_tensors(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    found = PooledDirections(order=order)(hermite_tensors(network, highest=2 * order + 2), rng)
    assert largest_distance(found.directions, network.layers[0].weights) < 1e-12
    assert found.misfit < 1e-13
    assert found.terms.gap > 1e6
    assert np.min(found.qualities) > 0.999


@pytest.mark.parametrize("biases", [(0.0,) * 6, (1.0, -1.0) * 3])
def test_biases_that_blind_one_order_for_all_neurons_do_no_harm(biases: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=8, neurons=6, special_biases=biases)
    found = PooledDirections()(hermite_tensors(network, highest=4), rng)
    assert largest_distance(found.directions, network.layers[0].weights) < 1e-12


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(8, 6, 1), (5, 8, 2)])
def test_errors_are_in_proportion_to_those_of_the_tensors(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    exact = hermite_tensors(network, highest=2 * order + 2)
    sizes = np.array([1e-8, 1e-6, 1e-4])
    errors = []
    for size in sizes:
        noisy = disturbed(exact, np.random.default_rng(seed), float(size))
        found = PooledDirections(order=order)(noisy, rng, rank=neurons)
        errors.append(largest_distance(found.directions, network.layers[0].weights))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)
    assert errors[-1] < 0.05


def test_the_misfit_is_never_above_that_of_the_diagonalisation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=6)
    noisy = disturbed(hermite_tensors(network, highest=4), rng, 0.01)
    found = PooledDirections()(noisy, rng, rank=6)
    assert found.misfit <= found.start_misfit


def test_a_network_without_neurons_has_no_directions() -> None:
    tensors = [np.zeros((3,) * order) for order in range(5)]
    found = PooledDirections()(tensors, np.random.default_rng(0))
    assert found.directions.shape == (0, 3)
    assert found.misfit == 0.0


def test_pooled_slices_lose_no_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=5, special_biases=(0.0, 0.0, 1.0, 1.0, -1.0))
    tensors = hermite_tensors(network, highest=4)
    pooled = pooled_tensor(tensors, order=1)
    assert pooled.shape == (5, 5, 1 + 5 + 15)
    assert [np.linalg.matrix_rank(tensors[k].reshape(5, -1), tol=1e-10) for k in (3, 4)] == [3, 2]
    assert np.linalg.matrix_rank(pooled.reshape(5, -1), tol=1e-10) == 5


@pytest.mark.parametrize("order", [1, 2])
def test_missing_tensors_are_refused(order: int) -> None:
    tensors = [np.zeros((3,) * k) for k in range(2 * order + 2)]
    with pytest.raises(InvalidInput, match="are needed"):
        PooledDirections(order=order)(tensors, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="needs shape"):
        PooledDirections(order=order)([*tensors, np.zeros((3, 3))], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("inputs", "neurons", "order"), [(10, 10, 1), (10, 11, 2), (6, 20, 2), (6, 21, 3), (4, 15, 3), (1, 1, 1)]
)
def test_the_smallest_order_holds_the_neurons(inputs: int, neurons: int, order: int) -> None:
    assert smallest_order(inputs, neurons, rules=DirectionRules()) == order


def test_a_smaller_safe_share_needs_a_higher_order() -> None:
    assert smallest_order(4, 9, rules=DirectionRules()) == 2
    assert smallest_order(4, 9, rules=DirectionRules(safe_share=0.8)) == 3


def test_parallel_neurons_are_never_independent() -> None:
    with pytest.raises(InvalidInput, match="parallel"):
        smallest_order(1, 2, rules=DirectionRules())


# Power steps


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(6, 6, 1), (4, 8, 2)])
def test_power_steps_square_the_error(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit_rows(rng, neurons, inputs)
    tensors = [
        sum_of_powers(rng.choice([-1.0, 1.0], neurons), vectors, 2 * order + 1),
        sum_of_powers(rng.choice([-1.0, 1.0], neurons), vectors, 2 * order + 2),
    ]
    moves = rng.normal(size=vectors.shape)
    errors = []
    for size in (1e-5, 1e-6):
        start = vectors + size * moves
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        errors.append(largest_distance(power_step(tensors, start, order=order), vectors))
    assert errors[1] < 0.03 * errors[0]


def test_orthonormal_directions_get_the_usual_power_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    tensor = sum_of_powers(np.array([1.0, 2.0, -3.0, 1.5, 0.5]), vectors, 3)
    start = np.linalg.qr(vectors + 0.05 * rng.normal(size=(5, 5)))[0].T
    usual = np.einsum("abc,ib,ic->ia", tensor, start, start)
    usual /= np.linalg.norm(usual, axis=1, keepdims=True)
    assert largest_distance(power_step([tensor], start, order=1), usual) < 1e-12


def test_a_direction_that_no_tensor_sees_stays() -> None:
    vectors = np.eye(3)
    tensor = sum_of_powers(np.array([1.0, 1.0]), vectors[:2], 3)
    np.testing.assert_allclose(power_step([tensor], vectors, order=1)[2], vectors[2])


def test_power_steps_are_taken_only_while_the_misfit_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=5)
    noisy = disturbed(hermite_tensors(network, highest=4), rng, 0.05)
    start = unit_rows(rng, 5, 5)
    moved = powered_directions(noisy, start, order=1, steps=20)
    assert misfit_of(noisy[3:], moved) <= misfit_of(noisy[3:], start)


# Joint fit


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(6, 4, 1), (4, 7, 2)])
def test_the_fit_leads_from_a_tenth_off_to_the_directions(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons, special_biases=BLIND)
    weights = network.layers[0].weights
    start = weights + 0.05 * rng.normal(size=weights.shape)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    fit = fit_directions(hermite_tensors(network, highest=2 * order + 2)[max(2, order) :], start)
    assert largest_distance(fit.directions, weights) < 1e-11
    assert fit.misfit < 1e-13 < fit.start_misfit


def test_the_misfit_weights_orders_by_factorials(seed: int) -> None:
    rng = np.random.default_rng(seed)
    direction, other = np.eye(4)[:1], np.eye(4)[1:2]
    tensors = [sum_of_powers(np.ones(1), direction, k) + sum_of_powers(np.ones(1), other, k) for k in (2, 3)]
    # Each tensor has norm sqrt(2), and one direction explains half of its square.
    assert misfit_of(tensors, direction) == pytest.approx(np.sqrt(0.5))
    assert misfit_of([tensors[0], 2.0 * tensors[1]], unit_rows(rng, 0, 4)) == pytest.approx(1.0)
    only_second = [sum_of_powers(np.ones(1), direction, 2), sum_of_powers(np.ones(1), other, 3)]
    assert misfit_of(only_second, direction) == pytest.approx(np.sqrt((1 / 6) / (1 / 2 + 1 / 6)))


def test_the_fit_never_grows_the_misfit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=5)
    noisy = disturbed(hermite_tensors(network, highest=4), rng, 0.1)
    fit = fit_directions(noisy[2:], unit_rows(rng, 5, 5), steps=8)
    assert fit.misfit <= fit.start_misfit
    np.testing.assert_allclose(np.linalg.norm(fit.directions, axis=1), 1.0, atol=1e-12)
