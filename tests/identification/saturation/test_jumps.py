"""Jumps along far lines, against planted saturating networks."""

import contextlib

import numpy as np
import pytest

from plants import Counted, planter
from unweave.activations import ERF, TANH, Activation
from unweave.exceptions import StageFailed
from unweave.identification.saturation.jumps import (
    Angles,
    Jump,
    JumpSearch,
    Slab,
    SlabReading,
    fit_jumps,
)
from unweave.identification.walks.lines import Ask, Line, far_line
from unweave.networks.network import Network
from unweave.networks.planted import general_network, unit_network

RADIUS = 2e6
NOISE = 1e-14
INPUTS = 5


def line_of(seed: int) -> Line:
    return far_line(INPUTS, np.random.default_rng([seed, 21]), radius=RADIUS, outer=1e-5)


planted = planter(general_network, 22, inputs=INPUTS, neurons=9)


def planted_jumps(network: Network, line: Line) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rates and heights, in order, in closed form."""
    hidden, output = network.layers
    along = hidden.weights @ line.direction
    positions = -(hidden.weights @ line.base + hidden.biases) / along
    order = np.argsort(positions)
    return positions[order], np.abs(along)[order], (np.sign(along) * output.weights).T[order]


def assert_jumps(jumps: list[Jump], network: Network, line: Line, *, atol: float = 1e-7) -> None:
    """All jumps, with positions in widths of their slabs, rates and heights relative."""
    positions, rates, heights = planted_jumps(network, line)
    assert len(jumps) == len(positions)
    found = np.array([jump.position for jump in jumps])
    np.testing.assert_array_less(np.abs(found - positions) * rates, atol)
    np.testing.assert_allclose([jump.rate for jump in jumps], rates, rtol=atol)
    np.testing.assert_allclose([jump.height for jump in jumps], heights, atol=atol * np.max(np.abs(heights)))
    assert {jump.activation for jump in jumps} == {network.layers[0].activation}


def test_the_assertion_on_jumps_can_fail(seed: int) -> None:
    truth, line = planted(seed), line_of(seed)
    jumps = JumpSearch(NOISE)(truth, line)
    assert_jumps(jumps, truth, line)
    hidden, output = truth.layers
    for other in (
        Network.shallow(hidden.weights, hidden.biases + 1e-6, output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases, (1 + 1e-6) * output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases, output.weights, output.biases, ERF),
        planted(seed, neurons=8),
    ):
        with pytest.raises(AssertionError):
            assert_jumps(jumps, other, line)


@pytest.mark.parametrize("activation", [TANH, ERF])
@pytest.mark.parametrize(("neurons", "outputs"), [(1, 1), (9, 1), (6, 3), (40, 1)])
def test_planted_jumps_are_found(activation: Activation, neurons: int, outputs: int, seed: int) -> None:
    truth, line = planted(seed, neurons=neurons, outputs=outputs, activation=activation), line_of(seed)
    jumps = JumpSearch(NOISE)(truth, line)
    assert_jumps(jumps, truth, line)
    assert all(jump.misfit < 1e-6 for jump in jumps)


def test_a_jump_costs_less_than_sixty_queries(seed: int) -> None:
    truth, line = planted(seed, neurons=30), line_of(seed)
    ask = Counted(truth)
    assert_jumps(JumpSearch(NOISE)(ask, line), truth, line)
    assert ask.asked < 60 * 30


def test_the_argument_is_the_inverse_of_the_profile() -> None:
    arguments = np.linspace(-3.0, 3.0, 7)
    for activation in (TANH, ERF):
        jump = Jump(0.0, 1.0, np.array([2.0, -1.0]), np.array([0.3, 0.1]), activation, 0.0)
        values = jump.middle + activation(arguments)[:, None] * jump.height
        np.testing.assert_allclose(jump.argument(values), arguments, atol=1e-9)
        assert np.isinf(jump.argument((jump.middle + 1.1 * jump.height)[None])[0])


@pytest.mark.parametrize("neurons", [10, 40])
def test_neighbours_that_cancel_are_found_or_left_for_another_line(neurons: int, seed: int) -> None:
    """Unit output weights: plateaus on both sides of two opposite jumps are equal."""
    truth, line = unit_network(np.random.default_rng([seed, 23]), inputs=INPUTS, neurons=neurons), line_of(seed)
    positions, rates, heights = planted_jumps(truth, line)
    clear = [jump for jump in JumpSearch(NOISE)(truth, line) if jump.misfit < JumpSearch.tail]
    nearest = [int(np.argmin(np.abs(positions - jump.position))) for jump in clear]
    assert len(set(nearest)) == len(clear)
    for jump, k in zip(clear, nearest, strict=True):
        assert abs(jump.position - positions[k]) * rates[k] < 1e-6
        np.testing.assert_allclose(jump.height, heights[k], atol=1e-6)
    assert len(clear) >= 0.7 * neurons


def test_two_slabs_that_overlap_fit_poorly(seed: int) -> None:
    """Both hyperplanes meet the line at one place, with different rates: no single neuron does that."""
    line = line_of(seed)
    weights = np.random.default_rng([seed, 24]).standard_normal((2, INPUTS))
    weights[1] *= 3.0 * (weights[0] @ line.direction) / (weights[1] @ line.direction)
    place = line.points(np.array([0.3 * RADIUS]))[0]
    # Remove what separates them along the line, so that both vanish at the place.
    normal = place - (place @ line.direction) * line.direction
    weights -= np.outer(weights @ place, normal) / (normal @ place)
    truth = Network.shallow(weights, np.array([0.0, 0.3]), np.array([[1.0, 0.8]]), np.zeros(1), TANH)
    jumps = JumpSearch(NOISE)(truth, line)
    assert len(jumps) >= 1
    assert all(jump.misfit > JumpSearch.tail for jump in jumps)


def test_two_jumps_beyond_the_last_angle_are_told_apart() -> None:
    """The outermost interval ends at 1e5 radii: what is near there must be near as an angle."""
    line = line_of(3)
    weights = np.random.default_rng(26).standard_normal((3, INPUTS))
    weights -= np.outer(weights @ line.direction, line.direction)
    # Places where the arguments vanish, in radii.
    weights -= np.outer(weights @ line.base / (RADIUS * np.array([-6.4, -10.7, -16.8])), line.direction)
    truth = Network.shallow(weights, np.array([0.1, -0.4, 0.8]), np.array([[1.0, -0.6, 1.7]]), np.zeros(1), TANH)
    assert_jumps(JumpSearch(NOISE)(truth, line), truth, line, atol=1e-6)


@pytest.mark.parametrize("activation", [TANH, ERF])
@pytest.mark.parametrize("rate_guess", [0.6, 1.0, 1.5])
def test_a_fit_finds_place_and_rate(activation: Activation, rate_guess: float, seed: int) -> None:
    rng = np.random.default_rng([seed, 25])
    positions = np.linspace(-6.0, 6.0, 14)
    place, rate, height, middle = 0.37, 0.9, rng.standard_normal(2), rng.standard_normal(2)
    values = middle + activation(rate * (positions - place))[:, None] * height
    start = positions[None], values[None], np.zeros(1), np.array([rate_guess])
    (fit,) = fit_jumps(*start, activation)
    assert fit.misfit < 1e-10
    assert fit.position == pytest.approx(place, abs=1e-9)
    assert fit.rate == pytest.approx(rate, rel=1e-9)
    np.testing.assert_allclose(fit.height, height, atol=1e-9)
    (other,) = fit_jumps(*start, ERF if activation == TANH else TANH)
    assert other.misfit > JumpSearch.tail


@pytest.mark.parametrize("ratio", [1e2, 1e3, 1e4, 1e6])
def test_weak_jumps_are_not_taken_for_plateaus(ratio: float, seed: int) -> None:
    truth, line = planted(seed, neurons=1), line_of(seed)
    weakest = float(np.max(np.abs(truth.layers[1].weights)))
    assert_jumps(JumpSearch(weakest / ratio)(truth, line), truth, line)


def test_a_constant_has_no_jumps(seed: int) -> None:
    ask = Counted(lambda points: np.full((len(points), 1), 2.0))
    assert JumpSearch(NOISE)(ask, line_of(seed)) == []
    assert ask.asked == Angles().first


def drift_at_the_ends(points: np.ndarray) -> np.ndarray:
    """Equal up to the noise for most of the line, and different beyond."""
    return 1e-20 * points @ np.ones((INPUTS, 1))


def drift_everywhere(points: np.ndarray) -> np.ndarray:
    """A function of the direction alone, as a model that normalises its inputs has far out."""
    return points[:, :1] / np.linalg.norm(points, axis=1, keepdims=True)


def assert_given_up(ask: Ask, line: Line) -> None:
    """The search says that there are no plateaus, or all that it finds is unlike a neuron."""
    jumps = []
    with contextlib.suppress(StageFailed):
        jumps = JumpSearch(NOISE)(ask, line)
    assert all(jump.misfit > JumpSearch.tail for jump in jumps)


def test_the_assertion_on_giving_up_can_fail(seed: int) -> None:
    with pytest.raises(AssertionError):
        assert_given_up(planted(seed), line_of(seed))


@pytest.mark.parametrize("drift", [drift_at_the_ends, drift_everywhere])
def test_a_function_that_drifts_is_given_up_after_few_queries(drift, seed: int) -> None:
    asked = 0

    def ask(points: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(points)
        if asked > 50_000:
            pytest.fail("more than 50000 queries on one line")
        return drift(points)

    assert_given_up(ask, line_of(seed))


def test_a_search_that_does_not_end_is_stopped(seed: int) -> None:
    """Noise far above what is expected: between any two answers that differ there are others."""
    rng = np.random.default_rng([seed, 27])
    asked = 0

    def ask(points: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(points)
        # Quiet where the first angles look, and noisy between them.
        return np.where(asked <= Angles().first, points[:, :1] > 0, 0.0) + (asked > Angles().first) * rng.random(
            (len(points), 1)
        )

    assert_given_up(ask, line_of(seed))
    assert asked <= Angles().queries * Angles().first + Angles().first


def slab_line_of(seed: int, inputs: int) -> Line:
    return far_line(inputs, np.random.default_rng([seed, 31]), radius=RADIUS, outer=1e-5)


def planted_slabs(
    seed: int, *, inputs: int = 5, neurons: int = 9, outputs: int = 1, activation: Activation = TANH
) -> Network:
    rng = np.random.default_rng([seed, 32])
    return general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)


def assert_slabs(slabs: list[Slab], network: Network, line: Line, *, atol: float = 1e-7) -> None:
    """Weights, bias and output weights of all neurons, with the sign that grows along the line.

    Most weights to `atol`; those that nearly saturate the neuron lose digits, but not more than two.
    """
    hidden, output = network.layers
    signs = np.sign(hidden.weights @ line.direction)
    weights, biases, heights = signs[:, None] * hidden.weights, signs * hidden.biases, signs * output.weights
    assert len(slabs) == len(weights)
    nearest = [int(np.argmin(np.linalg.norm(weights - slab.weights, axis=1))) for slab in slabs]
    assert sorted(nearest) == list(range(len(weights)))
    sizes = np.linalg.norm(weights[nearest], axis=1, keepdims=True)
    errors = np.abs(np.array([slab.weights for slab in slabs]) - weights[nearest]) / sizes
    assert np.median(errors) < atol
    assert np.max(errors) < 100 * atol
    np.testing.assert_allclose([slab.bias for slab in slabs], biases[nearest], atol=atol)
    np.testing.assert_allclose([slab.height for slab in slabs], heights.T[nearest], atol=atol)
    assert all(slab.mismatch < 1e-3 for slab in slabs)


def test_the_assertion_on_slabs_can_fail(seed: int) -> None:
    truth, line = planted_slabs(seed), slab_line_of(seed, 5)
    slabs = SlabReading()(truth, line, JumpSearch(NOISE)(truth, line))
    assert_slabs(slabs, truth, line)
    hidden, output = truth.layers
    for other in (
        Network.shallow(hidden.weights + 1e-4, hidden.biases, output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases + 1e-6, output.weights, output.biases, TANH),
        Network.shallow(hidden.weights, hidden.biases, output.weights + 1e-6, output.biases, TANH),
    ):
        with pytest.raises(AssertionError):
            assert_slabs(slabs, other, line)
    with pytest.raises(AssertionError):
        assert_slabs(slabs[1:], truth, line)


@pytest.mark.parametrize("activation", [TANH, ERF])
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(2, 1, 1), (5, 9, 1), (4, 6, 3), (12, 10, 1)])
def test_planted_neurons_are_read(activation: Activation, inputs: int, neurons: int, outputs: int, seed: int) -> None:
    truth = planted_slabs(seed, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    line = slab_line_of(seed, inputs)
    slabs = SlabReading()(truth, line, JumpSearch(NOISE)(truth, line))
    assert_slabs(slabs, truth, line)


def test_a_neuron_costs_one_query_per_input_and_a_few_more(seed: int) -> None:
    truth, line = planted_slabs(seed, inputs=12, neurons=8), slab_line_of(seed, 12)
    jumps = JumpSearch(NOISE)(truth, line)
    asked = []

    def ask(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return truth(points)

    SlabReading()(ask, line, jumps)
    assert sum(asked) <= 8 * (12 + 12)
    assert len(asked) <= 10


def test_weights_of_very_different_size_are_read(seed: int) -> None:
    """A step that is right for the smallest weight saturates the neuron along the largest."""
    rng = np.random.default_rng([seed, 33])
    line = slab_line_of(seed, 4)
    weights = rng.standard_normal((3, 4))
    weights[:, 1] *= 40.0
    # Nearly parallel to the line, so that the rate is small against the largest weight.
    weights -= 0.9 * np.outer(weights @ line.direction, line.direction)
    truth = Network.shallow(weights, np.array([0.1, -0.4, 0.8]), np.array([[1.0, -0.6, 1.7]]), np.zeros(1), TANH)
    clear = [jump for jump in JumpSearch(NOISE)(truth, line) if jump.misfit < JumpSearch.tail]
    slabs = SlabReading()(truth, line, clear)
    assert len(slabs) == 3
    assert_slabs(slabs, truth, line, atol=1e-6)


def test_no_jumps_no_queries(seed: int) -> None:
    def ask(points: np.ndarray) -> np.ndarray:
        raise AssertionError(f"{len(points)} queries")

    assert SlabReading()(ask, slab_line_of(seed, 5), []) == []
