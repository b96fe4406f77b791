"""Which grid answers were rounded to."""

import numpy as np
import pytest

from unweave.oracles.ledger import BFLOAT16, FLOAT16, FLOAT32, KINDS, AnswerKind, KindLook, common_step

BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_grid_is_told_from_a_dozen_answers(kind: AnswerKind, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    for size in (2.0, 30.0):
        values = kind.roundings[0](size * rng.standard_normal((32, 1)))
        # Near 30 the numbers of float32 are farther apart than 6 decimals.
        is_lost = kind.is_stored_in_float32 and kind.decimals == 6 and size > 8.0
        assert KindLook()(values) == (FLOAT32 if is_lost else kind,)


def test_numbers_of_full_precision_lie_on_no_grid(seed: int) -> None:
    assert KindLook()(np.random.default_rng([seed, 2]).standard_normal((16, 2))) == (None, None)


def test_outputs_have_grids_of_their_own(seed: int) -> None:
    values = np.random.default_rng([seed, 3]).standard_normal((16, 3))
    kinds = KindLook()(np.column_stack([np.round(values[:, 0], 4), values[:, 1], FLOAT32.roundings[0](values[:, 2])]))
    assert [kind.name if kind else None for kind in kinds] == ["4 decimals", None, "float32"]
    assert common_step(kinds) == 0.0
    assert common_step(kinds[:1]) == pytest.approx(1e-4)


def test_zeros_and_whole_numbers_tell_nothing() -> None:
    labels = np.arange(20.0)[:, None]
    assert KindLook()(labels) == (None,)
    assert KindLook()(np.zeros((20, 1))) == (None,)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_levels_are_where_rounding_switches(kind: AnswerKind, seed: int) -> None:
    """On both sides of the level, one number of float64 apart, the rounding gives neighbours of the grid."""
    rng = np.random.default_rng([seed, 4])
    for rounding in kind.roundings:
        lower = rounding(3.0 * rng.standard_normal(200))
        lower = lower[lower != 0.0]
        upper, levels = kind.above(lower), kind.level(lower, rounding=rounding)
        assert np.all(upper > lower)
        assert np.all(kind.holds(upper))
        np.testing.assert_array_equal(rounding(levels), upper)
        np.testing.assert_array_equal(rounding(np.nextafter(levels, -np.inf)), lower)


def test_double_rounding_moves_the_level_of_bfloat16() -> None:
    """By way of float32, a number just below the middle is the middle, and goes to the even side."""
    way, direct, _ = (BFLOAT16.level(np.array([1.0]), rounding=rounding)[0] for rounding in BFLOAT16.roundings)
    assert direct == pytest.approx(1.0 + 2.0**-8, abs=1e-15)
    assert way - direct == pytest.approx(2.0**-24, rel=1e-6)


def test_steps_of_types_grow_with_the_numbers() -> None:
    np.testing.assert_array_equal(FLOAT16.step(np.array([1.0, -4.0])), [2.0**-10, 2.0**-8])
    np.testing.assert_array_equal(BY_NAME["3 decimals"].step(np.array([1.0, -4.0])), [1e-3, 1e-3])
    assert FLOAT16.is_relative
    assert not BY_NAME["3 decimals"].is_relative


def test_decimals_in_float32_are_no_numbers_of_full_float32(seed: int) -> None:
    """`np.round` leaves the numbers of float32 next to decimals, which was read as float32: audit B11 once more."""
    numbers = np.random.default_rng(seed).standard_normal((48, 1)).astype(np.float32)
    (rounded,), (whole,) = (KindLook()(each.astype(np.float64)) for each in (np.round(numbers, 4), numbers))
    assert rounded is not None
    assert rounded.name == "4 decimals in float32"
    assert whole is not None
    assert whole.name == "float32"
