import numpy as np
import pytest

from halfspace_samples import any_of, largest_angle, near, planted_rows, values_of
from unweave.activations import STEP
from unweave.learn.lowest_layer.halfspace_fits import HalfspaceProgramme, separating_face
from unweave.learn.lowest_layer.soft_union import SoftRules, SoftUnion, fit_soft_union
from unweave.learn.lowest_layer.union_fits import UnionRules, fit_union


def union(
    rng: np.random.Generator, samples: int, *, threshold: float = 1.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = planted_rows(rng, 4, 4, mixing=0.3)
    points = rng.standard_normal((samples, 4))
    return rows, points, any_of(values_of(points, rows, threshold, STEP)) > 0


def test_a_face_separates_what_can_be_separated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = planted_rows(rng, 1, 5)
    points = rng.standard_normal((800, 5))
    is_above = points @ row[0] >= 0.7
    face = separating_face(points, is_above, near(rng, row, 0.2)[0], 0.6)
    assert face.misplaced == 0.0
    assert face.margin > 0
    assert np.linalg.norm(face.direction) == pytest.approx(1.0)
    assert np.all((points @ face.direction >= face.threshold) == is_above)


def test_wrong_labels_move_a_face_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = planted_rows(rng, 1, 3)
    points = rng.standard_normal((1500, 3))
    is_above = (points @ row[0] >= 0.0) ^ (rng.random(1500) < 0.05)
    face = separating_face(points, is_above, near(rng, row, 0.1)[0], 0.1)
    assert largest_angle(row, face.direction[None]) < 3
    assert 0.02 < face.misplaced < 0.1


def test_polish_reaches_the_precision_of_the_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, is_active = union(rng, 40_000)
    start = near(rng, rows, 0.08)
    polished = HalfspaceProgramme(points=400)(points, is_active, start, np.full(4, 1.45), rng)
    assert largest_angle(rows, polished.directions) < min(0.3, 0.1 * largest_angle(rows, start))
    np.testing.assert_allclose(polished.thresholds, 1.5, atol=0.005)
    assert np.max(polished.misplaced) == 0.0


def test_too_few_points_leave_a_face_where_it_was(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, is_active = union(rng, 60)
    polished = HalfspaceProgramme()(points, is_active, rows, np.full(4, 1.5), rng)
    np.testing.assert_array_equal(polished.directions, rows)
    assert np.all(np.isinf(polished.widths))


def test_a_soft_fit_gets_nearer_and_never_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, is_active = union(rng, 5_000)
    start = near(rng, rows, 0.25)
    before = SoftUnion(8 * start, 8 * np.full(4, 1.2), 0.0)
    found = fit_soft_union(points, is_active, before.slopes, before.offsets)
    assert found.loss < float(np.mean(np.logaddexp(0.0, np.where(is_active, -1.0, 1.0) * before.depths(points))))
    assert largest_angle(rows, found.directions) < 0.5 * largest_angle(rows, start)
    np.testing.assert_allclose(found.thresholds, 1.5, atol=0.1)


def test_a_larger_penalty_makes_half_spaces_less_sharp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, is_active = union(rng, 1_000)
    soft, sharp = (
        fit_soft_union(points, is_active, 8 * rows, np.full(4, 12.0), rules=SoftRules(penalty=penalty))
        for penalty in (1e-2, 1e-5)
    )
    assert np.linalg.norm(soft.slopes) < 0.5 * np.linalg.norm(sharp.slopes)


def test_no_more_half_spaces_are_tried_than_the_rules_allow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, points, is_active = union(rng, 1_000)
    found = fit_union(points, is_active, rng, neurons=None, rules=UnionRules(most_halfspaces=2)).layer
    assert len(found.directions) == 2


def test_inputs_that_say_nothing_give_a_half_space_without_samples(seed: int) -> None:
    points = np.ones((50, 3))
    found = fit_union(
        points, np.arange(50) < 20, np.random.default_rng(seed), neurons=1, rules=UnionRules(far=1e3)
    ).layer
    assert found.thresholds[0] == pytest.approx(1e3, rel=1e-2)
    assert np.max(found.arguments(points)) < 0
