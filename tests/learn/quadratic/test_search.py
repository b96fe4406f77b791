from dataclasses import replace

import numpy as np
import pytest

from squares import both_signs, planted_rank, random_labels, rank_deficient_saddle
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.lifted import LiftedLeastSquares
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.saddles import BlockEscape, LanczosEscape
from unweave.learn.quadratic.search import ConjugateGradients, Ending, SteepestDescent, TrustRegion
from unweave.learn.quadratic.train import DirectTraining, LocalSolver, random_start, train
from unweave.reproduce.soltanolkotabi.balanced_start import balanced_start
from unweave.reproduce.soltanolkotabi.perturbed_descent import PerturbedGradientDescent, Smoothness

# Thousands of small steps: checking the types of each would take most of the time.
pytestmark = pytest.mark.usefixtures("without_type_checks")

SOLVERS = [SteepestDescent(gap_tol=1e-8), ConjugateGradients(gap_tol=1e-10), TrustRegion()]
SECOND = [TrustRegion(gap_tol=1e-20)]


def named(solver: object) -> str:
    return type(solver).__name__


@pytest.mark.each_value
@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("start", ["random", "zero", "saddle"])
def test_every_solver_fits_any_labels_from_anywhere(solver: LocalSolver, start: str, seed: int) -> None:
    problem = random_labels(seed, samples=10, inputs=8)
    rng = np.random.default_rng(seed)
    starts = {
        "random": random_start(problem, rng),
        "zero": np.zeros((16, 8)),
        "saddle": rank_deficient_saddle(problem, seed),
    }
    trained = solver(starts[start], OptimalityTest.of(problem), rng)
    assert trained.ending is Ending.OPTIMAL
    assert trained.loss <= 1e-8
    assert trained.history[0] > 0.1
    assert trained.history[-1] == trained.loss
    assert (len(trained.escapes) > 0) == (start != "random")
    assert all(curvature < 0 for curvature in trained.escapes)


@pytest.mark.parametrize("fitted", [0, 1, 2])
def test_perturbed_gradient_descent_leaves_saddles(fitted: int, seed: int) -> None:
    """One neuron per fitted label, the others zero: with unit vectors as points that is critical."""
    labels = np.array([1.0, 0.5, -1.0])
    problem = QuadraticProblem(np.sqrt(3.0) * np.eye(3), 3.0 * labels, both_signs(3))
    weights = np.zeros((6, 3))
    weights[range(fitted), range(fitted)] = np.sqrt(labels[:fitted])
    assert np.allclose(problem.at(weights).gradient, 0.0, atol=1e-12)
    trained = PerturbedGradientDescent(gap_tol=1e-6, accuracy=1e-2)(
        weights, OptimalityTest.of(problem), np.random.default_rng(seed)
    )
    assert trained.ending is Ending.OPTIMAL
    assert len(trained.escapes) >= 1


def test_perturbed_gradient_descent_ends_where_no_move_helps(seed: int) -> None:
    problem = random_labels(seed, samples=30, inputs=3)
    trained = PerturbedGradientDescent(gap_tol=0.0, accuracy=0.5)(
        random_start(problem, np.random.default_rng(seed)), OptimalityTest.of(problem), np.random.default_rng(seed)
    )
    assert trained.ending is Ending.SECOND_ORDER_POINT
    assert np.linalg.norm(problem.at(trained.weights).gradient) <= 0.5


def test_smoothness_bounds_hold_near_the_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_labels(seed, samples=12, inputs=4, output_weights=both_signs(4) * rng.uniform(0.5, 2, 8))
    state = problem.at(rng.standard_normal((8, 4)))
    bounds = Smoothness.near(problem, state, OptimalityTest.of(problem).spectrum.largest)
    for _ in range(20):
        direction = rng.standard_normal((8, 4))
        direction *= 0.1 * bounds.slack / np.linalg.norm(direction)
        moved = problem.at(state.weights + direction)
        assert np.linalg.norm(moved.gradient - state.gradient) <= bounds.gradient * np.linalg.norm(direction)
        probe = rng.standard_normal((8, 4))
        bent = problem.hessian_product(moved, probe) - problem.hessian_product(state, probe)
        assert np.linalg.norm(bent) <= bounds.hessian * np.linalg.norm(direction) * np.linalg.norm(probe)


@pytest.mark.parametrize("solver", SECOND, ids=named)
def test_second_order_solvers_reach_rounding_in_few_steps(solver: LocalSolver, seed: int) -> None:
    problem = random_labels(seed, samples=133, inputs=20)
    rng = np.random.default_rng(seed)
    trained = solver(random_start(problem, rng), OptimalityTest.of(problem), rng)
    assert trained.loss < 1e-20
    assert trained.steps <= 15


def test_conjugate_gradients_need_few_steps(seed: int) -> None:
    problem = random_labels(seed, samples=133, inputs=20)
    rng, test = np.random.default_rng(seed), OptimalityTest.of(problem)
    solver = ConjugateGradients(gap_tol=1e-10)
    assert solver(random_start(problem, rng), test, rng).steps <= 400
    from_zero = solver(np.zeros((40, 20)), test, rng)
    assert from_zero.loss <= 1e-10
    assert from_zero.steps <= 600


