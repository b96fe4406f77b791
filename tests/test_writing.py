"""JSON that every reader takes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave import writing
from unweave.result import Outcome


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
    assert writing.envelope("demo") == {"format": "unweave", "format_version": 3, "kind": "demo"}


@given(st.floats())
def test_every_float_survives_json(value: float) -> None:
    read = float(json.loads(writing.as_json({"value": writing.json_number(value)}))["value"])
    assert read == value or (np.isnan(read) and np.isnan(value))
