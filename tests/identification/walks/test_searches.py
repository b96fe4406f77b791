"""Searches in lockstep: every round is one batch, and every answer reaches the search that asked."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave.identification.walks.searches import Search, remembered, run_together


class CountingOracle:
    """Answers with the sum of a point, and remembers the size of every batch."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.batches.append(len(points))
        return points.sum(axis=1, keepdims=True)


def counting_down(name: int, rounds: int, points: int = 1) -> Search:
    """Ask `rounds` times for points that carry the search's name, and check every answer."""
    for number in range(rounds):
        asked = np.column_stack([np.full(points, float(name)), 1e3 * np.arange(points) + 1e6 * number])
        answers = yield asked
        np.testing.assert_array_equal(answers[:, 0], asked.sum(axis=1))
    return [name]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=12))
def test_the_longest_search_decides_on_the_number_of_batches(searches: list[tuple[int, int]]) -> None:
    ask = CountingOracle()
    found = run_together((counting_down(k, *search) for k, search in enumerate(searches)), ask)
    assert sorted(found) == list(range(len(searches)))
    assert len(ask.batches) == max((rounds for rounds, _ in searches), default=0)
    assert sum(ask.batches) == sum(rounds * points for rounds, points in searches)


def test_a_search_notices_answers_that_are_not_its_own() -> None:
    def shuffled(points: np.ndarray) -> np.ndarray:
        return points.sum(axis=1, keepdims=True)[::-1].copy()

    with pytest.raises(AssertionError):
        run_together((counting_down(k, 2) for k in range(3)), shuffled)


def halving(low: int, high: int) -> Search:
    """Split an interval until it has length one: a tree of searches, one round per level."""
    yield np.array([[float(low), float(high)]])
    if high - low == 1:
        return [low]
    middle = (low + high) // 2
    return [halving(low, middle), halving(middle, high)]


@pytest.mark.parametrize("levels", [0, 1, 5])
def test_searches_that_searches_leave_behind_run_in_the_same_rounds(levels: int) -> None:
    ask = CountingOracle()
    found = run_together([halving(0, 2**levels)], ask)
    assert sorted(found) == list(range(2**levels))
    assert ask.batches == [2**level for level in range(levels + 1)]


def test_findings_and_searches_may_be_mixed() -> None:
    def mixed() -> Search:
        yield np.zeros((1, 2))
        return ["kept", counting_down(7, 2), "too"]

    ask = CountingOracle()
    assert sorted(map(str, run_together([mixed(), counting_down(3, 1)], ask))) == ["3", "7", "kept", "too"]
    assert ask.batches == [2, 1, 1]


def test_searches_that_end_together_report_in_the_order_they_came() -> None:
    assert run_together((counting_down(k, 2) for k in range(9)), CountingOracle()) == list(range(9))


@pytest.mark.parametrize("searches", [list, lambda: [counting_down(0, 0), counting_down(1, 0)]])
def test_nothing_to_ask_asks_nothing(searches: Callable[[], list[Search]]) -> None:
    ask = CountingOracle()
    assert run_together(searches(), ask) == list(range(len(searches())))
    assert ask.batches == []


def test_an_exception_of_the_oracle_is_not_hidden() -> None:
    def broken(points: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"{len(points)} points refused")

    with pytest.raises(RuntimeError, match="2 points refused"):
        run_together([counting_down(0, 1), counting_down(1, 1)], broken)


def test_no_point_is_asked_twice_and_every_answer_is_right(seed: int) -> None:
    ask, rng = CountingOracle(), np.random.default_rng(seed)
    points, once = rng.standard_normal((7, 3)), remembered(ask)
    for rows in ([0, 1, 1, 2], [2, 0], [3, 3, 4, 5, 6, 0]):
        np.testing.assert_array_equal(once(points[rows])[:, 0], points[rows].sum(axis=1))
    assert ask.batches == [3, 4]


def test_nothing_is_answered_to_no_points() -> None:
    assert remembered(CountingOracle())(np.empty((0, 3))).shape == (0, 1)
