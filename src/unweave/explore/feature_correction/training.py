"""How one torch model is trained and asked, with some of its units frozen or pulled."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.checkpoints import (
    CHECKPOINT_RULES,
    CheckpointRules,
    Checkpoints,
    TrainingState,
)
from unweave.explore.feature_correction.feeds import Feed, as_feed
from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.subjects import Deadline, Halfway

# Nothing, or a number that is added to the loss.
Penalty: TypeAlias = Callable[[], torch.Tensor]
# Somebody's own loop: (model, parameters that train, penalty to add to the loss, seed, numbers of rows that train).
TrainingLoop: TypeAlias = Callable[[nn.Module, list[nn.Parameter], Penalty, int, np.ndarray], None]


class Stream(IntEnum):
    """What randomness is for; a model's weights are drawn by the seed itself."""

    HEAD = 0
    BATCHES = 1
    TEST = 2
    READING = 3


def seed_of(stream: Stream, seed: int, *more: int) -> int:
    """A seed for one purpose, or for a part of it, whose numbers have nothing to do with those of other purposes."""
    return int(np.random.SeedSequence(seed, spawn_key=(stream, *more)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, eq=False)
class RecipeLoop:
    """The training loop of a recipe.

    Args:
        recipe: optimiser, epochs and learning rates.
        inputs: of training, as the model takes them.
        labels: classes, or rows of real numbers.
        prepare: what is done to a batch first.
        rules: how often the state of a training is kept.
    """

    recipe: Recipe
    inputs: torch.Tensor | Feed
    labels: torch.Tensor
    prepare: BatchTransform | None
    rules: CheckpointRules = CHECKPOINT_RULES

    def __call__(
        self,
        model: nn.Module,
        parameters: list[nn.Parameter],
        penalty: Penalty,
        seed: int,
        deadline: Deadline,
        halfway: Halfway | None = None,
    ) -> list[float]:
        """Train; batches are drawn by the seed alone, so that trainings of equal seeds see equal batches.

        Args:
            halfway: where the training goes on if it was stopped, and keeps its state.

        Returns:
            The loss of the first batch, and the mean loss of every epoch; a pull is no part of them.

        Raises:
            OutOfTime: if the time is over; the state is kept.
        """
        generator = torch.Generator().manual_seed(seed_of(Stream.BATCHES, seed))
        state = TrainingState(model, optimiser_of(self.recipe, parameters), generator)
        model.train()
        checkpoints = Checkpoints(halfway, self.rules)
        checkpoints.resume(state)
        batches = self._batches_per_epoch
        for epoch in range(state.step // batches, self.recipe.epochs):
            self._epoch(epoch, state, penalty, seed, lambda: self._look(state, deadline, checkpoints))
        epochs = np.reshape(state.losses, (self.recipe.epochs, batches))
        return [state.losses[0], *np.mean(epochs, axis=1).tolist()]

    @property
    def _batches_per_epoch(self) -> int:
        """Of nearly equal size, and of two rows at least: a batch of one row would break norms."""
        return max(min(round(len(self.inputs) / self.recipe.batch), len(self.inputs) // 2), 1)

    @staticmethod
    def _look(state: TrainingState, deadline: Deadline, checkpoints: Checkpoints) -> None:
        """Look at the time between batches: an epoch against an attacker may take longer than the time that is left."""
        if deadline.is_over:
            checkpoints.keep(state)
        deadline.check()
        checkpoints.look(state)

    def _epoch(self, epoch: int, state: TrainingState, penalty: Penalty, seed: int, look: Callable[[], None]) -> None:
        """Do the steps of an epoch that are left."""
        done, generator = state.step - epoch * self._batches_per_epoch, state.generator
        reached, is_begun = generator.get_state(), state.epoch_began is not None
        state.epoch_began = reached if state.epoch_began is None else state.epoch_began
        generator.set_state(state.epoch_began)
        groups = torch.randperm(len(self.inputs), generator=generator).tensor_split(self._batches_per_epoch)
        if is_begun:
            # Gone on with: what was drawn for batches since is not drawn again.
            generator.set_state(reached)
        reading = seed_of(Stream.READING, seed, epoch)
        for place, inputs in enumerate(as_feed(self.inputs).batches(groups, reading, first=done), start=done):
            look()
            rate = self.recipe.learning_rate_at(epoch + place / len(groups))
            for group in state.optimiser.param_groups:
                group["lr"] = rate
            labels = self.labels[groups[place].to(self.labels.device)]
            state.losses.append(self._step(state, penalty, inputs, labels))
        state.epoch_began = None

    def _step(self, state: TrainingState, penalty: Penalty, inputs: torch.Tensor, labels: torch.Tensor) -> float:
        model = state.model
        if self.prepare is not None:
            inputs = self.prepare(model, inputs, labels, state.generator)
            # An attacker may have changed the mode, and may have left gradients.
            model.train()
        state.optimiser.zero_grad(set_to_none=True)
        loss = loss_of(model(inputs), labels)
        (loss + penalty()).backward()
        state.optimiser.step()
        return loss.item()


def optimiser_of(recipe: Recipe, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Make the optimiser of a recipe.

    Raises:
        InvalidInput: if it can't be made, is no optimiser of torch, or its steps need more than gradients.
    """
    rate, decay = recipe.learning_rate, recipe.weight_decay
    if recipe.optimiser is None:
        return torch.optim.SGD(parameters, lr=rate, momentum=recipe.momentum, weight_decay=decay)
    try:
        made = recipe.optimiser(parameters, lr=rate, weight_decay=decay)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the optimiser of a recipe needs to be made of parameters, lr and weight_decay: {error}."
        ) from error
    if not isinstance(made, torch.optim.Optimizer):
        raise InvalidInput(f"the optimiser of a recipe needs to be one of torch, got {type(made).__name__}.")
    return made


def check_optimiser(recipe: Recipe) -> None:
    """Make a step with the optimiser of a recipe, before anything trains.

    Raises:
        InvalidInput: if that is not possible.
    """
    trial = nn.Parameter(torch.ones(2, 2))
    trial.grad = torch.zeros(2, 2)
    optimiser = optimiser_of(recipe, [trial])
    try:
        optimiser.step()
    except Exception as error:
        raise InvalidInput(
            f"the optimiser of a recipe needs to step by gradients alone, and {type(optimiser).__name__} does not: "
            f"{error}."
        ) from error


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
    model: nn.Module, inputs: torch.Tensor | Feed, labels: torch.Tensor, prepare: BatchTransform | None, seed: int
) -> np.ndarray:
    """Outputs of a trained model, a few rows at a time."""
    parts = []
    for batch in prepared(model, inputs, labels, prepare, seed):
        with torch.no_grad():
            parts.append(model(batch).cpu().numpy())
    return np.concatenate(parts)


def prepared(
    model: nn.Module, inputs: torch.Tensor | Feed, labels: torch.Tensor, prepare: BatchTransform | None, seed: int
) -> Iterator[torch.Tensor]:
    """Batches of inputs as they are scored; the model is left in evaluation mode."""
    generator, feed = torch.Generator().manual_seed(seed_of(Stream.TEST, seed)), as_feed(inputs)
    groups = torch.arange(len(feed)).split(feed.rows_at_once)
    for rows, batch in zip(groups, feed.batches(groups, seed_of(Stream.TEST, seed, 0)), strict=True):
        model.eval()
        taken = batch if prepare is None else prepare(model, batch, labels[rows.to(labels.device)], generator)
        model.eval()
        yield taken
