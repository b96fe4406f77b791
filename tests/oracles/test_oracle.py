"""Queries are counted, bounded and checked; domains say where."""

from typing import Any

import numpy as np
import pytest

from unweave.arrays import significant_bits
from unweave.exceptions import BadAnswer, BudgetExhausted, InvalidInput, OracleFailed
from unweave.oracles.ledger import ValueGrid
from unweave.oracles.oracle import Box, CallableOracle, Everywhere


class Recorder:
    """Sums the inputs of every point and remembers the batches that it was sent."""

    def __init__(self) -> None:
        self.batches: list[np.ndarray] = []

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.batches.append(points)
        return points.sum(axis=1)

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]


def some_points(count: int, inputs: int = 3) -> np.ndarray:
    return np.arange(count * inputs, dtype=float).reshape(count, inputs)


def test_every_answered_point_is_counted_once() -> None:
    oracle = CallableOracle(Recorder(), inputs=3)
    for count in (1, 7, 0, 4):
        oracle.query(some_points(count))
    assert oracle.ledger.sent == 12
    assert oracle.ledger.left == np.inf


def test_the_budget_is_paid_to_the_last_query() -> None:
    model = Recorder()
    oracle = CallableOracle(model, inputs=3, budget=10)
    oracle.query(some_points(6))
    oracle.query(some_points(4))
    assert (oracle.ledger.sent, oracle.ledger.left) == (10, 0)
    with pytest.raises(BudgetExhausted, match="needs 1 queries but only 0 of the budget of 10"):
        oracle.query(some_points(1))
    assert model.sizes == [6, 4]


def test_a_batch_beyond_the_budget_is_refused_before_any_of_it_is_sent() -> None:
    model = Recorder()
    oracle = CallableOracle(model, inputs=3, budget=8, batch=2)
    oracle.query(some_points(3))
    with pytest.raises(BudgetExhausted) as refusal:
        oracle.query(some_points(6))
    assert (refusal.value.needed, refusal.value.left, refusal.value.budget) == (6, 5, 8)
    assert model.sizes == [2, 1]
    assert oracle.ledger.sent == 3
    oracle.query(some_points(5))
    assert oracle.ledger.left == 0


def test_large_batches_are_split_and_answers_stay_in_order() -> None:
    model = Recorder()
    points = some_points(10)
    answers = CallableOracle(model, inputs=3, batch=4).query(points)
    assert model.sizes == [4, 4, 2]
    np.testing.assert_array_equal(answers, points.sum(axis=1, keepdims=True))


def test_no_points_cost_nothing() -> None:
    model = Recorder()
    oracle = CallableOracle(model, inputs=3, outputs=2)
    assert oracle.query(np.empty((0, 3))).shape == (0, 2)
    assert model.sizes == []


def test_all_that_was_sent_is_charged_when_a_batch_fails() -> None:
    """audit B4: a service charges for the rows of a batch in which the model raised."""

    def breaks_at_large_points(points: np.ndarray) -> np.ndarray:
        if points.max() > 15:
            raise RuntimeError("out of memory")
        return points[:, 0]

    oracle = CallableOracle(breaks_at_large_points, inputs=3, batch=4)
    with pytest.raises(OracleFailed, match=r"RuntimeError: out of memory \(after 4 answered") as failure:
        oracle.query(some_points(10))
    assert failure.value.queries == oracle.ledger.sent == 8
    assert isinstance(failure.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda points: points.sum(), r"shape \(5, outputs\), got \(\)"),
        (lambda points: points[:-1], r"shape \(5, outputs\), got \(4, 3\)"),
        (lambda points: points[None], r"got \(1, 5, 3\)"),
        (lambda points: points[:, :0], r"got \(5, 0\)"),
        (lambda points: points > 0, "real numbers, got dtype bool; if these are class labels, give scores"),
        (lambda points: points + 1j, r"real numbers, got dtype complex128 \("),
        (lambda points: ["a"] * len(points), "real numbers, got dtype <U1; if these are class labels, give scores"),
        (lambda points: [None] * len(points), "real numbers, got dtype object"),
        (lambda points: None, "real numbers, got dtype object"),  # noqa: ARG005
        (lambda points: np.where(points == 6.0, np.nan, points), "finite, got .* at point 2 of a batch of 5"),
        (lambda points: np.where(points == 0.0, np.inf, points), "finite, got .* at point 0"),
        (
            lambda points: np.where(points == 6.0, -1.7e308, points),
            "at most 1e.300 in size, got 1.7e.308 in a batch of 5",
        ),
        (lambda points: [[1.0, 2.0], *[[1.0]] * (len(points) - 1)], "bad answer"),
    ],
)
def test_bad_answers_are_named_and_counted(answer: Any, problem: str) -> None:
    oracle = CallableOracle(answer, inputs=3)
    with pytest.raises(BadAnswer, match=problem) as failure:
        oracle.query(some_points(5))
    assert failure.value.queries == oracle.ledger.sent == 5


