"""Answers that were rounded are told from steps by how they change."""

from collections.abc import Callable

import numpy as np
import pytest

from unweave.identification.answers import AnswerPool
from unweave.identification.rounding import AnswerDigits, RoundingLook
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere
from unweave.oracles.views import standardise

DOMAINS = [Everywhere(), Box(-1.0, 2.0)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_smooth_function_that_is_rounded_changes_by_one_multiple(domain: Domain, seed: int) -> None:
    oracle = CallableOracle(lambda x: 0.1 * np.rint(np.tanh(x).sum(axis=1) / 0.1), inputs=3, domain=domain)
    assert RoundingLook()(oracle, 0.1, np.random.default_rng(seed))


@pytest.mark.parametrize("domain", DOMAINS)
def test_steps_change_by_several(domain: Domain, seed: int) -> None:
    heights = np.array([0.3, 0.5, -0.7])
    oracle = CallableOracle(lambda x: (x > 0.2) @ heights, inputs=3, domain=domain)
    assert not RoundingLook()(oracle, 0.1, np.random.default_rng(seed))


def test_answers_that_hardly_change_tell_nothing() -> None:
    oracle = CallableOracle(lambda x: np.rint(0.01 * x.sum(axis=1)), inputs=3)
    assert not RoundingLook()(oracle, 1.0, np.random.default_rng(0))


def answers_of(model: Callable[[np.ndarray], np.ndarray], first: int, fresh: int) -> AnswerPool:
    """A pool whose units come from the first answers of a model of two inputs in a box."""
    rng = np.random.default_rng(0)
    oracle = CallableOracle(model, inputs=2, domain=Box(-1.0, 1.0))
    answers = AnswerPool(standardise(oracle, oracle.query(np.full((first, 2), -0.5))), rng, rng)
    answers.ask_fresh(fresh)
    return answers


class TestSpreadOfAnswers:
    def test_answers_that_vary_where_the_first_did_not_have_a_spread(self) -> None:
        answers = answers_of(lambda x: 100.0 + np.maximum(x, 0.0), first=20, fresh=400)
        digits = AnswerDigits(unit=np.full(2, 2.0**-46), scatter=np.zeros(2))
        np.testing.assert_allclose(answers.oracle.size, 100.0)
        np.testing.assert_allclose(digits.spreads(answers), np.std(answers.fresh_values * 100.0, axis=0))

    def test_constants_have_none_up_to_rounding(self) -> None:
        answers = answers_of(lambda x: 3.0 + 2.0**-51 * np.column_stack([x[:, 0] > 0, np.rint(9 * x[:, 1])]), 2, 400)
        digits = AnswerDigits(unit=np.full(2, 2.0**-51), scatter=np.zeros(2))
        assert np.isinf(digits.spreads(answers)).tolist() == [True, False]
