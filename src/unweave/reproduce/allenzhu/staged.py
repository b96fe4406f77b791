"""Staged joint training by minibatches, the practical form of [allenzhu, Alg. 1]; and layer-wise training.

A stage switches the readout of one more level on and trains it together with everything below, whose features go on
improving: that is backward feature correction. Layer-wise training is the same with everything below frozen.
Heuristic, verified afterwards.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave import _kernels  # its parts are loaded when first used
from unweave._kernels.quadratic_terms import Data, Terms, Units
from unweave.arrays import PerPoint, Points, Vector
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring
from unweave.reproduce.allenzhu.distillation import distill

# Steps between looks at the objective.
LOOK_STEPS = 500
# A stage ends when a chunk lowers the objective by less than this share.
PLATEAU_GAIN = 0.03
READOUT_START_SIZE = 0.3
# Of the terms that hold features to readouts: on main times skip links, on main links, and on all links. In units in
# which labels have variance 1, and times the squared weight of the level.
DISTILLATION_STRENGTHS = (0.5, 1.0, 1.0)
# Largest norm of a gradient, in units in which labels have variance 1; eighth powers of Gaussians have heavy tails.
GRADIENT_CLIP = 5.0
# Of the logistic loss: from where to where it sharpens, geometrically, in a stage and at the end. A sharp loss tells
# how large an error is, a soft one shows a start the way.
STAGE_SHARPNESS, FINAL_SHARPNESS = (2.0, 10.0), (5.0, 50.0)
# Mean squared error of an output per logistic loss, about: classes are wrong only where the output is near zero.
ERROR_PER_LOSS = 5.0


def falling_rates(shares: Float64[np.ndarray, "steps"]) -> Float64[np.ndarray, "steps"]:
    """Let the step size fall from 1 to a hundredth along a cosine, at these shares of a training."""
    return 0.01 + 0.495 * (1 + np.cos(np.pi * shares))


@dataclass(frozen=True, eq=False)
class Stage:
    """The network at the end of a stage.

    Args:
        name: which levels were on.
        network: the network, with features of all levels that are on.
        objective: mean over the last steps, relative to the variance of the labels.
        steps: how many steps it took.
    """

    name: str
    network: QuadraticDenseNet
    objective: float
    steps: int


@dataclass(frozen=True, eq=False)
class StagedFit:
    """What training found.

    Args:
        network, stages: what there was at the end of the training, and at the end of every stage.
        path: step and network at every look, for those who want to see features improve.
    """

    network: QuadraticDenseNet
    stages: tuple[Stage, ...]
    path: tuple[tuple[int, QuadraticDenseNet], ...]


@dataclass(frozen=True)
class StagedTraining:
    """Settings of staged training.

    Args:
        readouts: width of the wide readouts W.
        stage_steps: most steps of a stage.
        final_steps: steps at the end, when the features of all levels are there and the step size falls.
        batch: points per step.
        rate: step size; the last stage ends at a hundredth of it.
        is_layer_wise: whether everything below the newest level is frozen.
    """

    readouts: int = 24
    stage_steps: int = 3_000
    final_steps: int = 10_000
    batch: int = 512
    rate: float = 5e-3
    is_layer_wise: bool = False

    def __call__(
        self,
        wiring: Wiring,
        points: Points,
        labels: PerPoint,
        *,
        mean_squares: Vector,
        rng: np.random.Generator,
        level_weights: tuple[float, ...] | None = None,
        offsets: PerPoint | None = None,
    ) -> StagedFit:
        """Train level by level.

        Args:
            wiring: widths and links.
            points: inputs.
            labels: real numbers, or classes -1 and 1.
            mean_squares: E[x^2] per input.
            rng: randomness of starts and batches.
            level_weights: relative sizes of levels; what is left after a stage is the weight of the next if omitted.
            offsets: for classes, the input that enters linearly: they are the signs of offsets plus network. It sets
                the unit of the network.
        """
        unit = float(np.std(labels)) or 1.0 if offsets is None else 1.0
        data = Data(points, points**2 - mean_squares, labels / unit, offsets)
        run = _StagedRun(self, wiring, data, mean_squares, rng)
        weights, features, readouts, stages, path, left = [], [], [], [], [], 1.0
        for level in range(FIRST_LEVEL, wiring.depth + 1):
            given = None if level_weights is None else level_weights[level - FIRST_LEVEL] / level_weights[0]
            weights.append(max(left, 1e-3) if given is None else given)
            terms = wiring.terms(level)
            readouts.append(READOUT_START_SIZE / np.sqrt(self.readouts) * rng.standard_normal((self.readouts, terms)))
            features.append(np.zeros((wiring.widths[level - FIRST_LEVEL], terms)))
            looks, left = run.stage(Units(tuple(features), tuple(readouts)), weights)
            if level == wiring.depth:
                last, left = run.stage(run.with_features(looks[-1]), weights, is_final=True)
                looks = looks + last
            begin = path[-1][0] if path else 0
            in_units = [unit * weight for weight in weights]
            path += [(begin + LOOK_STEPS * (n + 1), run.network(units, in_units)) for n, units in enumerate(looks)]
            stages.append(Stage(f"levels 2 to {level}", path[-1][1], left**2, LOOK_STEPS * len(looks)))
            features, readouts = map(list, run.with_features(looks[-1]))
        return StagedFit(stages[-1].network, tuple(stages), tuple(path))


@dataclass(frozen=True, eq=False)
class _StagedRun:
    """Samples in the unit of their labels, and how stages are run on them."""

    settings: StagedTraining
    wiring: Wiring
    data: Data
    mean_squares: Vector
    rng: np.random.Generator

    @property
    def _are_classes(self) -> bool:
        return self.data.offsets is not None

    def stage(self, units: Units, weights: list[float], *, is_final: bool = False) -> tuple[list[Units], float]:
        """Train until the objective stays where it is; the final one takes all its steps, with falling step size.

        Returns the units at every look, and the size of what the last one leaves unexplained.
        """
        level = FIRST_LEVEL + len(weights) - 1
        most = (self.settings.final_steps if is_final else self.settings.stage_steps) // LOOK_STEPS
        # What is frozen afterwards should be as good as it can be.
        is_cooling = is_final or self.settings.is_layer_wise
        terms, trains = self._terms(weights, is_final=is_final), self._trains(units, is_final=is_final)
        state, losses, looks = None, [], []
        for number in range(most):
            share = np.linspace(number / most, (number + 1) / most, LOOK_STEPS)
            rates = self.settings.rate * (falling_rates(share) if is_cooling else np.ones(LOOK_STEPS))
            batches = self.rng.integers(len(self.data.labels), size=(LOOK_STEPS, self.settings.batch))
            units, state, loss = _kernels.quadratic_training.train(
                units, trains, self._sharpened(terms, number / most, is_final=is_final), self.data, batches, rates,
                sources=self.wiring.up_to(level).sources, method="adam", clip=GRADIENT_CLIP, state=state,
            )  # fmt: skip
            losses.append(loss)
            looks.append(units)
            # A loss that sharpens falls by itself: there is no plateau to wait for.
            has_settled = number >= 2 and losses[-1] > (1 - PLATEAU_GAIN) * losses[-2]
            if has_settled and not (is_cooling or self._are_classes):
                break
        return looks, float(np.sqrt(losses[-1] * (ERROR_PER_LOSS if self._are_classes else 1.0)))

    def _sharpened(self, terms: Terms, share: float, *, is_final: bool) -> Terms:
        if not self._are_classes:
            return terms
        first, last = FINAL_SHARPNESS if is_final else STAGE_SHARPNESS
        return terms._replace(sharpness=first * (last / first) ** share)

    def _terms(self, weights: list[float], *, is_final: bool) -> Terms:
        """Distillation terms hold readouts and features of a level together; the newest has features in the end."""
        sizes = np.array(weights) ** 2
        sizes[-1] *= is_final
        cross, main, whole = (strength * sizes for strength in DISTILLATION_STRENGTHS)
        return Terms(np.array(weights), cross, main, whole, np.zeros(len(weights)))

    def _trains(self, units: Units, *, is_final: bool) -> Units:
        free = [not self.settings.is_layer_wise] * (len(units.features) - 1)
        features = tuple(np.array(float(each)) for each in [*free, is_final])
        return Units(features, tuple(np.array(float(each)) for each in [*free, True]))

    def with_features(self, units: Units) -> Units:
        """The features of the newest level, distilled from its readout."""
        level = FIRST_LEVEL + len(units.readouts) - 1
        return Units((*units.features[:-1], _distilled(units.readouts[-1], self.wiring, level)), units.readouts)

    def network(self, units: Units, weights: list[float]) -> QuadraticDenseNet:
        """The network of all levels that are on; the features of the newest one are distilled for it."""
        depth = FIRST_LEVEL + len(weights) - 1
        levels = tuple(
            Level(matrix, weight, None, readout)
            for matrix, readout, weight in zip(self.with_features(units).features, units.readouts, weights, strict=True)
        )
        return QuadraticDenseNet(self.wiring.up_to(depth), levels, self.mean_squares)


def _distilled(readout: np.ndarray, wiring: Wiring, level: int) -> np.ndarray:
    """Features of a level, padded by zeros if the readout has fewer."""
    main, _ = wiring.main_and_skip(level)
    width = wiring.widths[level - FIRST_LEVEL]
    found = distill(readout, main=main.stop, width=width).features
    return np.pad(found, ((0, width - len(found)), (0, 0)))
