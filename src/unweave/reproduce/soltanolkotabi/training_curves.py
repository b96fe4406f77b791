"""Curves of gradient descent on random labels [soltanolkotabi, Fig. 4]."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from unweave._kernels import landscape as kernel
from unweave.explore.landscape.experiment import LandscapeDesign


@dataclass(frozen=True, eq=False)
class TrainingCurves:
    """Hold the root of the loss against gradient steps.

    Args:
        neurons: of the learnt networks.
        inputs: of the samples.
        steps: where the losses were noted.
        errors: ``sqrt(L)`` of every run there.
    """

    neurons: int
    inputs: int
    steps: Int64[np.ndarray, "times"]
    errors: Float64[np.ndarray, "runs times"]


def training_curves(
    design: LandscapeDesign, *, neurons: int, inputs: int, steps: int = 30_000, error_tol: float = 1e-5, seed: int = 0
) -> TrainingCurves:
    """Follow gradient descent of all runs of one size until `error_tol` or `steps`."""
    runs = design.runs(neurons=neurons, inputs=inputs, rng=np.random.default_rng([seed, neurons, inputs]))
    found = kernel.descend(
        runs, design.activation, steps=steps, loss_tol=error_tol**2, trains_outputs=design.trains_outputs
    )
    times = np.minimum(kernel.DESCENT_STEPS_PER_CALL * np.arange(found.history.shape[1]), steps)
    return TrainingCurves(neurons, inputs, times, np.sqrt(found.history))
