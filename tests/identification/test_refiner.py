"""Answers that tell of neurons which bend outside the domain."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.plants import in_own_units
from unweave.activations import RELU, TANH, Activation
from unweave.certificates.certify import Floors
from unweave.identification.answers import AnswerPool, Asking
from unweave.identification.refiner import Refiner
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import Box
from unweave.oracles.views import StandardOracle

INPUTS = 4
WANTED = 2 * (INPUTS + 2)


def planted(seed: int, activation: Activation, distance: float) -> Network:
    """Three neurons, the first of which bends that far from the centre."""
    network = general_network(np.random.default_rng([seed, 81]), inputs=INPUTS, neurons=3, activation=activation)
    hidden, output = network.layers
    biases = hidden.biases.copy()
    biases[0] = -distance * np.linalg.norm(hidden.weights[0])
    return Network((replace(hidden, biases=biases), output))


def answers_about(network: Network, seed: int, *, domain: Box | None = None, asked: int = 200) -> AnswerPool:
    unit = in_own_units(network, inputs=INPUTS, domain=domain)
    answers = AnswerPool(unit, np.random.default_rng([seed, 82]), np.random.default_rng([seed, 83]))
    answers.ask(asked)
    return answers


def arguments(network: Network, answers: AnswerPool) -> np.ndarray:
    return network.layers[0].preactivations(answers.points)


@pytest.mark.parametrize("distance", [6.0, 30.0, 0.9 * Asking().farthest])
def test_a_smooth_neuron_far_away_is_seen_bending(distance: float, seed: int) -> None:
    truth = planted(seed, TANH, distance)
    answers = answers_about(truth, seed)
    assert np.count_nonzero(np.abs(arguments(truth, answers)[:, 0]) < 2.5) < WANTED
    answers.excite(truth)
    near = np.abs(arguments(truth, answers)[:, 0]) < 2.5 + 1e-9
    assert np.count_nonzero(near) >= WANTED
    assert np.std(arguments(truth, answers)[near, 0]) > 0.5


@pytest.mark.parametrize("distance", [6.0, 30.0, -30.0])
def test_both_sides_of_a_far_kink_are_seen(distance: float, seed: int) -> None:
    truth = planted(seed, RELU, distance)
    answers = answers_about(truth, seed)
    answers.excite(truth)
    seen = arguments(truth, answers)[:, 0]
    assert min(np.count_nonzero(seen < 0), np.count_nonzero(seen > 0)) >= WANTED


def test_what_is_asked_is_kept_and_right(seed: int) -> None:
    truth = planted(seed, RELU, 30.0)
    answers = answers_about(truth, seed)
    answers.excite(truth)
    assert len(answers.points) > 200
    np.testing.assert_array_equal(answers.values, truth(answers.points))


def test_neurons_that_bend_in_the_domain_cost_nothing(seed: int) -> None:
    for activation in (TANH, RELU):
        truth = planted(seed, activation, 0.1)
        answers = answers_about(truth, seed, asked=400)
        answers.excite(truth)
        answers.excite(truth)
        assert len(answers.points) == 400


def test_excited_neurons_are_not_asked_again(seed: int) -> None:
    truth = planted(seed, RELU, 30.0)
    answers = answers_about(truth, seed)
    answers.excite(truth)
    count = len(answers.points)
    answers.excite(truth)
    assert len(answers.points) == count


def test_a_box_and_very_far_neurons_are_left_alone(seed: int) -> None:
    for distance, domain in ((30.0, Box(-1.0, 1.0)), (2 * Asking().farthest, None)):
        truth = planted(seed, TANH, distance)
        answers = answers_about(truth, seed, domain=domain, asked=400)
        answers.excite(truth)
        assert len(answers.points) == 400


@pytest.mark.parametrize(("length", "stretch"), [(0.5, 5.0), (1.25, 2.0), (4.0, 1.0), (0.01, 10.0)])
def test_flat_neurons_are_fitted_where_they_bend(length: float, stretch: float, seed: int) -> None:
    truth = planted(seed, TANH, 0.1)
    hidden = truth.layers[0]
    flat = Layer(length * hidden.weights / np.linalg.norm(hidden.weights, axis=1)[:, None], hidden.biases, TANH)
    truth = Network((flat, truth.layers[1]))
    answers = answers_about(truth, seed)
    answers.stretch(truth)
    answers.ask(2_000)
    assert np.std(answers.points[-2_000:]) == pytest.approx(stretch, rel=0.05)
    # The certificate speaks about the domain itself.
    answers.prepare(400)
    assert np.std(answers.fresh_points) == pytest.approx(1.0, rel=0.1)


def test_no_point_leaves_a_box(seed: int) -> None:
    truth = planted(seed, TANH, 0.1)
    answers = answers_about(truth, seed, domain=Box(-1.0, 1.0))
    answers.stretch(truth)
    answers.ask(100)
    assert np.max(np.abs(answers.points)) <= 1.0


def test_answers_in_other_units_are_those_of_the_other_oracle(seed: int) -> None:
    truth = planted(seed, TANH, 0.1)
    answers = answers_about(truth, seed)
    answers.prepare(20)
    offset, size = np.array([3.0]), np.array([0.5])
    oracle = answers.oracle
    raw = StandardOracle(oracle.oracle, oracle.center, oracle.half_width, -offset / size, 1.0 / size)
    moved = answers.in_units(raw, offset, size)
    before = oracle.oracle.ledger.sent
    moved.prepare(20)
    assert oracle.oracle.ledger.sent == before
    np.testing.assert_allclose(moved.values, raw.query(moved.points), rtol=1e-14)
    np.testing.assert_allclose(moved.fresh_values, raw.query(moved.fresh_points), rtol=1e-14)
    # What is asked later is in the new units, too, and leaves the old answers as they are.
    moved.ask(10)
    np.testing.assert_allclose(moved.values, raw.query(moved.points), rtol=1e-14)
    np.testing.assert_array_equal(answers.values, truth(answers.points))
    assert len(answers.points) == len(moved.points) - 10


def test_a_network_that_has_run_away_is_not_excused_by_its_rounding(seed: int) -> None:
    truth = planted(seed, TANH, 0.1)
    answers = answers_about(truth, seed)
    answers.prepare(truth.parameters)
    hidden, output = truth.layers
    spread = float(np.sqrt(np.mean(answers.fresh_values**2)))
    grown = [replace(output, weights=factor * output.weights) for factor in (1.0, 1e4, 1e15)]
    fresh = answers.fresh_points, answers.fresh_values
    floors = [Floors(answers.oracle, 0.0).on_average(Network((hidden, each)), *fresh) for each in grown]
    assert floors[0] < 1e-14 * max(spread, 1.0) < floors[1] < Refiner.largest_rounding * spread
    assert floors[2] == pytest.approx(Refiner.largest_rounding * spread, rel=1e-9)
