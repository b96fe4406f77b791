"""Softmax is undone up to its shift, and every query is counted once."""

import numpy as np
import pytest
from scipy.special import softmax

import unweave
from unweave.exceptions import BudgetExhausted
from unweave.networks.planted import deep_network, general_network
from unweave.oracles.callables import CallableOracle
from unweave.oracles.logits import LogitsOracle, are_probabilities


def test_logits_are_centred_and_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((4, 3))
    inner = CallableOracle(lambda points: softmax(points @ weights.T + 2.0, axis=1), inputs=3, budget=12)
    inner.query(np.zeros((1, 3)))
    oracle = LogitsOracle(inner)
    points = rng.standard_normal((7, 3))
    logits = points @ weights.T
    np.testing.assert_allclose(oracle.query(points), logits - logits.mean(axis=1, keepdims=True), atol=1e-12)
    assert oracle.ledger.answered == inner.ledger.answered == 8
    with pytest.raises(BudgetExhausted):
        oracle.query(np.zeros((5, 3)))
    assert inner.ledger.answered == 8


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0.2, 0.8], [0.5, 0.5]], True),
        ([[0.2, 0.7], [0.5, 0.5]], False),
        ([[1.2, -0.2], [0.5, 0.5]], False),
        ([[1.0], [1.0]], False),
    ],
)
def test_probabilities_are_recognised(values: list[list[float]], expected: bool) -> None:
    assert are_probabilities(np.array(values)) is expected


@pytest.mark.parametrize("is_deep", [False, True])
def test_a_classifier_is_identified_up_to_the_shift_of_its_logits(is_deep: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (
        deep_network(rng, shape=(6, 5, 3, 4), shift_deviation=0.2)
        if is_deep
        else general_network(rng, inputs=4, neurons=5, outputs=3)
    )
    found = unweave.identify(lambda points: softmax(truth(points), axis=1), inputs=truth.inputs, seed=seed)
    assert found.is_identified
    assert found.network is not None
    assert found.network.widths == truth.widths
    assert "softmax" in found.reason
    points = rng.standard_normal((200, truth.inputs))
    np.testing.assert_allclose(softmax(found.network(points), axis=1), softmax(truth(points), axis=1), atol=1e-9)
