"""[allenzhu, Alg. 1], step by step: a reference, not the way to train.

Noisy stochastic gradient descent from zero on wide readouts W and distilled features K of all levels that are on; no
level is ever frozen. A readout, then the features of a level are switched on when the objective has fallen far enough;
the rank comes from singular values. Whenever the objective is below a quarter of the squared target error, that target
is halved and weight decay is divided by four. Two liberties: steps may use small batches, and the objective is looked
at every `LOOK_STEPS` steps only.
"""

from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave import _kernels  # its parts are loaded when first used
from unweave._kernels.quadratic_terms import Data, Terms, Units
from unweave.arrays import PerPoint, Points, Vector, pack_squares, packed_size, upper_triangle
from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring
from unweave.reproduce.allenzhu.distillation import Distilled, distill
from unweave.reproduce.allenzhu.schedules import PlateauSchedule, Schedule, Situation

# Steps between looks at the objective.
LOOK_STEPS = 250
# Squares are cut off at this multiple of a high quantile of what they are taken of.
BOUND_FACTOR, BOUND_QUANTILE = 1.5, 0.9999
# Largest norm of a gradient, in standard deviations of the labels.
GRADIENT_CLIP = 5.0
# Share of all steps over which the step size falls to zero, at the end.
COOLING_SHARE = 0.4
# Where squares are cut off if they are not to be.
NEVER_REACHED = 1e9


# Matrices R that feed features to higher levels by the squares of ``R z``, never trained. The squares determine all
# products of features if the matrix ``R*R`` is invertible; its condition decides how fast descent goes.
Frame = Float64[np.ndarray, "rows features"]


@runtime_checkable
class FrameKind(Protocol):
    """A way to choose the matrix R."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        ...


@dataclass(frozen=True)
class GaussianFrame:
    """Independent entries of variance ``1 / width^2``, as in the theory; often badly conditioned."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        return rng.standard_normal((width * (width + 1) // 2, width)) / width


