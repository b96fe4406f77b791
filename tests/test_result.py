"""Numbers of results are short, and shares never rounded up."""

import numpy as np
import pytest

from unweave.result import number, percent


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (1.0, "1"), (0.1234, "0.123"), (123.4, "123"), (5432.1, "5432"), (1.24e-9, "1.2e-09"),
     (1e7, "1.0e+07"), (-0.5, "-0.5"), (np.inf, "infinite"), (-np.inf, "-infinite"), (np.nan, "-")],
)  # fmt: skip
def test_numbers_are_short(value: float, written: str) -> None:
    assert number(value) == written


def test_shares_are_never_rounded_up() -> None:
    assert percent(0.99997) == "99.9%"
    assert percent(0.95) == "95%"
    assert percent(1.0) == "100%"
