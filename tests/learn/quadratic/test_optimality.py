"""Singular values of squares, and bounds of the optimum that hold."""

from dataclasses import replace

import numpy as np
import pytest

from squares import both_signs, planted_rank, random_labels
from unweave.arrays import pack_squares
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.certificate import (
    certify_training,
    planted_bound,
    residual_gap_bound,
    second_order_bound,
    sharp_planted_bound,
)
from unweave.learn.quadratic.lifted import LiftedLeastSquares, LiftedSemidefinite
from unweave.learn.quadratic.optimality import (
    OptimalityTest,
    Regime,
    SpectrumRules,
    SquareSpectrum,
    curvature_bound,
    regime_of,
    trace_bound,
)
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.saddles import smallest_eigenpair
from unweave.learn.quadratic.search import TrustRegion
from unweave.learn.quadratic.train import train

ROUNDING = 1 + 1e-9


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


def test_too_many_points_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"rank of up to 5 .* take fewer points"):
        SquareSpectrum.of(np.ones((6, len(both_signs(3)))), rules=SpectrumRules(largest_rank=5))


def least_squares_loss(problem: QuadraticProblem) -> float:
    """From all products of two inputs, repetitions included."""
    rows = np.array([np.outer(x, x).ravel() for x in problem.points])
    solution = np.linalg.lstsq(rows, problem.labels, rcond=None)[0]
    return problem.loss_of(rows @ solution - problem.labels)


@pytest.mark.parametrize(
    ("output_weights", "regime"),
    [
        ([1.0, 1.0, -1.0, -1.0], Regime.TWO_SIGNED),
        ([1.0, 1.0, -1.0], Regime.NO_GUARANTEE),
        ([1.0, 2.0, 0.0], Regime.ONE_SIGNED),
        ([-1.0, -2.0], Regime.ONE_SIGNED),
        ([1.0, 0.0, 0.0], Regime.NO_GUARANTEE),
    ],
)
def test_signs_decide_on_the_regime(output_weights: list[float], regime: Regime, seed: int) -> None:
    problem = random_labels(seed, samples=5, inputs=2, output_weights=np.array(output_weights))
    assert regime_of(problem) is regime


@pytest.mark.parametrize("samples", [9, 30])
def test_the_gap_for_both_signs_is_exact(samples: int, seed: int) -> None:
    problem = random_labels(seed, samples=samples, inputs=4)
    state = problem.at(np.random.default_rng(seed).standard_normal((8, 4)))
    optimum = 0.0 if samples == 9 else least_squares_loss(problem)
    assert OptimalityTest.of(problem).gap(state) == pytest.approx(state.loss - optimum, rel=1e-6)


