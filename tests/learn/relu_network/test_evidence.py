"""Noise is told from structure, and standard errors are those of repeated fits."""

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.learn.relu_network.evidence import ResidualTest, standard_errors
from unweave.learn.relu_network.pattern_fit import PatternNewton
from unweave.learn.relu_network.units import in_inputs, unit_parameters
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import permute
from unweave.samples.hermite.inputs import Coordinates

ROWS, INPUTS = 4_000, 5
FEW_ROWS, FEW_INPUTS, NOISE = 1_000, 3, 0.03


def problem(seed: int, rows: int = ROWS) -> tuple[np.random.Generator, Network, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, relu_network(rng, inputs=INPUTS, neurons=3), rng.standard_normal((rows, INPUTS))


@pytest.mark.parametrize("tails", [2.0, 200.0])
def test_noise_has_no_smaller_chances_than_are_told(seed: int, tails: float) -> None:
    from scipy import stats

    rng, network, points = problem(seed, rows=FEW_ROWS)
    chances = [
        ResidualTest()(network, points, network(points) + rng.standard_t(tails, (FEW_ROWS, 1)), rng).chance
        for _ in range(40)
    ]
    assert stats.kstest(chances, "uniform", alternative="greater").pvalue > 1e-4
    # And not much larger ones: of two tests the chance is twice the smaller one, at most.
    assert stats.kstest(0.5 * np.array(chances), "uniform", alternative="less").pvalue > 1e-4


def test_a_few_large_residuals_hide_no_structure_of_the_others(seed: int) -> None:
    """A fit with two neurons in the place of one passed for noise (campaign, binary column, 910001)."""
    rng, network, points = problem(seed)
    part = 5e-4 * np.tanh(2 * points @ network.layers[0].weights[0])
    is_far = rng.random(ROWS) < 0.02
    part += 1e-4 * rng.standard_normal(ROWS) + np.where(is_far, 0.03 * rng.standard_normal(ROWS), 0.0)
    assert not ResidualTest()(network, points, network(points) + part[:, None], rng).is_noise
    assert ResidualTest(cut=1e9)(network, points, network(points) + part[:, None], rng).is_noise


@pytest.mark.parametrize("missing", ["square", "product", "wave", "neuron", "rare neuron"])
def test_missing_parts_are_noticed(seed: int, missing: str) -> None:
    rng, network, points = problem(seed)
    along = points @ network.layers[0].weights[0]
    part = {
        "square": points[:, 0] ** 2 / 2,
        "product": points[:, 1] * points[:, 2] / 2,
        "wave": np.tanh(2 * along) / 2,
        "neuron": np.maximum(points @ np.ones(INPUTS) / np.sqrt(INPUTS) - 0.3, 0.0),
        "rare neuron": 2 * np.maximum(points[:, 3] - 1.7, 0.0),
    }[missing]
    values = network(points) + part[:, None] + 0.3 * rng.standard_normal((ROWS, 1))
    found = ResidualTest()(network, points, values, rng)
    assert not found.is_noise
    assert found.explained > 0.03


def test_small_changes_of_the_network_are_no_structure(seed: int) -> None:
    rng, network, points = problem(seed)
    hidden, output = network.layers
    moved = Network.shallow(
        hidden.weights + 1e-3 * rng.standard_normal(hidden.weights.shape),
        hidden.biases + 1e-3,
        output.weights * 1.001,
        output.biases,
        hidden.activation,
    )
    values = network(points) + 0.3 * rng.standard_normal((ROWS, 1))
    assert ResidualTest()(moved, points, values, rng).chance > 1e-4


def test_what_features_explain_completely_is_no_noise(seed: int) -> None:
    rng, network, points = problem(seed)
    assert ResidualTest()(network, points, network(points) + points[:, :1] ** 2, rng).chance == 0.0


def test_a_part_of_the_noticeable_size_is_noticed(seed: int) -> None:
    rng, network, points = problem(seed)
    noise = 0.3 * rng.standard_normal((ROWS, 1))
    size = ResidualTest()(network, points, network(points) + noise, rng).noticeable
    part = (points[:, :1] ** 2 - 1) / np.sqrt(2)
    assert ResidualTest()(network, points, network(points) + noise + 0.3 * size * part, rng).is_noise
    assert not ResidualTest()(network, points, network(points) + noise + 1.5 * size * part, rng).is_noise


def test_the_order_of_neurons_does_not_matter(seed: int) -> None:
    _, network, points = problem(seed)
    values = network(points) + points[:, :1] ** 2 / 5
    turned = permute(network, 0, np.array([2, 0, 1]))
    statistics = [
        ResidualTest()(each, points, values + np.sin(50 * points[:, 1:2]), np.random.default_rng(1)).statistic
        for each in (network, turned)
    ]
    assert statistics[0] == pytest.approx(statistics[1])


def test_networks_without_neurons_and_few_rows(seed: int) -> None:
    rng, _, points = problem(seed)
    nothing = Network.shallow(np.zeros((0, INPUTS)), np.zeros(0), np.zeros((1, 0)), np.zeros(1), relu_network(
        rng, inputs=2, neurons=1).layers[0].activation)  # fmt: skip
    noise = rng.standard_normal((ROWS, 1))
    assert ResidualTest()(nothing, points, noise, rng).is_noise
    assert ResidualTest()(nothing, points[:8], noise[:8], rng).is_noise


@pytest.mark.parametrize("is_moved", [False, True])
def test_errors_are_those_of_repeated_fits(seed: int, is_moved: bool) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=FEW_INPUTS, neurons=2, largest_bias=0.5)
    points = rng.standard_normal((FEW_ROWS, FEW_INPUTS))
    coordinates = Coordinates.identity(FEW_INPUTS)
    if is_moved:
        mixing = np.eye(FEW_INPUTS) + 0.3 * rng.standard_normal((FEW_INPUTS, FEW_INPUTS))
        coordinates = Coordinates.whitening(rng.standard_normal(FEW_INPUTS), mixing @ mixing.T)
    clean, found = network(points), []
    for _ in range(120):
        fit = PatternNewton()(network, points, clean + NOISE * rng.standard_normal(clean.shape)).network
        weights, biases, heights = unit_parameters(in_inputs(fit, coordinates))
        found.append(np.column_stack([weights, biases, heights]))
    errors = standard_errors(network, points, clean, noise=NOISE, coordinates=coordinates)
    said = np.column_stack([errors.weights, errors.biases, errors.output_weights])
    assert np.std(found, axis=0) == pytest.approx(said, rel=0.35)
    assert np.mean(np.std(found, axis=0) / said) == pytest.approx(1.0, abs=0.1)


def test_what_no_point_tells_has_infinite_errors() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((500, 2))
    never = Network.shallow(np.eye(2), np.array([0.0, -9.0]), np.ones((1, 2)), np.zeros(1), RELU)
    errors = standard_errors(never, points, never(points), noise=0.1, coordinates=Coordinates.identity(2))
    assert np.isfinite(errors.biases[0])
    assert np.isinf(errors.biases[1])
    assert errors.seen(never, needed=4.0, largest_angle=0.5).tolist() == [True, False]
