"""What can be measured: anything with ordered units that can be trained with some of them frozen."""

import time
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from unweave.explore.feature_correction.plan import Training

# Everything that a unit holds, by the names of units and arrays: weights, biases, norms and their running averages.
Weights: TypeAlias = dict[str, dict[str, np.ndarray]]


class OutOfTime(Exception):
    """The time is over in the middle of a training; never leaves the package."""


@dataclass(frozen=True)
class Deadline:
    """When to stop, as a reading of the monotonic clock; never if None."""

    ends: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """So many seconds from now."""
        return cls(None if seconds is None else time.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.ends is not None and time.monotonic() >= self.ends

    @property
    def seconds_left(self) -> float | None:
        """None if there is no end; never below zero."""
        return None if self.ends is None else max(self.ends - time.monotonic(), 0.0)

    def check(self) -> None:
        """End a training whose time is over."""
        if self.is_over:
            raise OutOfTime


@runtime_checkable
class Halfway(Protocol):
    """Keeps the state of one training that is under way, so that it goes on after a stop."""

    def read(self) -> bytes | None:
        """What was kept last, if anything was."""
        ...

    def keep(self, state: bytes) -> None:
        """Keep this in place of what was kept before."""
        ...


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What one training leaves.

    Args:
        weights: of every unit that was there.
        test_outputs, validation_outputs: answers at the test rows and at the validation rows.
        features: what leaves the unit of the training's depth, at held-out inputs; one row per place.
        late_progress: share of the decrease of the training loss that came at the end; None if it is not known.
    """

    weights: Weights
    test_outputs: np.ndarray
    validation_outputs: np.ndarray
    features: np.ndarray
    late_progress: float | None = None


@runtime_checkable
class Subject(Protocol):
    """A model with units in order."""

    @property
    def units(self) -> tuple[str, ...]:
        """Their names, lowest first."""
        ...

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Per unit the names of its arrays that hold weights of neurons, one neuron per row."""
        ...

    def configuration(self) -> dict[str, Any]:
        """All that decides how a training ends, as JSON can hold it; samples and seeds apart."""
        ...

    def start(self, seed: int) -> Weights:
        """The random weights that a seed starts from."""
        ...

    def train(
        self, training: Training, source: Weights | None, deadline: Deadline, halfway: Halfway | None = None
    ) -> TrainedModel:
        """Run one training.

        Args:
            training: what is frozen, copied and pulled.
            source: weights of the training that it builds on.
            deadline: looked at between batches.
            halfway: where the training goes on if it was stopped, and keeps its state from time to time; what can't
                be stopped in between begins again.

        Raises:
            OutOfTime: if the time is over.
        """
        ...