def test_the_number_of_outputs_is_learnt_and_then_kept() -> None:
    widths = iter([2, 2, 3])
    oracle = CallableOracle(lambda points: points[:, : next(widths)], inputs=3)
    assert oracle.outputs is None
    oracle.query(some_points(1))
    assert oracle.outputs == 2
    oracle.query(some_points(4))
    with pytest.raises(BadAnswer, match=r"shape \(4, 2\), got \(4, 3\)"):
        oracle.query(some_points(4))


def test_a_declared_number_of_outputs_is_checked() -> None:
    with pytest.raises(BadAnswer, match=r"shape \(2, 3\), got \(2,\)"):
        CallableOracle(Recorder(), inputs=3, outputs=3).query(some_points(2))


def test_a_box_refuses_points_outside_before_asking() -> None:
    model = Recorder()
    oracle = CallableOracle(model, inputs=2, domain=Box(np.array([0.0, -1.0]), np.array([1.0, 1.0])))
    with pytest.raises(InvalidInput, match="2 of 3 points lie outside the domain"):
        oracle.query(np.array([[0.5, 0.0], [1.0 + 1e-9, 0.0], [0.5, -1.1]]))
    assert model.sizes == []
    assert oracle.ledger.sent == 0


def test_a_box_forgives_rounding_on_its_faces() -> None:
    oracle = CallableOracle(Recorder(), inputs=1, domain=Box(-0.1, 0.3))
    center, half_width = oracle.domain.frame(1)
    assert len(oracle.query(np.array([center + half_width, center - half_width, [0.3], [-0.1]]))) == 4


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_answers_of_low_precision_are_noted(dtype: type) -> None:
    oracle = CallableOracle(lambda points: points.astype(dtype), inputs=3)
    assert oracle.ledger.answer_digits == np.finfo(np.float64).eps
    answers = oracle.query(some_points(2))
    assert answers.dtype == np.float64
    assert oracle.ledger.answer_digits == np.finfo(dtype).eps


def test_one_answer_of_low_precision_is_remembered() -> None:
    dtypes = iter([np.float32, np.float64])
    oracle = CallableOracle(lambda points: points.astype(next(dtypes)), inputs=3)
    oracle.query(some_points(1))
    oracle.query(some_points(1))
    assert oracle.ledger.answer_digits == np.finfo(np.float32).eps


def test_whole_numbers_are_exact_answers() -> None:
    oracle = CallableOracle(lambda points: points.astype(int), inputs=3)
    np.testing.assert_array_equal(oracle.query(some_points(2)), some_points(2))
    assert oracle.ledger.answer_digits == np.finfo(np.float64).eps


def test_a_model_that_works_in_place_changes_neither_points_nor_earlier_answers() -> None:
    buffer = np.zeros((2, 1))

    def careless(points: np.ndarray) -> np.ndarray:
        points *= -1.0
        buffer[:] = points[:, :1]
        return buffer

    oracle = CallableOracle(careless, inputs=3)
    points = some_points(2)
    first = oracle.query(points)
    np.testing.assert_array_equal(points, some_points(2))
    oracle.query(points + 5.0)
    np.testing.assert_array_equal(first, -some_points(2)[:, :1])


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("points", "problem"),
    [
        (np.zeros(3), "2 axes"),
        (np.zeros((2, 4)), "takes 3 inputs per point, got 4"),
        (np.array([[0.0, np.nan, 0.0]]), "1 that are NaN or infinite"),
        ([["a", "b", "c"]], "needs numbers"),
    ],
)
def test_wrong_points_are_refused_before_asking(points: Any, problem: str) -> None:
    model = Recorder()
    with pytest.raises(InvalidInput, match=problem):
        CallableOracle(model, inputs=3).query(points)
    assert model.sizes == []


@pytest.mark.parametrize("setting", ["inputs", "outputs", "budget", "batch"])
@pytest.mark.parametrize("count", [0, -1, True])
def test_counts_must_be_whole_and_positive(setting: str, count: int) -> None:
    with pytest.raises(InvalidInput, match=f"needs {setting} to be a whole number of at least 1"):
        CallableOracle(Recorder(), **{"inputs": 3, setting: count})


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("inputs", [2.0, "3", None])
def test_inputs_of_another_type_are_refused(inputs: Any) -> None:
    with pytest.raises(InvalidInput, match="needs inputs to be a whole number"):
        CallableOracle(Recorder(), inputs=inputs)


