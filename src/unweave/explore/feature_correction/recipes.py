"""How one training runs: settings of its optimiser, and what is done to batches before the model sees them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

# What is done to a batch of inputs before the model sees it: (model, inputs, labels, generator) -> inputs.
# Augmentation ignores the model; an attacker needs it, and the labels. Torch is not loaded for a name.
if TYPE_CHECKING:
    import torch

    BatchTransform: TypeAlias = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor, torch.Generator], torch.Tensor]
else:
    BatchTransform = Callable[..., Any]


@dataclass(frozen=True)
class Recipe:
    """Train by stochastic gradient descent with momentum and a learning rate that falls at milestones.

    Args:
        epochs: passes over the training rows; a quarter of the 120 of [allenzhu].
        learning_rate: of the first epoch.
        momentum: share of the last step that the next one keeps.
        weight_decay: of all weights; [allenzhu] tries 1e-4 and 5e-4.
        batch: rows of a step.
        milestones: epochs after which the learning rate is multiplied by `decay`.
        decay: that factor.
    """

    epochs: int = 30
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    batch: int = 125
    milestones: tuple[int, ...] = ()
    decay: float = 0.1

    def learning_rate_at(self, epoch: int) -> float:
        """Return the learning rate of an epoch, counted from 0."""
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
