"""The figures of [soltanolkotabi] by name: what they show, with which sizes, and what was published."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from unweave.activations import ERF, QUADRATIC, RELU, SIGMOID, TANH, softplus
from unweave.explore.landscape.experiment import LandscapeDesign

SHARP = softplus(10.0)


@dataclass(frozen=True)
class CurveFigure:
    """A curve of success over sizes, [soltanolkotabi, Fig. 2 and 3].

    Args:
        design: what is planted.
        neurons: numbers of neurons.
        inputs: numbers of inputs; one of the two has one entry.
        crossing: where the published curve crosses one half; None if nothing was published.
    """

    design: LandscapeDesign
    neurons: tuple[int, ...]
    inputs: tuple[int, ...]
    crossing: float | None = None

    @property
    def sizes(self) -> dict[str, int | tuple[int, ...]]:
        """The arguments of a sweep."""
        named = {"neurons": self.neurons, "inputs": self.inputs}
        return {name: each[0] if len(each) == 1 else each for name, each in named.items()}


@dataclass(frozen=True)
class TrainingFigure:
    """Trainings on random labels, followed step by step, [soltanolkotabi, Fig. 4].

    Args:
        design: what is learnt.
        neurons: numbers of neurons; those that were published can't be read any more.
        inputs: of the samples.
        steps: of gradient descent, at most.
    """

    design: LandscapeDesign
    neurons: tuple[int, ...]
    inputs: int
    steps: int = 30_000

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of `follow_trainings` that are sizes."""
        return {"neurons": self.neurons, "inputs": self.inputs}


@dataclass(frozen=True)
class ActivationFigure:
    """Activations as functions, [soltanolkotabi, Fig. 1].

    Args:
        functions: by their names.
        arguments: where they are drawn.
    """

    functions: dict[str, Callable[[np.ndarray], np.ndarray]]
    arguments: Float64[np.ndarray, "arguments"]

    @property
    def values(self) -> dict[str, Float64[np.ndarray, "arguments"]]:
        """Of every function."""
        return {name: function(self.arguments) for name, function in self.functions.items()}


Figure = CurveFigure | TrainingFigure | ActivationFigure

RANDOM_SHARP = LandscapeDesign(SHARP, planted=3, starts=1, has_random_labels=True)
RANDOM_SQUARES = LandscapeDesign(QUADRATIC, planted=3, starts=1, has_random_labels=True)


def _at_ones(design: LandscapeDesign) -> LandscapeDesign:
    """The design of the published text, whose output weights stay at ones and can't fit negative labels."""
    return LandscapeDesign(
        design.activation, planted=3, starts=1, has_random_labels=True, starts_at_ones=True, trains_outputs=False
    )


FIGURES: dict[str, Figure] = {
    # Example 2.4 of the work, with b = 4; its erf is an integral of exp(-t^2 / 2).
    "1": ActivationFigure(
        {
            "softplus, b = 4": softplus(4.0),
            "sigmoid, b = 4": lambda t: SIGMOID(4.0 * t),
            "erf": lambda t: np.sqrt(2.0) * ERF(t / np.sqrt(2.0)),
            "tanh": TANH,
            "relu": RELU,
        },
        np.linspace(-3.0, 3.0, 121),
    ),
    "2a": CurveFigure(LandscapeDesign(SHARP), tuple(range(8, 15)), (10,), 11.4),
    "2b": CurveFigure(LandscapeDesign(SHARP), (10,), tuple(range(8, 15)), 10.7),
    # Sizes of the text; the caption repeats those of Figure 2, where nothing crosses.
    "3a": CurveFigure(LandscapeDesign(QUADRATIC), tuple(range(3, 10)), (20,), 5.5),
    "3b": CurveFigure(LandscapeDesign(QUADRATIC), (5,), tuple(range(19, 32, 2)), 25.4),
    "4a": TrainingFigure(RANDOM_SHARP, (10, 12, 15, 20, 30), 10),
    "4b": TrainingFigure(RANDOM_SQUARES, (6, 8, 10, 20), 20),
    "4a-ones": TrainingFigure(_at_ones(RANDOM_SHARP), (15, 30), 10),
    "4b-ones": TrainingFigure(_at_ones(RANDOM_SQUARES), (10, 20), 20),
}
