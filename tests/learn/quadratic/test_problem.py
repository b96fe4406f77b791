from dataclasses import replace

import numpy as np
import pytest

from squares import both_signs, random_labels
from unweave.activations import QUADRATIC
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.problem import QuadraticProblem, WhiteUnits, best_step, real_roots
from unweave.networks.network import Network

MIXED = np.array([1.0, -0.5, 2.0, 0.0, -1.5])


def problem_and_weights(seed: int) -> tuple[QuadraticProblem, np.ndarray, np.ndarray]:
    problem = random_labels(seed, samples=11, inputs=4, output_weights=MIXED)
    rng = np.random.default_rng([seed, 5])
    return problem, rng.standard_normal((5, 4)), rng.standard_normal((5, 4))


def test_predictions_are_those_of_the_network(seed: int) -> None:
    problem, weights, _ = problem_and_weights(seed)
    network = Network.shallow(weights, np.zeros(5), MIXED[None], np.zeros(1), QUADRATIC)
    state = problem.at(weights)
    assert np.allclose(network(problem.points)[:, 0] - problem.labels, state.residuals, atol=1e-12)
    assert state.loss == pytest.approx(np.mean(state.residuals**2) / 2)


def test_the_gradient_is_that_of_differences(seed: int) -> None:
    problem, weights, direction = problem_and_weights(seed)
    step = 1e-5
    ahead, behind = (problem.at(weights + sign * step * direction).loss for sign in (1, -1))
    slope = np.sum(problem.at(weights).gradient * direction)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-6)


def test_hessian_products_are_differences_of_gradients(seed: int) -> None:
    problem, weights, direction = problem_and_weights(seed)
    step = 1e-5
    ahead, behind = (problem.at(weights + sign * step * direction).gradient for sign in (1, -1))
    product = problem.hessian_product(problem.at(weights), direction)
    assert np.allclose((ahead - behind) / (2 * step), product, rtol=1e-6, atol=1e-6 * np.max(np.abs(product)))
    assert problem.curvature(problem.at(weights), direction) == pytest.approx(np.sum(direction * product))


def test_the_gauss_newton_part_has_the_coefficient_four(seed: int) -> None:
    problem, weights, direction = problem_and_weights(seed)
    state = problem.at(weights)
    bent = 2 * np.sum((direction.T * MIXED) @ direction * state.residual_matrix)
    mixed = np.einsum("ni,li,l,lj,nj->n", problem.points, weights, MIXED, direction, problem.points)
    coefficient = (problem.curvature(state, direction) - bent) / (np.sum(mixed**2) / problem.samples)
    assert coefficient == pytest.approx(4.0, rel=1e-10)


def test_the_jacobian_and_its_transpose_are_adjoint(seed: int) -> None:
    problem, weights, direction = problem_and_weights(seed)
    factors = np.random.default_rng(seed).standard_normal(problem.samples)
    left = np.sum(problem.pull_back(weights, factors) * direction)
    assert left == pytest.approx(factors @ problem.slopes(weights, direction))


def test_residual_matrix_is_the_gradient_of_the_convex_loss(seed: int) -> None:
    problem, weights, _ = problem_and_weights(seed)
    other = np.random.default_rng(seed).standard_normal((4, 4))
    other = other + other.T
    matrix = problem.matrix_of(weights)
    losses = [problem.loss_of(problem.form_values(matrix + t * other) - problem.labels) for t in (1e-5, -1e-5)]
    assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(
        np.sum(problem.at(weights).residual_matrix * other), rel=1e-6
    )


def test_training_output_weights_too_keeps_a_quantity_of_every_neuron(seed: int) -> None:
    problem, weights, _ = problem_and_weights(seed)
    problem, weights = replace(problem, labels=0.1 * problem.labels), 0.3 * weights
    kept, first = np.sum(weights**2, axis=1) - 2 * problem.output_weights**2, problem.at(weights).loss
    for _ in range(1000):
        state = problem.at(weights)
        slopes = ((problem.points @ weights.T) ** 2).T @ state.residuals / problem.samples
        problem = replace(problem, output_weights=problem.output_weights - 2e-3 * slopes)
        weights = weights - 2e-3 * state.gradient
    assert problem.at(weights).loss < 0.1 * first
    assert np.allclose(np.sum(weights**2, axis=1) - 2 * problem.output_weights**2, kept, atol=1e-2)


