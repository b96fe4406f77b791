import pytest

from unweave.identification.estimate import TYPICAL_WIDTHS, Span, budget_needed, estimate


@pytest.mark.parametrize("is_in_box", [False, True])
def test_more_inputs_and_more_neurons_take_more(is_in_box: bool) -> None:
    (small,) = estimate(inputs=5, is_in_box=is_in_box, neurons=3)
    (wide,) = estimate(inputs=5, is_in_box=is_in_box, neurons=30)
    (long,) = estimate(inputs=50, is_in_box=is_in_box, neurons=3)
    for larger in (wide, long):
        assert larger.queries.least > small.queries.least
        assert larger.queries.most > small.queries.most
    assert small.queries.least < small.queries.most
    assert small.requests.least < small.requests.most


def test_the_figure_of_a_large_network_lies_inside() -> None:
    """50 inputs and 1000 neurons take 4.1 to 4.2 queries per parameter (README)."""
    (effort,) = estimate(inputs=50, is_in_box=False, neurons=1000)
    assert effort.queries.least < 4.15 * 52_000 < effort.queries.most


def test_one_point_per_request_takes_as_many_requests_as_queries() -> None:
    (effort,) = estimate(inputs=5, is_in_box=False, neurons=10, max_batch=1)
    assert effort.requests.least >= effort.queries.least


def test_without_a_width_there_are_typical_ones() -> None:
    assert tuple(effort.neurons for effort in estimate(inputs=5, is_in_box=False)) == TYPICAL_WIDTHS


def test_what_is_spent_already_is_not_promised() -> None:
    said = budget_needed(inputs=5, is_in_box=False, neurons=None, spent=2_000)
    assert "for 10 neurons" not in said
    assert "for 100 neurons" in said
    assert "takes more than" in budget_needed(inputs=5, is_in_box=False, neurons=3, spent=100_000)


def test_ranges_are_written_with_two_digits() -> None:
    assert str(Span(987, 123_456)) == "990 to 120,000"
