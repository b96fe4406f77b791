"""The checker of the tests notices wrong types, is on if asked for, and ends after so many checks in one test only."""

from collections.abc import Callable
from typing import Any

import jaxtyping
import numpy as np
import pytest
from jaxtyping import Float64

import typechecking
from unweave.arrays import pack_squares

Doubling = Callable[[Any], np.ndarray]


def unchecked(numbers: Float64[np.ndarray, "numbers"]) -> Float64[np.ndarray, "numbers"]:
    return 2.0 * np.asarray(numbers, dtype=np.float64)


@pytest.fixture(scope="module")
def doubled() -> Doubling:
    """A function of the kind that the import hook makes of all; jaxtyping looks for JAX when it makes one."""
    return jaxtyping.jaxtyped(typechecker=typechecking.check)(unchecked)


def test_the_package_is_checked_if_that_was_asked_for() -> None:
    wrong = np.zeros((1, 2), dtype=int)
    if typechecking.CHECKS == "none":
        assert pack_squares(wrong).shape == (1, 3)
    else:
        with pytest.raises(jaxtyping.TypeCheckError):
            pack_squares(wrong)


def test_wrong_shapes_are_noticed(doubled: Doubling) -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        doubled(np.zeros((2, 2)))


@pytest.mark.usefixtures("without_type_checks")
def test_the_checks_can_be_switched_off(doubled: Doubling) -> None:
    assert doubled([1]) == 2.0


def test_loops_are_checked_at_their_beginning(doubled: Doubling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typechecking, "CHECKS_ALL", False)
    with typechecking.first_calls_checked():
        for _ in range(typechecking.MOST_CHECKS):
            doubled(np.zeros(1))
        assert jaxtyping.config.jaxtyping_disable
    assert not jaxtyping.config.jaxtyping_disable


def test_all_calls_are_checked_on_request(doubled: Doubling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typechecking, "CHECKS_ALL", True)
    with typechecking.first_calls_checked():
        for _ in range(typechecking.MOST_CHECKS):
            doubled(np.zeros(1))
        assert not jaxtyping.config.jaxtyping_disable
