"""[soltanolkotabi, Thm. 2.5]: gradient descent converges linearly near the planted network, and from farther away."""

from collections.abc import Sequence

import numpy as np

from unweave.learn.overparameterized.descent import GradientDescent
from unweave.learn.overparameterized.jacobian import TrainingPoint
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.soltanolkotabi.convergence_rates import convergence_rate
from unweave.reproduce.soltanolkotabi.planted_settings import ACTIVATIONS
from unweave.reproduce.soltanolkotabi.spectrum_bounds import planted_point
from unweave.reproduce.soltanolkotabi.theorem_constants import start_near, theorem_constants

# The ball of the theorem, and relative distances beyond it.
BALL = "its ball"
BALL_STEPS = 200


def settings(scale: Scale) -> Sequence[Settings]:
    """Activations and sizes, from the ball of the theorem and from farther away."""
    sizes = {
        Scale.QUICK: ((8, 16, 20),),
        Scale.USUAL: ((10, 20, 33), (20, 40, 60)),
        Scale.FULL: ((20, 40, 133), (20, 40, 60), (20, 80, 133), (40, 80, 533)),
    }[scale]
    starts = (BALL, "0.1") if scale is Scale.QUICK else (BALL, "0.1", "1")
    return [
        {"activation": name, "inputs": inputs, "neurons": neurons, "samples": samples, "start": start}
        for name in ("softplus, b = 10", "tanh")
        for inputs, neurons, samples in sizes
        for start in starts
    ]


def measure(cell: Cell) -> Numbers:
    """The share of the loss that a step takes away: promised, and seen."""
    given = cell.settings
    inputs, neurons, samples = (int(given[name]) for name in ("inputs", "neurons", "samples"))
    planted = planted_point(
        ACTIVATIONS[str(given["activation"])], inputs=inputs, neurons=neurons, samples=samples, seed=cell.seed
    )
    rng = np.random.default_rng([cell.seed, 1])
    return _from_ball(planted, rng) if given["start"] == BALL else _from_afar(planted, float(given["start"]), rng)


def _from_ball(planted: TrainingPoint, rng: np.random.Generator) -> Numbers:
    """The theorem as it stands, with its constants measured at the planted network."""
    found = theorem_constants(planted)
    start = start_near(planted, rng, weight_distance=found.weight_radius, output_distance=found.output_radius)
    losses = GradientDescent(step=found.step, steps=BALL_STEPS, loss_tol=0.0)(start).losses
    return {
        "distance": found.weight_radius / float(np.linalg.norm(planted.weights)),
        "promised": found.contraction,
        "seen": float(np.min(1.0 - losses[1:] / losses[:-1])),
        "fallen": float(losses[-1] / losses[0]),
        "steps": float(len(losses) - 1),
    }


def _from_afar(planted: TrainingPoint, relative: float, rng: np.random.Generator) -> Numbers:
    """The rate at the end, against that of the Jacobian there."""
    size = float(np.linalg.norm(planted.weights))
    start = start_near(planted, rng, weight_distance=relative * size, output_distance=0.1 * relative)
    descent = GradientDescent(loss_tol=1e-12)
    fit = descent(start)
    rate = convergence_rate(fit, descent.first_step(start))
    return {
        "distance": relative,
        "promised": rate.guaranteed,
        "seen": rate.seen,
        "fallen": float(fit.losses[-1] / fit.losses[0]),
        "steps": float(fit.steps),
    }


TITLE = "gradient descent on planted networks: share of the loss that a step takes away"
COLUMNS = {
    "distance": "|W0 - W*| / |W*|",
    "promised": "promised share",
    "seen": "seen share",
    "fallen": "last loss over first",
    "steps": "steps",
}
NOTES = (
    f"From the ball of the theorem, {BALL_STEPS} steps of its length with its constants measured at the planted "
    "network; the seen share is that of the worst step. From farther away, where the theorem says nothing, steps "
    "are 0.9 over the largest curvature, and the promise is alpha s_min(J)^2 / n with the Jacobian at the end.",
    "[soltanolkotabi] prints no numbers for this statement, names none of its constants, and gives no start.",
)
