from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from unweave.activations import QUADRATIC, RELU, TANH, Activation, softplus
from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.certificates import (
    certify_local_convergence,
    certify_zero_error,
    jacobian_lipschitz,
)
from unweave.learn.overparameterized.descent import GradientDescent
from unweave.learn.overparameterized.jacobian import TrainingPoint
from unweave.learn.overparameterized.newton import GramLevenbergMarquardt, GramProblem
from unweave.reproduce.soltanolkotabi.convergence_rates import convergence_rate, seen_rate
from unweave.reproduce.soltanolkotabi.theorem_constants import start_near, theorem_constants

SHARP = softplus(10.0)


def planted_point(seed: int, activation: Activation, *, inputs: int, neurons: int, samples: int) -> TrainingPoint:
    """The planted network itself, output weights 1, as the theorem has it."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((samples, inputs))
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    labels = np.sum(activation(points @ weights.T), axis=1)
    return TrainingPoint(points, labels, np.ones(neurons), weights, activation)


def random_start(seed: int, activation: Activation, *, inputs: int, neurons: int, samples: int) -> TrainingPoint:
    """Random labels, random signs."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], neurons)
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    points, labels = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    return TrainingPoint(points, labels, signs, weights, activation)


def easy_start(seed: int, activation: Activation, *, trains_outputs: bool) -> TrainingPoint:
    """Antisymmetric pairs give zero answers, and large output weights make their Jacobian stiff: a certified start."""
    rng = np.random.default_rng(seed)
    inputs, pairs, samples = 12, 120, 10
    half = rng.standard_normal((pairs, inputs)) / np.sqrt(inputs)
    heights = 12.0 * rng.choice([-1.0, 1.0], pairs)
    points, labels = rng.standard_normal((samples, inputs)), 0.02 * rng.standard_normal(samples)
    weights, outputs = np.vstack([half, half]), np.concatenate([heights, -heights])
    return TrainingPoint(points, labels, outputs, weights, activation, trains_outputs)


@pytest.mark.parametrize("activation", [SHARP, TANH, QUADRATIC], ids=str)
@pytest.mark.parametrize("trains_outputs", [True, False])
def test_newton_fits_random_labels_up_to_rounding(activation: Activation, trains_outputs: bool, seed: int) -> None:
    start = random_start(seed, activation, inputs=20, neurons=40, samples=60)
    fit = GramLevenbergMarquardt()(replace(start, trains_outputs=trains_outputs))
    assert fit.has_converged
    assert certify_zero_error(fit.point).is_zero
    assert fit.steps <= 15
    assert np.all(np.diff(fit.losses) < 0)


def test_newton_recovers_a_planted_network_from_more_samples_than_parameters(seed: int) -> None:
    planted = planted_point(seed, TANH, inputs=5, neurons=2, samples=80)
    start = start_near(planted, np.random.default_rng(seed), weight_distance=0.2, output_distance=0.1)
    fit = GramLevenbergMarquardt()(start)
    assert fit.has_converged
    assert np.allclose(fit.point.weights, planted.weights, atol=1e-12)


def test_both_systems_give_the_same_step(seed: int) -> None:
    point = random_start(seed, TANH, inputs=4, neurons=4, samples=15)
    jacobian = point.dense_jacobian()
    ridge = 0.1 * np.trace(point.gram()) / point.samples
    over_parameters = np.linalg.solve(jacobian.T @ jacobian + ridge * np.eye(20), -point.pull_back(point.residuals))
    assert np.allclose(GramProblem().solver(point, point)(0.1), over_parameters, atol=1e-10)


def test_newton_refuses_systems_that_are_too_large(seed: int) -> None:
    start = random_start(seed, TANH, inputs=4, neurons=4, samples=15)
    with pytest.raises(InvalidInput, match="at most 10 equations"):
        GramLevenbergMarquardt(equation_limit=10)(start)


def test_newton_stops_where_no_step_helps(seed: int) -> None:
    # Neurons without negative outputs can't reach negative labels.
    start = random_start(seed, QUADRATIC, inputs=3, neurons=4, samples=8)
    fit = GramLevenbergMarquardt()(
        replace(start, output_weights=np.ones(4), labels=-np.abs(start.labels) - 1, trains_outputs=False)
    )
    assert not fit.has_converged
    assert fit.point.loss >= 0.5


