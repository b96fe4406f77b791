"""Short numbers, JSON that every reader takes, and files that are whole or absent."""

import json

import numpy as np
import pytest

from unweave import writing
from unweave.result import Outcome


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (1.0, "1"), (0.1234, "0.123"), (123.4, "123"), (5432.1, "5432"), (1.24e-9, "1.2e-09"),
     (1e7, "1.0e+07"), (-0.5, "-0.5"), (np.inf, "infinite"), (-np.inf, "-infinite"), (np.nan, "-")],
)  # fmt: skip
def test_numbers_are_short(value: float, written: str) -> None:
    assert writing.number(value) == written


def test_shares_are_never_rounded_up() -> None:
    assert writing.percent(0.99997) == "99.9%"
    assert writing.percent(0.95) == "95%"
    assert writing.percent(1.0) == "100%"


def test_rows_of_numbers_take_one_line_each() -> None:
    document = {"weights": np.arange(6.0).reshape(2, 3), "notes": ("a [note],\n1", "b"), "nothing": [], "none": {}}
    text = writing.as_json(writing.for_json(document))
    assert json.loads(text) == {
        "weights": [[0, 1, 2], [3, 4, 5]],
        "notes": ["a [note],\n1", "b"],
        "nothing": [],
        "none": {},
    }
    assert "    [0.0, 1.0, 2.0],\n" in text
    assert '    "b"\n' in text


def test_everything_that_results_hold_is_made_for_json() -> None:
    values = (np.inf, np.float64(-np.inf), float("nan"), np.int64(3), True, None, Outcome.IDENTIFIED, {2: (1.5,)})
    assert writing.for_json(values) == ["inf", "-inf", "nan", 3, True, None, "identified", {"2": [1.5]}]


def test_a_number_that_is_not_finite_is_no_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        writing.as_json({"value": np.inf})


def test_documents_begin_with_their_envelope() -> None:
    assert writing.envelope("demo") == {"format": "unweave", "format_version": 2, "kind": "demo"}
