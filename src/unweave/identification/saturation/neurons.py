"""What one far line says: the neurons behind its jumps or kinks, as their readers give them."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerOutput, Vector
from unweave.identification import reasons
from unweave.identification.walks.lines import Ask, Line


@dataclass(frozen=True)
class FarNeuron:
    """A neuron ``height g(weights x + bias)`` in standard coordinates."""

    weights: Vector
    bias: float
    height: PerOutput


@dataclass(frozen=True)
class Reading:
    """The neurons that were met on a line.

    Args:
        events: places where something happened.
        neurons: those whose profile was clear.
        misfits: of all profiles, relative.
        activation: the one that fits most of them.
        misfit: the typical one of all profiles, clear or not.
        finds_jumps: whether the events are jumps, not kinks.
    """

    events: int
    neurons: list[FarNeuron]
    misfits: Float64[np.ndarray, "events"]
    activation: Activation
    misfit: float
    finds_jumps: bool

    @property
    def doubt(self) -> str:
        """What it means if most profiles are not clear."""
        if self.finds_jumps:
            return reasons.strange_profiles(self.events, len(self.neurons), self.misfit)
        return reasons.strange_kinks(self.events, self.misfit)


@runtime_checkable
class Reader(Protocol):
    """Walks along a line and reads the neurons that it meets."""

    def reads(self, activation: Activation) -> bool:
        """Whether its neurons look on far lines as this reader expects."""
        ...

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Read one line."""
        ...
