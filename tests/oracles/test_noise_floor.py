"""The noise of answers is measured, from rounding to random noise."""

from collections.abc import Callable

import numpy as np
import pytest

from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.noise_floor import LINE_POINTS, REPEATS, measure_noise
from unweave.oracles.oracle import Box, CallableOracle, Everywhere

INPUTS = 6


def in_precision(network: Network, dtype: type) -> Callable[[np.ndarray], np.ndarray]:
    """A tanh network that computes everything in another type of number."""
    hidden, output = network.layers
    arrays = [array.astype(dtype) for array in (hidden.weights, hidden.biases, output.weights, output.biases)]
    weights, biases, output_weights, offset = arrays

    def answer(points: np.ndarray) -> np.ndarray:
        return np.tanh(points.astype(dtype) @ weights.T + biases) @ output_weights.T + offset

    return answer


def planted(seed: int, *, outputs: int = 1) -> Network:
    return general_network(np.random.default_rng([seed, 1]), inputs=INPUTS, neurons=8, outputs=outputs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_errors_are_estimated(dtype: type, seed: int) -> None:
    network = planted(seed)
    model = in_precision(network, dtype)
    # The rounding of the parameters is no noise: both models have those of the coarser type.
    truth = in_precision(network, np.longdouble) if dtype is np.float64 else rounded(network)
    points = np.random.default_rng([seed, 2]).standard_normal((2_000, INPUTS))
    actual = np.std((model(points) - truth(points)).astype(float))
    probes = [
        measure_noise(CallableOracle(model, inputs=INPUTS), np.random.default_rng([seed, 3, probe]))
        for probe in range(9)
    ]
    assert all(probe.is_deterministic for probe in probes)
    # Two lines are a small sample: most estimates, not all, are right within the factor.
    assert actual / 5 < np.median([probe.deviation[0] for probe in probes]) < 5 * actual


def rounded(network: Network) -> Callable[[np.ndarray], np.ndarray]:
    """The network with parameters and points rounded to float32, evaluated in float64."""
    hidden, output = network.layers
    weights, biases, output_weights, offset = (
        array.astype(np.float32).astype(float)
        for array in (hidden.weights, hidden.biases, output.weights, output.biases)
    )
    return lambda x: np.tanh(x.astype(np.float32).astype(float) @ weights.T + biases) @ output_weights.T + offset


@pytest.mark.parametrize("level", [1e-8, 1e-4])
def test_additive_noise_is_estimated(level: float, seed: int) -> None:
    network, noise = planted(seed), np.random.default_rng([seed, 4])
    oracle = CallableOracle(
        lambda points: network(points) + level * noise.standard_normal((len(points), 1)), inputs=INPUTS
    )
    found = measure_noise(oracle, np.random.default_rng([seed, 3]))
    assert level / 5 < found.deviation[0] < 5 * level
    assert not found.is_deterministic
    assert level / 5 < found.repeat_spread < 10 * level


def test_every_output_has_its_own_noise(seed: int) -> None:
    network, noise = planted(seed, outputs=3), np.random.default_rng([seed, 4])
    levels = np.array([1e-9, 1e-3, 1e-6])
    oracle = CallableOracle(
        lambda points: network(points) + levels * noise.standard_normal((len(points), 3)), inputs=INPUTS
    )
    found = measure_noise(oracle, np.random.default_rng([seed, 3]))
    assert found.deviation.shape == found.magnitude.shape == (3,)
    assert np.all((levels / 5 < found.deviation) & (found.deviation < 5 * levels))


def test_a_kink_on_one_line_is_no_noise(seed: int) -> None:
    network = planted(seed)
    probe = measure_noise(CallableOracle(network, inputs=INPUTS), np.random.default_rng(seed))
    first = probe.points[:LINE_POINTS]
    middle, along = first[4] + 0.3 * (first[5] - first[4]), first[1] - first[0]

    def kinked(points: np.ndarray) -> np.ndarray:
        return network(points) + np.abs((points - middle) @ along / np.linalg.norm(along))[:, None]

    found = measure_noise(CallableOracle(kinked, inputs=INPUTS), np.random.default_rng(seed))
    np.testing.assert_array_equal(found.points, probe.points)
    assert found.deviation[0] < 20 * probe.deviation[0]


def test_it_costs_two_lines_and_the_repeats_and_hands_the_answers_on(seed: int) -> None:
    network = planted(seed, outputs=2)
    oracle = CallableOracle(network, inputs=INPUTS)
    found = measure_noise(oracle, np.random.default_rng(seed))
    assert oracle.ledger.sent == 2 * LINE_POINTS + REPEATS == 21
    np.testing.assert_allclose(found.values, network(found.points), rtol=1e-14)
    np.testing.assert_array_equal(found.magnitude, np.max(np.abs(found.values), axis=0))


def test_a_constant_has_the_noise_of_its_rounding() -> None:
    found = measure_noise(CallableOracle(lambda points: np.full(len(points), 3.0), inputs=2), np.random.default_rng(0))
    assert 0 < found.deviation[0] < 3 * np.finfo(float).eps * 3.0


def test_zero_still_has_positive_noise() -> None:
    found = measure_noise(CallableOracle(lambda points: 0.0 * points[:, 0], inputs=2), np.random.default_rng(0))
    assert found.deviation[0] > 0


def test_a_model_with_a_memory_is_not_deterministic() -> None:
    calls = iter(range(10))
    oracle = CallableOracle(lambda points: points[:, 0] + 1e-3 * next(calls), inputs=2)
    found = measure_noise(oracle, np.random.default_rng(0))
    assert found.repeat_spread == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "domain", [Box(-1.0, 1.0), Box(np.full(INPUTS, 10.0), np.full(INPUTS, 10.5)), Everywhere(100.0)]
)
def test_the_lines_follow_the_domain(domain: Box | Everywhere, seed: int) -> None:
    oracle = CallableOracle(lambda points: np.sin(points.sum(axis=1)), inputs=INPUTS, domain=domain)
    found = measure_noise(oracle, np.random.default_rng(seed))
    assert np.all(domain.contains(found.points))