@pytest.mark.parametrize(
    ("activation", "neurons", "samples"),
    [
        (SHARP, 40, 60),
        (SHARP, 40, 133),
        pytest.param(SHARP, 80, 133, marks=pytest.mark.slow),
        (TANH, 40, 60),
    ],
)
def test_the_seen_rate_is_between_the_guarantee_and_eight_times_it(
    activation: Activation, neurons: int, samples: int, seed: int
) -> None:
    planted = planted_point(seed, activation, inputs=20, neurons=neurons, samples=samples)
    distance = 0.1 * float(np.linalg.norm(planted.weights))
    start = start_near(planted, np.random.default_rng(seed), weight_distance=distance, output_distance=0.01)
    descent = GradientDescent(loss_tol=1e-12)
    fit = descent(start)
    rate = convergence_rate(fit, descent.first_step(start))
    assert fit.has_converged
    assert np.all(np.diff(fit.losses) <= 0)
    assert rate.guaranteed <= rate.seen <= 8 * rate.guaranteed
    assert "linear rate" in dict(rate.statements())
    # Zero error is not recovery: the weights hardly come nearer.
    assert np.linalg.norm(fit.point.weights - planted.weights) >= 0.5 * distance


def test_in_the_limit_the_rate_is_twice_the_guarantee(seed: int) -> None:
    planted = planted_point(seed, SHARP, inputs=10, neurons=20, samples=12)
    start = start_near(planted, np.random.default_rng(seed), weight_distance=0.01, output_distance=0.0)
    descent = GradientDescent(loss_tol=1e-24)
    fit = descent(start)
    rate = convergence_rate(fit, descent.first_step(start))
    assert rate.seen == pytest.approx(rate.predicted, rel=0.25)


@pytest.mark.parametrize("activation", [SHARP, TANH], ids=str)
def test_the_theorem_holds_in_its_ball_with_its_step(activation: Activation, seed: int) -> None:
    planted = planted_point(seed, activation, inputs=10, neurons=12, samples=20)
    constants = theorem_constants(planted)
    assert constants.case == ("a" if activation == SHARP else "b")
    start = start_near(
        planted,
        np.random.default_rng(seed),
        weight_distance=constants.weight_radius,
        output_distance=constants.output_radius,
    )
    fit = GradientDescent(step=constants.step, steps=300, loss_tol=0.0)(start)
    ratios = fit.losses[1:] / fit.losses[:-1]
    assert np.all(ratios <= 1 - constants.contraction)
    assert np.linalg.norm(fit.point.weights - planted.weights) <= constants.region
    assert [name for name, _ in constants.statements()] == ["theorem's step", "theorem's start", "theorem's rate"]


def test_the_theorem_bounds_the_hessian_and_the_gradient(seed: int) -> None:
    planted = planted_point(seed, SHARP, inputs=10, neurons=12, samples=20)
    constants = theorem_constants(planted)
    start = start_near(planted, np.random.default_rng(seed), weight_distance=1e-3, output_distance=0.0)
    growth = float(np.sum(start.gradient[start.neurons :] ** 2)) / start.loss
    assert constants.least_growth <= growth <= constants.largest_growth
    units = np.eye(start.parameters)
    hessian = np.array([start.hessian_product(unit) for unit in units])
    assert np.linalg.norm(hessian, 2) <= constants.smoothness


@pytest.mark.parametrize("activation", [QUADRATIC, RELU], ids=str)
def test_the_theorem_needs_bounded_derivatives(activation: Activation, seed: int) -> None:
    with pytest.raises(InvalidInput, match="bounded"):
        theorem_constants(planted_point(seed, activation, inputs=3, neurons=4, samples=5))


def test_joint_descent_on_squares_conserves_a_quantity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = random_start(seed, QUADRATIC, inputs=6, neurons=5, samples=20)
    start = replace(start, weights=start.weights * rng.uniform(0.5, 1.0))
    fit = GradientDescent(step=1e-3, steps=1_500, loss_tol=0.0)(start)

    def conserved(point: TrainingPoint) -> np.ndarray:
        return np.sum(point.weights**2, axis=1) - 2 * point.output_weights**2

    assert fit.losses[-1] < 0.9 * fit.losses[0]
    assert np.allclose(conserved(fit.point), conserved(start), atol=1e-2)


