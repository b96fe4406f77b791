"""Joined networks are the function of the upper one on the values of the lower one."""

import numpy as np
import pytest

from unweave.activations import RELU, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.relu_layers.joined import join
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network


def planted(seed: int, *, outputs: int, has_skip: bool) -> tuple[Layer, Network]:
    rng = np.random.default_rng([seed, 101])
    first = Layer(rng.standard_normal((4, 6)), rng.standard_normal(4), RELU)
    upper = general_network(rng, inputs=4, neurons=5, outputs=outputs, activation=RELU)
    skip = rng.standard_normal((outputs, 4)) if has_skip else None
    return first, Network(upper.layers, skip)


@pytest.mark.parametrize(("outputs", "has_skip", "neurons"), [(2, False, 5), (1, True, 7), (3, True, 9)])
def test_the_joined_network_is_the_composition(outputs: int, has_skip: bool, neurons: int, seed: int) -> None:
    first, upper = planted(seed, outputs=outputs, has_skip=has_skip)
    joined = join(first, upper)
    points = 3.0 * np.random.default_rng([seed, 102]).standard_normal((100, 6))
    values = np.maximum(points @ first.weights.T + first.biases, 0.0)
    np.testing.assert_allclose(joined(points), upper(values), atol=1e-12)
    assert joined.widths[0] == 4
    assert joined.widths[1] <= neurons
    assert joined.skip is None


def test_slopes_of_one_sign_need_one_neuron(seed: int) -> None:
    first, upper = planted(seed, outputs=1, has_skip=True)
    assert upper.skip is not None
    joined = join(first, Network(upper.layers, -np.abs(upper.skip)))
    assert joined.widths == (4, 6)


def test_an_affine_part_above_leaky_relu_is_refused(seed: int) -> None:
    first, upper = planted(seed, outputs=1, has_skip=True)
    leaky = Layer(first.weights, first.biases, leaky_relu(0.1))
    with pytest.raises(StageFailed, match="can't be written without a skip"):
        join(leaky, upper)
