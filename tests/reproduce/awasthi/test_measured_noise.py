"""Thresholds from measured noise."""

import numpy as np
import pytest

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.measured_noise import (
    NoisyTensors,
    measured_thresholds,
    noisy_tensors,
    recover_measured,
    recover_measured_full_rank,
    significant_units,
)
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits
from unweave.reproduce.awasthi.unit_errors import found_numbers, unit_errors

INPUTS, NEURONS = 5, 3


def planted(seed: int, *, samples: int, is_controlled: bool = True) -> tuple[RecoveredUnits, NoisyTensors, float]:
    """What was found up to signs, from what, and the largest error."""
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS, special_biases=(0.0, 1.0, -0.6))
    points = rng.standard_normal((samples, INPUTS))
    noisy = noisy_tensors(points, truth(points), highest=4, is_controlled=is_controlled)
    units = recover_measured(noisy, order=1, most_neurons=2 * NEURONS, rng=rng)
    return units, noisy, float(np.max(unit_errors(units, truth, is_signed=False)))


@pytest.mark.parametrize("is_controlled", [True, False])
def test_halves_tell_the_error_of_the_whole(is_controlled: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((40_000, INPUTS))
    noisy = noisy_tensors(points, truth(points), highest=4, is_controlled=is_controlled)
    exact = hermite_tensors(truth, highest=4)
    for order in (2, 3, 4):
        error = float(np.linalg.norm(noisy.tensors[order] - exact[order]))
        assert 0.3 * error < float(np.linalg.norm(noisy.noise[order])) < 3 * error


def test_the_number_of_neurons_is_found_in_samples(seed: int) -> None:
    units, noisy, error = planted(seed, samples=400_000)
    assert len(units.biases) == NEURONS
    assert error < 0.3
    # Blind spots: bias 0 for the odd, bias 1 for the even tensor.
    assert max(units.ranks) < NEURONS
    thresholds = measured_thresholds(noisy, order=1)
    assert 0 < thresholds.singular_values[0] < thresholds.singular_values[1] < 0.3


def test_thresholds_fall_with_the_samples(seed: int) -> None:
    few, many = (measured_thresholds(planted(seed, samples=n)[1], order=1) for n in (4_000, 256_000))
    # By a factor of 8, up to chance, which is large for moments of high order.
    for one, other in zip(few.singular_values, many.singular_values, strict=True):
        assert 2 < one / other < 40
    assert 2 < few.coefficient / many.coefficient < 40


def test_noise_is_no_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20_000, INPUTS))
    noisy = noisy_tensors(points, rng.standard_normal((20_000, 1)), highest=4, is_controlled=True)
    assert len(recover_measured(noisy, order=1, most_neurons=6, rng=rng).biases) == 0


def test_copies_of_a_neuron_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((100_000, INPUTS))
    noisy = noisy_tensors(points, truth(points), highest=4, is_controlled=True)
    directions = truth.layers[0].weights
    near = directions[0] + 0.01 * rng.standard_normal(INPUTS)
    copied = np.vstack([directions, near / np.linalg.norm(near)])
    more = RecoveredUnits(copied, np.zeros(4), np.zeros(4), (0, 0))
    # Either of both may go.
    kept = significant_units(more, noisy, order=1, standard_errors=3.0)
    assert len(kept.biases) == NEURONS
    assert float(np.max(unit_errors(kept, truth, is_signed=False))) < 0.5


def test_signs_are_found_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS, special_biases=(0.0, 1.0, -0.6))
    points = rng.standard_normal((400_000, INPUTS))
    noisy = noisy_tensors(points, truth(points), highest=4, is_controlled=True)
    units = recover_measured_full_rank(noisy, most_neurons=6, rng=rng)
    assert found_numbers(units, truth, is_signed=True)["found"] == NEURONS
    assert population_risk(units.network, truth) < 0.2**2


def test_a_wrong_sign_is_an_error(seed: int) -> None:
    truth = relu_network(np.random.default_rng(seed), inputs=INPUTS, neurons=NEURONS, special_biases=(0.5, 0.5, 0.5))
    hidden, output = truth.layers
    flipped = RecoveredUnits(-hidden.weights[::-1], -hidden.biases[::-1], output.weights[0, ::-1], (3, 3))
    np.testing.assert_allclose(unit_errors(flipped, truth, is_signed=False), 0.0, atol=1e-12)
    np.testing.assert_allclose(unit_errors(flipped, truth, is_signed=True), 3.0, atol=1e-12)
    fewer = RecoveredUnits(hidden.weights[:2], hidden.biases[:2], output.weights[0, :2], (2, 2))
    assert np.count_nonzero(np.isinf(unit_errors(fewer, truth, is_signed=True))) == 1