def test_lines_are_searched_exactly(seed: int) -> None:
    problem, weights, direction = problem_and_weights(seed)
    state = problem.at(weights)
    best = problem.moved(state, direction).loss
    others = [problem.at(weights + t * direction).loss for t in np.linspace(-5, 5, 201)]
    assert best <= min(others) + 1e-12


def test_real_roots_are_those_of_the_companion_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(300):
        coefficients = tuple(float(c) for c in rng.standard_normal(4) * 10.0 ** rng.uniform(-2, 2, 4))
        reference = np.roots(coefficients)
        found = np.array(real_roots(coefficients))
        for root in reference[np.abs(reference.imag) < 1e-12 * np.abs(reference)].real:
            assert np.min(np.abs(found - root)) < 1e-6 * abs(root)


@pytest.mark.parametrize(
    ("coefficients", "roots"),
    [((0.0, 0.0, 2.0, -4.0), [2.0]), ((0.0, 1.0, 0.0, -4.0), [-2.0, 2.0]), ((0.0, 0.0, 0.0, 1.0), [])],
)
def test_polynomials_of_lower_degree_have_their_roots(coefficients: tuple, roots: list[float]) -> None:
    found = real_roots(coefficients)
    assert all(min(abs(root - value) for value in found) < 1e-12 for root in roots)


def test_a_line_that_leads_nowhere_is_not_followed() -> None:
    residuals = np.array([1.0, -1.0])
    assert best_step(residuals, np.zeros(2), np.zeros(2)) == 0.0
    assert best_step(residuals, np.zeros(2), np.array([1.0, -1.0])) == 0.0


def test_whitening_keeps_predictions_and_whitens(seed: int) -> None:
    problem, weights, _ = problem_and_weights(seed)
    problem = replace(problem, points=problem.points * np.array([1.0, 100.0, 0.01, 3.0]))
    whitening = WhiteUnits.of(problem)
    inside = whitening.problem.at(whitening.inside(weights))
    assert np.allclose(inside.residuals * whitening.unit, problem.at(weights).residuals, rtol=1e-9, atol=1e-6)
    assert np.allclose(whitening.outside(whitening.inside(weights)), weights)
    moments = whitening.problem.points.T @ whitening.problem.points / problem.samples
    assert np.allclose(moments, np.eye(4), atol=1e-10)
    assert np.mean(whitening.problem.labels**2) == pytest.approx(1.0)


def test_whitening_leaves_out_directions_that_points_lack(seed: int) -> None:
    problem = random_labels(seed, samples=3, inputs=6)
    whitening = WhiteUnits.of(problem)
    assert whitening.problem.inputs == problem.span == 3
    weights = whitening.outside(np.ones((12, 3)))
    outside = np.linalg.svd(problem.points)[2][3:]
    assert np.allclose(weights @ outside.T, 0.0, atol=1e-12)


def test_mirrored_problems_have_the_same_losses(seed: int) -> None:
    problem, weights, _ = problem_and_weights(seed)
    assert problem.mirrored().at(weights).loss == pytest.approx(problem.at(weights).loss)
    assert np.allclose(problem.mirrored().at(weights).gradient, problem.at(weights).gradient)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("points", "labels", "output_weights", "words"),
    [
        (np.ones((3, 2)), np.ones(4), np.ones(2), "one label per point"),
        (np.ones((0, 2)), np.ones(0), np.ones(2), "at least one"),
        (np.ones((3, 2)), np.array([1.0, np.nan, 2.0]), np.ones(2), "1 that are NaN"),
        (np.array([[np.inf, 1.0]]), np.ones(1), np.ones(2), "points needs finite"),
        (np.ones((3, 2)), np.ones(3), np.zeros(2), "not zero"),
        (np.ones(3), np.ones(3), both_signs(1), "2 axes"),
    ],
)
def test_wrong_samples_are_refused(points: object, labels: object, output_weights: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        QuadraticProblem(points, labels, output_weights)  # type: ignore[arg-type]