def test_no_bound_of_the_gap_is_violated_for_both_signs(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    for case in range(80):
        inputs, samples = int(rng.integers(2, 5)), int(rng.integers(3, 25))
        output_weights = both_signs(inputs) * rng.uniform(0.3, 2.0, 2 * inputs)
        problem = random_labels(case, samples=samples, inputs=inputs, output_weights=output_weights)
        test = OptimalityTest.of(problem)
        state = problem.at(rng.standard_normal((2 * inputs, inputs)) * 10.0 ** rng.uniform(-3, 1))
        optimum = problem.loss_of(problem.form_values(LiftedLeastSquares()(problem)) - problem.labels)
        curvature = max(0.0, -smallest_eigenpair(problem, state, rng)[0])
        gap = (state.loss - optimum) / ROUNDING
        assert residual_gap_bound(test, state) >= gap
        assert second_order_bound(test, state, curvature) >= gap
        assert curvature <= curvature_bound(problem, state.residual_matrix) * ROUNDING


def test_no_bound_of_the_loss_is_violated_for_planted_labels(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    for case in range(60):
        inputs = int(rng.integers(2, 5))
        sign = float(rng.choice([-1.0, 1.0]))
        problem, matrix = planted_rank(
            case, samples=int(rng.integers(inputs + 1, 20)), inputs=inputs, rank=inputs, sign=sign
        )
        problem = replace(problem, output_weights=rng.uniform(0.3, 3.0) * problem.output_weights)
        test = OptimalityTest.of(problem)
        state = problem.at(rng.standard_normal((inputs + 1, inputs)) * 10.0 ** rng.uniform(-2, 1))
        curvature = max(0.0, -smallest_eigenpair(problem, state, rng)[0])
        assert trace_bound(problem, is_planted=True) >= abs(np.trace(matrix)) / ROUNDING
        assert planted_bound(test, state, curvature) >= state.loss / ROUNDING
        assert sharp_planted_bound(test, state) >= state.loss / ROUNDING
        assert sharp_planted_bound(test, state) <= planted_bound(test, state, curvature) * ROUNDING
        assert test.gap(state) >= state.loss / ROUNDING


def test_no_lower_bound_for_one_sign_exceeds_a_loss_that_was_reached(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    for case in range(8):
        problem = random_labels(case, samples=20, inputs=4, output_weights=np.ones(5))
        test, fit = OptimalityTest.of(problem), LiftedSemidefinite()(problem)
        assert trace_bound(problem, is_planted=False) >= np.trace(fit.matrix) / ROUNDING
        for scale in (0.01, 0.3, 2.0):
            state = problem.at(scale * rng.standard_normal((5, 4)))
            assert test.semidefinite_bound(state.residuals) <= fit.loss * ROUNDING
            assert residual_gap_bound(test, state) >= (state.loss - fit.loss) / ROUNDING
            assert test.gap(state) >= (state.loss - fit.loss) / ROUNDING


def test_the_duality_gap_closes_for_labels_that_can_not_be_reached(seed: int) -> None:
    problem = random_labels(seed, samples=60, inputs=8, output_weights=np.ones(9))
    trained = train(problem, rng=np.random.default_rng(seed))
    certificate = certify_training(OptimalityTest.of(problem), trained.weights)
    assert certificate.loss > 0.05
    assert certificate.gap < 1e-8
    assert certificate.residual_gap_bound < 1e-8
    assert certificate.is_global
    assert not certificate.is_zero


def test_too_few_neurons_of_one_sign_are_compared_with_the_optimum_of_enough(seed: int) -> None:
    problem = random_labels(seed, samples=60, inputs=8, output_weights=np.ones(1))
    trained = train(problem, rng=np.random.default_rng(seed))
    certificate = certify_training(OptimalityTest.of(problem), trained.weights)
    enough = replace(problem, output_weights=np.ones(8))
    assert certificate.lower_bound == pytest.approx(LiftedSemidefinite()(enough).loss, abs=1e-9)
    assert certificate.loss > certificate.lower_bound


def test_a_saddle_is_not_certified(seed: int) -> None:
    problem = random_labels(seed, samples=9, inputs=4)
    certificate = certify_training(OptimalityTest.of(problem), np.zeros((8, 4)))
    assert not certificate.is_global
    assert certificate.gradient == 0.0
    assert certificate.second_order_bound >= certificate.gap > 0.1
    assert certificate.curvature > 0.1


def test_statements_carry_the_numbers(seed: int) -> None:
    problem = random_labels(seed, samples=30, inputs=4)
    trained = train(problem, rng=np.random.default_rng(seed))
    certificate = certify_training(OptimalityTest.of(problem), trained.weights)
    texts = dict(certificate.statements())
    assert f"{certificate.loss:.3e}, the global optimum" == texts["training loss"]
    assert "determined by the samples" in texts["quadratic form"]
    assert "gap by gradient and curvature" in texts
    assert "loss if planted, by Theorem 2.2 of Soltanolkotabi et al." not in texts


def test_spurious_minima_are_never_called_global(seed: int) -> None:
    """With two positive and one negative neuron for two inputs, searches end at different losses."""
    is_spurious = False
    for case in range(8):
        rng = np.random.default_rng([seed, case])
        points, factor = rng.standard_normal((6, 2)), rng.standard_normal((2, 2))
        labels = -np.sum((points @ factor.T) ** 2, axis=1) + 0.5 * rng.standard_normal(6)
        problem = QuadraticProblem(points, labels, np.array([1.0, 1.0, -1.0]))
        test = OptimalityTest.of(problem)
        certificates = [certify_training(test, _searched(problem, rng)) for _ in range(4)]
        best = min(certificate.loss for certificate in certificates)
        for certificate in certificates:
            is_best = certificate.loss <= best + 1e-7
            is_spurious |= not is_best
            assert certificate.regime == "no guarantee"
            assert is_best or not certificate.is_global
    assert is_spurious


def _searched(problem: QuadraticProblem, rng: np.random.Generator) -> np.ndarray:
    return train(problem, TrustRegion(steps=40), rng=rng).weights
