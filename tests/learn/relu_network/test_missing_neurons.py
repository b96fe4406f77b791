import numpy as np
import pytest

from unweave.activations import RELU
from unweave.learn.relu_network.finish import ReluFinish
from unweave.learn.relu_network.missing_neurons import RareNeurons
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.symmetries import match


def without_first(network: Network, count: int, rng: np.random.Generator) -> Network:
    """A start a percent off, without the first neurons."""
    hidden, output = network.layers
    weights = hidden.weights[count:]
    return Network.shallow(
        weights + 0.01 / np.sqrt(network.inputs) * rng.standard_normal(weights.shape),
        hidden.biases[count:] + 0.01,
        output.weights[:, count:],
        np.zeros(1),
        RELU,
    )


@pytest.mark.parametrize("biases", [(2.5,), (-2.5,), (2.3, -2.5)])
def test_neurons_that_bend_at_few_samples_are_found_exactly(biases: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = relu_network(rng, inputs=4, neurons=3 + len(biases), special_biases=biases)
    points = rng.standard_normal((20_000, 4))
    values = whole(points)
    rough = ReluFinish()(without_first(whole, len(biases), rng), points, values)
    assert not rough.is_exact
    found = RareNeurons()(rough.network, points, values, rng)
    assert found.widths == (3 + len(biases),)
    finished = ReluFinish()(found, points, values)
    assert finished.is_exact
    assert match(finished.network, whole).largest_error < 1e-9
    np.testing.assert_allclose(finished.network(points), values, atol=1e-9)


def test_an_exact_network_gets_no_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=3)
    points = rng.standard_normal((500, 3))
    assert RareNeurons()(network, points, network(points), rng) is network


def test_noise_is_no_neuron(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=3)
    points = rng.standard_normal((300, 3))
    noisy = network(points) + 0.1 * rng.standard_normal((300, 1))
    assert RareNeurons(trials=512)(network, points, noisy, rng) is network
