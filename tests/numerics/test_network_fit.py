from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plants import perturbed, shallow_and_points
from unweave.activations import GELU, HARD_TANH, LEAKY_RELU, RELU, SIN, SOFTPLUS, TANH, Activation, leaky_relu
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import JacobianOperator, dense_jacobian
from unweave.networks.planted import general_network, unit_network
from unweave.networks.symmetries import match
from unweave.numerics.conjugate_gradients import HermitePreconditioner, HermiteRules, MatrixFree, conjugate_gradients
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.reproduce.fiedler.shift_descent import ShiftDescent

INPUTS, NEURONS = 6, 8

SOLVERS = {
    "orthogonal": LevenbergMarquardt(),
    "normal equations": LevenbergMarquardt(orthogonal_limit=0),
    "matrix-free": LevenbergMarquardt(orthogonal_limit=0, dense_limit=0),
}


def planted(seed: int, **kind: Any) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network, and answers of it at three points per parameter."""
    network, points, _ = shallow_and_points(seed, inputs=INPUTS, neurons=NEURONS, per_parameter=3, **kind)
    return network, points, network(points)


def parameter_error(found: Network, truth: Network) -> float:
    return match(found, truth).largest_error


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, GELU, SIN], ids=str)
@pytest.mark.parametrize(("outputs", "has_skip"), [(1, False), (3, True)])
def test_a_network_nearby_leads_to_the_exact_one(
    activation: Activation, outputs: int, has_skip: bool, seed: int
) -> None:
    network, points, values = planted(seed, activation=activation, outputs=outputs, has_skip=has_skip)
    found = LevenbergMarquardt()(perturbed(network, seed, 1e-3), points, values, floor=1e-15)
    assert found.residual < 1e-13
    # Neurons can be all but parallel, and their errors larger than that of the function.
    condition = np.linalg.cond(dense_jacobian(network, points))
    assert parameter_error(found.network, network) < max(1e-13, 1e-15 * condition)
    assert found.steps <= 12


def test_convergence_is_quadratic(seed: int) -> None:
    network, points, values = planted(seed)
    found = LevenbergMarquardt()(perturbed(network, seed, 1e-4), points, values, floor=1e-15)
    first, second = found.history[:2]
    assert second < 100 * first**2
    assert parameter_error(found.network, network) < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("has_skip", [False, True])
def test_all_solvers_find_the_same_network(solver: str, has_skip: bool, seed: int) -> None:
    network, points, values = planted(seed, outputs=2, has_skip=has_skip)
    found = SOLVERS[solver](perturbed(network, seed, 1e-3), points, values, floor=1e-15)
    assert parameter_error(found.network, network) < 1e-10
    assert found.residual < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_never_grows(solver: str, seed: int) -> None:
    network, points, values = planted(seed)
    found = SOLVERS[solver](perturbed(network, seed, 0.2), points, values, floor=1e-15)
    assert np.all(np.diff(found.history) <= 0)
    assert len(found.history) == found.steps + 1
    assert found.history[-1] == found.residual
    assert found.residual == pytest.approx(np.sqrt(np.mean((values - found.network(points)) ** 2)), rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_at_the_noise_it_stops(solver: str, seed: int) -> None:
    network, points, values = planted(seed)
    noise = 1e-6
    noisy = values + noise * np.random.default_rng([seed, 2]).normal(size=values.shape)
    found = SOLVERS[solver](perturbed(network, seed, 1e-3), points, noisy, floor=noise)
    assert found.has_converged
    assert found.steps < 10
    assert found.residual < 1.2 * noise
    assert parameter_error(found.network, network) < 1e-3


def test_an_exact_start_converges_at_once(seed: int) -> None:
    network, points, values = planted(seed)
    found = LevenbergMarquardt()(network, points, values, floor=1e-15)
    assert found.has_converged
    assert found.steps <= 2
    assert parameter_error(found.network, network) < 1e-13


def test_too_few_answers_are_refused() -> None:
    network, points, values = planted(0)
    few = network.parameters - 1
    with pytest.raises(InvalidInput, match=f"at least {few + 1} numbers for as many parameters, got {few}"):
        LevenbergMarquardt()(network, points[:few], values[:few], floor=1e-15)


def test_another_function_is_not_reached(seed: int) -> None:
    network, points, _ = planted(seed)
    other = np.cos(3 * points[:, :1]) * np.sin(2 * points[:, 1:2])
    found = LevenbergMarquardt(steps=8)(network, points, other, floor=1e-15)
    assert found.residual > 1e-3
    assert np.all(np.diff(found.history) <= 0)


# Piecewise-linear activations


def planted_kinks(
    seed: int, *, inputs: int, neurons: int, outputs: int, activation: Activation, has_skip: bool = False
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network whose neurons are all active at a sixth of the points at least, and answers at six per parameter."""
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    # Long weights, so that a hard tanh reaches both of its kinks.
    weights = 2 * network.layers[0].weights
    biases = rng.uniform(-0.9, 0.9, neurons) * np.linalg.norm(weights, axis=1)
    skip = rng.normal(size=(outputs, inputs)) if has_skip else None
    network = Network((Layer(weights, biases, activation), network.layers[1]), skip)
    points = rng.standard_normal((6 * network.parameters // outputs, inputs))
    return network, points, network(points)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU, leaky_relu(-1.0), HARD_TANH], ids=str)
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(10, 5, 1), (20, 10, 3), (5, 10, 1)])
@pytest.mark.parametrize("has_skip", [False, True])
def test_kinked_networks_are_refined_to_rounding(
    activation: Activation, inputs: int, neurons: int, outputs: int, has_skip: bool, seed: int
) -> None:
    network, points, values = planted_kinks(
        seed, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation, has_skip=has_skip
    )
    found = LevenbergMarquardt()(perturbed(network, seed, 1e-6), points, values, floor=1e-15)
    assert found.residual < 1e-13
    assert parameter_error(found.network, network) < 1e-12
    # Steps after that move by rounding only.
    assert min(found.history[:4]) < 1e-13