def test_a_step_that_is_too_long_is_shortened(seed: int) -> None:
    start = random_start(seed, QUADRATIC, inputs=4, neurons=8, samples=6)
    fit = GradientDescent(step=10.0, steps=1_000, is_adaptive=True)(start)
    assert np.all(np.diff(fit.losses) <= 0)
    assert fit.losses[-1] < 1e-3 * fit.losses[0]
    with pytest.raises(InvalidInput, match="positive"):
        GradientDescent(step=0.0)


def test_a_rate_needs_losses() -> None:
    assert seen_rate(0.9 ** np.arange(50.0)) == pytest.approx(0.1)
    with pytest.raises(InvalidInput, match="ten losses"):
        seen_rate(np.array([1.0, 0.5]))


# Squares have no bounded slope, so that there is a bound for fixed outputs only.
@pytest.mark.parametrize(
    ("activation", "trains_outputs"),
    [*product([softplus(1.0), SHARP, TANH], [True, False]), (QUADRATIC, False)],
)
def test_the_jacobian_never_changes_faster_than_its_bound(
    activation: Activation, trains_outputs: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for trial in range(30):
        point = replace(
            random_start(100 * seed + trial, activation, inputs=4, neurons=5, samples=9), trains_outputs=trains_outputs
        )
        step = rng.standard_normal(point.parameters) * 10.0 ** rng.uniform(-3, 1)
        length = float(np.linalg.norm(step))
        change = np.linalg.norm(point.moved(step).dense_jacobian() - point.dense_jacobian(), 2)
        assert change <= jacobian_lipschitz(point, length) * length * (1 + 1e-9)


@pytest.mark.parametrize("trains_outputs", [True, False])
@pytest.mark.parametrize("activation", [softplus(1.0), TANH], ids=str)
def test_a_certified_start_keeps_its_promises(activation: Activation, trains_outputs: bool, seed: int) -> None:
    start = easy_start(seed, activation, trains_outputs=trains_outputs)
    certificate = certify_local_convergence(start)
    assert certificate.is_certified
    fit = GradientDescent(step=certificate.step, steps=400, loss_tol=1e-20)(start)
    assert fit.steps >= 100
    assert np.all(fit.losses[1:] <= (1 - certificate.contraction) * fit.losses[:-1])
    distance = np.hypot(
        np.linalg.norm(fit.point.weights - start.weights),
        np.linalg.norm(fit.point.output_weights - start.output_weights),
    )
    assert distance <= certificate.travel <= certificate.radius
    assert "certified for steps" in certificate.statements()[0][1]


def test_squares_with_fixed_outputs_can_be_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, samples = 8, 10
    points, labels = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    # The balanced start: identity weights of both signs, large enough.
    weights = 40.0 * np.vstack([np.eye(inputs), np.eye(inputs)])
    signs = np.repeat([1.0, -1.0], inputs)
    start = TrainingPoint(points, labels, signs, weights, QUADRATIC, trains_outputs=False)
    certificate = certify_local_convergence(start)
    assert certificate.is_certified
    fit = GradientDescent(step=certificate.step, steps=300, loss_tol=0.0)(start)
    assert np.all(fit.losses[1:] <= (1 - certificate.contraction) * fit.losses[:-1])


def test_a_start_far_off_is_not_certified_and_says_so(seed: int) -> None:
    start = random_start(seed, SHARP, inputs=10, neurons=20, samples=30)
    certificate = certify_local_convergence(start)
    assert not certificate.is_certified
    assert certificate.residual_norm > certificate.residual_limit > 0
    assert "not certified" in certificate.statements()[0][1]


@pytest.mark.parametrize("activation", [RELU, QUADRATIC], ids=str)
def test_unbounded_derivatives_are_never_certified(activation: Activation, seed: int) -> None:
    start = random_start(seed, activation, inputs=10, neurons=20, samples=15)
    assert not certify_local_convergence(start).is_certified


def test_zero_error_is_told_from_small_error(seed: int) -> None:
    planted = planted_point(seed, SHARP, inputs=6, neurons=8, samples=20)
    assert certify_zero_error(planted).is_zero
    assert "rounding noise" in dict(certify_zero_error(planted).statements())["zero error"]
    shifted = replace(planted, labels=planted.labels + 1e-9)
    assert not certify_zero_error(shifted).is_zero
    assert certify_zero_error(shifted).largest_residual == pytest.approx(1e-9, rel=1e-3)
