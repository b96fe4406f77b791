from collections.abc import Callable

import numpy as np
import pytest

from unweave.identification.estimate import (
    COARSE,
    CROWDED,
    FINE,
    IN_A_BOX,
    STEEP,
    TYPICAL_WIDTHS,
    UNBOUNDED,
    EffortRule,
    Span,
    are_whole_numbers,
    budget_needed,
    estimate,
    rounded_rule,
)
from unweave.identification.students.route import Unexplained
from unweave.networks.planted import general_network
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import NoiseLook


@pytest.mark.parametrize("rule", [UNBOUNDED, IN_A_BOX, STEEP, CROWDED, COARSE, FINE], ids=lambda rule: rule.network)
def test_more_inputs_and_more_neurons_take_more(rule: EffortRule) -> None:
    small = rule(inputs=5, neurons=3, max_batch=100)
    wide = rule(inputs=5, neurons=30, max_batch=100)
    long = rule(inputs=50, neurons=3, max_batch=100)
    for larger in (wide, long):
        assert larger.queries.least > small.queries.least
        assert larger.queries.most > small.queries.most
    assert small.queries.least < small.queries.most
    assert small.requests.least < small.requests.most


def test_the_figure_of_a_large_network_lies_inside() -> None:
    """50 inputs and 1000 neurons take 4.1 to 4.2 queries per parameter (docs/evidence/walks-wide.json)."""
    (effort,) = estimate(inputs=50, is_in_box=False, neurons=1000)
    assert effort.queries.least < 4.15 * 52_000 < effort.queries.most


def test_one_point_per_request_takes_as_many_requests_as_queries() -> None:
    (effort,) = estimate(inputs=5, is_in_box=False, neurons=10, max_batch=1)
    assert effort.requests.least >= effort.queries.least


def test_without_a_width_there_are_typical_ones() -> None:
    assert tuple(effort.neurons for effort in estimate(inputs=5, is_in_box=False)) == TYPICAL_WIDTHS


@pytest.mark.parametrize(
    ("inputs", "is_in_box", "neurons", "kinds"),
    [
        (5, False, 10, ["ordinary"]),
        (5, True, 9, ["ordinary", "steep"]),
        (5, True, 10, ["ordinary", "steep", "crowded"]),
        # Nothing was measured there.
        (5, True, 13, ["ordinary", "steep"]),
        (5, True, 21, ["ordinary"]),
        (13, True, 12, ["ordinary", "steep"]),
        # Along one input no neuron is far away from the others.
        (1, True, 1, ["ordinary", "steep", "crowded"]),
        (1, False, 1, ["ordinary", "steep", "crowded"]),
    ],
)
def test_every_kind_that_it_may_be_has_an_estimate(
    inputs: int, is_in_box: bool, neurons: int, kinds: list[str]
) -> None:
    efforts = estimate(inputs=inputs, is_in_box=is_in_box, neurons=neurons)
    assert [effort.network for effort in efforts] == kinds
    assert all(effort.meaning for effort in efforts)


def test_fits_from_random_starts_are_estimated_where_they_are_made() -> None:
    assert CROWDED.most_inputs == Unexplained.most_inputs


def test_kinds_that_earlier_routes_find_are_ruled_out() -> None:
    def said(route: str) -> str:
        return budget_needed(inputs=3, is_in_box=True, neurons=8, spent=300, tried=["kink walk", route])

    assert "8 ordinary neurons" in said("Hessians")
    assert "8 steep neurons" in said("Hessians")
    assert "ordinary" not in said("pole walk")
    assert "8 steep neurons" in said("pole walk")
    assert "steep" not in said("student fit")
    assert "8 crowded neurons" in said("student fit")


def test_routes_that_stay_near_the_centre_take_as_many_queries_on_all_of_space() -> None:
    """Waves and bumps have no tails that could be read far away."""
    said = [
        budget_needed(inputs=3, is_in_box=False, neurons=4, spent=437, tried=[route])
        for route in ("saturation walk", "Hessians", "student fit")
    ]
    assert "4 ordinary neurons (up to 84 more)" in said[0]
    assert "4 ordinary neurons (160 to 1,400 more)" in said[1]
    assert "4 crowded neurons (260 to 2,000 more)" in said[2]
    assert "ordinary" not in said[2]


def test_what_is_left_of_a_range_is_said() -> None:
    assert Span(500, 900).above(200) == "300 to 700 more"
    assert Span(500, 900).above(500) == "up to 400 more"
    assert Span(500, 900).above(899) == "up to 1 more"


def test_what_is_spent_already_is_not_promised() -> None:
    said = budget_needed(inputs=5, is_in_box=False, neurons=None, spent=2_000)
    assert "for 10 ordinary neurons" not in said
    assert "for 100 ordinary neurons" in said
    assert "takes more than" in budget_needed(inputs=5, is_in_box=False, neurons=3, spent=100_000)
    assert "behind 1 input takes" in budget_needed(inputs=1, is_in_box=True, neurons=3, spent=0)


def test_ranges_are_written_with_two_digits() -> None:
    assert str(Span(987, 123_456)) == "990 to 120,000"


@pytest.mark.parametrize(
    ("rounding", "rule"),
    [
        (lambda values: values, None),
        (np.rint, None),
        (lambda values: np.round(values, 2), COARSE),
        (lambda values: np.round(values, 4), COARSE),
        (lambda values: values.astype(np.float16), COARSE),
        (lambda values: np.round(values, 8), FINE),
        (lambda values: values.astype(np.float32), FINE),
    ],
)
def test_rounded_answers_have_rules_of_their_own(
    rounding: Callable[[np.ndarray], np.ndarray], rule: EffortRule | None
) -> None:
    network = general_network(np.random.default_rng(3), inputs=4, neurons=3)
    oracle = CallableOracle(lambda points: rounding(network(points)), inputs=4)
    assert rounded_rule(oracle) is None
    NoiseLook()(oracle, np.random.default_rng(0))
    assert rounded_rule(oracle) is rule


@pytest.mark.parametrize(
    ("answer", "are_whole"),
    [
        (lambda points: np.sum(points > 0, axis=1), True),
        (lambda points: np.sum(points > 0, axis=1).astype(float), True),
        (lambda points: np.zeros(len(points)), True),
        (lambda points: np.sum(points, axis=1), False),
        # No digits are left behind the point of numbers like these.
        (lambda points: np.rint(1e20 * np.sum(points, axis=1)), False),
    ],
)
def test_whole_numbers_are_told(answer: Callable[[np.ndarray], np.ndarray], are_whole: bool) -> None:
    oracle = CallableOracle(answer, inputs=4)
    assert not are_whole_numbers(oracle)
    oracle.query(np.random.default_rng(0).standard_normal((20, 4)))
    assert are_whole_numbers(oracle) == are_whole


def test_a_budget_for_rounded_answers_is_said() -> None:
    said = budget_needed(inputs=4, is_in_box=False, neurons=3, spent=500, tried=["student fit"], rounded=COARSE)
    assert "for 3 rounded neurons (860 to 3,000 more)" in said
