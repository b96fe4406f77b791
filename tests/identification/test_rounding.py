"""Answers that were rounded are told from steps by how they change."""

import numpy as np
import pytest

from unweave.identification.rounding import RoundingLook
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere

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


def test_rounding_is_seen_behind_a_plateau_of_the_function_itself(seed: int) -> None:
    """Lines that begin where a ReLU is off first change far away, by many multiples."""
    oracle = CallableOracle(lambda x: np.round(np.maximum(x[:, :1] - 0.2, 0.0), 5), inputs=3)
    assert RoundingLook()(oracle, 1e-5, np.random.default_rng(seed))
