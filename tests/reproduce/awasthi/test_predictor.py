import numpy as np
import pytest

from unweave.activations import RELU
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.predictor import (
    EIGHT_FEATURES,
    TWO_FEATURES,
    PredictorSettings,
    consolidated,
    fit_predictor,
    regress_on_units,
)
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

INPUTS, NEURONS = 5, 3


def scrambled(network: Network, rng: np.random.Generator) -> RecoveredUnits:
    """The neurons of a network with random signs."""
    hidden, output = network.layers
    signs = rng.choice([-1.0, 1.0], len(hidden.biases))
    return RecoveredUnits(signs[:, None] * hidden.weights, signs * hidden.biases, output.weights[0], (0, 0))


@pytest.mark.parametrize("features", [EIGHT_FEATURES, TWO_FEATURES])
def test_the_regression_reaches_its_accuracy_whatever_the_signs(
    features: tuple[tuple[float, float, float], ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((2_000, INPUTS))
    settings = PredictorSettings(accuracy=0.1, neurons=NEURONS, bound=2.0, features=features)
    found = regress_on_units(scrambled(network, rng), points, network(points), settings=settings)
    assert found.gap <= 0.1**2 / 100
    # The truth is in the ball, so the gap bounds the loss.
    assert found.loss <= 0.1**2 / 100
    assert found.left_out == 0
    fresh = rng.standard_normal((2_000, INPUTS))
    assert np.sqrt(np.mean((found.network(fresh) - network(fresh)) ** 2)) < 0.1
    assert found.network.widths == (len(features) * NEURONS,)


def test_the_ball_binds_where_it_is_small(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    hidden, output = network.layers
    # The ball of no neurons and a bound of 1 has radius 2; a slope of 10 is outside.
    points = rng.standard_normal((1_000, INPUTS))
    values = 10.0 * points[:, :1]
    units = RecoveredUnits(hidden.weights[:0], hidden.biases[:0], output.weights[0, :0], (0, 0))
    settings = PredictorSettings(accuracy=0.1, neurons=1, bound=1.0)
    found = regress_on_units(units, points, values, settings=settings)
    assert found.network.skip is not None
    coefficients = np.append(found.network.skip[0], found.network.layers[1].biases)
    assert np.linalg.norm(coefficients) == pytest.approx(2.0, abs=1e-9)
    assert found.gap <= 1e-4


def test_samples_beyond_the_cutoff_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((500, INPUTS))
    points[0] *= 1e9
    settings = PredictorSettings(accuracy=0.2, neurons=NEURONS, bound=2.0)
    found = regress_on_units(scrambled(network, rng), points, network(points), settings=settings)
    assert found.left_out == 1
    assert settings.cutoff(NEURONS, INPUTS) < 1e9


def test_neurons_made_of_noise_do_not_push_samples_beyond_the_cutoff(seed: int) -> None:
    """audit A17: an output weight of a million left every sample out: the zero function, with a "proven" gap of 0."""
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((2_000, INPUTS))
    units = scrambled(network, rng)
    noise = rng.standard_normal(INPUTS)
    more = RecoveredUnits(
        np.vstack([units.directions, noise / np.linalg.norm(noise)]),
        np.append(units.biases, -6.0),
        np.append(units.output_weights, -1e6),
        units.ranks,
    )
    settings = PredictorSettings(accuracy=0.1, neurons=NEURONS, bound=2.0)
    found = regress_on_units(more, points, network(points), settings=settings)
    assert found.left_out == 0
    assert found.loss <= found.gap <= 0.1**2 / 100


def test_the_gap_is_that_of_all_samples(seed: int) -> None:
    """audit A17: with all samples beyond the cutoff there is everything left to gain."""
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = 1e6 * rng.standard_normal((200, INPUTS))
    values = network(points)
    settings = PredictorSettings(accuracy=0.1, neurons=NEURONS, bound=2.0)
    found = regress_on_units(scrambled(network, rng), points, values, settings=settings)
    assert found.left_out == len(points)
    assert found.gap >= found.loss == pytest.approx(float(np.mean(values**2)))


def test_the_whole_algorithm_splits_the_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((2_000, INPUTS))
    seen = []

    def recover(half: np.ndarray, values: np.ndarray) -> RecoveredUnits:
        seen.append((half, values))
        return scrambled(network, rng)

    settings = PredictorSettings(accuracy=0.1, neurons=NEURONS, bound=2.0)
    found = fit_predictor(points, network(points), recover=recover, settings=settings)
    np.testing.assert_array_equal(seen[0][0], points[:1_000])
    np.testing.assert_array_equal(seen[0][1], network(points[:1_000]))
    # The regression sees the other half only.
    assert found.loss == pytest.approx(float(np.mean((found.network(points) - network(points))[1_000:] ** 2)))
    assert found.loss < 1e-4


@pytest.mark.parametrize("features", [EIGHT_FEATURES, TWO_FEATURES])
def test_consolidation_keeps_the_function(features: tuple[tuple[float, float, float], ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    points = rng.standard_normal((300, INPUTS))
    settings = PredictorSettings(accuracy=0.5, neurons=NEURONS, bound=2.0, features=features)
    found = regress_on_units(scrambled(network, rng), points, network(points), settings=settings).network
    small = consolidated(found)
    assert small.skip is None
    # Mismatched signs of weights and bias are kinks of their own.
    kinks = NEURONS if features == TWO_FEATURES else 2 * NEURONS
    assert small.widths == (kinks + 2,)
    np.testing.assert_allclose(small(points), found(points), atol=1e-12)


def test_a_constant_stays_an_offset() -> None:
    network = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.array([3.0]), RELU)
    assert consolidated(network).widths == (0,)
    np.testing.assert_array_equal(consolidated(network)(np.zeros((2, 2))), [[3.0], [3.0]])


def test_answers_have_to_fit_the_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = scrambled(relu_network(rng, inputs=INPUTS, neurons=NEURONS), rng)
    settings = PredictorSettings(accuracy=0.1, neurons=NEURONS, bound=2.0)
    with pytest.raises(InvalidInput, match="one answer per point"):
        regress_on_units(units, np.zeros((3, INPUTS)), np.zeros((3, 2)), settings=settings)
