"""[soltanolkotabi, Thm. 2.2]: planted squares with output weights of one sign: loss at nearly second-order points.

The algorithms are those that the text after the theorem names.
"""

from collections.abc import Sequence

import numpy as np

from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.saddles import smallest_eigenpair
from unweave.learn.quadratic.search import SteepestDescent, TrustRegion
from unweave.learn.quadratic.train import LocalSolver, random_start
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.soltanolkotabi.cubic_regularisation import CubicRegularisation
from unweave.reproduce.soltanolkotabi.perturbed_descent import PerturbedGradientDescent
from unweave.reproduce.soltanolkotabi.stochastic_descent import StochasticDescent


def solvers(gap_tol: float) -> dict[str, LocalSolver]:
    """All algorithms, each ending once the loss is below a tolerance."""
    return {
        "cubic regularisation": CubicRegularisation(gap_tol=gap_tol),
        "trust region": TrustRegion(gap_tol=gap_tol),
        "gradient descent": SteepestDescent(gap_tol=gap_tol),
        "perturbed gradient descent": PerturbedGradientDescent(gap_tol=gap_tol, steps=50_000),
        "stochastic gradient descent": StochasticDescent(gap_tol=gap_tol),
        "stochastic, with noise": StochasticDescent(gap_tol=gap_tol, noise=0.1),
    }


def settings(scale: Scale) -> Sequence[Settings]:
    """All algorithms, down to losses that tell the parts of the bound apart."""
    sizes = {Scale.QUICK: ((5, 12),), Scale.USUAL: ((8, 30),), Scale.FULL: ((8, 30), (20, 133))}[scale]
    tols = (1e-2,) if scale is Scale.QUICK else (1e-2, 1e-4)
    return [
        {"algorithm": name, "inputs": inputs, "neurons": inputs + 1, "samples": samples, "loss below": tol}
        for inputs, samples in sizes
        for tol in tols
        for name in solvers(tol)
    ]


def measure(cell: Cell) -> Numbers:
    """The loss where an algorithm ends, its gradient and curvature, and what the theorem makes of them."""
    given, rng = cell.settings, np.random.default_rng(cell.seed)
    inputs, neurons, samples = (int(given[name]) for name in ("inputs", "neurons", "samples"))
    points = rng.standard_normal((samples, inputs))
    teacher = rng.standard_normal((inputs, inputs)) / np.sqrt(inputs)
    problem = QuadraticProblem(points, np.sum((points @ teacher.T) ** 2, axis=1), np.ones(neurons))
    solver = solvers(float(given["loss below"]))[str(given["algorithm"])]
    trained = solver(random_start(problem, rng), OptimalityTest.of(problem), rng)
    state, trace = problem.at(trained.weights), float(np.sum(teacher**2))
    gradient = float(np.linalg.norm(state.gradient))
    curvature = max(0.0, -smallest_eigenpair(problem, state, rng)[0])
    return {
        "loss": state.loss,
        "bound": theorem_bound(gradient, curvature, trace),
        "sharper": sharper_bound(state, trace),
        "gradient": gradient,
        "curvature": curvature,
        "steps": float(trained.steps),
    }


def theorem_bound(gradient: float, curvature: float, trace: float, *, height: float = 1.0) -> float:
    """The right-hand side of [soltanolkotabi, Thm. 2.2] for output weights `height` and a planted trace norm."""
    slope = gradient / float(np.sqrt(height))
    return slope * max(float(np.sqrt(1.0 + 14.0 * trace)), 4.0 * slope) + curvature * trace / (2.0 * height)


def sharper_bound(state: State, trace: float) -> float:
    """``<W, grad> / 4 + T max(0, -lambda_min(R)) / 2``, an identity but for the last term; needs no probability."""
    lowest = float(np.linalg.eigvalsh(state.residual_matrix)[0])
    return 0.25 * float(np.sum(state.weights * state.gradient)) + 0.5 * max(0.0, -lowest) * trace


TITLE = "planted squares, output weights of one sign: loss and bound where algorithms end"
COLUMNS = {
    "loss": "loss",
    "bound": "bound of the theorem",
    "sharper": "sharper bound",
    "gradient": "norm of the gradient",
    "curvature": "negative curvature",
    "steps": "steps (passes, if stochastic)",
}
NOTES = (
    "[soltanolkotabi] prints no numbers for this statement: sizes are ours.",
    "The sharper bound is <W, grad> / 4 + T max(0, -lambda_min(R)) / 2: the proof's own steps with the factors of "
    "its gradient corrected (see the errata), for any inputs and without a probability.",
)
