import numpy as np
import pytest

from halfspace_samples import any_of, largest_angle, near, planted_rows, values_of
from unweave.activations import STEP
from unweave.learn.lowest_layer.halfspace_fits import (
    HalfspaceProgramme,
    SoftRules,
    SoftUnion,
    fit_soft_union,
    separating_face,
    smooth_maximum,
)
from unweave.learn.lowest_layer.union_fits import CountRules, UnionRules, fit_either_union, fit_union


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
    found = fit_soft_union(points, is_active, before.slopes, before.offsets, rules=SoftRules())
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
    found = fit_union(points, is_active, rng, neurons=None, rules=UnionRules(count=CountRules(most=2))).layer
    assert len(found.directions) == 2


def test_inputs_that_say_nothing_give_a_half_space_without_samples(seed: int) -> None:
    points = np.ones((50, 3))
    found = fit_union(
        points, np.arange(50) < 20, np.random.default_rng(seed), neurons=1, rules=UnionRules(far=1e3)
    ).layer
    assert found.thresholds[0] == pytest.approx(1e3, rel=1e-2)
    assert np.max(found.arguments(points)) < 0


def flipped_wedge(rng: np.random.Generator, samples: int, flips: float) -> tuple[np.ndarray, np.ndarray]:
    points = rng.standard_normal((samples, 2))
    return points, np.any(points > 0.5, axis=1) ^ (rng.random(samples) < flips)


def test_a_sharp_corner_is_near_to_the_maximum() -> None:
    arguments = np.array([[1.0, 1.0], [3.0, -2.0]])
    values, shares = smooth_maximum(arguments, 10.0)
    np.testing.assert_allclose(values, [1.0 + np.log(2) / 10, 3.0])
    np.testing.assert_allclose(shares, [[0.5, 0.5], [1.0, 0.0]], atol=1e-12)


def test_shares_of_wrong_labels_are_fitted_along(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, is_active = flipped_wedge(rng, 20_000, 0.1)
    rules = SoftRules(corner=4.0)
    start, offsets = 8 * (np.eye(2) + 0.2), np.full(2, 3.0)
    blunt = fit_soft_union(points, is_active, start, offsets, rules=rules)
    sharp = fit_soft_union(points, is_active, start, offsets, flips=(0.02, 0.02), rules=rules)
    assert sharp.flips == pytest.approx((0.1, 0.1), abs=0.02)
    assert largest_angle(np.eye(2), sharp.directions) < largest_angle(np.eye(2), blunt.directions)
    assert np.min(np.linalg.norm(sharp.slopes, axis=1)) > 3 * np.max(np.linalg.norm(blunt.slopes, axis=1))


def test_weights_count_as_repetitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, is_active = flipped_wedge(rng, 300, 0.1)
    weights = rng.integers(1, 4, 300)
    rules, flips = SoftRules(), (0.1, 0.1)
    repeated, sides = np.repeat(points, weights, axis=0), np.repeat(is_active, weights)
    fits = [
        fit_soft_union(points, is_active, np.eye(2), np.ones(2), rules=rules, weights=1.0 * weights, flips=flips),
        fit_soft_union(repeated, sides, np.eye(2), np.ones(2), rules=rules, flips=flips),
    ]
    np.testing.assert_allclose(fits[0].slopes, fits[1].slopes, rtol=1e-3)
    assert fits[0].loss == pytest.approx(fits[1].loss, rel=1e-6)


@pytest.mark.slow
def test_the_number_of_half_spaces_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 3))
    is_active = np.any(np.abs(points) > 1.2, axis=1) ^ (rng.random(2_000) < 0.03)
    fit = fit_union(points, is_active, rng, neurons=None)
    nearest = np.max(np.vstack([np.eye(3), -np.eye(3)]) @ fit.layer.directions.T, axis=1)
    assert np.degrees(np.arccos(np.min(nearest))) < 10
    assert len(fit.layer.thresholds) <= 8
    assert len(fit.held_out) == 600


def test_the_convex_class_is_outside_of_the_union(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1_000, 2))
    is_second = np.max(np.abs(points), axis=1) < 1.0
    assert not fit_either_union(points, is_second, rng, neurons=None)[0][0]
