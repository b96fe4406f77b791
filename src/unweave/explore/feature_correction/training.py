"""How one torch model is trained and asked, with some of its units frozen or pulled."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.subjects import Deadline

# Nothing, or a number that is added to the loss.
Penalty: TypeAlias = Callable[[], torch.Tensor]
# Somebody's own loop: (model, parameters that train, penalty to add to the loss, seed, numbers of rows that train).
TrainingLoop: TypeAlias = Callable[[nn.Module, list[nn.Parameter], Penalty, int, np.ndarray], None]
EVALUATION_ROWS = 500


class Stream(IntEnum):
    """What randomness is for; a model's weights are drawn by the seed itself."""

    HEAD = 0
    BATCHES = 1
    TEST = 2


def seed_of(stream: Stream, seed: int) -> int:
    """A seed for one purpose, whose numbers have nothing to do with those of other purposes."""
    return int(np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, eq=False)
class RecipeLoop:
    """The training loop of a recipe.

    Args:
        recipe: optimiser, epochs and learning rates.
        inputs: of training, as the model takes them.
        labels: classes, or rows of real numbers.
        prepare: what is done to a batch first.
    """

    recipe: Recipe
    inputs: torch.Tensor
    labels: torch.Tensor
    prepare: BatchTransform | None

    def __call__(
        self, model: nn.Module, parameters: list[nn.Parameter], penalty: Penalty, seed: int, deadline: Deadline
    ) -> list[float]:
        """Train; batches are drawn by the seed alone, so that trainings of equal seeds see equal batches.

        Returns:
            The loss of the first batch, and the mean loss of every epoch; a pull is no part of them.
        """
        recipe, generator = self.recipe, torch.Generator().manual_seed(seed_of(Stream.BATCHES, seed))
        optimiser = torch.optim.SGD(
            parameters, lr=recipe.learning_rate, momentum=recipe.momentum, weight_decay=recipe.weight_decay
        )
        model.train()
        # Of nearly equal size, and of two rows at least: a batch of one row would break norms.
        batches = max(min(round(len(self.inputs) / recipe.batch), len(self.inputs) // 2), 1)
        losses: list[float] = []
        for epoch in range(recipe.epochs):
            for group in optimiser.param_groups:
                group["lr"] = recipe.learning_rate_at(epoch)
            for rows in torch.randperm(len(self.inputs), generator=generator).tensor_split(batches):
                # Between batches: an epoch against an attacker may take longer than the time that is left.
                deadline.check()
                losses.append(self._step(model, optimiser, penalty, rows.to(self.inputs.device), generator))
        return [losses[0], *np.mean(np.reshape(losses, (recipe.epochs, batches)), axis=1).tolist()]

    def _step(
        self,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        penalty: Penalty,
        rows: torch.Tensor,
        generator: torch.Generator,
    ) -> float:
        inputs, labels = self.inputs[rows], self.labels[rows]
        if self.prepare is not None:
            inputs = self.prepare(model, inputs, labels, generator)
            # An attacker may have changed the mode, and may have left gradients.
            model.train()
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(model(inputs), labels)
        (loss + penalty()).backward()
        optimiser.step()
        return loss.item()


def loss_of(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy for classes, mean square for real labels."""
    if labels.is_floating_point():
        return nn.functional.mse_loss(outputs, labels)
    return nn.functional.cross_entropy(outputs, labels)


def pull(towards: list[tuple[torch.Tensor, torch.Tensor]], strength: float) -> Penalty:
    """``strength * sum |w - w'|^2`` over pairs of a weight and the place that it is pulled to."""
    if not towards or strength == 0:
        return lambda: torch.zeros(())
    return lambda: strength * torch.stack([((weight - place) ** 2).sum() for weight, place in towards]).sum()


def answers(
    model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, prepare: BatchTransform | None, seed: int
) -> np.ndarray:
    """Outputs of a trained model, a few rows at a time."""
    parts = []
    for batch in prepared(model, inputs, labels, prepare, seed):
        with torch.no_grad():
            parts.append(model(batch).cpu().numpy())
    return np.concatenate(parts)


def prepared(
    model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, prepare: BatchTransform | None, seed: int
) -> Iterator[torch.Tensor]:
    """Batches of inputs as they are scored; the model is left in evaluation mode."""
    generator = torch.Generator().manual_seed(seed_of(Stream.TEST, seed))
    for start in range(0, len(inputs), EVALUATION_ROWS):
        rows = slice(start, start + EVALUATION_ROWS)
        model.eval()
        batch = inputs[rows] if prepare is None else prepare(model, inputs[rows], labels[rows], generator)
        model.eval()
        yield batch
