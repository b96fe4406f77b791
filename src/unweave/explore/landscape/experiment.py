"""How often training finds a global minimum: many planted networks and random starts of one size.

Some networks are planted at random, and each is learnt from several random starts. A planted network counts as clean
if every start reaches a global minimum, so that nothing was seen of a spurious one. The share of clean networks jumps
from 0 to 1 where the parameters outnumber the samples: `sweeps` looks where.
"""

import time
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from unweave import _kernels  # its parts are loaded when first used
from unweave.activations import Activation
from unweave.exceptions import InvalidInput
from unweave.explore.landscape.logistic import wilson_interval


@dataclass(frozen=True)
class NewtonSearch:
    """Levenberg-Marquardt straight from the random start: the fastest way to a minimum.

    Args:
        steps: largest number of attempted steps.
    """

    steps: int = 300

    def __call__(self, runs: "_kernels.landscape.Runs", design: "LandscapeDesign") -> "_kernels.landscape.Trained":
        """Train all runs."""
        loss_tol = design.decided_share * design.loss_tol
        return _kernels.landscape.levenberg_marquardt(
            runs, design.activation, steps=self.steps, loss_tol=loss_tol, trains_outputs=design.trains_outputs
        )


@dataclass(frozen=True)
class GradientSearch:
    """Gradient descent, then Levenberg-Marquardt to see whether the minimum of the basin is a global one.

    Args:
        steps: largest number of descent steps.
        handover: loss at which descent is so far in a basin that the last steps are left to the polish.
        polish: largest number of Levenberg-Marquardt steps; 0 judges the loss that descent has reached.
    """

    steps: int = 20_000
    handover: float = 1e-5
    polish: int = 300

    def __call__(self, runs: "_kernels.landscape.Runs", design: "LandscapeDesign") -> "_kernels.landscape.Trained":
        """Train all runs."""
        loss_tol = self.handover if self.polish else design.decided_share * design.loss_tol
        found = _kernels.landscape.descend(
            runs, design.activation, steps=self.steps, loss_tol=loss_tol, trains_outputs=design.trains_outputs
        )
        if not self.polish:
            return found
        moved = runs._replace(output_weights=found.output_weights, weights=found.weights)
        return NewtonSearch(self.polish)(moved, design)


Search = NewtonSearch | GradientSearch


@dataclass(frozen=True)
class LandscapeDesign:
    """What is planted, and from where it is learnt.

    Inputs are standard Gaussian, weights ``N(0, 1) / sqrt(inputs)`` in the planted network and at the start, planted
    output weights 1, those at the start random signs.

    Args:
        activation: one of the library's, or a function of one JAX array.
        samples: per planted network, which has its own.
        planted: networks per size.
        starts: random starts per network.
        trains_outputs: whether the output weights are learnt, too.
        has_random_labels: whether labels are standard Gaussian numbers instead of a planted network's answers.
        starts_at_ones: whether all output weights start at 1 instead of random signs.
        loss_tol: loss ``|r|^2 / 2n`` below which a minimum counts as global.
        decided_share: a run is trained on to this share of that loss, so that nothing near the limit is decided by
            chance; chosen: near a global minimum three digits more are a few steps.
    """

    activation: "Activation | _kernels.landscape.Function"
    samples: int = 100
    planted: int = 10
    starts: int = 10
    trains_outputs: bool = True
    has_random_labels: bool = False
    starts_at_ones: bool = False
    loss_tol: float = 1e-8
    decided_share: float = 1e-3

    def __post_init__(self) -> None:
        if min(self.samples, self.planted, self.starts) < 1:
            raise InvalidInput(
                "a landscape needs at least one sample, planted network and start, got "
                f"{self.samples}, {self.planted} and {self.starts}."
            )

    def runs(self, *, neurons: int, inputs: int, rng: np.random.Generator) -> "_kernels.landscape.Runs":
        """Samples and starts of all runs, those of a planted network in a row."""
        shape = (self.planted, neurons, inputs)
        points = rng.standard_normal((self.planted, self.samples, inputs))
        teachers = rng.standard_normal(shape) / np.sqrt(inputs)
        labels = rng.standard_normal((self.planted, self.samples))
        if not self.has_random_labels:
            labels = _kernels.landscape.answers(np.ones(shape[:2]), teachers, points, self.activation)
        rows = np.repeat(np.arange(self.planted), self.starts)
        signs = rng.choice([-1.0, 1.0], (len(rows), neurons))
        heights = np.ones_like(signs) if self.starts_at_ones else signs
        weights = rng.standard_normal((len(rows), neurons, inputs)) / np.sqrt(inputs)
        return _kernels.landscape.Runs(heights, weights, points[rows], labels[rows])


@dataclass(frozen=True, eq=False)
class LandscapePoint:
    """What was seen at one size.

    Args:
        neurons: of planted and learnt networks.
        inputs: of both.
        losses: where every run ended.
        steps: taken by every run in its last stage.
        is_global: whether a run ended at a global minimum.
        seconds: wall time, compilation included.
    """

    neurons: int
    inputs: int
    losses: Float64[np.ndarray, "planted starts"]
    steps: Int64[np.ndarray, "planted starts"]
    is_global: Bool[np.ndarray, "planted starts"]
    seconds: float

    @property
    def run_share(self) -> float:
        """Share of the runs that ended at a global minimum."""
        return float(np.mean(self.is_global))

    @property
    def clean(self) -> int:
        """Number of planted networks for which every run did."""
        return int(np.sum(np.all(self.is_global, axis=1)))

    @property
    def clean_share(self) -> float:
        """Share of such networks."""
        return self.clean / len(self.is_global)

    @property
    def clean_interval(self) -> tuple[float, float]:
        """Where the chance of such a network lies with a confidence of 95 %: networks are independent, runs are not."""
        return wilson_interval(self.clean, len(self.is_global))


def explore(
    design: LandscapeDesign, *, neurons: int, inputs: int, search: Search | None = None, seed: int = 0
) -> LandscapePoint:
    """Train all runs of one size.

    Args:
        design: what is planted.
        neurons: of planted and learnt networks.
        inputs: of both.
        search: how a run looks for a minimum; Levenberg-Marquardt if omitted.
        seed: together with the size it determines every random number.

    Raises:
        InvalidInput: for sizes below 1, or an activation that the compiled batch does not know.
    """
    if neurons < 1 or inputs < 1:
        raise InvalidInput(f"a landscape needs at least one neuron and one input, got {neurons} and {inputs}.")
    begin = time.perf_counter()
    runs = design.runs(neurons=neurons, inputs=inputs, rng=np.random.default_rng([seed, neurons, inputs]))
    found = (NewtonSearch() if search is None else search)(runs, design)
    losses = found.losses.reshape(design.planted, design.starts)
    return LandscapePoint(
        neurons=neurons,
        inputs=inputs,
        losses=losses,
        steps=found.steps.reshape(losses.shape),
        is_global=losses < design.loss_tol,
        seconds=time.perf_counter() - begin,
    )
