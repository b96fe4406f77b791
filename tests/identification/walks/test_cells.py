"""Steps that stay in a cell, and the gradients that they measure."""

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.arrays import Points, Values
from unweave.identification.walks.cells import measure_gradients, safe_steps
from unweave.networks.planted import deep_network


def no_errors(points: Points, values: Values) -> np.ndarray:
    return np.full(len(values), 1e-16 * len(points))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_steps_switch_no_neuron_and_are_no_shorter_than_needed(share: float, seed: int) -> None:
    rng = np.random.default_rng([seed, 161])
    weights, arguments = rng.standard_normal((7, 5)), rng.standard_normal(7)
    steps = safe_steps(arguments, weights, share=share, longest=1e6)
    moved = arguments[:, None] + weights * steps
    assert np.all(moved * arguments[:, None] > 0.0)
    # To the end of the way one of them would switch.
    ends = arguments[:, None] + weights * steps / (0.999 * share)
    assert np.all(np.any(ends * arguments[:, None] < 0.0, axis=0))


def test_steps_are_bounded_where_no_kink_is_met() -> None:
    steps = safe_steps(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [2.0, 0.0]]), share=0.5, longest=30.0)
    assert np.array_equal(np.abs(steps), [30.0, 30.0])
    assert steps[0] > 0.0


def test_gradients_are_exact(seed: int) -> None:
    rng = np.random.default_rng([seed, 162])
    network = deep_network(rng, shape=(6, 5, 4, 2), activation=RELU, shift_deviation=0.3)
    points = rng.standard_normal((9, 6))
    values, gradients, errors = measure_gradients(network, points, np.full(points.shape, 1e-5), no_errors)
    assert np.array_equal(values, network(points))
    np.testing.assert_allclose(gradients, network.gradients(points), atol=1e-9)
    assert errors.shape == (9, 7)
