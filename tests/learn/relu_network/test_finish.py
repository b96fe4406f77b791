import numpy as np
import pytest

from plants import disturbed_network
from unweave.activations import RELU
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.finish import FinishedRelu, ReluFinish, with_affine_part
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import match, reflect

BLIND = (0.0, 1.0, -1.0)


@pytest.mark.parametrize(("samples", "error"), [(10_000, 0.01), (100_000, 0.01), (10_000, 0.1)])
def test_exact_answers_are_finished_to_rounding(samples: int, error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=10, neurons=5, special_biases=BLIND)
    points = rng.standard_normal((samples, 10))
    found = ReluFinish()(disturbed_network(network, rng, error), points, network(points))
    assert found.is_exact
    assert found.polish is None
    assert found.signs.solutions == 1
    assert found.network.skip is None
    assert match(found.network, network).largest_error < 1e-12
    # The signs are those of the truth.
    assert np.min(np.max(network.layers[0].weights @ found.network.layers[0].weights.T, axis=1)) > 1 - 1e-12


def test_more_neurons_than_inputs_are_finished_with_their_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=8, special_biases=BLIND)
    points = rng.standard_normal((10_000, 4))
    found = ReluFinish()(disturbed_network(network, rng, 0.01), points, network(points))
    assert found.is_exact
    assert found.network.skip is None
    assert match(found.network, network).largest_error < 1e-11


def test_signs_are_decided_of_a_start_that_was_fitted_with_an_affine_part(seed: int) -> None:
    """What such a start gains from the noise by its affine part is no reason to keep that."""
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=5, neurons=3)
    points = rng.standard_normal((3_000, 5))
    values = network(points) + 0.1 * rng.standard_normal((3_000, 1))
    flipped = with_affine_part(reflect(network, 0, np.array([True, False, True])))
    polish = ReluFinish().polish
    start = polish(flipped, points, values, floor=0.0).network
    found = ReluFinish()(start, points, values)
    assert start.skip is not None
    assert found.network.skip is None
    assert match(found.network, network).largest_error < 0.1


@pytest.mark.parametrize("noise", [0.05, pytest.param(0.4, marks=pytest.mark.slow)])
def test_noisy_answers_are_fitted_at_the_parametric_rate(noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=6, neurons=4, special_biases=BLIND)
    points = rng.standard_normal((20_000, 6))
    values = network(points) + noise * rng.standard_normal((20_000, 1))
    found = ReluFinish()(disturbed_network(network, rng, 0.1), points, values, floor=noise)
    assert not found.is_exact
    assert found.residual == pytest.approx(noise, rel=0.05)
    assert found.signs.solutions == 1
    expected = noise * np.sqrt(4 * 7 / 20_000)
    assert match(found.network, network).largest_error < 6 * expected


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("error", [0.0, 0.5, 4.0])
def test_the_result_is_never_worse_than_the_start(noise: float, error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=5)
    points = rng.standard_normal((1_000, 4))
    values = network(points) + noise * rng.standard_normal((1_000, 1))
    start = disturbed_network(network, rng, error)
    found = ReluFinish()(start, points, values, floor=noise)
    size = float(np.sqrt(np.mean(values**2)))
    assert found.start_residual == pytest.approx(np.sqrt(np.mean((values - start(points)) ** 2)), abs=1e-12)
    assert found.residual <= found.start_residual + 1e-10 * size
    assert found.residual == pytest.approx(np.sqrt(np.mean((values - found.network(points)) ** 2)), abs=1e-12)


def finished_without_one(whole: Network, points: np.ndarray, rng: np.random.Generator) -> tuple[FinishedRelu, Network]:
    """The finish of a start that lacks the first neuron, and the network of the others."""
    hidden, output = whole.layers
    seen = Network.shallow(hidden.weights[1:], hidden.biases[1:], output.weights[:, 1:], np.zeros(1), RELU)
    return ReluFinish()(disturbed_network(seen, rng, 0.01), points, whole(points)), seen


def test_neurons_with_large_biases_stay_an_affine_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = relu_network(rng, inputs=5, neurons=4, special_biases=(9.0,))
    points = rng.standard_normal((5_000, 5))
    found, _ = finished_without_one(whole, points, rng)
    assert found.is_exact
    assert found.network.skip is not None
    np.testing.assert_allclose(found.network(points), whole(points), atol=1e-10)


def test_a_missing_neuron_that_bends_at_few_points_does_not_spoil_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = relu_network(rng, inputs=6, neurons=4, special_biases=(2.8,))
    points = rng.standard_normal((20_000, 6))
    found, seen = finished_without_one(whole, points, rng)
    assert not found.is_exact
    assert 0.95 < found.exact_share < 1.0
    assert found.polish is None
    assert found.network.skip is not None
    errors = match(Network(found.network.layers), seen).errors
    assert max(errors.weights, errors.biases, errors.output_weights) < 1e-10


def test_an_affine_part_is_added_without_changing_the_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=2)
    points = rng.standard_normal((10, 3))
    np.testing.assert_array_equal(with_affine_part(network)(points), network(points))
    sloped = Network(network.layers, skip=np.ones((1, 3)))
    assert with_affine_part(sloped) is sloped


def test_answers_have_to_fit_the_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=2)
    with pytest.raises(InvalidInput, match="one answer per point"):
        ReluFinish()(network, rng.standard_normal((50, 3)), np.zeros((50, 2)))
