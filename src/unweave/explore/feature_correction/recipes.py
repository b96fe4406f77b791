"""How one training runs: its optimiser and learning rates, and what is done to batches before the model sees them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from unweave.exceptions import InvalidInput

# What is done to a batch of inputs before the model sees it: (model, inputs, labels, generator) -> inputs.
# Augmentation ignores the model; an attacker needs it, and the labels. Torch is not loaded for a name.
if TYPE_CHECKING:
    import torch

    BatchTransform: TypeAlias = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor, torch.Generator], torch.Tensor]
else:
    BatchTransform = Callable[..., Any]


# From the share of a training that is over, in [0, 1), to a factor of the learning rate.
Schedule: TypeAlias = Callable[[float], float]
# From parameters, `lr` and `weight_decay` to an optimiser of torch, as its classes are.
OptimiserMaker: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class _Warmed:
    """Make the learning rate rise from 0 in proportion, and then fall.

    Args:
        warmup: share of the training in which it rises.
        final: share of the largest learning rate at which it ends.
    """

    warmup: float = 0.0
    final: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < 1 or not 0 <= self.final <= 1:
            raise InvalidInput(
                f"a schedule needs a warmup from 0 to below 1 and a final share from 0 to 1, got {self}."
            )

    def _risen(self, share: float) -> tuple[float, float]:
        """Give the factor of the warmup, and how much of what follows it is over."""
        rising = share / self.warmup if share < self.warmup else 1.0
        return rising, max(0.0, (share - self.warmup) / (1 - self.warmup))


class CosineSchedule(_Warmed):
    """Make the learning rate fall by half a cosine, after a warmup."""

    def __call__(self, share: float) -> float:
        """Return the factor at a share of the training."""
        rising, over = self._risen(share)
        return rising * (self.final + (1 - self.final) * (1 + math.cos(math.pi * over)) / 2)


class LinearSchedule(_Warmed):
    """Make the learning rate fall in proportion, after a warmup."""

    def __call__(self, share: float) -> float:
        """Return the factor at a share of the training."""
        rising, over = self._risen(share)
        return rising * (self.final + (1 - self.final) * (1 - over))


@dataclass(frozen=True)
class Recipe:
    """Train by stochastic gradient descent with momentum and a learning rate that falls at milestones, or otherwise.

    Args:
        epochs: passes over the training rows; a quarter of the 120 of [allenzhu].
        learning_rate: of the first epoch; the largest one, of a schedule.
        momentum: share of the last step that the next one keeps; of the default optimiser alone.
        weight_decay: of all weights; [allenzhu] tries 1e-4 and 5e-4.
        batch: rows of a step.
        milestones: epochs after which the learning rate is multiplied by `decay`.
        decay: that factor.
        optimiser: what makes another optimiser, such as ``torch.optim.AdamW`` or
            ``functools.partial(torch.optim.AdamW, betas=(0.9, 0.98))``: called with parameters, `lr` and
            `weight_decay`.
        schedule: in place of milestones a function from the share of the training that is over to a factor of the
            learning rate, such as `CosineSchedule` and `LinearSchedule`; asked before every step.
    """

    epochs: int = 30
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    batch: int = 125
    milestones: tuple[int, ...] = ()
    decay: float = 0.1
    optimiser: OptimiserMaker | None = None
    schedule: Schedule | None = None

    def learning_rate_at(self, epoch: float) -> float:
        """Return the learning rate of an epoch, counted from 0, or of a moment in one."""
        if self.schedule is not None:
            return self.learning_rate * self.schedule(epoch / self.epochs)
        return self.learning_rate * self.decay ** sum(epoch >= milestone for milestone in self.milestones)

    def shortened(self, epochs: int) -> "Recipe":
        """Return the same recipe with fewer or more epochs; milestones stay at the same share of the training."""
        milestones = tuple(round(milestone * epochs / self.epochs) for milestone in self.milestones)
        return replace(self, epochs=epochs, milestones=milestones)


@dataclass(frozen=True)
class Compose:
    """Several transforms of batches, one after the other."""

    transforms: Sequence[BatchTransform]

    def __call__(self, model: Any, inputs: Any, labels: Any, generator: Any) -> Any:
        """Apply the first one first."""
        for transform in self.transforms:
            inputs = transform(model, inputs, labels, generator)
        return inputs


def without_attackers(transform: BatchTransform | None) -> BatchTransform | None:
    """Leave out what says that it `needs_labels`, and so moves inputs differently for every model."""
    if isinstance(transform, Compose):
        kept = tuple(without_attackers(each) for each in transform.transforms)
        return Compose(tuple(each for each in kept if each is not None))
    return None if getattr(transform, "needs_labels", False) else transform
