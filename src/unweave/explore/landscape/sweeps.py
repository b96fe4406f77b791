"""Success over a range of sizes: a curve over neurons or inputs, or a phase diagram over both.

The share of clean networks jumps from 0 to 1 where the parameters outnumber the samples; a logistic curve tells where.
Sizes are independent jobs: they may run anywhere, and those that a folder keeps are not computed again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import InvalidInput
from unweave.explore.landscape.experiment import LandscapeDesign, LandscapePoint, NewtonSearch, Search, explore
from unweave.explore.landscape.kept_sizes import KeptSizes, run_sizes
from unweave.explore.landscape.logistic import LogisticFit, fit_logistic
from unweave.jobs import Workers
from unweave.writing import Document, for_json

Progress = Callable[[LandscapePoint], None]


@dataclass(frozen=True, eq=False)
class LandscapeCurve:
    """Success over a range of sizes.

    Args:
        varied: which size varies, "neurons" or "inputs".
        sizes: its values.
        points: what was seen there.
        fit: the logistic curve of the clean networks.
    """

    varied: str
    sizes: tuple[int, ...]
    points: tuple[LandscapePoint, ...]
    fit: LogisticFit

    @property
    def clean_shares(self) -> Float64[np.ndarray, "sizes"]:
        """Share of clean networks at every size."""
        return np.array([point.clean_share for point in self.points])

    @property
    def is_crossed(self) -> bool:
        """Whether the logistic curve crosses one half between the smallest and the largest size."""
        return min(self.sizes) <= self.fit.crossing <= max(self.sizes)

    @property
    def clean_intervals(self) -> Float64[np.ndarray, "sizes 2"]:
        """Where the chances behind these shares lie with a confidence of 95 %, size by size."""
        return np.array([point.clean_interval for point in self.points])

    @property
    def seconds(self) -> float:
        """Wall time of all sizes."""
        return sum(point.seconds for point in self.points)


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """Success over numbers of neurons and of inputs.

    Args:
        neurons: numbers of neurons.
        inputs: numbers of inputs.
        curves: what was seen over the neurons, one curve per number of inputs.
    """

    neurons: tuple[int, ...]
    inputs: tuple[int, ...]
    curves: tuple[LandscapeCurve, ...]

    @property
    def points(self) -> tuple[LandscapePoint, ...]:
        """What was seen at every size, all numbers of neurons for the first number of inputs first."""
        return tuple(point for curve in self.curves for point in curve.points)

    @property
    def clean_shares(self) -> Float64[np.ndarray, "inputs neurons"]:
        """Share of clean networks at every size."""
        return np.array([curve.clean_shares for curve in self.curves])

    @property
    def crossings(self) -> Float64[np.ndarray, "inputs"]:
        """Neurons at which half of the networks are clean, for every number of inputs; NaN if not in the range."""
        return np.array([curve.fit.crossing if curve.is_crossed else np.nan for curve in self.curves])

    @property
    def seconds(self) -> float:
        """Wall time of all sizes."""
        return sum(curve.seconds for curve in self.curves)


@dataclass(frozen=True)
class _Size:
    """A job: one size of a sweep."""

    design: LandscapeDesign
    neurons: int
    inputs: int
    search: Search
    seed: int

    @property
    def name(self) -> str:
        return f"neurons-{self.neurons}-inputs-{self.inputs}"


def sweep(
    design: LandscapeDesign,
    *,
    neurons: int | Sequence[int],
    inputs: int | Sequence[int],
    search: Search | None = None,
    seed: int = 0,
    workers: Workers = None,
    kept: KeptSizes | None = None,
    progress: Progress = lambda _: None,
) -> LandscapeCurve:
    """Explore several numbers of neurons for one of inputs, or the reverse.

    Args:
        design, neurons, inputs, search, seed: as in `explore`, which is called for every size.
        workers: where sizes are computed, as in `run_jobs`.
        kept: sizes that are done, and the place of those that will be.
        progress: hears of every size that is done.

    Raises:
        InvalidInput: if not exactly one of the two varies.
    """
    if isinstance(neurons, int) == isinstance(inputs, int):
        raise InvalidInput(f"a sweep needs one number and several of the other, got {neurons} and {inputs}.")
    varied = "inputs" if isinstance(neurons, int) else "neurons"
    many, few = ([sizes] if isinstance(sizes, int) else sizes for sizes in (neurons, inputs))
    sizes = [_Size(design, width, dimension, search or NewtonSearch(), seed) for width, dimension in product(many, few)]
    return _curve(varied, _explored(sizes, workers, kept, progress), design.planted)


def sweep_both(
    design: LandscapeDesign,
    *,
    neurons: Sequence[int],
    inputs: Sequence[int],
    search: Search | None = None,
    seed: int = 0,
    workers: Workers = None,
    kept: KeptSizes | None = None,
    progress: Progress = lambda _: None,
) -> PhaseDiagram:
    """Explore all pairs of numbers of neurons and of inputs; arguments are those of `sweep`.

    Raises:
        InvalidInput: if there are fewer than two of one of them.
    """
    if min(len(set(neurons)), len(set(inputs))) < 2:
        raise InvalidInput(f"a phase diagram needs two numbers of neurons and of inputs, got {neurons} and {inputs}.")
    sizes = [
        _Size(design, width, dimension, search or NewtonSearch(), seed) for dimension in inputs for width in neurons
    ]
    points = _explored(sizes, workers, kept, progress)
    rows = [points[first : first + len(neurons)] for first in range(0, len(points), len(neurons))]
    return PhaseDiagram(tuple(neurons), tuple(inputs), tuple(_curve("neurons", row, design.planted) for row in rows))


def _curve(varied: str, points: Sequence[LandscapePoint], planted: int) -> LandscapeCurve:
    sizes = tuple(getattr(point, varied) for point in points)
    clean = np.array([point.clean for point in points], dtype=np.float64)
    return LandscapeCurve(varied, sizes, tuple(points), fit_logistic(np.array(sizes, dtype=np.float64), clean, planted))


def _explored(
    sizes: Sequence[_Size], workers: Workers, kept: KeptSizes | None, progress: Progress
) -> list[LandscapePoint]:
    done = run_sizes(_explore, sizes, workers=workers, kept=kept, progress=lambda each: progress(_point(*each)))
    return [_point(size, document) for size, document in zip(sizes, done, strict=True)]


def _explore(size: _Size) -> Document:
    """Train the runs of a size; numbers as JSON writes them, which loses no digit."""
    point = explore(size.design, neurons=size.neurons, inputs=size.inputs, search=size.search, seed=size.seed)
    return for_json({"losses": point.losses, "steps": point.steps, "seconds": point.seconds})


def _point(size: _Size, document: Document) -> LandscapePoint:
    losses = np.array(document["losses"], dtype=np.float64)
    is_global, steps = losses < size.design.loss_tol, np.array(document["steps"], dtype=np.int64)
    return LandscapePoint(size.neurons, size.inputs, losses, steps, is_global, float(document["seconds"]))
