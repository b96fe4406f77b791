"""Mean, covariance, coordinates and Gaussianity of inputs against NumPy and SciPy."""

import numpy as np
import pytest

from relu_samples import hermite_tensor
from unweave.exceptions import InvalidInput
from unweave.result import Verdict
from unweave.samples.hermite.inputs import Coordinates, Gaussianity, GaussianityCheck, InputMoments, lines_for
from unweave.samples.sums import Sums

ROWS, INPUTS = 40_000, 4


def correlated(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.standard_normal((rows, INPUTS)) @ rng.standard_normal((INPUTS, INPUTS)) + rng.standard_normal(INPUTS)


def checked(points: np.ndarray, *, seed: int) -> Gaussianity:
    """The check in coordinates whitened by the same points."""
    labels = np.zeros(len(points))
    coordinates = Sums.empty(InputMoments(points[0])).add((points, labels)).finalise().whole.coordinates()
    lines = lines_for(np.random.default_rng(seed), rank=points.shape[1])
    return Sums.empty(GaussianityCheck(coordinates, lines)).add((points, labels)).finalise().whole


def test_mean_and_covariance_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = correlated(rng, 200), rng.standard_normal(200)
    found = Sums.empty(InputMoments(np.zeros(INPUTS))).add((points, labels)).finalise().whole
    np.testing.assert_allclose(found.mean, points.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(found.covariance, np.cov(points.T, bias=True), atol=1e-12)
    assert found.label_mean == pytest.approx(labels.mean())
    assert found.label_rms == pytest.approx(np.sqrt(np.mean(labels**2)))


def test_an_origin_near_the_mean_keeps_the_digits_of_the_covariance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near = rng.standard_normal((200, INPUTS))
    far = near + 2.0**30
    found = Sums.empty(InputMoments(far[0])).add((far, np.zeros(200))).finalise().whole
    np.testing.assert_allclose(found.covariance, np.cov((far - far[0]).T, bias=True), rtol=1e-12)


def test_whitened_points_have_mean_zero_and_covariance_one(seed: int) -> None:
    points = correlated(np.random.default_rng(seed), 300)
    rows = Coordinates.whitening(points.mean(axis=0), np.cov(points.T, bias=True)).rows_of(points)
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(rows @ rows.T / 300, np.eye(INPUTS), atol=1e-12)


def test_units_found_in_coordinates_are_the_same_functions_of_the_inputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = correlated(rng, 50)
    basis = np.linalg.qr(rng.standard_normal((INPUTS, 2)))[0]
    coordinates = Coordinates.whitening(points.mean(axis=0), np.cov(points.T)).within(basis)
    weights, biases = rng.standard_normal((3, 2)), rng.standard_normal(3)
    original, shifted = coordinates.pulled_back(weights, biases)
    inside = weights @ coordinates.rows_of(points) + biases[:, None]
    np.testing.assert_allclose(original @ points.T + shifted[:, None], inside, atol=1e-10)


def test_degenerate_inputs_and_skew_bases_are_refused() -> None:
    with pytest.raises(InvalidInput, match="positive definite"):
        Coordinates.whitening(np.zeros(2), np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="orthonormal"):
        Coordinates.identity(3).within(np.ones((3, 1)))
    with pytest.raises(InvalidInput, match="3 rows"):
        Coordinates.identity(3).within(np.ones((2, 1)))


def test_numbers_along_axes_are_skewness_and_kurtosis(seed: int) -> None:
    from scipy import stats

    points = np.random.default_rng(seed).gamma(3.0, size=(500, 1))
    found = checked(points, seed=seed)
    assert found.along_lines[2, 0] * np.sqrt(6) == pytest.approx(stats.skew(points[:, 0]))
    assert found.along_lines[3, 0] * np.sqrt(24) == pytest.approx(stats.kurtosis(points[:, 0]))
    assert np.abs(found.along_lines[:2]).max() < 1e-10


def test_contractions_are_those_of_the_hermite_tensors(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((6, 3))
    check = GaussianityCheck(Coordinates.identity(3), np.eye(3))
    found = Sums.empty(check).add((points, np.zeros(6))).finalise().whole
    third = np.mean([np.einsum("ijj->i", hermite_tensor(x, 3)) for x in points], axis=0)
    fourth = np.mean([np.einsum("iijj->", hermite_tensor(x, 4)) for x in points])
    np.testing.assert_allclose(found.skewness * np.sqrt(2 * 5), third, atol=1e-12)
    assert found.kurtosis * np.sqrt(8 * 3 * 5) == pytest.approx(fourth)


def test_gaussian_inputs_pass(seed: int) -> None:
    diagnostics = checked(correlated(np.random.default_rng(seed), ROWS), seed=seed).diagnostics()
    assert len(diagnostics) == 6
    assert all(diagnostic.verdict is Verdict.OK for diagnostic in diagnostics)


def test_gaussian_inputs_that_are_not_standard_fail_as_such(seed: int) -> None:
    points = 1.2 * np.random.default_rng(seed).standard_normal((ROWS, INPUTS)) + 0.3
    check = GaussianityCheck(Coordinates.identity(INPUTS), np.eye(INPUTS))
    mean, variance, *_ = Sums.empty(check).add((points, np.zeros(ROWS))).finalise().whole.diagnostics()
    assert mean.verdict is Verdict.FAIL
    assert variance.verdict is Verdict.FAIL


@pytest.mark.parametrize("kind", ["uniform", "student", "elliptical", "exponential"])
def test_other_inputs_fail(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((ROWS, INPUTS))
    points = {
        "uniform": rng.uniform(-1, 1, (ROWS, INPUTS)),
        "student": rng.standard_t(8, (ROWS, INPUTS)),
        "elliptical": normal * rng.uniform(0.5, 1.5, (ROWS, 1)),
        "exponential": rng.exponential(size=(ROWS, INPUTS)),
    }[kind]
    assert any(diagnostic.verdict is Verdict.FAIL for diagnostic in checked(points, seed=seed).diagnostics())


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_what_varies_of_dependent_inputs_is_standard(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((2_000, 3))
    points = scale * np.column_stack([drawn, drawn[:, 0] - 2.0 * drawn[:, 1], np.full(2_000, 5.0)]) + 1e3 * scale
    mean = points.mean(axis=0)
    coordinates = Coordinates.spanned(mean, (points - mean).T @ (points - mean) / len(points))
    assert coordinates.rank == 3
    np.testing.assert_allclose(np.cov(coordinates.rows_of(points), bias=True), np.eye(3), atol=1e-6)
    # A constant column gets no weight.
    np.testing.assert_array_equal(coordinates.pulled_back(np.ones((1, 3)), np.zeros(1))[0][:, -1], 0.0)


def test_independent_inputs_keep_all_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((4, 4))
    assert Coordinates.spanned(rng.standard_normal(4), factor @ factor.T).rank == 4
