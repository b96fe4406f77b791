"""Rounded values lie on a grid: its digits, or its spacing, against what they were rounded to."""

import numpy as np
import pytest

from unweave.oracles.oracle import CallableOracle
from unweave.oracles.value_grid import ValueGrid, significant_bits


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