@dataclass(frozen=True)
class StructuredFrame:
    """The rows ``e_i`` and ``(e_i + e_j) / sqrt 2``; conditions of 2.4 for two features to 10 for twelve."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        del rng
        rows, columns, _ = upper_triangle(width)
        frame = np.eye(width)[rows] + np.eye(width)[columns]
        return frame / np.linalg.norm(frame, axis=1, keepdims=True)


def frame_condition(frame: Frame) -> float:
    """Condition number of ``R*R``."""
    values = np.linalg.svd(pack_squares(frame), compute_uv=False)
    return float(values[0] / values[-1])


@dataclass(frozen=True, eq=False)
class Switch:
    """Something was switched on: the readout or the features of a level.

    Args:
        step: when.
        level: which.
        what: "readout" or "features".
        objective: before.
        singular_values: that the number of features was read from.
        width: that number; 0 for a readout.
    """

    step: int
    level: int
    what: str
    objective: float
    singular_values: tuple[float, ...] = ()
    width: int = 0


@dataclass(frozen=True, eq=False)
class LiteralFit:
    """What the algorithm found.

    Args:
        network: with exact squares, and readouts of its own.
        switches: everything that was switched on.
        objectives: at every look.
        target_error: the last error that was aimed at, and `has_converged` whether it is the one asked for.
        has_converged: see `target_error`.
        truncated_share: of hidden squares that were cut off on the samples, at the end.
        units: that were trained, as the objective takes them.
        terms: of the objective, at the end.
    """

    network: QuadraticDenseNet
    switches: tuple[Switch, ...]
    objectives: tuple[float, ...]
    target_error: float
    has_converged: bool
    truncated_share: float
    units: Units
    terms: Terms

    def objective_on(self, data: Data, *, is_truncated: bool = True) -> float:
        """The objective on other points than those of the training, with truncated or with exact squares."""
        bounds = self.terms.bounds if is_truncated else (NEVER_REACHED,) * len(self.terms.bounds)
        sources = self.network.wiring.sources[: len(self.units.readouts)]
        return _kernels.quadratic_training.objective(
            self.units, self.terms._replace(bounds=bounds), data, sources=sources
        )


@dataclass(frozen=True, eq=False)
class _LiteralState:
    """Everything that is on."""

    readouts: tuple[np.ndarray, ...]
    features: tuple[np.ndarray, ...]
    frames: tuple[np.ndarray, ...] = ()
    bounds: tuple[float, ...] = ()
    aim: float = np.inf
    decay: float = 0.0
    since: int = 0
    switches: tuple[Switch, ...] = ()

    @property
    def top(self) -> int:
        """The highest level whose readout is on."""
        return FIRST_LEVEL + len(self.readouts) - 1

    @property
    def awaits_features(self) -> bool:
        """Whether the highest level has a readout only."""
        return len(self.frames) < len(self.readouts)


@dataclass(frozen=True)
class Algorithm1:
    """Settings of [allenzhu, Alg. 1].

    Args:
        readouts: width m of the readouts.
        rate: step size.
        batch: points per step, 1 in the theory.
        noise: standard deviation of the noise that every step adds to the readouts: it leads away from zero.
        condition: bound on the singular values of the target's blocks, which sets the threshold for features.
        error: where the halving of the target error ends, in standard deviations of the labels.
        decay: weight decay, relative to the square of the target error.
        most_steps: bound on the steps.
        schedule: when to switch.
        frame: how features are fed to higher levels.
    """

    readouts: int = 24
    rate: float = 2e-3
    batch: int = 32
    noise: float = 1e-4
    condition: float = 1.3
    error: float = 1e-2
    decay: float = 1e-5
    most_steps: int = 40_000
    schedule: Schedule = field(default_factory=PlateauSchedule)
    frame: FrameKind = field(default_factory=GaussianFrame)

    def __call__(
        self,
        wiring: Wiring,
        points: Points,
        labels: PerPoint,
        *,
        level_weights: tuple[float, ...],
        mean_squares: Vector,
        rng: np.random.Generator,
    ) -> LiteralFit:
        """Run the algorithm.

        Args:
            wiring: links; its widths are not read, they are found.
            points: inputs.
            labels: real numbers.
            level_weights: of the target, at least up to constant factors.
            mean_squares: E[x^2] per input.
            rng: randomness of frames, batches and noise.
        """
        if len(level_weights) != len(wiring.sources):
            raise InvalidInput(f"level_weights needs {len(wiring.sources)} numbers, got {level_weights}.")
        run = _LiteralRun(self, wiring, Data(points, points**2 - mean_squares, labels), level_weights, rng)
        state = run.with_readout(_LiteralState((), (), aim=float(max(np.mean(np.abs(labels)), 1.0) ** 2)), 0, np.inf)
        objectives, aim = [], self.error * float(np.std(labels))
        for step in range(0, self.most_steps, LOOK_STEPS):
            objectives.append(run.objective(state))
            while objectives[-1] < state.aim**2 / 4 and state.aim >= aim:
                state = replace(state, aim=state.aim / 2)
            if state.aim < aim:
                break
            state = run.switched(state, step, tuple(objectives))
            state = run.trained(state, step)
        return LiteralFit(
            run.network(state, mean_squares),
            state.switches,
            tuple(objectives),
            state.aim,
            state.aim < aim,
            run.truncated_share(state),
            run.units(state),
            run.terms(state),
        )


@dataclass(frozen=True, eq=False)
class _LiteralRun:
    """The samples, and the moves of the algorithm on them."""

    settings: Algorithm1
    wiring: Wiring
    data: Data
    weights: tuple[float, ...]
    rng: np.random.Generator

    def units(self, state: _LiteralState) -> Units:
        return Units(state.features, state.readouts)

    def terms(self, state: _LiteralState) -> Terms:
        levels = range(FIRST_LEVEL, state.top + 1)
        strengths = np.zeros((len(state.readouts), 3))
        for level in levels[: len(state.frames)]:
            weight = self.weights[level - FIRST_LEVEL]
            strengths[level - FIRST_LEVEL] = self.settings.schedule.strengths(weight, level, self.wiring.inputs)
        decay = np.full(len(levels), self.settings.decay * state.aim**2)
        weights = np.array(self.weights[: len(levels)])
        cross, main, whole = strengths.T
        return Terms(weights, cross, main, whole, decay, state.frames, state.bounds)

    def _sources(self, state: _LiteralState) -> tuple[tuple[int, ...], ...]:
        return self.wiring.sources[: len(state.readouts)]

    def objective(self, state: _LiteralState) -> float:
        return _kernels.quadratic_training.objective(
            self.units(state), self.terms(state), self.data, sources=self._sources(state)
        )

    def trained(self, state: _LiteralState, step: int) -> _LiteralState:
        """`LOOK_STEPS` steps on everything that is on."""
        settings = self.settings
        left = (settings.most_steps - step - np.arange(LOOK_STEPS)) / (COOLING_SHARE * settings.most_steps)
        rates = settings.rate * np.minimum(left, 1.0)
        free = np.array(1.0)
        has_features = [np.array(float(number < len(state.frames))) for number in range(len(state.readouts))]
        units, _, _ = _kernels.quadratic_training.train(
            self.units(state),
            Units(tuple(has_features), (free,) * len(state.readouts)),
            self.terms(state),
            self.data,
            self.rng.integers(len(self.data.labels), size=(LOOK_STEPS, settings.batch)),
            rates,
            sources=self._sources(state),
            method="gradient",
            clip=GRADIENT_CLIP * float(np.std(self.data.labels)),
            noise=settings.noise * float(rates[0] / settings.rate),
            seed=int(self.rng.integers(2**31)),
        )
        return replace(state, features=units.features, readouts=units.readouts)

    def switched(self, state: _LiteralState, step: int, objectives: tuple[float, ...]) -> _LiteralState:
        """The features of the highest level, or the readout of the next, switched on if they are due."""
        if not state.awaits_features and state.top == self.wiring.depth:
            return state
        found = self._distilled(state) if state.awaits_features else None
        level = state.top if state.awaits_features else state.top + 1
        now = Situation(
            level, objectives[-1], objectives[state.since // LOOK_STEPS :], step - state.since,
            1.0 if found is None else found.gap, self.weights, self.wiring.inputs,
        )  # fmt: skip
        if found is not None:
            is_due = self.settings.schedule.are_features_due(now)
            return self._with_features(state, found, step, now.objective) if is_due else state
        is_due = self.settings.schedule.is_readout_due(now)
        return self.with_readout(state, step, now.objective) if is_due else state

    def with_readout(self, state: _LiteralState, step: int, before: float) -> _LiteralState:
        """One more readout, at zero: only the noise leads away from there."""
        level = FIRST_LEVEL + len(state.readouts)
        widths = [packed_size(matrix.shape[0]) for matrix in state.features]
        sources = self.wiring.sources[level - FIRST_LEVEL]
        terms = sum(self.wiring.inputs if source < FIRST_LEVEL else widths[source - FIRST_LEVEL] for source in sources)
        return replace(
            state,
            readouts=(*state.readouts, np.zeros((self.settings.readouts, terms))),
            features=(*state.features, np.zeros((1, terms))),
            since=step,
            switches=(*state.switches, Switch(step, level, "readout", before)),
        )

    def _distilled(self, state: _LiteralState) -> Distilled:
        main = self.wiring.inputs
        if state.top > FIRST_LEVEL:
            main = packed_size(len(state.features[-2]))
        # A readout that is still near zero has no singular value above the threshold, and no gap.
        return distill(state.readouts[-1], main=main, threshold=1 / (10 * self.settings.condition**2))

    def _with_features(self, state: _LiteralState, found: Distilled, step: int, before: float) -> _LiteralState:
        width = len(found.features)
        frame = self.settings.frame(self.rng, width)
        values = self._hidden(state)[-1] @ found.features.T @ frame.T
        bound = BOUND_FACTOR * float(np.quantile(np.abs(values), BOUND_QUANTILE))
        switch = Switch(step, state.top, "features", before, tuple(map(float, found.singular_values)), width)
        return replace(
            state,
            features=(*state.features[:-1], found.features),
            frames=(*state.frames, frame),
            bounds=(*state.bounds, bound),
            since=step,
            switches=(*state.switches, switch),
        )

    def _hidden(self, state: _LiteralState) -> list[np.ndarray]:
        """What every level reads, with exact squares."""
        given, read = {0: self.data.points, 1: self.data.squares}, []
        for number, sources in enumerate(self._sources(state)):
            read.append(np.concatenate([given[source] for source in sources], axis=1))
            if number < len(state.frames):
                given[FIRST_LEVEL + number] = (read[-1] @ state.features[number].T @ state.frames[number].T) ** 2
        return read

    def truncated_share(self, state: _LiteralState) -> float:
        """Of hidden squares beyond their bound."""
        read = self._hidden(state)
        shares = [
            float(np.mean(np.abs(level @ features.T @ frame.T) > bound))
            for level, features, frame, bound in zip(read, state.features, state.frames, state.bounds, strict=False)
        ]
        return max(shares, default=0.0)

    def network(self, state: _LiteralState, mean_squares: Vector) -> QuadraticDenseNet:
        """The same function in products of features: squares behind a frame are linear in these."""
        maps = {FIRST_LEVEL + number: pack_squares(frame) for number, frame in enumerate(state.frames)}
        levels, widths = [], []
        for number, sources in enumerate(self._sources(state)):
            both = []
            for matrix in (state.features[number], state.readouts[number]):
                sizes = [self.wiring.inputs if each < FIRST_LEVEL else len(maps[each]) for each in sources]
                blocks = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
                parts = [
                    block if s < FIRST_LEVEL else block @ maps[s] for s, block in zip(sources, blocks, strict=True)
                ]
                both.append(np.concatenate(parts, axis=1))
            levels.append(Level(both[0], self.weights[number], None, both[1]))
            widths.append(len(both[0]))
        wiring = Wiring(self.wiring.inputs, tuple(widths), self._sources(state))
        return QuadraticDenseNet(wiring, tuple(levels), mean_squares)
