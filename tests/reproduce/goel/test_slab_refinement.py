import numpy as np
import pytest
from scipy.special import ndtr

from halfspace_samples import any_of, largest_angle, planted_rows, values_of
from unweave.activations import STEP
from unweave.reproduce.goel.slab_refinement import estimate_tan_alpha, refine_by_band, refine_by_search


def turned(row: np.ndarray, angle: float) -> np.ndarray:
    across = np.linalg.qr(np.column_stack([row, np.eye(len(row))]))[0][:, 1]
    return np.cos(angle) * row + np.sin(angle) * across


@pytest.mark.parametrize("angle", [0.1, 0.3])
def test_two_quantiles_give_the_angle_of_a_single_half_space(angle: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = planted_rows(rng, 1, 4)[0]
    points = rng.standard_normal((300_000, 4))
    slab = estimate_tan_alpha(points, points @ row >= 1.0, turned(row, angle), width=0.05)
    assert slab.tangent == pytest.approx(np.tan(angle), rel=0.15)
    assert slab.threshold == pytest.approx(1.0, abs=0.03)


def test_the_estimate_agrees_with_exact_probabilities() -> None:
    # Labels that follow the exact probability along one line, without a second input.
    angle, threshold = 0.2, 1.5
    positions = np.linspace(0.0, 3.0, 200_001)
    probability = ndtr((positions * np.cos(angle) - threshold) / np.sin(angle))
    phase = (np.arange(len(positions)) * 0.618033988749895) % 1.0
    slab = estimate_tan_alpha(positions[:, None], phase < probability, np.ones(1), width=0.02)
    assert slab.tangent == pytest.approx(np.tan(angle), rel=0.02)
    assert slab.centre == pytest.approx(threshold / np.cos(angle), abs=0.005)


def test_directions_without_a_half_space_have_no_angle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20_000, 3))
    slab = estimate_tan_alpha(points, np.zeros(20_000, dtype=bool), np.eye(3)[0], width=0.1)
    assert np.isinf(slab.tangent)
    few = estimate_tan_alpha(points[:10], np.ones(10, dtype=bool), np.eye(3)[0], width=0.1)
    assert np.isinf(few.tangent)


def test_the_band_turns_a_direction_towards_its_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 3, 3)
    points = rng.standard_normal((100_000, 3))
    is_active = any_of(values_of(points, rows, 1.5, STEP)) > 0
    others_quiet = np.max(points @ rows[1:].T, axis=1) < 1.3
    start = turned(rows[0], 0.15)
    found = refine_by_band(points[others_quiet], is_active[others_quiet], start)
    assert largest_angle(rows[:1], found.row[None]) < 0.25 * largest_angle(rows[:1], start[None])
    assert found.accepted > 0


def test_the_published_search_accepts_steps_but_gains_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = planted_rows(rng, 1, 3)[0]
    points = rng.standard_normal((50_000, 3))
    start = turned(row, 0.2)
    found = refine_by_search(points, points @ row >= 1.0, start, rng, width=0.15, rounds=60)
    before, after = largest_angle(row[None], start[None]), largest_angle(row[None], found.row[None])
    assert found.accepted > 0
    assert after < 1.3 * before
    # What it says of itself is chosen to look good.
    assert np.degrees(found.slab.angle) < before