@pytest.mark.usefixtures("without_type_checks")
def test_only_callables_can_be_asked() -> None:
    with pytest.raises(InvalidInput, match="needs a callable, got str"):
        CallableOracle("model", inputs=3)  # type: ignore[arg-type]


def test_a_domain_must_fit_the_inputs() -> None:
    with pytest.raises(InvalidInput, match="one lower per input, 3 in all, got 2"):
        CallableOracle(Recorder(), inputs=3, domain=Box(np.zeros(2), np.ones(2)))


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (2.0, -2.0)])
def test_a_box_needs_finite_ordered_bounds(lower: float, upper: float) -> None:
    with pytest.raises(InvalidInput, match="lower < upper"):
        Box(lower, upper)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1e-310), (1e5, 1e5 + 1e-9), (-1e16, -1e16 + 4)])
def test_a_box_has_room_for_points(lower: float, upper: float) -> None:
    with pytest.raises(InvalidInput, match="Box needs sides of at least"):
        Box(lower, upper)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_must_be_positive_and_finite(scale: float) -> None:
    with pytest.raises(InvalidInput, match="positive finite scale"):
        Everywhere(scale=scale)


def test_a_center_must_be_finite() -> None:
    with pytest.raises(InvalidInput, match="finite center"):
        Everywhere(center=np.array([0.0, np.inf]))


def drawn(seed: int, count: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count)


@pytest.mark.parametrize(("value", "bits"), [(1.0, 1), (-3.0, 2), (0.75, 2), (1024.0, 1), (1.0 + 2.0**-52, 53)])
def test_binary_digits_are_counted(value: float, bits: int) -> None:
    assert significant_bits(np.array([value])) == [bits]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_digits_of_a_type_are_read_off_its_values(dtype: type, seed: int) -> None:
    grid = ValueGrid().having(drawn(seed).astype(dtype).astype(np.float64))
    assert grid.digits == np.finfo(dtype).eps
    assert grid.step == 0.0


def test_values_of_full_precision_are_on_no_grid(seed: int) -> None:
    grid = ValueGrid().having(drawn(seed))
    assert grid.digits == grid.step == 0.0


@pytest.mark.parametrize("step", [1e-3, 0.1, 1 / 256, 0.037])
def test_the_spacing_of_multiples_is_found(step: float, seed: int) -> None:
    grid = ValueGrid().having(step * np.rint(drawn(seed) / step))
    assert grid.digits == 0.0
    assert grid.step == pytest.approx(step, rel=1e-9)


def test_a_few_values_tell_nothing() -> None:
    grid = ValueGrid().having(np.array([0.0, 1.0, 0.5, 0.0, 1.5]))
    assert grid.digits == grid.step == 0.0


def test_one_value_between_ends_a_grid(seed: int) -> None:
    grid = ValueGrid().having(drawn(seed).astype(np.float32).astype(np.float64))
    assert grid.having(np.array([np.pi])).digits == 0.0


def test_values_may_come_one_by_one(seed: int) -> None:
    values = drawn(seed).astype(np.float16).astype(np.float64)
    grid = ValueGrid()
    for value in values:
        grid = grid.having(np.array([value]))
    assert grid.digits == ValueGrid().having(values).digits == np.finfo(np.float16).eps


def test_the_ledger_knows_of_rounding_that_the_type_hides(seed: int) -> None:
    points = drawn(seed, 60).reshape(20, 3)
    oracle = CallableOracle(lambda x: x.astype(np.float32).astype(np.float64), inputs=3)
    oracle.query(points)
    assert oracle.ledger.answer_digits == np.finfo(np.float32).eps
    oracle = CallableOracle(lambda x: x, inputs=3)
    oracle.query(points)
    assert oracle.ledger.answer_digits == np.finfo(np.float64).eps


@pytest.mark.parametrize("far", [0.0, 0.1, 1.7e3, -5.9813e4, 3.3e7])
def test_corners_of_boxes_far_from_zero_may_be_asked_and_lie_inside(far: float) -> None:
    """Centre and half width, both rounded, add up to a corner that is one digit outside."""
    rng, model = np.random.default_rng(0), Recorder()
    for side in rng.uniform(0.5, 3.0, 200):
        box = Box(np.array([far, -far]), np.array([far + side, -far + 2 * side]))
        center, half_width = box.frame(2)
        oracle = CallableOracle(model, inputs=2, domain=box)
        oracle.query(center + half_width * np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]))
        assert np.all(model.batches[-1] >= box.lower)
        assert np.all(model.batches[-1] <= box.upper)
        with pytest.raises(InvalidInput, match="outside the domain"):
            oracle.query(center + half_width * np.array([[1.0 + 1e-6, 0.0]]))
