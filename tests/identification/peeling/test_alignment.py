"""Lengths and biases from exact gradients above a planted layer."""

import numpy as np
import pytest

from unweave.activations import SIGMOID, TANH, Activation
from unweave.identification.peeling.alignment import Alignment, AlignmentRules, align
from unweave.networks.network import Network
from unweave.networks.planted import deep_network

NEURONS = 6


def gradients_above(upper: Network, arguments: np.ndarray, lengths: np.ndarray, activation: Activation) -> np.ndarray:
    """Gradients in projections p, where the arguments are ``lengths p + biases``."""
    slopes = activation(arguments, 1)[:, None, :] * lengths
    return upper.gradients(activation(arguments)) * slopes


def aligned(
    seed: int, widths: tuple[int, ...], *, outputs: int = 2, activation: Activation = TANH, length_error: float = 0.01
) -> tuple[Alignment, np.ndarray, np.ndarray, Network]:
    rng = np.random.default_rng([seed, 31])
    upper = deep_network(rng, shape=(NEURONS, *widths, outputs), shift_deviation=0.3)
    lengths = 1.0 + length_error * rng.uniform(-1.0, 1.0, NEURONS)
    biases = rng.uniform(-0.5, 0.5, NEURONS)
    projections = rng.uniform(-1.0, 1.0, (4 * NEURONS, NEURONS)) - biases
    gradients = gradients_above(upper, lengths * projections + biases, lengths, activation)
    guess = biases + rng.uniform(-0.1, 0.1, NEURONS)
    return align(projections, gradients, guess, activation), lengths, biases, upper


@pytest.mark.parametrize("activation", [TANH, SIGMOID], ids=repr)
@pytest.mark.parametrize("widths", [(3,), (4, 3)])
def test_lengths_and_biases_are_found_with_the_row_space(
    widths: tuple[int, ...], activation: Activation, seed: int
) -> None:
    found, lengths, biases, upper = aligned(seed, widths, activation=activation)
    assert found.is_clear
    np.testing.assert_allclose(found.scales, lengths, atol=1e-6)
    np.testing.assert_allclose(found.biases, biases, atol=1e-6)
    assert found.frame.shape == (NEURONS, widths[0])
    np.testing.assert_allclose(found.frame.T @ found.frame, np.eye(widths[0]), atol=1e-12)
    next_weights = upper.layers[0].weights
    np.testing.assert_allclose(next_weights @ found.frame @ found.frame.T, next_weights, atol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_one_output_is_enough(outputs: int, seed: int) -> None:
    found, lengths, biases, _ = aligned(seed, (3,), outputs=outputs)
    assert found.is_clear
    np.testing.assert_allclose(found.scales, lengths, atol=1e-6)
    np.testing.assert_allclose(found.biases, biases, atol=1e-6)


@pytest.mark.parametrize("width", [NEURONS, NEURONS + 2])
def test_nothing_is_clear_if_the_next_layer_is_as_wide(width: int, seed: int) -> None:
    found, _, _, _ = aligned(seed, (width,), outputs=3)
    assert not found.is_clear
    assert found.gap < AlignmentRules().clear_gap


def test_a_single_neuron_has_no_gap(seed: int) -> None:
    rng = np.random.default_rng([seed, 32])
    found = align(rng.normal(size=(5, 1)), rng.normal(size=(5, 2, 1)), np.array([0.2]), TANH)
    assert found.gap == 0.0
    assert not found.is_clear
    np.testing.assert_array_equal(found.scales, [1.0])
    np.testing.assert_array_equal(found.biases, [0.2])
