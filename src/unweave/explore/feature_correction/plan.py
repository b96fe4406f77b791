"""Which trainings a measurement needs, in an order in which each finds what it builds on.

With ``l`` a depth, counted in units from 1, and ``L`` all units:

* train only: the first l units with a head of their own, from random weights; at ``l = L`` this is the whole model;
* layer-wise: the first l - 1 units frozen as the layer-wise training of depth l - 1 has left them, unit l trained;
* joint: the same steps with nothing frozen, the first l - 1 units carried over from the joint training of depth l - 1,
  so that both have trained equally long and differ in nothing but the freezing;
* fix: the whole model, its first l units from "train only", of which the first l - window are frozen;
* train all: the whole model from random weights of its own, its first l units pulled towards those of "train only". Had
  it the random weights and batches of "train only", it would resemble that without any pull.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Added to a seed for random weights and batches that no seed in use has.
INDEPENDENT_START = 1_000_000_007


class Kind(StrEnum):
    """What is trained."""

    ONLY = "train only"
    LAYERWISE = "layer-wise"
    JOINT = "joint"
    FIX = "fix"
    ALL = "train all"


class Thawed(StrEnum):
    """Where units start that are given from "train only", but not frozen."""

    CORRECTED = "corrected"
    RANDOM = "random"


@dataclass(frozen=True)
class Training:
    """One training, by all that tells it from others of the same measurement.

    Args:
        depth: the depth that it is about.
        length: units of the model that trains.
        copied: so many of its first units start from the source.
        frozen: so many of its first units do not train.
        window: units thawed below the depth, of "fix".
        prox: strength of the pull towards the first `depth` units of the source, of "train all".
        source: the training that first units come from.
        twin: the training whose units it is compared with, if they are to be matched first.
        start: seed of random weights and batches, if not that of the repetition.
    """

    kind: Kind
    seed: int
    depth: int
    length: int
    copied: int = 0
    frozen: int = 0
    window: int | None = None
    prox: float = 0.0
    source: "Training | None" = None
    twin: "Training | None" = None
    start: int | None = None

    @property
    def name(self) -> str:
        """A name that no other training of the measurement has."""
        words = f"seed {self.seed}, depth {self.depth}, {self.kind.value}"
        if self.window is not None:
            words += f" <= {self.depth - self.window}"
        return words + (f", pull {self.prox!r}" if self.kind is Kind.ALL else "")

    @property
    def start_seed(self) -> int:
        """Seed of its random weights and batches."""
        return self.seed if self.start is None else self.start

    @property
    def is_pulled(self) -> bool:
        """Whether its units are pulled towards those of the source."""
        return self.kind is Kind.ALL


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Args:
        units: number of units of the model.
        depths: to look at, from 1 to `units`.
        windows: units thawed below a depth; none leaves "fix" out.
        prox: strengths of the pull; none leaves "train all" out.
        seeds: one repetition each.
        thawed: where thawed units start.
        has_layerwise: whether layer-wise training is part of it.
    """

    units: int
    depths: tuple[int, ...]
    windows: tuple[int, ...]
    prox: tuple[float, ...]
    seeds: tuple[int, ...]
    thawed: Thawed = Thawed.CORRECTED
    has_layerwise: bool = True

    @property
    def inner_depths(self) -> tuple[int, ...]:
        """Depths with units above them: only there something can be fixed while the rest trains."""
        return tuple(depth for depth in self.depths if depth < self.units)

    def windows_at(self, depth: int) -> tuple[int, ...]:
        """Windows that are not longer than the depth."""
        return tuple(window for window in self.windows if window <= depth)

    def only(self, seed: int, depth: int) -> Training:
        """The first units alone; the whole model at the last depth."""
        return Training(Kind.ONLY, seed, depth, length=depth)

    def joint(self, seed: int, depth: int) -> Training:
        """Unit by unit, and all units that are there train."""
        if depth == 1:
            return self.only(seed, 1)
        return Training(Kind.JOINT, seed, depth, depth, copied=depth - 1, source=self.joint(seed, depth - 1))

    def layerwise(self, seed: int, depth: int) -> Training:
        """Unit by unit, and only the new one trains; with one unit it is the same as training that alone."""
        if depth == 1:
            return self.only(seed, 1)
        below, kept = self.layerwise(seed, depth - 1), depth - 1
        twin = self.joint(seed, depth)
        return Training(Kind.LAYERWISE, seed, depth, depth, copied=kept, frozen=kept, source=below, twin=twin)

    def fix(self, seed: int, depth: int, window: int) -> Training:
        """The whole model, with its lowest units frozen."""
        frozen = depth - window
        copied = depth if self.thawed is Thawed.CORRECTED else frozen
        source = self.only(seed, depth)
        return Training(Kind.FIX, seed, depth, self.units, copied, frozen, window=window, source=source)

    def all(self, seed: int, depth: int, prox: float) -> Training:
        """The whole model from other random weights, with its lowest units pulled."""
        source, start = self.only(seed, depth), seed + INDEPENDENT_START
        return Training(Kind.ALL, seed, depth, self.units, prox=prox, source=source, start=start)

    def trainings(self) -> tuple[Training, ...]:
        """All of them: seed after seed, so that what is done early is complete."""
        ordered: dict[str, Training] = {}
        for seed in self.seeds:
            _add(ordered, [self.only(seed, self.units)])
            for depth in self.depths:
                _add(ordered, [self.only(seed, depth)])
                _add(ordered, [self.layerwise(seed, depth)] if self.has_layerwise else [])
            for depth in self.inner_depths:
                _add(ordered, [self.fix(seed, depth, window) for window in self.windows_at(depth)])
                _add(ordered, [self.all(seed, depth, prox) for prox in self.prox])
        return tuple(ordered.values())


def _add(ordered: dict[str, Training], trainings: Sequence[Training]) -> None:
    for training in trainings:
        _add(ordered, [each for each in (training.source, training.twin) if each is not None])
        ordered.setdefault(training.name, training)
