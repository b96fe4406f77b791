"""The damped Gauss-Newton alone, on small problems with known solutions, and against SciPy."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy  # its parts are loaded when first used

from unweave.exceptions import InvalidInput
from unweave.numerics.least_squares import (
    FloorRules,
    Policy,
    Solution,
    Solver,
    Step,
    Stop,
    ending_after,
    is_over,
    minimise,
    normal_solver,
    orthogonal_solver,
    scattered,
)

PLAIN = Policy(gain_tol=1e-12, step_tol=1e-14)
DAMPED = PLAIN.always_damped(first=1e-2, least=1e-15)
Vector = np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """Residuals and their Jacobian as functions of a vector; counts how often it is asked."""

    function: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], np.ndarray]
    is_orthogonal: bool = True
    asked: list[Vector] = field(default_factory=list)
    dampings: list[float] = field(default_factory=list)

    def residuals(self, point: Vector, /) -> Vector:
        self.asked.append(point)
        return self.function(point)

    def loss(self, residuals: Vector, /) -> float:
        return float(np.sqrt(np.mean(residuals**2)))

    def solver(self, point: Vector, residuals: Vector, /) -> Solver:
        jacobian = -self.jacobian(point)
        gram = jacobian.T @ jacobian
        solve = (
            orthogonal_solver(jacobian, residuals)
            if self.is_orthogonal
            else normal_solver(gram, jacobian.T @ residuals, float(np.mean(np.diag(gram))))
        )

        def noted(damping: float) -> Step:
            self.dampings.append(damping)
            return solve(damping)

        return noted

    def moved(self, point: Vector, step: Step, /) -> Vector:
        return point + step


def waves(seed: int, *, rows: int = 40, unknowns: int = 5, noise: float = 0.0, rank: int | None = None) -> Curve:
    """Sines of random projections; with a rank below the number of unknowns some of these matter together only."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, rank or unknowns)) @ rng.normal(size=(rank or unknowns, unknowns)) / unknowns
    shifts = rng.normal(size=rows)
    values = np.sin(matrix @ np.zeros(unknowns) + shifts) + noise * rng.normal(size=rows)
    return Curve(
        lambda point: np.sin(matrix @ point + shifts) - values,
        lambda point: np.cos(matrix @ point + shifts)[:, None] * matrix,
    )


def start_of(seed: int, size: float = 0.3, unknowns: int = 5) -> Vector:
    return size * np.random.default_rng([seed, 1]).normal(size=unknowns)


