"""Gaps of the theory as logarithms, against the formulas written out."""

import math
from dataclasses import replace

import pytest

from unweave.reproduce.allenzhu.gap_bounds import (
    TypicalSizes,
    least,
    log_general_gap,
    log_simplified_gap,
    terms_in_j,
    terms_in_level,
)

SIZES = TypicalSizes(
    levels=3,
    log_inputs=math.log(50),
    log_inverse_error=math.log(10),
    log_condition=math.log(1.5),
    log_size=lambda j: math.log(10.0 - j),
)


def test_the_general_gap_is_that_of_the_theorem() -> None:
    # c_0 = 1 and level 3: the numbers do not overflow there.
    logs = (8 * math.log(50 * 3 * 10)) ** 8
    constants = math.log(1.5 * 8**8 * 8**8) * 2**3
    product = 3 * math.log(10.0 - 3)
    assert log_general_gap(SIZES, 3, constant=1.0) == pytest.approx(math.log(logs) + constants + product)


def test_the_simplified_gap_is_that_of_the_corollary() -> None:
    logs, condition = 1.5 * 4 * math.log(math.log(500)), 2**4.5 * math.log(1.5)
    in_j = 3 * math.log(8.0) + 3 * 2**1.5 * math.log(7.0)
    in_level = (3 + 3 * 2**1.5) * math.log(8.0)
    assert log_simplified_gap(SIZES, 2, constant=1.5) == pytest.approx(logs + condition + in_j)
    printed = log_simplified_gap(SIZES, 2, constant=1.5, factors=terms_in_level)
    assert printed == pytest.approx(logs + condition + in_level)


def test_what_overflows_is_infinite_and_nothing_stays_nothing() -> None:
    assert log_simplified_gap(SIZES, 2, constant=1e4) == math.inf
    lone = replace(SIZES, log_condition=0.0, log_size=lambda _: 0.0)
    assert terms_in_j(lone, 2, 1e4) == 0.0
    assert log_simplified_gap(lone, 2, constant=1e4) == pytest.approx(4e4 * math.log(math.log(500)))


def test_the_least_number_is_found() -> None:
    assert least(lambda x: x**2 >= 50, low=2.0, most=1e6) == pytest.approx(math.sqrt(50))
    assert least(lambda _: True, low=2.0, most=1e6) == 2.0
    assert least(lambda _: False, low=2.0, most=1e6) == math.inf
