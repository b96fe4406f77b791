import numpy as np
import pytest
from scipy.special import expit

from halfspace_samples import any_of, largest_angle, planted_rows, values_of, with_pairs
from unweave.activations import RELU, SIGMOID, STEP
from unweave.learn.lowest_layer.evidence import LowestLayerEvidence
from unweave.learn.lowest_layer.fit import fit_lowest_layer
from unweave.learn.lowest_layer.labels import read_labels
from unweave.learn.lowest_layer.starts import moment_start, quiet_start
from unweave.result import Outcome, Verdict

SAMPLES = 30_000
# Enough where labels are exact, or nothing is claimed.
FEW_SAMPLES = 12_000


def samples(
    rng: np.random.Generator, rows: int = 4, inputs: int = 4, mixing: float = 0.2, count: int = SAMPLES
) -> tuple[np.ndarray, np.ndarray]:
    return planted_rows(rng, rows, inputs, mixing=mixing), rng.standard_normal((count, inputs))


def test_steps_under_or_are_estimated_with_a_small_angle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng)
    found = fit_lowest_layer(points, any_of(values_of(points, rows, 1.5, STEP)), STEP, rng)
    assert found.layer is not None
    assert found.result.certificate is not None
    assert found.result.outcome is Outcome.PARTLY_IDENTIFIED
    angle = largest_angle(rows, found.layer.directions)
    assert angle < 0.5
    assert angle < found.result.certificate.largest_angle < 3
    np.testing.assert_allclose(found.layer.thresholds, 1.5, atol=0.01)
    assert dict(found.result.certificate.statements())["neurons"] == "4"


def test_relu_with_products_is_verified_to_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, count=FEW_SAMPLES)
    found = fit_lowest_layer(points, 3.0 + with_pairs(values_of(points, rows, 1.2, RELU)), RELU, rng)
    assert found.result.outcome is Outcome.IDENTIFIED
    assert found.layer is not None
    assert largest_angle(rows, found.layer.directions) < 1e-10
    np.testing.assert_allclose(found.layer.thresholds, 1.2, atol=1e-12)
    np.testing.assert_allclose(found.layer.coefficients, 1.0, atol=1e-11)
    assert found.offset == 3.0


def test_inputs_of_any_mean_and_covariance_and_spare_inputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, standard = samples(rng, rows=3, inputs=6, mixing=0.0, count=FEW_SAMPLES)
    mixing = np.eye(6) + 0.2 * rng.standard_normal((6, 6))
    points = standard @ mixing.T + rng.standard_normal(6)
    # The rows that act on the mixed inputs, with thresholds of their own.
    inverse = rows @ np.linalg.inv(mixing)
    truth = inverse / np.linalg.norm(inverse, axis=1, keepdims=True)
    found = fit_lowest_layer(points, with_pairs(values_of(standard, rows, 1.5, RELU)), RELU, rng)
    assert found.result.outcome is Outcome.IDENTIFIED
    assert found.layer is not None
    assert largest_angle(truth, found.layer.directions) < 1e-9


def test_powers_of_a_unit_do_not_spoil_its_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=3, inputs=3, count=FEW_SAMPLES)
    values = values_of(points, rows, 1.5, RELU)
    found = fit_lowest_layer(points, np.sum(values + 0.8 * values**2, axis=1), RELU, rng)
    assert found.result.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.layer is not None
    assert largest_angle(rows, found.layer.directions) < 0.5


def test_wrong_labels_degrade_the_rows_and_the_estimate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=2, inputs=3)
    labels = any_of(values_of(points, rows, 1.2, STEP))
    flipped = np.abs(labels - (rng.random(SAMPLES) < 0.05))
    clean, noisy = (fit_lowest_layer(points, y, STEP, np.random.default_rng(seed)) for y in (labels, flipped))
    assert clean.result.certificate is not None
    assert noisy.result.certificate is not None
    assert noisy.layer is not None
    assert noisy.result.certificate.label_noise == pytest.approx(0.05, abs=0.02)
    assert clean.result.certificate.largest_angle < noisy.result.certificate.largest_angle
    assert (
        noisy.result.outcome is Outcome.NOT_IDENTIFIED
        or largest_angle(rows, noisy.layer.directions) < noisy.result.certificate.largest_angle
    )


def test_additive_noise_on_relu_gives_an_error_of_its_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=3, inputs=3, count=FEW_SAMPLES)
    labels = with_pairs(values_of(points, rows, 1.5, RELU)) + 0.05 * rng.standard_normal(FEW_SAMPLES)
    found = fit_lowest_layer(points, labels, RELU, rng)
    assert found.result.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.layer is not None
    assert found.result.certificate is not None
    assert largest_angle(rows, found.layer.directions) < max(2.0, 3 * found.result.certificate.largest_angle)
    assert found.result.certificate.label_noise == pytest.approx(0.05, rel=0.1)


