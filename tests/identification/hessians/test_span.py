"""How many Hessians are measured, and what a budget leaves of that."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import TANH
from unweave.exceptions import BudgetExhausted
from unweave.identification.hessians.span import Span, SpanSearch
from unweave.identification.probing import Probing
from unweave.identification.session import Session
from unweave.networks.planted import general_network
from unweave.numerics.finite_differences import hessian_queries, measure_hessians
from unweave.oracles.oracle import Box, CallableOracle

INPUTS, NEURONS = 6, 7


def measured(seed: int, *, budget: int | None) -> tuple[Span, int]:
    """The span of a planted network whose gap never counts as clear, and the Hessians that it took."""
    rng = np.random.default_rng([seed, 191])
    truth = general_network(rng, inputs=INPUTS, neurons=NEURONS, activation=TANH)
    oracle = CallableOracle(truth, inputs=INPUTS, domain=Box(-1.0, 1.0))
    session = Session(oracle, rng)
    probe = Probing()(session)
    step = probe.scale.hessian_step
    points = probe.oracle.sample(rng, 2, margin=2 * step)
    first = measure_hessians(probe.oracle, points, step=step, frame=np.eye(INPUTS))
    oracle.ledger.allowance = None if budget is None else oracle.ledger.sent + budget * hessian_queries(INPUTS)
    search = replace(SpanSearch(), clear_gap=np.inf)
    return search(probe.oracle, first, probe.scale, rng, neurons=None), len(first.points)


def test_unclear_spans_are_measured_further(seed: int) -> None:
    span, _ = measured(seed, budget=None)
    assert span.subspace.rank == NEURONS
    assert span.sample.matrices == int(SpanSearch().surplus.noisy[-1] * NEURONS)


def test_a_budget_that_does_not_allow_that_leaves_the_span_at_hand(seed: int) -> None:
    span, first = measured(seed, budget=10)
    assert span.subspace.rank == NEURONS
    assert NEURONS < span.sample.matrices <= first + 10


def test_a_budget_for_less_than_that_is_exhausted(seed: int) -> None:
    with pytest.raises(BudgetExhausted):
        measured(seed, budget=3)
