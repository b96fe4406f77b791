import numpy as np
import pytest

from unweave.learn.lowest_layer.layer import DistanceCalibration, calibrate


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
