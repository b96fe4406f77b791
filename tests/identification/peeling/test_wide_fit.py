"""Fits from random starts: a wide student reaches the function of a small teacher."""

import numpy as np
import pytest

from unweave.activations import IDENTITY, TANH
from unweave.identification.peeling.wide_fit import WideFit
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network

INPUTS, BELOW = 4, 3
TARGET = 1e-7


def teacher(seed: int) -> Network:
    rng = np.random.default_rng([seed, 61])
    return deep_network(rng, shape=(INPUTS, BELOW, 2, 2), shift_deviation=0.2)


def student(seed: int, start: int, below: Layer, *, width: int = 5) -> Network:
    rng = np.random.default_rng([seed, 62, start])
    hidden = Layer(rng.normal(size=(width, BELOW)) / np.sqrt(BELOW), 0.1 * rng.normal(size=width), TANH)
    return Network((below, hidden, Layer(rng.normal(size=(2, width)) / np.sqrt(width), np.zeros(2), IDENTITY)))


def answers(truth: Network, seed: int, points: int = 150) -> tuple[np.ndarray, np.ndarray]:
    places = np.random.default_rng([seed, 63]).normal(size=(points, INPUTS))
    return places, truth(places)


def test_a_wide_student_reaches_the_function(seed: int) -> None:
    truth = teacher(seed)
    points, values = answers(truth, seed)
    fits = [
        WideFit()(student(seed, start, truth.layers[0]), points, values, target=TARGET, is_first_exact=True)
        for start in range(4)
    ]
    best = min(fits, key=lambda fit: fit.residual)
    assert best.has_converged
    assert best.residual <= TARGET
    fresh = np.random.default_rng([seed, 64]).normal(size=(100, INPUTS))
    np.testing.assert_allclose(best.network(fresh), truth(fresh), atol=100 * TARGET)


@pytest.mark.parametrize("is_first_exact", [True, False])
def test_only_what_is_free_moves(is_first_exact: bool, seed: int) -> None:
    truth = teacher(seed)
    points, values = answers(truth, seed)
    below = truth.layers[0]
    shifted = Layer(below.weights, below.biases + 0.02, TANH)
    start = student(seed, 0, shifted)
    found = WideFit(steps=20)(start, points, values, target=0.0, is_first_exact=is_first_exact).network
    np.testing.assert_array_equal(found.layers[0].weights, below.weights)
    assert np.array_equal(found.layers[0].biases, shifted.biases) == is_first_exact
    assert not np.array_equal(found.layers[1].weights, start.layers[1].weights)


def test_rough_biases_are_repaired_on_the_way(seed: int) -> None:
    truth = teacher(seed)
    points, values = answers(truth, seed)
    rough = Layer(truth.layers[0].weights, truth.layers[0].biases + 0.02, TANH)
    start = Network((rough, *truth.layers[1:]))
    exact, free = (
        WideFit()(start, points, values, target=TARGET, is_first_exact=is_exact) for is_exact in (True, False)
    )
    assert free.residual <= TARGET < exact.residual
    np.testing.assert_allclose(free.network.layers[0].biases, truth.layers[0].biases, atol=1e-4)


def test_the_residual_never_grows_and_is_the_one_of_the_network(seed: int) -> None:
    truth = teacher(seed)
    points, values = answers(truth, seed)
    # Too narrow to be exact: the fit must give up by itself.
    fit = WideFit(steps=60, patience=10)(
        student(seed, 0, truth.layers[0], width=1), points, values, target=TARGET, is_first_exact=True
    )
    assert not fit.has_converged
    assert np.all(np.diff(fit.history) < 0)
    assert fit.steps == len(fit.history) - 1 <= 60
    assert fit.residual == pytest.approx(np.sqrt(np.mean((values - fit.network(points)) ** 2)), rel=1e-12)


def test_a_perfect_start_is_left_alone(seed: int) -> None:
    truth = teacher(seed)
    points, values = answers(truth, seed)
    fit = WideFit()(truth, points, values, target=TARGET, is_first_exact=True)
    assert fit.residual <= 1e-14
