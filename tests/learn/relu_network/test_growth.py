"""Starts by local search: planted networks come back, and what has no neurons gets none."""

import numpy as np
import pytest

from unweave import match
from unweave.learn.relu_network.finish import ReluFinish
from unweave.learn.relu_network.growth import Growth
from unweave.learn.relu_network.starts import affine_network
from unweave.networks.network import Network
from unweave.networks.planted import relu_network


def nothing(inputs: int) -> Network:
    return affine_network(np.zeros(inputs), np.zeros(1))


@pytest.mark.parametrize(("inputs", "neurons"), [(6, 3), pytest.param(3, 6, marks=pytest.mark.slow)])
def test_planted_networks_are_grown_whatever_the_inputs_are(inputs: int, neurons: int, seed: int) -> None:
    rng = np.random.default_rng([seed, inputs])
    truth = relu_network(rng, inputs=inputs, neurons=neurons)
    points = rng.uniform(-2.0, 2.0, (2_000, inputs))
    grown = Growth(idle_rounds=2)(nothing(inputs), points, truth(points), rng)
    assert grown.widths == (neurons,)
    finished = ReluFinish()(grown, points, truth(points))
    assert match(finished.network, truth).largest_error < 1e-10


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_noise_alone_gets_no_neurons(slope: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1_000, 5))
    values = slope * points[:, :1] + rng.standard_normal((1_000, 1))
    fitted = np.linalg.lstsq(np.column_stack([points, np.ones(1_000)]), values[:, 0], rcond=None)[0]
    assert Growth()(affine_network(fitted[:-1], fitted[-1:]), points, values, rng).widths == (0,)


def test_too_few_rows_allow_no_neurons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=5, neurons=3)
    points = rng.standard_normal((30, 5))
    assert Growth()(nothing(5), points, truth(points), rng).widths == (0,)
