import numpy as np
import pytest

from unweave.activations import ERF, IDENTITY, SIGMOID, SOFTPLUS, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.closed_form import (
    _solve_smallest,
    closed_form_network,
    inverse_values,
    lengths_and_preactivations,
)
from unweave.identification.peeling.layer_assignment import effects_on_outputs
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import match
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised, preactivations

INPUTS = 14


def ratios(lengths: np.ndarray, inside: np.ndarray, activation: Activation) -> tuple[np.ndarray, np.ndarray]:
    slope, bend, third = (activation(inside, order) for order in (1, 2, 3))
    return lengths * bend / slope, lengths**2 * third / slope


@pytest.mark.parametrize("activation", [TANH, SIGMOID, ERF], ids=str)
def test_ratios_give_length_and_preactivation(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths, inside = rng.uniform(0.2, 2.0, 20), rng.uniform(-0.4, 0.4, 20)
    found = lengths_and_preactivations(*ratios(lengths, inside, activation), activation)
    assert np.allclose(found[0], lengths, rtol=1e-9)
    assert np.allclose(found[1], inside, atol=1e-9)


def test_the_numerical_solution_agrees_with_the_formula_of_tanh(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths, inside = rng.uniform(0.2, 2.0, 10), rng.uniform(-0.5, 0.5, 10)
    found = _solve_smallest(*ratios(lengths, inside, TANH), TANH)
    assert np.allclose(found[0], lengths, rtol=1e-9)
    assert np.allclose(found[1], inside, atol=1e-9)


@pytest.mark.parametrize("activation", [TANH, ERF], ids=str)
def test_impossible_ratios_give_finite_numbers(activation: Activation) -> None:
    lengths, inside = lengths_and_preactivations(np.array([0.1, 5.0]), np.array([3.0, 20.0]), activation)
    assert np.all(np.isfinite(lengths) & np.isfinite(inside) & (lengths > 0))


@pytest.mark.parametrize("activation", [SOFTPLUS, IDENTITY], ids=str)
def test_activations_that_are_not_odd_are_refused(activation: Activation) -> None:
    with pytest.raises(InvalidInput, match="odd"):
        lengths_and_preactivations(np.ones(1), -np.ones(1), activation)


@pytest.mark.parametrize("activation", [TANH, SIGMOID, IDENTITY], ids=str)
def test_outputs_are_inverted(activation: Activation) -> None:
    inside = np.linspace(-3.0, 3.0, 7)
    assert np.allclose(inverse_values(activation, activation(inside)), inside, atol=1e-9)


def read_off(network: Network, seed: int, radius: float) -> Network:
    zero = np.zeros(INPUTS)
    points = radius / np.sqrt(INPUTS) * np.random.default_rng([seed, 1]).standard_normal((100, INPUTS))
    directions = tuple(normalised(rows) for rows in entangled_weights(network, zero))
    gradients = network.gradients(zero[None])[0]
    hidden = np.concatenate(directions[:-1])
    outputs = normalised(gradients) if network.activations[-1] != IDENTITY else None
    effects, series = effects_on_outputs(hidden, network.hessians(points), outputs)
    ends = np.cumsum(network.widths)[:-1]
    return closed_form_network(
        directions,
        network.activations,
        effects=tuple(np.split(effects, ends)),
        series=tuple(np.split(series, ends)),
        gradients=gradients,
        value=network(zero[None])[0],
        points=points,
        center=zero,
    ).network()


@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
@pytest.mark.parametrize("widths", [(10, 6), (12, 9, 6)], ids=str)
def test_networks_are_read_off_their_derivatives(widths: tuple[int, ...], output: Activation, seed: int) -> None:
    rng = np.random.default_rng([seed, *widths])
    network = deep_network(rng, shape=(INPUTS, *widths, 6), output_activation=output)
    found = read_off(network, seed, 0.05)
    assert match(found, network).largest_error < 0.3
    fresh = rng.standard_normal((500, INPUTS))
    assert np.max(np.abs(found(fresh) - network(fresh))) < 0.1 * np.max(np.abs(network(fresh)))
    # The base point itself is met exactly by the outputs, and their directions are exact.
    zero = np.zeros((1, INPUTS))
    assert np.allclose(found(zero), network(zero), atol=1e-9)


def test_shallow_networks_are_read_off_exactly_in_the_limit(seed: int) -> None:
    # Without a second layer sensitivities do not vary: only the curvature of g'' is left.
    network = deep_network(np.random.default_rng(seed), shape=(INPUTS, 9, 4))
    errors = [match(read_off(network, seed, radius), network).largest_error for radius in (0.1, 0.01)]
    assert errors[1] < 0.15 * errors[0]
    assert np.allclose(
        preactivations(read_off(network, seed, 0.01), np.zeros(INPUTS))[1],
        preactivations(network, np.zeros(INPUTS))[1],
        atol=1e-9,
    )
