"""Neurons behind noise are found with their number."""

import numpy as np
import pytest

from unweave.activations import activation_named
from unweave.identification.coarse.fit import NoisyFit
from unweave.identification.coarse.growth import CoarseGrowth
from unweave.identification.coarse.route import KINKED, SATURATING, as_network
from unweave.networks.planted import general_network


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_planted_neurons_are_found_up_to_the_noise(name: str, seed: int) -> None:
    rng, noise = np.random.default_rng([seed, 11]), 1e-3
    truth = general_network(rng, inputs=5, neurons=3, activation=activation_named(name))
    points = 2.0 * rng.standard_normal((500, 5))
    values = truth(points)[:, 0] + noise * rng.standard_normal(500)
    shape, growth = SATURATING if name == "tanh" else KINKED, CoarseGrowth()
    fit = NoisyFit(points, values, shape)
    found = growth.round(fit, np.empty((0, 6)), noise, rng)
    for _ in range(growth.rounds):
        if growth.is_met(fit, found, noise):
            break
        found = growth.round(fit, growth.thinner(found, rng), noise, rng)
    assert found.width == 3
    network = as_network(shape, found)
    others = rng.standard_normal((200, 5))
    assert np.max(np.abs(network(others) - truth(others))) < 10 * noise


def test_noise_alone_needs_no_neuron_at_all(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    fit = NoisyFit(rng.standard_normal((300, 4)), 1e-2 * rng.standard_normal(300), SATURATING)
    assert CoarseGrowth().is_met(fit, fit.solved(np.empty((0, 5))), 1e-2)


def test_steps_never_raise_the_squares(seed: int) -> None:
    rng = np.random.default_rng([seed, 13])
    points = rng.standard_normal((200, 3))
    fit = NoisyFit(points, np.sin(points).sum(axis=1), SATURATING)
    start = rng.standard_normal((4, 4))
    assert fit(start, steps=10, gain=0.0).squares < fit.solved(start).squares
