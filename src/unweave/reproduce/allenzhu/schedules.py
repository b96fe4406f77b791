"""When [allenzhu, Alg. 1] switches a readout or the features of a level on."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from unweave.reproduce.allenzhu.distillation import VISIBLE_GAP


@dataclass(frozen=True)
class Situation:
    """What a schedule may look at.

    Args:
        level: the level that waits.
        objective: now.
        history: objectives since the last switch, one per look, the present one last.
        steps: since the last switch.
        gap: by how much the singular value of the last feature stands out, if features wait.
        weights: of all levels.
        inputs: number of inputs.
    """

    level: int
    objective: float
    history: tuple[float, ...]
    steps: int
    gap: float
    weights: tuple[float, ...]
    inputs: int

    def weight(self, level: int) -> float:
        """Of one level."""
        return self.weights[level - 2]


@runtime_checkable
class Schedule(Protocol):
    """Decides about switches."""

    def is_readout_due(self, now: Situation) -> bool:
        """Whether the readout W of the level is switched on."""
        ...

    def are_features_due(self, now: Situation) -> bool:
        """Whether the features K of the level are distilled."""
        ...

    def strengths(self, weight: float, level: int, inputs: int) -> tuple[float, float, float]:
        """Of the distillation terms on main times skip links, on main links, and on all links."""
        ...


@dataclass(frozen=True)
class PlateauSchedule:
    """Switch when the objective stays where it is, and features only when their number is visible.

    Args:
        least_steps: that a stage takes.
        least_gain: share of the objective that a window of looks must gain for a stage to go on.
        window: looks that are compared with those before them.
        patience: steps after which features are distilled even if their number is not visible.
    """

    least_steps: int = 2_000
    least_gain: float = 0.03
    window: int = 4
    patience: int = 20_000

    def is_readout_due(self, now: Situation) -> bool:
        """Whether the objective stays where it is."""
        if now.steps < self.least_steps or len(now.history) <= self.window:
            return False
        return min(now.history[-self.window :]) > (1 - self.least_gain) * min(now.history[: -self.window])

    def are_features_due(self, now: Situation) -> bool:
        """Whether the objective stays where it is and the number of features stands out."""
        return self.is_readout_due(now) and (now.gap >= VISIBLE_GAP or now.steps >= self.patience)

    def strengths(self, weight: float, level: int, inputs: int) -> tuple[float, float, float]:
        """Falling from term to term, and with the square of the weight."""
        del level, inputs
        return 0.5 * weight**2, 0.25 * weight**2, 0.1 * weight**2


@dataclass(frozen=True)
class ThresholdSchedule:
    """The thresholds of [allenzhu, Alg. 1] for large dimensions, for labels whose levels have unit variance.

    They are asymptotic: with tens of inputs they fire long before the number of features is visible.

    Args:
        base: the integer C of the theory.
    """

    base: int = 2

    def is_readout_due(self, now: Situation) -> bool:
        """Whether the objective is below ``weight_(l-1)^2 / d^(1 / (3 C^(l-1)))``; always for level 2."""
        if now.level == 2:
            return True
        return now.objective <= now.weight(now.level - 1) ** 2 * self._power(now.inputs, 3, now.level - 1)

    def are_features_due(self, now: Situation) -> bool:
        """Whether the objective is below ``weight_l^2 / d^(1 / (6 C^l))``."""
        return now.objective <= now.weight(now.level) ** 2 * self._power(now.inputs, 6, now.level)

    def strengths(self, weight: float, level: int, inputs: int) -> tuple[float, float, float]:
        """``weight^2`` over the powers 1/(6 C^l), 1/(3 C^l) and 1/(2 C^l) of the number of inputs."""
        first, second, third = (weight**2 * self._power(inputs, divisor, level) for divisor in (6, 3, 2))
        return first, second, third

    def _power(self, inputs: int, divisor: int, level: int) -> float:
        return float(np.float64(inputs) ** (-1 / (divisor * self.base**level)))
