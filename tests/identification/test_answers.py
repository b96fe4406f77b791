"""Answers where something may hide, and how far they spread."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from helpers.plants import in_own_units
from unweave.activations import RELU, TANH
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification.answers import AnswerPool
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import Box, CallableOracle
from unweave.oracles.views import AnswerDigits, StandardOracle, last_digits, standardise


def answers_of(network: Network, *, box: Box | None) -> AnswerPool:
    unit = in_own_units(network, inputs=network.inputs, domain=box)
    answers = AnswerPool(unit, np.random.default_rng(1), np.random.default_rng(2))
    answers.ask_trials()
    return answers


def without_the_last_neuron(network: Network) -> Network:
    hidden, output = network.layers
    return Network(
        (
            replace(hidden, weights=hidden.weights[:-1], biases=hidden.biases[:-1]),
            replace(output, weights=output.weights[:, :-1]),
        )
    )


def test_a_missing_neuron_is_larger_at_vertices_that_are_climbed_to(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=60, neurons=3, activation=RELU)
    part = without_the_last_neuron(truth)
    answers = answers_of(truth, box=Box(-np.ones(60), np.ones(60)))
    before = np.max(np.abs(answers.trial_values - part(answers.trial_points)))
    assert answers.climb_from_vertices(part)
    assert np.max(np.abs(answers.trial_values - part(answers.trial_points))) > 1.3 * before
    hidden, output = (layer.weights for layer in truth.layers)
    largest = abs(output[0, -1]) * (np.sum(np.abs(hidden[-1])) + truth.layers[0].biases[-1])
    assert np.max(np.abs(answers.trial_values - part(answers.trial_points))) > 0.95 * largest
    asked = len(answers.trial_points)
    assert not answers.climb_from_vertices(part)
    assert len(answers.trial_points) == asked


def test_nothing_is_climbed_where_all_vertices_are_known(seed: int) -> None:
    for inputs, box in ((4, Box(-np.ones(4), np.ones(4))), (60, None)):
        truth = general_network(np.random.default_rng(seed), inputs=inputs, neurons=3, activation=RELU)
        answers = answers_of(truth, box=box)
        assert not answers.climb_from_vertices(without_the_last_neuron(truth))


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("second", [-3.0, 1.0])
def test_two_kinks_that_were_taken_for_one_are_missed(second: float, gap: float, seed: int) -> None:
    """Beside both, if their signs differ: a point of either side tells wherever that is."""
    rng = np.random.default_rng(seed)
    weights, bias = rng.standard_normal((1, 20)) / np.sqrt(20), rng.standard_normal(1)
    moved, pulls = rng.standard_normal((1, 20)) / np.sqrt(20), np.array([[1.0, second]])
    truth = Network.shallow(
        np.vstack([weights, weights + gap * moved]), np.append(bias, bias), pulls, np.zeros(1), RELU
    )
    merged = weights + gap * second / (1.0 + second) * moved
    answers = answers_of(truth, box=None)
    known = len(answers.trial_points)
    found = Network.shallow(merged, bias, np.array([[1.0 + second]]), np.zeros(1), RELU)
    answers.ask_trials_on_kinks(found, 1e-12)
    errors = np.abs(answers.trial_values - found(answers.trial_points))[known:]
    assert np.max(errors) > 1e-13


def fresh_answers(model: Callable[[np.ndarray], np.ndarray], *, first: int) -> AnswerPool:
    """A pool whose units come from the first answers of a model of two inputs in a box, all at one place."""
    rng = np.random.default_rng(0)
    oracle = CallableOracle(model, inputs=2, domain=Box(-1.0, 1.0))
    answers = AnswerPool(standardise(oracle, oracle.query(np.full((first, 2), -0.5))), rng, rng)
    answers.ask_fresh(400)
    return answers


class TestSpreadOfAnswers:
    def test_answers_that_vary_where_the_first_did_not_have_a_spread(self) -> None:
        answers = fresh_answers(lambda x: 100.0 + np.maximum(x, 0.0), first=20)
        digits = AnswerDigits(unit=np.full(2, 2.0**-46), scatter=np.zeros(2))
        np.testing.assert_allclose(answers.oracle.size, 100.0)
        np.testing.assert_allclose(digits.spreads(*answers.unseen), np.std(answers.fresh_values * 100.0, axis=0))

    def test_answers_that_vary_at_vertices_alone_change_rarely(self) -> None:
        answers = fresh_answers(lambda x: np.maximum(x.sum(axis=1, keepdims=True) - [0.0, 1.99], 0.0), first=2)
        answers.ask_trials(10)
        digits = AnswerDigits(unit=np.full(2, 2.0**-51), scatter=np.zeros(2))
        assert digits.changes_rarely(*answers.unseen).tolist() == [False, True]
        assert np.all(np.isfinite(digits.spreads(*answers.unseen)))

    def test_constants_have_none_up_to_rounding(self) -> None:
        answers = fresh_answers(lambda x: 3.0 + 2.0**-51 * np.stack([x[:, 0] > 0, np.rint(9 * x[:, 1])], 1), first=2)
        digits = AnswerDigits(unit=np.full(2, 2.0**-51), scatter=np.zeros(2))
        assert np.isinf(digits.spreads(*answers.unseen)).tolist() == [True, False]

    def test_zero_has_no_last_digit(self) -> None:
        """Answers of 1e-17 that were zero at first were taken for the rounding of a constant."""
        answers = fresh_answers(lambda x: 1e-17 * np.maximum(x, 0.0), first=20)
        oracle = answers.oracle.oracle
        unit = last_digits(oracle, oracle.query(np.full((20, 2), -0.5)))
        assert unit.tolist() == [0.0, 0.0]
        spreads = AnswerDigits(unit=unit, scatter=np.zeros(2)).spreads(*answers.unseen)
        np.testing.assert_allclose(spreads, np.std(answers.fresh_values, axis=0))


@pytest.mark.parametrize("budget", [60, 75, 90])
def test_fresh_answers_judge_until_others_are_there(budget: int) -> None:
    oracle = CallableOracle(np.sin, inputs=1, outputs=1, domain=Box(-1.0, 1.0), budget=budget)
    unit = StandardOracle(oracle, np.zeros(1), np.ones(1), np.zeros(1), np.ones(1))
    answers = AnswerPool(unit, np.random.default_rng(1), np.random.default_rng(2))
    answers.ask_fresh(40)
    first = answers.fresh_points
    if budget < 80:
        with pytest.raises(BudgetExhausted):
            answers.renew_fresh()
        np.testing.assert_array_equal(answers.fresh_points[:40], first)
        assert len(answers.points) == 0
    else:
        answers.renew_fresh()
        np.testing.assert_array_equal(answers.points, first)
        assert len(answers.fresh_points) == 40
        assert not np.any(np.isin(answers.fresh_points, first))


def test_answers_outside_the_domain_are_done_without_where_the_model_gives_none() -> None:
    """Fit points far out, and those around neurons that bend there, have ended runs of models that answer nearby."""
    truth = general_network(np.random.default_rng(3), inputs=4, neurons=3, activation=TANH)
    hidden, output = truth.layers
    flat = Network((replace(hidden, weights=0.05 * hidden.weights, biases=hidden.biases + 3.0), output))

    def nearby(points: np.ndarray) -> np.ndarray:
        return np.where(np.any(np.abs(points) > 6.0, axis=1, keepdims=True), np.nan, flat(points))

    answers = AnswerPool(in_own_units(nearby, inputs=4), np.random.default_rng(1), np.random.default_rng(2))
    answers.stretch(flat)
    answers.ask(50)
    answers.excite(flat)
    answers.stretch(flat)
    answers.ask(50)
    assert len(answers.points) == 100
    assert np.max(np.abs(answers.points)) <= 6.0

    def nowhere(points: np.ndarray) -> np.ndarray:
        return np.full((len(points), 1), np.nan)

    answers = AnswerPool(in_own_units(nowhere, inputs=4), np.random.default_rng(1), np.random.default_rng(2))
    with pytest.raises(OracleError):
        answers.ask(50)
