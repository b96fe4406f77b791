import numpy as np
import pytest

from unweave.learn.lowest_layer.layer import DistanceCalibration, calibrate, largest_missing, upper_count


def test_planted_probabilities_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = DistanceCalibration(0.03, 0.15, 4.0)
    depths = rng.standard_normal(40_000)
    found = calibrate(depths, rng.random(40_000) < truth(depths), np.ones(40_000))
    at = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(found(at), truth(at), atol=0.02)
    assert (found.wrong_outside, found.wrong_inside) == pytest.approx((0.03, 0.15), abs=0.015)


def test_few_right_labels_are_no_certainty() -> None:
    depths = np.linspace(-1, 1, 20)
    found = calibrate(depths, depths > 0, np.ones(20))
    # The rule of Laplace says 1 in 12 of ten right ones.
    assert found(np.array([10.0]))[0] == pytest.approx(11 / 12, abs=0.03)


def test_half_spaces_no_better_than_chance_still_have_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depths = rng.standard_normal(1_000)
    chances = calibrate(depths, rng.random(1_000) < 0.5, np.ones(1_000))(depths)
    np.testing.assert_array_equal(chances > 0.5, depths > 0)
    assert np.max(np.abs(chances - 0.5)) < 0.1


def test_no_samples_say_nothing() -> None:
    none = np.empty(0)
    assert abs(calibrate(none, none > 0, none)(np.array([5.0]))[0] - 0.5) < 0.3


def limit(rng: np.random.Generator, *, count: int, level: float, inside: float, outside: float) -> float:
    """The limit if one of two half spaces is known, with shares of flipped labels in the union and outside."""
    points = rng.standard_normal((count, 3))
    known, other = points[:, 0] - 0.5, points @ np.array([-0.6, 0.8, 0.0]) - level
    is_active = (known >= 0) | (other >= 0)
    is_wrong = ((known >= 0) != is_active) ^ (rng.random(count) < np.where(is_active, inside, outside))
    return largest_missing(points, is_wrong, deep=known > 0.5, quiet=known < 0, confidence=0.95)


@pytest.mark.parametrize(("inside", "outside"), [(0.0, 0.0), (0.2, 0.2), (0.2, 0.0), (0.0, 0.2)])
@pytest.mark.parametrize("level", [1.5, 2.2])
def test_a_limit_holds_wherever_labels_are_flipped(inside: float, outside: float, level: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1_000_000, 2))
    share = np.mean((points[:, 0] < 0.5) & (points @ np.array([-0.6, 0.8]) >= level))
    limits = [limit(rng, count=400, level=level, inside=inside, outside=outside) for _ in range(200)]
    assert np.mean(np.array(limits) >= share) > 0.9


def test_flipped_labels_are_taken_off_if_both_sides_have_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = limit(rng, count=20_000, level=9.0, inside=0.1, outside=0.1)
    one = limit(rng, count=20_000, level=9.0, inside=0.0, outside=0.1)
    # A tenth of the labels is wrong on 69 % of the inputs.
    assert both < 0.035
    assert one > 0.06


def test_a_limit_is_never_below_that_without_a_wrong_label(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((300, 2))
    deep, none = points[:, 0] > 0.5, np.zeros(300, dtype=bool)
    least = upper_count(0, confidence=0.95) / 300
    assert largest_missing(points, none, deep=deep, quiet=points[:, 0] < 0, confidence=0.95) == pytest.approx(least)
    assert largest_missing(points, deep, deep=deep, quiet=points[:, 0] < 0, confidence=0.95) > least
    assert upper_count(0, confidence=0.95) == pytest.approx(-np.log(0.05))
