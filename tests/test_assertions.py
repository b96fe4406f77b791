"""Every assertion that tests share fails on a wrong answer."""

from dataclasses import replace

import numpy as np
import pytest

import unweave
from assertions import assert_recovered, assert_same_function, farthest_direction, largest_distance
from plants import disturbed_network, shallow_network, unit_rows
from shown_reports import CERTIFICATE
from unweave.activations import RELU
from unweave.networks.network import Network


@pytest.fixture
def truth(seed: int) -> Network:
    return shallow_network(np.random.default_rng(seed), inputs=4, neurons=3)


@pytest.fixture
def found(truth: Network) -> unweave.Result:
    reason = "planted"
    return unweave.Result(unweave.Outcome.IDENTIFIED, reason, truth, CERTIFICATE, route="walk")


def moved(network: Network, size: float) -> Network:
    hidden, output = network.layers
    return replace(network, layers=(replace(hidden, biases=hidden.biases + size), output))


def test_a_recovered_network_passes(found: unweave.Result, truth: Network) -> None:
    assert_recovered(found, truth, atol=0.0, route="walk")
    assert_recovered(replace(found, network=moved(truth, 1e-13)), truth, atol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": unweave.Outcome.PARTLY_IDENTIFIED},
        {"network": None},
        {"certificate": None},
        {"certificate": replace(CERTIFICATE, radius=1e-9)},
        {"route": "hessians"},
    ],
    ids=repr,
)
def test_recovery_is_denied(changes: dict, found: unweave.Result, truth: Network) -> None:
    near = replace(found, network=moved(truth, 1e-7), certificate=replace(CERTIFICATE, radius=1e-6))
    assert_recovered(near, truth, atol=1e-6, route="walk")
    with pytest.raises(AssertionError):
        assert_recovered(replace(near, **changes), truth, atol=1e-6, route="walk")


def test_other_parameters_and_widths_are_denied(found: unweave.Result, truth: Network, seed: int) -> None:
    wider = shallow_network(np.random.default_rng(seed), inputs=4, neurons=4)
    for other in (moved(truth, 1e-6), wider):
        with pytest.raises(AssertionError):
            assert_recovered(found, other, atol=1e-7)


def test_another_function_is_denied(truth: Network, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((20, 4))
    assert_same_function(truth, truth, points, atol=0.0)
    with pytest.raises(AssertionError):
        assert_same_function(moved(truth, 1e-3), truth, points, atol=1e-6)


def test_distances_of_directions(seed: int) -> None:
    rows = unit_rows(np.random.default_rng(seed), 3, 5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)
    for distance in (farthest_direction, largest_distance):
        assert distance(-rows[::-1], rows) < 1e-15
        assert distance(rows[:2], rows) > 0.1
        assert distance(np.empty((0, 5)), rows) == np.inf
        assert distance(np.empty((0, 5)), np.empty((0, 5))) == 0.0
    assert farthest_direction(rows, rows[:2]) == 0.0
    assert largest_distance(rows, rows[:2]) == np.inf
    assert largest_distance(rows[[0, 0, 1]], rows) == np.inf


def test_disturbed_networks_are_near(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = shallow_network(rng, inputs=4, neurons=6, activation=RELU)
    assert disturbed_network(network, rng, 0.0).layers[0].weights.shape == (6, 4)
    assert 0.0 < unweave.match(disturbed_network(network, rng, 1e-3), network).largest_error < 0.1
