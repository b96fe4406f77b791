"""Refinement of networks of any depth: planted parameters come back from starts that are percents off."""

from dataclasses import replace

import numpy as np
import pytest

from plants import perturbed
from unweave.activations import IDENTITY, LEAKY_RELU, RELU, SIGMOID, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import match
from unweave.numerics.network_fit import DeepRules, LevenbergMarquardt

SOLVERS = {"orthogonal": LevenbergMarquardt(), "normal equations": LevenbergMarquardt(orthogonal_limit=0)}


def planted(
    seed: int,
    *,
    shape: tuple[int, ...] = (12, 10, 6, 4),
    hidden: Activation = TANH,
    output: Activation = IDENTITY,
    spread: float = 0.3,
    surplus: float = 2.0,
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network, and twice as many numbers in its answers as parameters."""
    rng = np.random.default_rng(seed)
    network = deep_network(rng, shape=shape, activation=hidden, output_activation=output, shift_deviation=spread)
    points = rng.standard_normal((-(-int(surplus * network.parameters) // shape[-1]), shape[0]))
    return network, points, network(points)


@pytest.mark.each_value
@pytest.mark.parametrize("shape", [(12, 10, 6, 4), (15, 10, 8, 6, 4)], ids=str)
@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=str)
@pytest.mark.parametrize("spread", [0.05, 0.5])
def test_a_start_that_is_percents_off_leads_to_the_exact_network(
    shape: tuple[int, ...], output: Activation, spread: float, seed: int
) -> None:
    network, points, values = planted(seed, shape=shape, output=output, spread=spread)
    found = LevenbergMarquardt()(perturbed(network, seed, 0.03), points, values, floor=1e-16)
    assert found.has_converged
    assert found.residual < 1e-14
    assert match(found.network, network).largest_error < 1e-11
    assert np.all(np.diff(found.history) <= 0)


def test_sigmoid_layers_come_back_too(seed: int) -> None:
    network, points, values = planted(seed, shape=(8, 6, 4, 3), hidden=SIGMOID, surplus=4.0)
    found = LevenbergMarquardt()(perturbed(network, seed, 3e-3), points, values, floor=1e-16)
    assert found.residual < 1e-14
    # The slopes of sigmoid layers are a quarter at most: deep ones say little about each other.
    assert match(found.network, network).largest_error < 1e-9


@pytest.mark.parametrize("hidden", [RELU, LEAKY_RELU], ids=str)
def test_kinked_layers_come_back_too(hidden: Activation, seed: int) -> None:
    network, points, _ = planted(seed, shape=(8, 6, 4, 3), hidden=hidden, surplus=8.0)
    layers, incoming = [], points
    for layer in network.layers[:-1]:
        # Every neuron is active at half of the points: one that always is, or never, is not determined.
        layers.append(replace(layer, biases=-np.median(incoming @ layer.weights.T, axis=0)))
        incoming = layers[-1].activation(layers[-1].preactivations(incoming))
    network = Network((*layers, network.layers[-1]))
    # Points change their pattern of active neurons on the way: starts have to be nearer.
    found = LevenbergMarquardt()(perturbed(network, seed, 3e-3), points, network(points), floor=1e-16)
    assert found.residual < 1e-14
    assert match(found.network, network).largest_error < 1e-11


@pytest.mark.parametrize("solver", SOLVERS)
def test_both_solvers_find_the_same_network(solver: str, seed: int) -> None:
    network, points, values = planted(seed, output=TANH)
    found = SOLVERS[solver](perturbed(network, seed, 0.03), points, values, floor=1e-16)
    assert match(found.network, network).largest_error < 1e-11


def test_convergence_is_quadratic(seed: int) -> None:
    network, points, values = planted(seed)
    found = LevenbergMarquardt()(perturbed(network, seed, 1e-4), points, values, floor=1e-16)
    first, second = found.history[:2]
    assert second < 100 * first**2


@pytest.mark.parametrize("layers", [(0,), (1,), (2,), (0, 1)], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_other_layers_are_held_fixed(layers: tuple[int, ...], solver: str, seed: int) -> None:
    network, points, values = planted(seed, output=TANH)
    start = perturbed(network, seed, 0.02, layers)
    found = SOLVERS[solver](start, points, values, floor=1e-16, layers=layers)
    assert match(found.network, network).largest_error < 1e-11
    other = perturbed(network, seed, 1e-3)
    moved = SOLVERS[solver](other, points, values, floor=1e-16, layers=layers).network
    for index, (layer, held) in enumerate(zip(moved.layers, other.layers, strict=True)):
        assert np.array_equal(layer.weights, held.weights) == (index not in layers)


def test_layers_of_a_shallow_network_can_be_held_fixed_too(seed: int) -> None:
    network, points, values = planted(seed, shape=(6, 5, 2))
    start = perturbed(network, seed, 0.02, (1,))
    # The output layer is linear: one step solves it.
    found = LevenbergMarquardt()(start, points, values, floor=1e-15, layers=(1,))
    assert found.steps <= 3
    assert match(found.network, network).largest_error < 1e-13
    np.testing.assert_array_equal(found.network.layers[0].weights, network.layers[0].weights)


def test_a_linear_layer_is_solved_from_any_distance(seed: int) -> None:
    network, points, values = planted(seed)
    *hidden, output = network.layers
    far = Network((*hidden, Layer(1e-3 * output.weights[::-1], output.biases + 100.0, IDENTITY)))
    found = LevenbergMarquardt()(far, points, values, floor=1e-15, layers=(2,))
    assert found.steps <= 3
    assert match(found.network, network).largest_error < 1e-12


def test_at_the_noise_it_stops(seed: int) -> None:
    network, points, values = planted(seed)
    noisy = values + 1e-6 * np.random.default_rng([seed, 2]).normal(size=values.shape)
    found = LevenbergMarquardt()(perturbed(network, seed, 0.01), points, noisy, floor=1e-6)
    assert found.has_converged
    assert found.steps < 10
    assert found.residual < 1e-6


def test_an_exact_start_converges_at_once(seed: int) -> None:
    network, points, values = planted(seed)
    found = LevenbergMarquardt()(network, points, values, floor=1e-15)
    assert found.has_converged
    assert found.steps == 0


def test_a_wild_step_is_not_taken(seed: int) -> None:
    """Two neurons that start on top of each other make the undamped step enormous."""
    network, points, values = planted(seed)
    first = network.layers[0]
    twins = Layer(np.vstack([first.weights[:1], first.weights[:1], first.weights[2:]]), first.biases, TANH)
    start = Network((twins, *network.layers[1:]))
    found = LevenbergMarquardt(deep=DeepRules(steps=20))(start, points, values, floor=1e-16)
    assert found.residual < found.history[0]
    assert max(np.max(np.abs(layer.weights)) for layer in found.network.layers) < 1e3


def test_too_few_answers_and_too_many_parameters_are_refused(seed: int) -> None:
    network, points, values = planted(seed)
    with pytest.raises(InvalidInput, match="refinement needs at least 224 numbers"):
        LevenbergMarquardt()(network, points[:20], values[:20], floor=1e-16)
    with pytest.raises(InvalidInput, match="up to 100 parameters, got 224"):
        LevenbergMarquardt(deep=DeepRules(limit=100))(network, points, values, floor=1e-16)
    # Few answers are enough for a single layer.
    assert LevenbergMarquardt()(network, points[:20], values[:20], floor=1e-16, layers=(2,)).has_converged
