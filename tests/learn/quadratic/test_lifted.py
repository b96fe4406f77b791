from dataclasses import replace

import numpy as np
import pytest

from squares import both_signs, planted_rank, random_labels
from unweave.learn.quadratic.lifted import LiftedLeastSquares, LiftedSemidefinite, factorise
from unweave.learn.quadratic.optimality import OptimalityTest, SpectrumRules, SquareSpectrum
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.train import train
from unweave.learn.quadratic.uniqueness import UniquenessRules, semidefinite_uniqueness

NO_SPECTRUM = SpectrumRules(largest_rank=0)


def features(points: np.ndarray) -> np.ndarray:
    return np.array([np.outer(point, point).ravel() for point in points])


def random_symmetric(seed: int, inputs: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((inputs, inputs))
    return matrix + matrix.T


def test_any_symmetric_matrix_is_factorised_over_both_signs(seed: int) -> None:
    matrix, rng = random_symmetric(seed, 6), np.random.default_rng([seed, 1])
    output_weights = rng.permutation(both_signs(6) * rng.uniform(0.1, 3.0, 12))
    found = factorise(matrix, output_weights)
    assert np.allclose((found.weights.T * output_weights) @ found.weights, matrix, atol=1e-12)
    assert len(found.left_out) == 0


def test_factorisation_keeps_the_largest_eigenvalues_of_either_sign() -> None:
    found = factorise(np.diag([3.0, -2.0, 1.0, -0.5]), np.array([1.0, -4.0]))
    assert np.allclose((found.weights.T * [1.0, -4.0]) @ found.weights, np.diag([3.0, -2.0, 0.0, 0.0]))
    assert np.allclose(found.left_out, [1.0, 0.5])


@pytest.mark.parametrize("samples", [10, 21, 50])
def test_least_squares_give_the_smallest_matrix(samples: int, seed: int) -> None:
    problem = random_labels(seed, samples=samples, inputs=6)
    reference = np.linalg.lstsq(features(problem.points), problem.labels, rcond=None)[0].reshape(6, 6)
    assert np.allclose(LiftedLeastSquares()(problem), reference, atol=1e-9 * np.max(np.abs(reference)))


def test_dependent_points_get_the_smallest_matrix_too(seed: int) -> None:
    problem = random_labels(seed, samples=20, inputs=6)
    problem = replace(problem, points=np.sign(problem.points))
    reference = np.linalg.lstsq(features(problem.points), problem.labels, rcond=1e-12)[0].reshape(6, 6)
    assert np.allclose(LiftedLeastSquares()(problem), reference, atol=1e-9)


@pytest.mark.parametrize("samples", [10, 50])
def test_a_ridge_shrinks_as_it_should(samples: int, seed: int) -> None:
    problem = random_labels(seed, samples=samples, inputs=6)
    rows = features(problem.points)
    reference = np.linalg.solve(rows.T @ rows + 0.7 * np.eye(36), rows.T @ problem.labels).reshape(6, 6)
    assert np.allclose(LiftedLeastSquares(ridge=0.7)(problem), reference, atol=1e-10)


def test_large_problems_are_solved_without_a_matrix_of_features(seed: int) -> None:
    problem = random_labels(seed, samples=12, inputs=6)
    direct = LiftedLeastSquares()(problem)
    assert np.allclose(LiftedLeastSquares(spectrum=NO_SPECTRUM)(problem), direct, atol=1e-8 * np.max(np.abs(direct)))


def test_random_labels_are_fitted_to_rounding(seed: int) -> None:
    problem = random_labels(seed, samples=133, inputs=20)
    assert train(problem, rng=np.random.default_rng(seed)).loss < 1e-20


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("rank", "samples"), [(1, 40), (2, 50)])
def test_low_rank_teachers_are_recovered_and_proven_unique(rank: int, samples: int, sign: float, seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=samples, inputs=10, rank=rank, sign=sign)
    fit = LiftedSemidefinite()(problem)
    assert fit.has_converged
    assert np.linalg.norm(fit.matrix - matrix) <= 1e-10 * np.linalg.norm(matrix)
    uniqueness = semidefinite_uniqueness(problem, fit.matrix, rules=UniquenessRules())
    assert uniqueness.rank == rank
    assert uniqueness.is_proven


def test_full_rank_teachers_below_the_dimension_are_not_called_unique(seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=40, inputs=10, rank=10)
    fit = LiftedSemidefinite()(problem)
    assert fit.loss < 1e-20
    assert np.linalg.norm(fit.matrix - matrix) > 0.1 * np.linalg.norm(matrix)
    assert not semidefinite_uniqueness(problem, fit.matrix, rules=UniquenessRules()).is_proven


def test_points_that_lack_a_direction_determine_nothing(seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=40, inputs=6, rank=1)
    points = problem.points.copy()
    points[:, 2] = 0.0
    assert not semidefinite_uniqueness(replace(problem, points=points), matrix, rules=UniquenessRules()).is_proven


def test_semidefinite_least_squares_satisfy_their_optimality_conditions(seed: int) -> None:
    problem = random_labels(seed, samples=40, inputs=6, output_weights=np.ones(7))
    fit = LiftedSemidefinite()(problem)
    residuals = problem.form_values(fit.matrix) - problem.labels
    slope = problem.weighted_squares(residuals) / problem.samples
    assert np.linalg.eigvalsh(fit.matrix)[0] > -1e-12
    assert np.linalg.eigvalsh(slope)[0] > -1e-7
    assert abs(np.sum(slope * fit.matrix)) < 1e-10
    assert fit.gap < 1e-10


def test_semidefinite_least_squares_work_without_a_spectrum(seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=30, inputs=6, rank=1)
    assert OptimalityTest.of(problem, rules=NO_SPECTRUM).spectrum is None
    assert np.allclose(LiftedSemidefinite(spectrum=NO_SPECTRUM)(problem).matrix, matrix, atol=1e-10)


def test_the_factorisation_of_the_spectrum_solves_least_squares(seed: int) -> None:
    problem = random_labels(seed, samples=60, inputs=5)
    points = problem.points * [1.0, 10.0, 0.1, 1.0, 1.0]
    problem = QuadraticProblem(points, problem.labels, problem.output_weights)
    spectrum = SquareSpectrum.of(points)
    assert spectrum.solve is not None
    assert spectrum.basis is not None
    np.testing.assert_allclose(spectrum.basis.T @ spectrum.basis, np.eye(15), atol=1e-13)
    found, reference = LiftedLeastSquares()(problem, spectrum), LiftedLeastSquares()(problem)
    np.testing.assert_allclose(found, reference, rtol=1e-9, atol=1e-9 * np.max(np.abs(reference)))