@pytest.mark.parametrize("escape", [LanczosEscape(), BlockEscape(pairs=1)], ids=["lanczos", "single"])
def test_single_directions_lead_out_of_zero_too(escape: LanczosEscape | BlockEscape, seed: int) -> None:
    problem = random_labels(seed, samples=8, inputs=5)
    solver = TrustRegion(escape=escape)
    trained = solver(np.zeros((10, 5)), OptimalityTest.of(problem), np.random.default_rng(seed))
    assert trained.ending is Ending.OPTIMAL
    assert len(trained.escapes) >= 1


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_noisy_labels_are_fitted_like_by_least_squares(solver: LocalSolver, seed: int) -> None:
    problem = random_labels(seed, samples=40, inputs=5)
    trained = train(problem, solver, rng=np.random.default_rng(seed))
    rows = np.array([np.outer(x, x).ravel() for x in problem.points])
    residuals = rows @ np.linalg.lstsq(rows, problem.labels, rcond=None)[0] - problem.labels
    assert trained.loss == pytest.approx(problem.loss_of(residuals), abs=2e-8)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_searches_do_not_depend_on_units(solver: LocalSolver, seed: int) -> None:
    problem = random_labels(seed, samples=10, inputs=6)
    scales = 10.0 ** np.linspace(-2, 2, 6)
    other = replace(problem, points=problem.points * scales, labels=1e3 * problem.labels)
    start = np.random.default_rng(seed).standard_normal((12, 6))
    one, two = (
        train(case, solver, start=weights, rng=np.random.default_rng(seed))
        for case, weights in ((problem, start), (other, start / scales * np.sqrt(1e3)))
    )
    assert one.ending is two.ending is Ending.OPTIMAL
    assert two.loss <= 1e-8 * np.mean(other.labels**2)
    assert abs(one.steps - two.steps) <= max(2, 0.05 * one.steps)


@pytest.mark.parametrize("solver", [ConjugateGradients(), TrustRegion()], ids=named)
def test_one_sign_reaches_the_same_optimum_from_many_starts(solver: LocalSolver, seed: int) -> None:
    problem = random_labels(seed, samples=20, inputs=3, output_weights=-np.ones(4))
    losses = [train(problem, solver, rng=np.random.default_rng([seed, start])).loss for start in range(4)]
    assert np.ptp(losses) < 1e-10
    assert losses[0] == pytest.approx(train(problem, rng=np.random.default_rng(seed)).loss, abs=1e-10)


@pytest.mark.parametrize("samples", [12, 18])
def test_the_balanced_start_keeps_its_promise_at_every_step(samples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    output_weights = np.concatenate([both_signs(6) * rng.uniform(0.5, 2.0, 12), [0.0, 0.3]])
    problem = random_labels(seed, samples=samples, inputs=6, output_weights=output_weights)
    test = OptimalityTest.of(problem)
    start = balanced_start(test)
    assert np.allclose(problem.matrix_of(start.weights), 0.0, atol=1e-12 * start.scale**2)
    trained = SteepestDescent(steps=3_000, step=start.step, gap_tol=1e-8)(start.weights, test, rng)
    history = np.array(trained.history)
    assert np.all(history[1:] <= start.contraction * history[:-1])
    assert np.linalg.norm(trained.weights - start.weights) <= start.radius
    assert start.contraction ** start.steps_to(1e-3) <= 1e-3


def test_the_balanced_start_knows_the_jacobian(seed: int) -> None:
    problem = random_labels(seed, samples=12, inputs=6)
    start = balanced_start(OptimalityTest.of(problem))
    jacobian = np.array([problem.pull_back(start.weights, unit).ravel() for unit in np.eye(12)])
    singular = np.linalg.svd(jacobian, compute_uv=False)
    assert singular[-1] == pytest.approx(start.smallest_singular, rel=1e-6)


def test_the_balanced_start_ends_near_the_smallest_matrix(seed: int) -> None:
    problem = random_labels(seed, samples=8, inputs=6)
    test = OptimalityTest.of(problem)
    start = balanced_start(test)
    trained = SteepestDescent(step=start.step)(start.weights, test, np.random.default_rng(seed))
    smallest = LiftedLeastSquares()(problem)
    assert np.linalg.norm(problem.matrix_of(trained.weights) - smallest) < 1e-2 * np.linalg.norm(smallest)


def test_the_balanced_start_refuses_what_it_can_not_promise(seed: int) -> None:
    with pytest.raises(InvalidInput, match="3 neurons of each sign, got 4 positive and 0 negative"):
        balanced_start(OptimalityTest.of(planted_rank(seed, samples=5, inputs=3, rank=1)[0]))
    with pytest.raises(InvalidInput, match="rank 6: take at most 6 points"):
        balanced_start(OptimalityTest.of(random_labels(seed, samples=9, inputs=3)))


def test_direct_training_needs_no_start(seed: int) -> None:
    problem, rng = random_labels(seed, samples=9, inputs=3), np.random.default_rng(seed)
    with pytest.raises(InvalidInput, match="needs no start"):
        train(problem, start=np.zeros((6, 3)), rng=rng)
    with pytest.raises(InvalidInput, match=r"needs shape \(6, 3\), got \(2, 3\)"):
        train(problem, TrustRegion(), start=np.zeros((2, 3)), rng=rng)


def test_too_few_neurons_get_a_local_search(seed: int) -> None:
    problem = random_labels(seed, samples=30, inputs=5, output_weights=np.array([1.0, -1.0]))
    direct = train(problem, DirectTraining(starts=3), rng=np.random.default_rng(seed))
    single = train(problem, TrustRegion(), rng=np.random.default_rng(seed))
    assert direct.loss <= single.loss + 1e-9
    assert np.linalg.norm(problem.at(direct.weights).gradient) < 1e-6
