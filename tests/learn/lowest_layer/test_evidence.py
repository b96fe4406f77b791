"""What a certificate of a lowest layer claims, against simulations."""

import numpy as np
import pytest

from unweave.learn.lowest_layer.evidence import LowestLayerEvidence, Slices
from unweave.result import Verdict


def test_regression_limits_hold_for_all_rows_together(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    inputs, rows, trials = 6, 8, 2_000
    errors = rng.uniform(1e-4, 1e-2, rows)
    across = rng.standard_normal((trials, rows, inputs - 1)) / np.sqrt(inputs - 1)
    angles = errors * np.linalg.norm(across, axis=2)
    limits = LowestLayerEvidence(least_squares_confidence=0.95).regression_limits(errors, inputs=inputs)
    share = np.mean(np.all(angles <= limits, axis=1))
    assert 0.93 < share < 0.98


def test_labels_flipped_inside_excuse_no_wrong_ones_outside(seed: int) -> None:
    """A missing half space of 2 % of the inputs was said to hold 0 % at most: nothing is flipped where it lies."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 3))
    is_known, is_other = points[:, 0] >= 0.5, (points[:, 0] < 0.5) & (points[:, 1] >= 2.0)
    is_active = (is_known & (rng.random(2_000) > 0.15)) | is_other
    faces = LowestLayerEvidence().face_evidence(points, is_active, np.eye(3)[:1], np.array([0.5]))
    assert faces.missing_share > np.mean(is_other) > 0.005


@pytest.mark.parametrize(
    ("values", "continuous", "spare"),
    [
        # Two thresholds on two lines are one half space, whatever they are.
        ((2,), 1, 0),
        # Two lines on two planes have to be parallel, three thresholds on three lines on one line.
        ((2,), 2, 1),
        ((3,), 1, 1),
        ((2, 2), 1, 1),
        # Nothing but corners of a square.
        ((2, 2), 0, 0),
    ],
)
def test_slices_check_what_they_show_beyond_one_half_space(
    values: tuple[int, ...], continuous: int, spare: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    discrete = [rng.permutation(np.arange(400) % count).astype(float) for count in values]
    points = np.column_stack([*discrete, rng.standard_normal((400, continuous))])
    (check,) = Slices.of(points).check(np.ones((400, 1), dtype=bool))
    assert check.value == spare
    assert (check.verdict is Verdict.FAIL) == (spare < 1)


def test_a_half_space_on_one_slice_is_not_checked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.column_stack([np.arange(400) % 2, rng.standard_normal((400, 3))])
    everywhere, on_one = np.ones(400, dtype=bool), points[:, 0] == 0
    (check,) = Slices.of(points).check(np.column_stack([everywhere, on_one]))
    assert check.verdict is Verdict.FAIL


def test_continuous_inputs_need_no_check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.standard_normal((400, 2)), np.arange(400) % 6])
    assert Slices.of(points, most_values=5).check(np.ones((400, 1), dtype=bool)) == []
    assert len(Slices.of(points, most_values=6).check(np.ones((400, 1), dtype=bool))) == 1
    assert Slices.of(points[:, :1]).check(np.ones((400, 1), dtype=bool)) == []
