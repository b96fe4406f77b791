"""Neurons alone: output weights follow by least squares, and steps lead to the planted neurons."""

import numpy as np
import pytest

from unweave.activations import GAUSSIAN, GELU, SIN, TANH, Activation
from unweave.identification.students.projection import ProjectedFit, lift
from unweave.networks.planted import general_network
from unweave.numerics.least_squares import Policy, minimise


def problem_of(seed: int, activation: Activation, outputs: int = 2) -> tuple[ProjectedFit, np.ndarray]:
    """Plant a network, and give its neurons with the problem of finding them."""
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=3, neurons=4, outputs=outputs, activation=activation)
    points = rng.standard_normal((200, 3))
    hidden = network.layers[0]
    neurons = np.hstack([hidden.weights, hidden.biases[:, None]])
    return ProjectedFit(points, network(points), activation), neurons


@pytest.mark.parametrize("activation", [TANH, GELU, SIN], ids=str)
def test_true_neurons_leave_nothing(activation: Activation, seed: int) -> None:
    problem, neurons = problem_of(seed, activation)
    assert problem.loss(problem.residuals(neurons)) < 1e-12


def test_output_weights_are_those_of_least_squares(seed: int) -> None:
    problem, neurons = problem_of(seed, TANH)
    moved = neurons + 0.3
    columns = np.hstack([np.tanh(lift(problem.points) @ moved.T), lift(problem.points)])
    expected = np.linalg.lstsq(columns, problem.values, rcond=None)[0]
    np.testing.assert_allclose(problem.residuals(moved).coefficients, expected, atol=1e-9)


@pytest.mark.parametrize("near", [0.0, np.inf], ids=["normal equations", "orthogonal"])
def test_the_step_is_that_of_the_projected_residuals(near: float, seed: int) -> None:
    """Close to a solution the derivative of Kaufman is that of the projected residuals, so that the step solves it."""
    problem, neurons = problem_of(seed, TANH)
    problem = ProjectedFit(problem.points, problem.values, TANH, near=near)
    start = neurons + 1e-5 * np.random.default_rng(seed).standard_normal(neurons.shape)
    before = problem.residuals(start)
    step = problem.solver(start, before)(1e-12)
    after = problem.moved(start, step)
    assert after is not None
    assert problem.loss(problem.residuals(after)) < 1e-3 * problem.loss(before)


def test_steps_lead_to_the_neurons(seed: int) -> None:
    problem, neurons = problem_of(seed, TANH)
    start = neurons + 0.02 * np.random.default_rng(seed).standard_normal(neurons.shape)
    policy = Policy(steps=60).always_damped(first=1e-3, least=1e-16)
    found = minimise(problem, start, policy, target=1e-13)
    np.testing.assert_allclose(found.point, neurons, atol=1e-8)


def test_steps_that_leave_the_domain_are_refused() -> None:
    problem, neurons = problem_of(0, TANH)
    assert problem.moved(neurons, np.full(neurons.size, 1e3)) is None


def test_neurons_that_overflow_are_a_failure_and_no_error() -> None:
    problem, neurons = problem_of(0, TANH)
    overflowing = ProjectedFit(problem.points, problem.values, GELU)
    with np.errstate(over="ignore", invalid="ignore"):
        loss = overflowing.loss(overflowing.residuals(neurons * 1e308))
    assert np.isnan(loss)


def test_a_neuron_that_has_left_the_domain_takes_no_part(seed: int) -> None:
    """A Gaussian far away has values of 1e-300: with them its output weight and its slopes would overflow."""
    problem, neurons = problem_of(seed, GAUSSIAN)
    gone = np.append(np.zeros(3), 26.0)
    problem = ProjectedFit(problem.points, problem.values, GAUSSIAN)
    projected = problem.residuals(np.vstack([neurons, gone]))
    assert np.all(projected.coefficients[4] == 0.0)
    assert problem.loss(projected) < 1e-12
    assert np.all(np.isfinite(problem.solver(np.vstack([neurons, gone]), projected)(1e-3)))
