"""What errors of fitted answers allow elsewhere, and which neurons look like one."""

from dataclasses import replace

import numpy as np
import pytest

from plants import in_own_units, shallow_and_points
from unweave.activations import RELU, TANH, Activation
from unweave.identification.answers import AnswerPool
from unweave.identification.examination import Examination, twin_distance
from unweave.identification.refiner import Refiner, Start
from unweave.identification.telling_points import leverages
from unweave.networks.network import Network
from unweave.networks.parameters import ParameterVector
from unweave.networks.planted import general_network
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import Box


@pytest.mark.parametrize("activation", [TANH, RELU])
def test_leverages_are_the_spread_of_refitted_values(activation: Activation) -> None:
    """Compared with values of many networks, each refitted to answers with noise of its own."""
    rng = np.random.default_rng(3)
    truth, points, fresh = shallow_and_points(3, inputs=5, neurons=6, activation=activation, per_parameter=4, fresh=200)
    noise, elsewhere = 1e-7, 2.0 * fresh[:20]
    answers = (truth(points) + noise * rng.standard_normal((len(points), truth.outputs)) for _ in range(100))
    refitted = [LevenbergMarquardt()(truth, points, values, floor=noise).network for values in answers]
    spread = np.sqrt(np.mean([(each(elsewhere) - truth(elsewhere)) ** 2 for each in refitted], axis=0))
    expected = leverages(truth, points, elsewhere)
    assert expected is not None
    np.testing.assert_allclose(spread.max(axis=1) / noise, expected, rtol=0.4)


@pytest.mark.parametrize("limit", [1e-14, 1e-10])
def test_twins_farther_apart_than_said_change_values_by_the_limit(limit: float) -> None:
    rng = np.random.default_rng(5)
    network = general_network(rng, inputs=4, neurons=6, activation=TANH)
    points = rng.standard_normal((500, 4))
    distance = twin_distance(network, points, limit)
    hidden, output = network.layers
    changes = []
    for neuron in range(6):
        for axis in range(5):
            halves = []
            for side in (-0.5, 0.5):
                moved = np.column_stack([hidden.weights, hidden.biases])
                moved[neuron, axis] += side * distance * ParameterVector(network).neuron_sizes[neuron]
                layer = replace(hidden, weights=moved[:, :-1], biases=moved[:, -1])
                halves.append(Network((layer, output))(points))
            changes.append(float(np.sqrt(np.mean((0.5 * (halves[0] + halves[1]) - network(points)) ** 2))))
    # Along inputs and bias they reach the limit, up to rounding of the differences; along the neuron they may just do.
    assert 0.8 * limit - 3e-16 < min(changes) < 10.0 * limit


def test_steep_twins_that_differ_in_length_are_farther_apart(seed: int) -> None:
    """In the slab of a steep neuron its argument is small: more of its length is left open than of its place."""
    network = general_network(np.random.default_rng(seed), inputs=3, neurons=4, activation=TANH)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (4_000, 3))
    hidden, output = network.layers
    steep = replace(hidden, weights=15.0 * hidden.weights, biases=np.zeros(4))
    network, limit = Network((steep, output)), 1e-12
    distance = twin_distance(network, points, limit)
    left = []
    for neuron in range(4):
        halves = [
            Network((replace(steep, weights=steep.weights * factors[:, None], biases=steep.biases * factors), output))
            for factors in (1.0 + side * 0.5 * distance * (np.arange(4) == neuron) for side in (-1.0, 1.0))
        ]
        change = 0.5 * (halves[0](points) + halves[1](points)) - network(points)
        arguments = steep.preactivations(points)[:, neuron]
        slopes = 1.0 - np.tanh(arguments) ** 2
        columns = np.column_stack([np.tanh(arguments), slopes, slopes * arguments, np.ones(len(points))])
        rest = change - columns @ np.linalg.lstsq(columns, change, rcond=None)[0]
        left.append(float(np.sqrt(np.mean(rest**2))))
    assert min(left) == pytest.approx(limit, rel=0.05)


def test_only_smooth_networks_of_one_layer_have_twins() -> None:
    network = general_network(np.random.default_rng(5), inputs=4, neurons=6, activation=RELU)
    assert twin_distance(network, np.zeros((3, 4)), 1e-14) == 0.0


def test_what_a_network_misses_is_still_known_when_fits_have_seen_it() -> None:
    """Fresh answers that a network misses are fitted afterwards; none of them is right for that."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=3, activation=TANH)
    unit = in_own_units(
        lambda x: planted(x) + 1e-3 * np.sin(3.0 * x[:, :1] * x[:, 1:2]), inputs=3, domain=Box(-1.0, 1.0)
    )
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-15)
    candidate = refiner(Start(planted, 0.0))
    before = Examination().of_known_fault(candidate, refiner)
    assert not candidate.explains
    assert refiner.finds_missed(candidate, batch=50)
    after = Examination().of_known_fault(candidate, refiner)
    assert after.missed == before.missed == candidate.certificate.fresh_queries
