"""Gradient descent, followed step by step: the loss against steps for some numbers of neurons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from unweave import _kernels  # its parts are loaded when first used
from unweave.explore.landscape.experiment import LandscapeDesign
from unweave.explore.landscape.kept_sizes import KeptSizes, run_sizes
from unweave.jobs import Workers
from unweave.writing import Document, for_json


@dataclass(frozen=True, eq=False)
class TrainingCurves:
    """Root of the loss against gradient steps.

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


@dataclass(frozen=True)
class _Trainings:
    """A job: all runs of one size."""

    design: LandscapeDesign
    neurons: int
    inputs: int
    steps: int
    error_tol: float
    seed: int

    @property
    def name(self) -> str:
        return f"trainings-neurons-{self.neurons}-inputs-{self.inputs}"


def training_curves(
    design: LandscapeDesign, *, neurons: int, inputs: int, steps: int = 30_000, error_tol: float = 1e-5, seed: int = 0
) -> TrainingCurves:
    """Follow gradient descent of all runs of one size until `error_tol` or `steps`."""
    runs = design.runs(neurons=neurons, inputs=inputs, rng=np.random.default_rng([seed, neurons, inputs]))
    found = _kernels.landscape.descend(
        runs, design.activation, steps=steps, loss_tol=error_tol**2, trains_outputs=design.trains_outputs
    )
    times = np.minimum(_kernels.landscape.DESCENT_STEPS_PER_CALL * np.arange(found.history.shape[1]), steps)
    return TrainingCurves(neurons, inputs, times, np.sqrt(found.history))


def follow_trainings(
    design: LandscapeDesign,
    *,
    neurons: Sequence[int],
    inputs: int,
    steps: int = 30_000,
    error_tol: float = 1e-5,
    seed: int = 0,
    workers: Workers = None,
    kept: KeptSizes | None = None,
    progress: Callable[[TrainingCurves], None] = lambda _: None,
) -> tuple[TrainingCurves, ...]:
    """Follow the trainings of several numbers of neurons, wherever `workers` are, and keep each that is done."""
    sizes = [_Trainings(design, width, inputs, steps, error_tol, seed) for width in neurons]
    done = run_sizes(_follow, sizes, workers=workers, kept=kept, progress=lambda each: progress(_curves(*each)))
    return tuple(_curves(size, document) for size, document in zip(sizes, done, strict=True))


def _follow(size: _Trainings) -> Document:
    """Train the runs of a size; numbers as JSON writes them, which loses no digit."""
    found = training_curves(
        size.design,
        neurons=size.neurons,
        inputs=size.inputs,
        steps=size.steps,
        error_tol=size.error_tol,
        seed=size.seed,
    )
    return for_json({"steps": found.steps, "errors": found.errors})


def _curves(size: _Trainings, document: Document) -> TrainingCurves:
    errors = np.array(document["errors"], dtype=np.float64)
    return TrainingCurves(size.neurons, size.inputs, np.array(document["steps"], dtype=np.int64), errors)
