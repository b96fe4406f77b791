"""The checker of the tests is on, notices wrong types, and ends after so many checks in one test only."""

import jaxtyping
import numpy as np
import pytest

import typechecking
from unweave.activations import TANH
from unweave.arrays import pack_squares


def test_wrong_shapes_are_noticed() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        pack_squares(np.zeros(2, dtype=int))


@pytest.mark.usefixtures("without_type_checks")
def test_the_checks_can_be_switched_off() -> None:
    with pytest.raises(Exception, match=r".") as raised:
        pack_squares("no array")  # pyright: ignore[reportArgumentType]
    assert not isinstance(raised.value, jaxtyping.TypeCheckError)


def test_loops_are_checked_at_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typechecking, "CHECKS_ALL", False)
    with typechecking.first_calls_checked():
        for _ in range(typechecking.MOST_CHECKS):
            TANH(np.zeros(1))
        assert jaxtyping.config.jaxtyping_disable
    assert not jaxtyping.config.jaxtyping_disable


def test_all_calls_are_checked_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typechecking, "CHECKS_ALL", True)
    with typechecking.first_calls_checked():
        for _ in range(typechecking.MOST_CHECKS):
            TANH(np.zeros(1))
        assert not jaxtyping.config.jaxtyping_disable
