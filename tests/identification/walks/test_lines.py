"""Lines: positions and angles are inverse to each other, and lines in a box stay there."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave.identification.walks.lines import (
    LINE_ENDS,
    Line,
    Search,
    clipped,
    far_line,
    line_between,
    random_line,
    reaches,
    remembered,
    run_searches,
)
from unweave.oracles.oracle import Box, Everywhere

seeds = st.integers(0, 2**32 - 1)
# Angles within the range of a line that has no end.
angles = st.floats(-np.pi / 2 + LINE_ENDS.angle, np.pi / 2 - LINE_ENDS.angle)
units = st.floats(1e-3, 1e7)


@given(angles, units)
def test_position_and_angle_are_inverse(angle: float, unit: float) -> None:
    line = Line(np.zeros(3), np.array([0.0, 1.0, 0.0]), unit)
    assert line.angle(line.position(angle)) == pytest.approx(angle, abs=1e-15)
    # Near the ends a position is ill-conditioned in the angle, by the inverse distance from 90 degrees.
    position = line.position(angle)
    assert line.position(line.angle(position)) == pytest.approx(position, rel=1e-10, abs=1e-15 * unit)


@given(angles, units)
def test_length_is_the_derivative_of_the_position(angle: float, unit: float) -> None:
    line = Line(np.zeros(2), np.array([1.0, 0.0]), unit)
    small = 1e-6 * (np.pi / 2 - abs(angle))
    moved = line.position(angle + small) - line.position(angle - small)
    assert line.length(line.position(angle), 2 * small) == pytest.approx(moved, rel=1e-4)


@given(seeds, st.integers(1, 6))
def test_points_are_at_their_positions(seed: int, inputs: int) -> None:
    rng = np.random.default_rng(seed)
    line = random_line(Everywhere(), inputs, rng)
    positions = 100 * rng.standard_normal(7)
    points = line.points(positions)
    assert points.shape == (7, inputs)
    np.testing.assert_allclose((points - line.base) @ line.direction, positions, atol=1e-12)
    distances = np.linalg.norm(points - line.base, axis=1)
    np.testing.assert_allclose(distances, np.abs(positions), atol=1e-12)


@given(seeds, st.integers(2, 6), st.sampled_from([1.0, 50.0, 2e6]))
def test_a_far_line_keeps_its_distance(seed: int, inputs: int, radius: float) -> None:
    line = far_line(inputs, np.random.default_rng(seed), radius=radius, outer=1e-5)
    assert np.linalg.norm(line.direction) == pytest.approx(1.0)
    assert np.linalg.norm(line.base) == pytest.approx(radius)
    # The base is the nearest point to the centre, so that no point of the line is nearer.
    assert abs(line.base @ line.direction) < 1e-9 * radius
    assert line.unit == radius
    assert line.last == -line.first == np.pi / 2 - LINE_ENDS.angle


def assert_fills_box(line: Line) -> None:
    """The line stays in [-1, 1]^inputs, and ends at its faces."""
    ends = line.points(np.array([line.position(line.first), line.position(line.last)]))
    inside = line.points(np.array([line.position(angle) for angle in np.linspace(line.first, line.last, 50)]))
    assert np.max(np.abs(inside)) <= 1.0
    np.testing.assert_allclose(np.max(np.abs(ends), axis=1), 1.0, atol=1e-5)


def test_the_assertion_on_boxes_can_fail() -> None:
    across = Line(np.zeros(2), np.array([1.0, 0.0]), 1.0, -np.pi / 4, np.pi / 4)
    assert_fills_box(across)
    for first, last in ((-0.5, 0.5), (-1.0, np.pi / 4)):
        with pytest.raises(AssertionError):
            assert_fills_box(Line(across.base, across.direction, across.unit, first, last))


@given(seeds, st.integers(1, 8))
def test_a_line_in_a_box_goes_from_face_to_face(seed: int, inputs: int) -> None:
    rng = np.random.default_rng(seed)
    box = Box(-3.0, 5.0)
    assert_fills_box(random_line(box, inputs, rng))
    start, end = rng.uniform(-1, 1, (2, inputs))
    line = line_between(start, end, box)
    assert_fills_box(line)
    np.testing.assert_allclose(line.points(np.array([0.0, line.unit])), [start, end], atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_line_along_an_axis_of_a_box(axis: int) -> None:
    assert_fills_box(clipped(Line(np.full(3, 0.25), np.eye(3)[axis], 1.0), Box(0.0, 1.0)))


@pytest.mark.parametrize("inputs", [1, 2, 30])
@pytest.mark.parametrize("reach", [0.5, 5.0, 1e3])
def test_a_shortened_line_ends_at_its_reach(seed: int, inputs: int, reach: float) -> None:
    line = random_line(Everywhere(), inputs, np.random.default_rng(seed), reach=reach)
    ends = line.points(np.array([line.position(line.first), line.position(line.last)]))
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), reach, rtol=1e-6)
    assert line.first < 0.0 < line.last


def test_lines_are_shortened_down_to_where_fresh_points_are() -> None:
    for inputs in (1, 3, 100):
        lengths = reaches(inputs)
        assert lengths == sorted(lengths, reverse=True)
        norms = np.linalg.norm(Everywhere().sample_standard(np.random.default_rng(1), 10_000, inputs, 0.0), axis=1)
        assert np.mean(norms > lengths[-1]) < 1e-3


def test_a_line_without_a_box_is_left_alone() -> None:
    line = line_between(np.zeros(3), np.ones(3), Everywhere())
    assert clipped(line, Everywhere()) is line
    assert line.unit == pytest.approx(np.sqrt(3))


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
    found = run_searches((counting_down(k, *search) for k, search in enumerate(searches)), ask)
    assert sorted(found) == list(range(len(searches)))
    assert len(ask.batches) == max((rounds for rounds, _ in searches), default=0)
    assert sum(ask.batches) == sum(rounds * points for rounds, points in searches)


def test_a_search_notices_answers_that_are_not_its_own() -> None:
    def shuffled(points: np.ndarray) -> np.ndarray:
        return points.sum(axis=1, keepdims=True)[::-1].copy()

    with pytest.raises(AssertionError):
        run_searches((counting_down(k, 2) for k in range(3)), shuffled)


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
    found = run_searches([halving(0, 2**levels)], ask)
    assert sorted(found) == list(range(2**levels))
    assert ask.batches == [2**level for level in range(levels + 1)]


def test_findings_and_searches_may_be_mixed() -> None:
    def mixed() -> Search:
        yield np.zeros((1, 2))
        return ["kept", counting_down(7, 2), "too"]

    ask = CountingOracle()
    assert sorted(map(str, run_searches([mixed(), counting_down(3, 1)], ask))) == ["3", "7", "kept", "too"]
    assert ask.batches == [2, 1, 1]


def test_searches_that_end_together_report_in_the_order_they_came() -> None:
    assert run_searches((counting_down(k, 2) for k in range(9)), CountingOracle()) == list(range(9))


@pytest.mark.parametrize("searches", [list, lambda: [counting_down(0, 0), counting_down(1, 0)]])
def test_nothing_to_ask_asks_nothing(searches: Callable[[], list[Search]]) -> None:
    ask = CountingOracle()
    assert run_searches(searches(), ask) == list(range(len(searches())))
    assert ask.batches == []


def test_an_exception_of_the_oracle_is_not_hidden() -> None:
    def broken(points: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"{len(points)} points refused")

    with pytest.raises(RuntimeError, match="2 points refused"):
        run_searches([counting_down(0, 1), counting_down(1, 1)], broken)


def test_no_point_is_asked_twice_and_every_answer_is_right(seed: int) -> None:
    ask, rng = CountingOracle(), np.random.default_rng(seed)
    points, once = rng.standard_normal((7, 3)), remembered(ask)
    for rows in ([0, 1, 1, 2], [2, 0], [3, 3, 4, 5, 6, 0]):
        np.testing.assert_array_equal(once(points[rows])[:, 0], points[rows].sum(axis=1))
    assert ask.batches == [3, 4]


def test_nothing_is_answered_to_no_points() -> None:
    assert remembered(CountingOracle())(np.empty((0, 3))).shape == (0, 1)
