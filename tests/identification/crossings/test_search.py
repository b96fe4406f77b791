"""Places where rounded answers switch are found to all digits."""

import numpy as np
import pytest

from unweave import Box, Network
from unweave.activations import TANH
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification.crossings.search import CrossingSearch, RoundedAnswers, gradients
from unweave.networks.parameters import ParameterVector
from unweave.networks.planted import general_network
from unweave.oracles.ledger import KINDS
from unweave.oracles.oracle import CallableOracle, Domain, Everywhere
from unweave.oracles.views import StandardOracle

THREE_DECIMALS = next(kind for kind in KINDS if kind.decimals == 3)


def planted(seed: int) -> Network:
    return general_network(np.random.default_rng([seed, 7]), inputs=4, neurons=3, activation=TANH)


def rounded(truth: Network, domain: Domain, budget: int | None = None) -> RoundedAnswers:
    oracle = CallableOracle(lambda x: np.round(truth(x), 3), inputs=4, domain=domain, budget=budget)
    center, half_width = domain.frame(4)
    return RoundedAnswers(StandardOracle(oracle, center, half_width, np.zeros(1), np.ones(1)), THREE_DECIMALS)


@pytest.mark.parametrize("domain", [Everywhere(), Box(-1.0, 1.0)])
def test_the_function_is_known_exactly_where_answers_switch(domain: Domain, seed: int) -> None:
    truth, rng = planted(seed), np.random.default_rng(seed)
    answers, search = rounded(truth, domain), CrossingSearch()
    # A network that is wrong by about the rounding.
    vector = ParameterVector(truth)
    near = vector.moved(2e-4 * rng.standard_normal(vector.count))
    points = answers.oracle.sample(rng, 40)
    found = search(answers, search.lines(near, answers, points), error=1e-3, tol=1e-12)
    assert len(found.distances) >= 20
    levels = answers.levels(found.lines.lower, THREE_DECIMALS.roundings[0])
    assert np.max(np.abs(truth(found.points)[:, 0] - levels)) < 5e-12
    assert np.all(found.errors <= 1e-12)
    assert np.all(answers.contains(found.points))


def test_lines_can_stay_within_hyperplanes(seed: int) -> None:
    truth, rng = planted(seed), np.random.default_rng(seed)
    answers = rounded(truth, Everywhere())
    normals = rng.standard_normal((20, 4))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    lines = CrossingSearch(flat=0.0).lines(truth, answers, rng.standard_normal((20, 4)), within=normals)
    assert len(lines.places) == 20
    assert np.max(np.abs(np.sum(lines.directions * normals, axis=1))) < 1e-12


def test_gradients_are_those_of_differences(seed: int) -> None:
    truth, points = planted(seed), np.random.default_rng(seed).standard_normal((5, 4))
    step = 1e-6 * np.eye(4)
    differences = [(truth(points + each) - truth(points - each))[:, 0] / 2e-6 for each in step]
    np.testing.assert_allclose(gradients(truth, points), np.transpose(differences), atol=1e-8)


def test_an_answer_beside_the_grid_ends_the_search() -> None:
    answers = rounded(planted(0), Everywhere())
    exact = CallableOracle(planted(0), inputs=4)
    beside = RoundedAnswers(StandardOracle(exact, *Everywhere().frame(4), np.zeros(1), np.ones(1)), THREE_DECIMALS)
    assert answers.are_above(np.zeros((1, 4)), np.array([-9.0]))[0]
    with pytest.raises(StageFailed, match="not rounded to 3 decimals"):
        beside.are_above(np.ones((3, 4)), np.zeros(3))


def test_a_budget_is_never_exceeded() -> None:
    answers, search = rounded(planted(1), Everywhere(), budget=100), CrossingSearch()
    lines = search.lines(planted(1), answers, np.random.default_rng(0).standard_normal((30, 4)))
    with pytest.raises(BudgetExhausted):
        search(answers, lines, error=1e-3, tol=1e-12)
    assert answers.oracle.oracle.ledger.sent <= 100
