"""Perturbed gradient descent for networks of squares, with the constants of its guarantee."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.search import Ending, SteepestDescent, TrainedWeights

# The weights may outgrow the bounds on the derivatives by this before these are computed anew.
TOLERATED_WEIGHT_GROWTH = 1.1


@dataclass(frozen=True)
class Smoothness:
    """Bounds on the second and third derivatives of the loss near a point.

    Args:
        gradient, hessian: Lipschitz constants of the gradient and of the Hessian.
        slack: by which the spectral norm of the output-weighted rows may grow before they no longer hold.
    """

    gradient: float
    hessian: float
    slack: float

    @classmethod
    def near(cls, problem: QuadraticProblem, state: State, largest: float) -> "Smoothness":
        """Bounds for weights whose output-weighted norm is up to `TOLERATED_WEIGHT_GROWTH` times that of the state.

        ``|Hessian| <= 2 max|v| |R| + (4/n) |diag(v) W|^2 s^2`` and the Hessian's Lipschitz constant is at most
        ``(12/n) max|v| |diag(v) W| s^2``, with s the largest singular value of the squares of the points.

        Args:
            problem: the samples.
            state: where.
            largest: the singular value s.
        """
        norm = float(np.linalg.norm(problem.output_weights[:, None] * state.weights, 2))
        bent = 2.0 * problem.largest_output_weight * float(np.linalg.norm(state.residual_matrix, 2))
        # At the origin the weights may grow until the second term is as large as the first.
        grown = max(TOLERATED_WEIGHT_GROWTH * norm, np.sqrt(problem.samples * bent) / (2.0 * largest))
        gradient = bent + 4.0 / problem.samples * (grown * largest) ** 2
        hessian = 12.0 / problem.samples * problem.largest_output_weight * grown * largest**2
        return cls(gradient, hessian, grown - norm)


@dataclass(frozen=True)
class PerturbationPlan:
    """When and how far to perturb, from the smoothness and the accuracy wanted.

    Args:
        step: length of a step in units of the gradient.
        radius: of the ball from which a perturbation is drawn.
        gradient: norm of the gradient below which one is due.
        decrease, steps: by how much the loss has to fall after it, and within how many steps.
    """

    step: float
    radius: float
    gradient: float
    decrease: float
    steps: int


@dataclass(frozen=True)
class PerturbedGradientDescent:
    """Gradient descent with a small random move wherever the gradient is small.

    Args:
        steps: largest number of steps.
        gap_tol: loss above the optimum at which it ends.
        accuracy: norm of the gradient that a second-order point may have.
        failure: probability with which the guarantee may fail.
        caution: the constant c of the guarantee, at most 1; halved whenever the loss rises.
    """

    steps: int = 200_000
    gap_tol: float = SteepestDescent.gap_tol
    accuracy: float = 1e-3
    failure: float = 1e-3
    caution: float = 1.0

    def __call__(self, start: Atoms, test: OptimalityTest, rng: np.random.Generator) -> TrainedWeights:
        """Train from a start.

        Raises:
            InvalidInput: if the samples are too many for the largest singular value of their squares.

        Guarantees: a point with a gradient of at most `accuracy` and no curvature below ``-sqrt(rho accuracy)`` with
            probability ``1 - failure``, if the Lipschitz constants rho and l hold on the way [jin2017]; they are
            computed anew as the weights grow, because the loss is a quartic and has no global ones.
        """
        if test.spectrum is None:
            raise InvalidInput(
                "PerturbedGradientDescent needs the largest singular value of the squares of the points, but there are "
                "too many: train with ConjugateGradients."
            )
        problem, largest, caution = test.problem, test.spectrum.largest, self.caution
        state = remembered = problem.at(start)
        smoothness = Smoothness.near(problem, state, largest)
        plan = self.plan(smoothness, state, caution)
        history, moves, travelled, ending = [], [], 0.0, Ending.OUT_OF_STEPS
        for step in range(self.steps):
            history.append(state.loss)
            since = step - moves[-1] if moves else np.inf
            if test.gap(state) <= self.gap_tol:
                ending = Ending.OPTIMAL
                break
            if since == plan.steps and remembered.loss - state.loss < plan.decrease:
                state, ending = remembered, Ending.SECOND_ORDER_POINT
                break
            size = float(np.linalg.norm(state.gradient))
            if size <= plan.gradient and since > plan.steps:
                remembered, moves = state, [*moves, step]
                state = problem.at(state.weights + plan.radius * _in_ball(state.weights.shape, rng))
                travelled += plan.radius
            trial = problem.at(state.weights - plan.step * state.gradient)
            is_rising = trial.loss > state.loss * (1 + 1e-12)
            caution, state = (0.5 * caution, state) if is_rising else (caution, trial)
            travelled += plan.step * size
            if is_rising or problem.largest_output_weight * travelled > smoothness.slack:
                smoothness, travelled = Smoothness.near(problem, state, largest), 0.0
                plan = self.plan(smoothness, state, caution)
        else:
            history.append(state.loss)
        return TrainedWeights(state.weights, state.loss, ending, (0.0,) * len(moves), tuple(history))

    def plan(self, smoothness: Smoothness, state: State, caution: float) -> PerturbationPlan:
        """The constants of the guarantee for a state, with its loss as bound on what can be gained."""
        ell, rho, accuracy = smoothness.gradient, max(smoothness.hessian, 1e-300), self.accuracy
        odds = state.weights.size * ell * max(state.loss, 1e-300) / (caution * accuracy**2 * self.failure)
        chi = 3.0 * max(float(np.log(max(odds, 1.0))), 4.0)
        root = np.sqrt(caution)
        return PerturbationPlan(
            step=caution / ell,
            radius=root * accuracy / (chi**2 * ell),
            gradient=root * accuracy / chi**2,
            decrease=caution / chi**3 * np.sqrt(accuracy**3 / rho),
            steps=int(np.ceil(chi / caution**2 * ell / np.sqrt(rho * accuracy))),
        )


def _in_ball(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Uniform in the unit ball."""
    direction = rng.standard_normal(shape)
    return direction / np.linalg.norm(direction) * rng.uniform() ** (1.0 / direction.size)
