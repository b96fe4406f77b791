import numpy as np
import pytest

from squares import both_signs, random_labels
from unweave.arrays import pack_squares
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic import spectrum as module
from unweave.learn.quadratic.spectrum import SquareSpectrum


def khatri_rao_values(points: np.ndarray) -> np.ndarray:
    products = np.array([np.kron(point, point) for point in points]).T
    return np.linalg.svd(products, compute_uv=False)


@pytest.mark.parametrize("samples", [7, 15, 30])
def test_singular_values_are_those_of_the_khatri_rao_product(samples: int, seed: int) -> None:
    points = random_labels(seed, samples=samples, inputs=5).points
    values = khatri_rao_values(points)
    found = SquareSpectrum.of(points)
    assert found.largest == pytest.approx(values[0], rel=1e-9)
    assert found.smallest == pytest.approx(values[min(samples, 15) - 1], rel=1e-6)
    assert found.rank == min(samples, 15)
    assert found.fits_all_labels == (samples <= 15)
    assert found.determines_matrix == (samples >= 15)


def test_unit_vectors_and_their_sums_have_full_rank() -> None:
    units = np.eye(6)
    sums = [units[i] + units[j] for i in range(6) for j in range(i)]
    found = SquareSpectrum.of(np.vstack([units, *sums]))
    assert found.rank == found.samples == found.dimension == 21


@pytest.mark.parametrize(("kind", "rank"), [("gaussian", 36), ("signs", 29), ("one-hot", 8)])
def test_rank_depends_on_the_points_not_on_their_number(kind: str, rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaussian = rng.standard_normal((60, 8))
    points = {
        "gaussian": gaussian[:36],
        "signs": np.sign(gaussian),
        "one-hot": np.eye(8)[rng.permutation(np.arange(36) % 8)],
    }[kind]
    assert SquareSpectrum.of(points).rank == rank


def test_coordinates_are_what_quadratic_forms_can_change(seed: int) -> None:
    problem = random_labels(seed, samples=40, inputs=5)
    squares = pack_squares(problem.points)
    projected = squares @ np.linalg.lstsq(squares, problem.labels, rcond=None)[0]
    coordinates = SquareSpectrum.of(problem.points).coordinates(problem.labels)
    assert np.linalg.norm(coordinates) == pytest.approx(np.linalg.norm(projected))


def test_nearly_dependent_squares_are_measured_by_their_singular_values(seed: int) -> None:
    points = random_labels(seed, samples=6, inputs=5).points
    points = np.vstack([points, points[0] + 1e-7 * points[1]])
    assert SquareSpectrum.of(points).smallest == pytest.approx(khatri_rao_values(points)[6], rel=1e-3)
    assert SquareSpectrum.of(np.vstack([points, 2 * points[0]])).rank == 7


def test_no_spectrum_of_nothing() -> None:
    found = SquareSpectrum.of(np.zeros((3, 2)))
    assert found.rank == 0
    assert found.condition == np.inf


def test_too_many_points_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_RANK", 5)
    with pytest.raises(InvalidInput, match="take fewer points"):
        SquareSpectrum.of(np.ones((6, len(both_signs(3)))))