@pytest.mark.each_value
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
@pytest.mark.parametrize(("outputs", "has_skip"), [(1, False), (2, True)])
def test_all_solvers_find_the_same_kinked_network(
    solver: str, activation: Activation, outputs: int, has_skip: bool, seed: int
) -> None:
    network, points, values = planted_kinks(
        seed, inputs=12, neurons=8, outputs=outputs, activation=activation, has_skip=has_skip
    )
    found = SOLVERS[solver](perturbed(network, seed, 1e-6), points, values, floor=1e-15)
    assert found.residual < 1e-12
    assert parameter_error(found.network, network) < 1e-11


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
def test_points_that_change_their_pattern_do_not_stop_the_refinement(
    activation: Activation, number: int, seed: int
) -> None:
    network, points, _ = planted_kinks(100 * seed + number, inputs=10, neurons=5, outputs=1, activation=activation)
    hidden = network.layers[0]
    # Some points all but on the kink of the first neuron, so that the start sees them on the wrong side.
    near = hidden.preactivations(points[:10])[:, :1] / np.sum(hidden.weights[0] ** 2)
    points[:10] -= (1 - 1e-5) * near * hidden.weights[0]
    start = perturbed(network, number, 1e-4)
    sides = [each.layers[0].preactivations(points) > 0 for each in (start, network)]
    assert np.any(sides[0] != sides[1])
    found = LevenbergMarquardt()(start, points, network(points), floor=1e-15)
    assert parameter_error(found.network, network) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("inputs", "neurons", "answers"), [(784, 32, 55_000), (200, 100, 44_500)])
def test_large_relu_networks_are_refined_without_their_jacobian(
    inputs: int, neurons: int, answers: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, activation=RELU)
    points = rng.standard_normal((answers, inputs))
    found = LevenbergMarquardt()(perturbed(network, seed, 1e-6), points, network(points), floor=5e-15)
    assert parameter_error(found.network, network) < 1e-11


# The preconditioned conjugate gradients