@pytest.mark.each_value
@pytest.mark.parametrize("policy", [PLAIN, DAMPED], ids=["undamped", "damped"])
@pytest.mark.parametrize("is_orthogonal", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("number", range(5))
def test_it_ends_where_scipy_ends(policy: Policy, is_orthogonal: bool, noise: float, number: int, seed: int) -> None:
    problem = replace(waves(100 * seed + number, noise=noise), is_orthogonal=is_orthogonal)
    start = start_of(100 * seed + number)
    found = minimise(problem, start, policy)
    peer = scipy.optimize.least_squares(
        problem.function, start, problem.jacobian, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    np.testing.assert_allclose(found.point, peer.x, atol=1e-6)
    assert found.losses[-1] <= problem.loss(peer.fun) * (1 + 1e-9) + 1e-14
    assert found.has_converged
    assert found.attempts <= 2 * peer.nfev + 5


def test_convergence_is_quadratic_without_damping(seed: int) -> None:
    found = minimise(waves(seed), start_of(seed, 1e-2), PLAIN)
    first, second, third = found.losses[:3]
    assert second < 10 * first**2
    assert third < max(10 * second**2, 1e-15)
    assert found.steps <= 6


@pytest.mark.parametrize("is_orthogonal", [True, False])
@pytest.mark.parametrize("policy", [PLAIN, DAMPED], ids=["undamped", "damped"])
def test_a_jacobian_without_full_rank_does_no_harm(policy: Policy, is_orthogonal: bool, seed: int) -> None:
    found = minimise(replace(waves(seed, rank=3), is_orthogonal=is_orthogonal), start_of(seed), policy)
    assert found.losses[-1] < 1e-12
    assert np.linalg.norm(found.point) < 10


@pytest.mark.parametrize("target", [0.0, 1e-3])
def test_a_solved_start_takes_no_step(target: float, seed: int) -> None:
    problem = waves(seed)
    found = minimise(problem, start_of(seed, 0.1 * target), PLAIN, target=target)
    assert (found.stop, found.steps, found.attempts, len(problem.asked)) == (Stop.SOLVED, 0, 0, 1)
    assert found.has_converged


def test_it_stops_at_the_target(seed: int) -> None:
    found = minimise(waves(seed), start_of(seed), PLAIN, target=1e-5)
    assert found.stop is Stop.SOLVED
    assert found.losses[-1] <= 1e-5 < found.losses[-2]


def test_it_stops_at_the_floor(seed: int) -> None:
    problem = waves(seed, rows=400, noise=1e-4)
    with_floor, without = (minimise(problem, start_of(seed), PLAIN, floor=floor) for floor in (1e-4, 0.0))
    assert with_floor.stop is Stop.FLOOR
    assert with_floor.losses[-1] < 1.2e-4
    assert with_floor.attempts <= without.attempts
    np.testing.assert_allclose(with_floor.point, without.point, atol=1e-3)


def test_the_policy_says_how_far_above_the_floor_a_fit_may_end(seed: int) -> None:
    early = replace(PLAIN, floors=FloorRules(sure=np.inf))
    found = minimise(waves(seed, noise=1e-4), start_of(seed), early, floor=1e-4)
    assert (found.stop, found.steps) == (Stop.FLOOR, 1)


def test_the_floor_ends_a_fit_that_can_not_gain(seed: int) -> None:
    problem = waves(seed, noise=1e-4)
    best = minimise(problem, start_of(seed), PLAIN).point
    again = minimise(problem, best, replace(PLAIN, gain_tol=0.0, step_tol=0.0), floor=1e-4)
    assert again.stop is Stop.FLOOR
    assert again.attempts <= 3


def test_the_loss_falls_with_every_step(seed: int) -> None:
    problem = waves(seed, noise=0.3)
    found = minimise(problem, start_of(seed, 3.0), DAMPED)
    assert np.all(np.diff(found.losses) < 0)
    assert found.losses[-1] == problem.loss(found.residuals)
    np.testing.assert_array_equal(found.residuals, problem.function(found.point))
    assert len(problem.asked) == found.attempts + 1


def root_of(function: Callable[[float], float], slope: Callable[[float], float]) -> Curve:
    return Curve(lambda point: np.array([function(point[0])]), lambda point: np.array([[slope(point[0])]]))


@pytest.mark.parametrize("worst", [np.nan, np.inf])
def test_a_step_to_nowhere_is_rejected(worst: float) -> None:
    """From 3 the undamped step for log x = 0 leads to x < 0."""
    problem = root_of(lambda x: np.log(x) if x > 0 else worst, lambda x: 1 / x)
    found = minimise(problem, np.array([3.0]), PLAIN)
    assert problem.asked[1][0] < 0
    assert found.point[0] == pytest.approx(1.0, abs=1e-12)
    assert found.attempts > found.steps


def test_unsolvable_systems_and_refused_moves_raise_the_damping() -> None:
    @dataclass(frozen=True, eq=False)
    class Shy:
        def residuals(self, point: float, /) -> float:
            return point

        def loss(self, residuals: float, /) -> float:
            return abs(residuals)

        def solver(self, point: float, _residuals: float, /) -> Solver:
            return lambda damping: np.array([np.nan if damping < 0.01 else -point / (1 + damping)])

        def moved(self, point: float, step: Step, /) -> float | None:
            return point + float(step[0]) if abs(step[0]) <= 0.5 else None

    found = minimise(Shy(), 1.0, Policy(steps=1))
    # 0 and 0.001 are unsolvable, 0.01 and 0.1 move too far, 1 moves by a half.
    assert (found.steps, found.attempts, found.stop) == (1, 5, Stop.LIMIT)
    assert found.point == pytest.approx(0.5)


def test_it_is_stuck_where_no_step_helps() -> None:
    """A wrong sign in the Jacobian: every step climbs."""
    problem = root_of(lambda x: x, lambda _: -1.0)
    found = minimise(problem, np.array([1.0]), replace(PLAIN, largest_damping=1e3))
    assert (found.stop, found.steps, found.point[0]) == (Stop.STUCK, 0, 1.0)
    assert not found.has_converged
    np.testing.assert_allclose(problem.dampings, [0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3])
    few = minimise(problem, np.array([1.0]), replace(PLAIN, tries=3))
    assert (few.stop, few.attempts) == (Stop.STUCK, 3)


@pytest.mark.parametrize(("limit", "steps"), [("steps", 2), ("attempts", 4)])
def test_steps_and_attempts_are_limited(limit: str, steps: int, seed: int) -> None:
    policy = {"steps": replace(DAMPED, steps=steps), "attempts": replace(DAMPED, attempts=steps)}[limit]
    found = minimise(waves(seed, noise=0.1), start_of(seed, 3.0), policy)
    assert found.stop is Stop.LIMIT
    assert getattr(found, limit) == steps
    assert not found.has_converged


def test_a_fit_that_creeps_is_given_up() -> None:
    """At a root of order ten every step leaves nine tenths of the way."""
    problem = root_of(lambda x: x**10, lambda x: 10 * x**9)
    share = 0.9**10
    for patience in (1, 4):
        found = minimise(
            problem, np.array([1.0]), replace(PLAIN, gain_tol=1 - 0.9 * share**patience, patience=patience)
        )
        assert (found.stop, found.steps) == (Stop.SMALL_GAIN, patience)
    found = minimise(problem, np.array([1.0]), replace(PLAIN, gain_tol=0.9 * (1 - share), steps=20))
    assert found.stop is Stop.LIMIT


def test_small_gains_under_damping_do_not_end_a_fit() -> None:
    heavy = replace(DAMPED, first_damping=1e4, gain_tol=1e-2)
    problem = root_of(np.sinh, np.cosh)
    early = minimise(problem, np.array([1.0]), heavy)
    late = minimise(problem, np.array([1.0]), replace(heavy, gain_damping=1e-2))
    assert (early.stop, early.steps) == (Stop.SMALL_GAIN, 1)
    assert late.losses[-1] < 1e-12


def test_damping_falls_faster_after_good_steps() -> None:
    policy = Policy(decay=0.1, slow_decay=(0.8, 0.5), negligible_damping=1e-4, least_damping=0.0)
    assert policy.lowered(1.0, 0.7) == pytest.approx(0.1)
    assert policy.lowered(1.0, 0.9) == pytest.approx(0.5)
    assert policy.lowered(5e-4, 0.7) == 0.0
    assert replace(policy, least_damping=1e-4).lowered(5e-4, 0.7) == 1e-4
    assert policy.raised(0.0) == policy.revived_damping
    assert policy.raised(1.0) == policy.growth


def test_a_fit_that_is_always_damped_never_goes_without() -> None:
    policy = PLAIN.always_damped(first=1e-2, least=1e-15)
    assert policy.first_damping == 1e-2
    assert policy.lowered(2e-15, 0.1) == 1e-15
    assert policy.raised(1e-15) == policy.growth * 1e-15


@pytest.mark.parametrize(
    "wrong", [{"growth": 1.0}, {"revived_damping": 0.0}, {"patience": 0}, {"growth": np.nan}], ids=str
)
def test_policies_that_never_end_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="damping must grow"):
        replace(PLAIN, **wrong)  # pyright: ignore[reportArgumentType]


# Damped systems


@pytest.mark.parametrize("damping", [0.0, 1e-6, 1.0])
def test_both_solvers_solve_the_damped_problem(damping: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    jacobian, right = rng.normal(size=(30, 6)), rng.normal(size=30)
    gram = jacobian.T @ jacobian
    unit = float(np.mean(np.diag(gram)))
    expected = np.linalg.solve(gram + damping * unit * np.eye(6), jacobian.T @ right)
    np.testing.assert_allclose(orthogonal_solver(jacobian, right)(damping), expected, atol=1e-12)
    np.testing.assert_allclose(normal_solver(gram, jacobian.T @ right, unit)(damping), expected, atol=1e-12)
    units = np.diag(gram)
    marquardt = np.linalg.solve(gram + damping * np.diag(units), jacobian.T @ right)
    np.testing.assert_allclose(normal_solver(gram, jacobian.T @ right, units)(damping), marquardt, atol=1e-12)


def test_an_indefinite_system_gets_a_ridge_or_no_step() -> None:
    gram, target = np.diag([1.0, -1e-12]), np.ones(2)
    assert np.all(np.isfinite(normal_solver(gram, target, 1.0)(0.0)))
    assert np.all(np.isnan(normal_solver(gram, target, 1.0, ridges=(0.0,))(0.0)))
    assert np.all(np.isnan(normal_solver(-np.eye(2), target, 1.0)(0.0)))
    assert np.any(np.isnan(normal_solver(np.full((2, 2), np.nan), target, 1.0)(0.0)))
    assert normal_solver(np.empty((0, 0)), np.empty(0), 1.0)(0.0).shape == (0,)


@pytest.mark.parametrize("entry", [np.nan, 0.0])
def test_a_jacobian_of_nothing_gives_no_step(entry: float) -> None:
    assert np.all(np.isnan(orthogonal_solver(np.full((4, 2), entry), np.ones(4))(0.0)))


def test_steps_of_free_parameters_are_scattered() -> None:
    step = scattered(lambda damping: np.array([damping, 2.0]), np.array([True, False, True]))(1.0)
    np.testing.assert_array_equal(step, [1.0, 0.0, 2.0])


def test_a_solution_says_how_it_ended() -> None:
    for stop in Stop:
        solution = Solution(0.0, 0.0, (1.0, 0.5), 2, stop)
        assert solution.steps == 1
        assert solution.has_converged == (stop not in (Stop.STUCK, Stop.LIMIT))
        assert stop.value


def test_a_fit_ends_when_the_time_is_over(seed: int) -> None:
    with ending_after(1e-9):
        time.sleep(1e-6)
        assert is_over()
        found = minimise(waves(seed), start_of(seed), PLAIN)
    assert (found.stop, found.attempts) == (Stop.LIMIT, 0)
    assert not is_over()
    assert minimise(waves(seed), start_of(seed), PLAIN).attempts > 0
