"""Rows of even activations."""

import numpy as np
import pytest

from halfspace_samples import largest_angle, planted_rows, with_pairs
from unweave.reproduce.goel.even_units import even_rows, row_margin


def test_even_activations_need_no_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 4, 4), rng.standard_normal((200_000, 4))
    values = np.abs(points @ rows.T)
    labels = with_pairs(values) * 0.3 + 0.7 * values.sum(axis=1)
    found = even_rows(points, labels, rng, rank=4, coefficient_4=-0.163)
    assert largest_angle(rows, found, is_signed=False) < 8


def test_the_condition_on_even_units_uses_normalised_coefficients() -> None:
    coefficients = np.array([2.0, 0.0, 1.0, 0.0, 0.5])
    assert row_margin(1.0, 1.0, 0.1, coefficients=coefficients) == pytest.approx(2 - 0.1 * np.sqrt(6))
    # A negative coefficient of order 4 makes the condition hold for all non-negative products.
    assert row_margin(1.0, 1.0, 9.0, coefficients=coefficients * [1, 1, 1, 1, -1]) > 0