@pytest.mark.each_value
@pytest.mark.parametrize(("outputs", "has_skip"), [(1, False), (2, True)])
@pytest.mark.parametrize("activation", [TANH, RELU, LEAKY_RELU, HARD_TANH], ids=str)
@pytest.mark.parametrize("shared_limit", [0, 15_000])
def test_the_preconditioner_is_symmetric_and_positive(
    outputs: int,
    has_skip: bool,
    activation: Activation,
    shared_limit: int,
    seed: int,
) -> None:
    network, points, _ = planted(seed, outputs=outputs, has_skip=has_skip, activation=activation)
    apply = HermitePreconditioner(network, points, rules=HermiteRules(shared_limit=shared_limit))
    matrix = np.stack([apply(unit) for unit in np.eye(network.parameters)], axis=1)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9 * np.max(np.abs(matrix)))
    assert np.min(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))) > 0


def test_the_preconditioner_improves_the_condition_of_wide_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = unit_network(rng, inputs=8, neurons=24)
    points = rng.standard_normal((4_000, 8))
    jacobian = dense_jacobian(network, points)
    apply = HermitePreconditioner(network, points)
    inverse = np.stack([apply(unit) for unit in np.eye(network.parameters)], axis=1)
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    before, after = np.linalg.cond(jacobian), np.linalg.cond(jacobian @ factor)
    assert after < 0.3 * before


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(16, 6, 1), (16, 6, 2), (8, 12, 1)])
def test_the_preconditioner_is_nearly_the_inverse_for_many_points(
    inputs: int, neurons: int, outputs: int, seed: int
) -> None:
    network, _, _ = planted_kinks(seed, inputs=inputs, neurons=neurons, outputs=outputs, activation=RELU)
    points = np.random.default_rng([seed, 5]).standard_normal((8_000, inputs))
    jacobian = dense_jacobian(network, points)
    apply = HermitePreconditioner(network, points)
    inverse = np.stack([apply(unit) for unit in np.eye(network.parameters)], axis=1)
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    before, after = np.linalg.cond(jacobian), np.linalg.cond(jacobian @ factor)
    assert after < min(12.0, 0.5 * before)


def test_conjugate_gradients_solve_the_least_squares_problem(seed: int) -> None:
    network, points, _ = planted(seed, outputs=2, has_skip=True)
    rows = np.random.default_rng([seed, 3]).normal(size=2 * len(points))
    solution = conjugate_gradients(
        JacobianOperator(network, points),
        HermitePreconditioner(network, points),
        rows,
        damping=0.0,
        floor=0.0,
        rules=MatrixFree(iterations=1_000),
    )
    jacobian = dense_jacobian(network, points)
    best = np.linalg.lstsq(jacobian, rows, rcond=None)[0]
    excess = np.linalg.norm(rows - jacobian @ solution) / np.linalg.norm(rows - jacobian @ best)
    assert excess < 1 + 1e-3


# The descent of [fiedler, (3.72)] on the shifts


def shifted(network: Network, seed: int, size: float = 0.02) -> Network:
    hidden = network.layers[0]
    moved = hidden.biases + size * np.random.default_rng([seed, 4]).normal(size=hidden.neurons)
    return replace(network, layers=(replace(hidden, biases=moved), network.layers[1]))


def test_descent_reaches_the_shifts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = unit_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((400, INPUTS))
    start = shifted(network, seed)
    found = ShiftDescent(steps=3_000)(start, points, network(points))
    hidden = found.network.layers[0]
    before = np.linalg.norm(start.layers[0].biases - network.layers[0].biases)
    after = np.linalg.norm(hidden.biases - network.layers[0].biases)
    assert after < 1e-4 * before
    np.testing.assert_array_equal(hidden.weights, network.layers[0].weights)
    np.testing.assert_array_equal(found.network.layers[1].weights, network.layers[1].weights)


@pytest.mark.parametrize("outputs", [1, 2])
def test_descent_falls_in_every_step(outputs: int, seed: int) -> None:
    network, points, values = planted(seed, outputs=outputs)
    found = ShiftDescent(steps=50)(shifted(network, seed), points, values)
    assert len(found.history) == 51
    assert np.all(np.diff(found.history) < 0)
    assert found.residual == found.history[-1]


def test_the_rate_of_descent_can_be_given(seed: int) -> None:
    network, points, values = planted(seed)
    start = shifted(network, seed)
    slow = ShiftDescent(steps=20, rate=1e-3)(start, points, values)
    fast = ShiftDescent(steps=20)(start, points, values)
    assert fast.residual < slow.residual < slow.history[0]
