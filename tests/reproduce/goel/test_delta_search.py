"""Rows found where labels jump, or change their slope."""

import numpy as np
import pytest

from halfspace_samples import largest_angle, planted_rows, values_of, with_pairs
from unweave.activations import RELU, SIGMOID, STEP
from unweave.exceptions import InvalidInput
from unweave.reproduce.goel.delta_search import delta_search, jumps_across

DENSITY = np.exp(-0.5 * 0.3**2) / np.sqrt(2 * np.pi)


def test_labels_jump_across_rows_without_a_linear_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3), rng.standard_normal((300_000, 3))
    values = values_of(points, rows, 0.3, STEP)
    labels = with_pairs(values) - values.sum(axis=1)
    jumps = jumps_across(points, labels, rows, unit=STEP, threshold=0.3, width=0.1)
    # The derivative of the upper function is the sum of the two other units.
    np.testing.assert_allclose(jumps, DENSITY * 2 * np.mean(values), rtol=0.15)


def test_an_exhaustive_search_finds_rows_of_either_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((30_000, 2))
    values = values_of(points, rows, 0.3, STEP)
    labels = values[:, 0] - values[:, 1] + 0.5 * values[:, 0] * values[:, 1]
    found = delta_search(points, labels, rng, unit=STEP, threshold=0.3, rank=2, width=0.05, directions=150)
    assert largest_angle(rows, found.rows) < 5
    assert np.sort(np.sign(found.jumps)).tolist() == [-1.0, 1.0]


def test_slopes_change_across_rows_of_relu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((400_000, 2))
    labels = values_of(points, rows, 0.3, RELU) @ np.array([1.0, 2.0])
    labels -= labels.mean()
    between = (rows[0] + rows[1]) / np.sqrt(2)
    jumps = jumps_across(points, labels, np.vstack([rows, between]), unit=RELU, threshold=0.3, width=0.12)
    assert jumps[0] == pytest.approx(DENSITY, rel=0.4)
    assert jumps[1] == pytest.approx(2 * DENSITY, rel=0.4)
    assert abs(jumps[2]) < 0.7 * jumps[0]


def test_a_search_needs_few_inputs_and_a_kink() -> None:
    points, rng = np.zeros((10, 5)), np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="up to 4 inputs"):
        delta_search(points, np.zeros(10), rng, unit=STEP, threshold=0.3, rank=1)
    with pytest.raises(InvalidInput, match="jump or a kink"):
        jumps_across(points, np.zeros(10), np.eye(5), unit=SIGMOID, threshold=0.3, width=0.1)