def test_sigmoid_rows_come_from_moments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=2, inputs=2, mixing=0.0)
    labels = expit(points @ rows.T - 4.0).sum(axis=1)
    found = fit_lowest_layer(points, labels, SIGMOID, rng)
    assert found.layer is not None
    assert (
        largest_angle(rows, found.layer.directions / np.linalg.norm(found.layer.directions, axis=1, keepdims=True)) < 5
    )
    assert found.result.outcome is not Outcome.IDENTIFIED


def test_inputs_that_are_not_gaussian_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.7, 1.7, (20_000, 3))
    found = fit_lowest_layer(points, (points[:, 0] > 1.0).astype(float), STEP, rng)
    assert found.result.outcome is Outcome.NOT_IDENTIFIED
    assert "not Gaussian" in found.result.reason


def test_more_rows_than_inputs_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 3))
    found = fit_lowest_layer(points, (points[:, 0] > 1.0).astype(float), STEP, rng, neurons=4)
    assert found.result.outcome is Outcome.NOT_IDENTIFIED
    assert "linearly dependent" in found.result.reason


def test_two_nearly_equal_rows_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=3, inputs=3, mixing=0.0, count=FEW_SAMPLES)
    rows = np.vstack([rows[:2], rows[1] + 0.06 * rows[2]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = fit_lowest_layer(points, any_of(values_of(points, rows, 1.2, STEP)), STEP, rng)
    assert found.result.outcome is Outcome.NOT_IDENTIFIED
    assert "nearly equal" in found.result.reason


def test_units_in_products_only_are_not_claimed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, rows=3, inputs=3, count=FEW_SAMPLES)
    values = values_of(points, rows, 1.0, STEP)
    labels = with_pairs(values) - values.sum(axis=1)
    assert fit_lowest_layer(points, labels, STEP, rng).result.outcome is Outcome.NOT_IDENTIFIED


def test_labels_without_signal_have_no_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((5_000, 3))
    found = fit_lowest_layer(points, rng.integers(0, 2, 5_000).astype(float), STEP, rng)
    assert found.result.outcome is Outcome.NOT_IDENTIFIED


def test_quiet_samples_have_no_bias_where_moments_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, mixing=0.0)
    labels = any_of(values_of(points, rows, 1.2, STEP))
    quiet = quiet_start(points, labels > 0, rng, neurons=4)
    assert largest_angle(rows, quiet.units.directions) < 5
    assert largest_angle(rows, moment_start(points, labels, STEP, rng, neurons=4).units.directions) > 10
    np.testing.assert_allclose(quiet.units.thresholds, 1.2, atol=0.1)
    assert np.all(np.degrees(quiet.noise_angles) < 10)


def test_the_quiet_value_is_that_of_samples_near_the_origin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng)
    # Most samples are active here, so that the most frequent label is not the quiet one.
    labels = 5.0 - any_of(values_of(points, rows, 0.6, STEP))
    read = read_labels(points, labels, STEP)
    assert read.offset == 5.0
    assert read.is_exact
    assert read.is_active is not None
    np.testing.assert_array_equal(read.is_active, labels < 4.5)


def test_evidence_sees_the_angle_it_is_given(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, mixing=0.0)
    is_active = any_of(values_of(points, rows, 1.5, STEP)) > 0
    for angle in (0.05, 0.15):
        moved = rows.copy()
        moved[0] = np.cos(angle) * rows[0] + np.sin(angle) * rows[1]
        evidence = LowestLayerEvidence().face_evidence(points, is_active, moved, np.full(4, 1.5))
        assert 0.8 * angle < evidence.angles[0] < 2.5 * angle
        assert np.max(evidence.angles[1:]) < 0.1


def test_evidence_misses_a_row_that_is_missing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = samples(rng, mixing=0.0)
    is_active = any_of(values_of(points, rows, 1.5, STEP)) > 0
    evidence = LowestLayerEvidence().face_evidence(points, is_active, rows[:3], np.full(3, 1.5))
    assert evidence.is_unexplained_significant
    assert any(diagnostic.verdict is Verdict.FAIL for diagnostic in LowestLayerEvidence().face_diagnostics(evidence))


def test_rows_found_twice_are_noticed() -> None:
    rows = np.array([[1.0, 0.0], [np.cos(0.01), np.sin(0.01)]])
    assert LowestLayerEvidence().duplicate_check(rows, np.full(2, 0.02)).verdict is Verdict.FAIL
    assert LowestLayerEvidence().duplicate_check(rows, np.full(2, 0.001)).verdict is Verdict.OK
