"""Datasets, models and runs of feature correction that tests of torch import when they run."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import unweave
from correction_models import small_images
from unweave.explore.feature_correction.checkpoints import CheckpointRules
from unweave.explore.feature_correction.feeds import Feed
from unweave.explore.feature_correction.recipes import CosineSchedule, Recipe
from unweave.explore.feature_correction.subjects import Deadline
from unweave.explore.feature_correction.training import RecipeLoop, pull

QUICK: dict[str, Any] = {
    "recipe": Recipe(epochs=1, batch=20),
    "seeds": 1,
    "depths": (1,),
    "windows": (0,),
    "prox": (1e-3,),
}
# After every step.
ALWAYS = CheckpointRules(seconds=0.0, most_share=1e9)


def told(result: unweave.FeatureCorrection) -> dict[str, Any]:
    """Everything but times."""
    return {name: value for name, value in result.as_json().items() if name != "seconds"}


def tensor_datasets(seed: int) -> tuple[TensorDataset, TensorDataset]:
    """The small images as datasets to train on and to test on."""
    x_train, y_train, x_test, y_test = map(torch.as_tensor, small_images(seed))
    return TensorDataset(x_train, y_train), TensorDataset(x_test, y_test)


class Jittered(Dataset):
    """Small images that are moved at random whenever they are read, by all three generators that datasets use."""

    def __init__(self, seed: int, *, is_test: bool = False) -> None:
        self.images, self.labels = small_images(seed)[2:] if is_test else small_images(seed)[:2]
        self.reads = 0

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        self.reads += 1
        moved = 0.1 * torch.randn(1) + 0.1 * np.random.standard_normal() + random.gauss(0.0, 0.1)  # noqa: NPY002
        return torch.as_tensor(self.images[row]) + moved.float(), int(self.labels[row])


class Changing(Jittered):
    """A dataset with a generator of its own, which nobody can seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.rng = np.random.default_rng(seed)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        return torch.as_tensor(self.images[row] + np.float32(self.rng.standard_normal())), int(self.labels[row])


class Streamed(IterableDataset):
    """Rows that can't be picked."""

    def __iter__(self) -> Any:
        yield torch.zeros(1, 4, 4), 0


class Listed(Dataset):
    """Items as they are given."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, row: int) -> Any:
        return self.items[row]


class Dropping(nn.Sequential):
    """A model that draws in its forward pass, and has running averages."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(16, 3)
        )


class MemoryHalfway:
    """Keeps states in memory, all of them."""

    def __init__(self, state: bytes | None = None) -> None:
        self.states = [] if state is None else [state]

    def read(self) -> bytes | None:
        return self.states[-1] if self.states else None

    def keep(self, state: bytes) -> None:
        self.states.append(state)


def noisy(_: nn.Module, inputs: torch.Tensor, __: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Add noise to a batch."""
    return inputs + 0.1 * torch.randn(inputs.shape, generator=generator)


def trained(
    inputs: torch.Tensor | Feed, labels: torch.Tensor, recipe: Recipe, halfway: MemoryHalfway
) -> tuple[dict[str, torch.Tensor], list[float]]:
    """Train a small model that draws, and keep its state after every step."""
    torch.manual_seed(1)
    model = Dropping()
    loop = RecipeLoop(recipe, inputs, labels, noisy, ALWAYS)
    losses = loop(model, list(model.parameters()), pull([], 0.0), 3, Deadline(), halfway)
    return {name: value.clone() for name, value in model.state_dict().items()}, losses


def killing_itself(folder: Path, *, steps: int) -> Callable[..., torch.Tensor]:
    """Make a preparation of batches that kills its process at a step, the first time."""

    def prepare(_: nn.Module, inputs: torch.Tensor, *__: object) -> torch.Tensor:
        mark = folder / "steps"
        done = int(mark.read_text()) if mark.exists() else 0
        mark.write_text(str(done + 1))
        if done == steps:
            os.kill(os.getpid(), signal.SIGKILL)
        return inputs

    return prepare


ADAM = Recipe(epochs=3, batch=10, learning_rate=1e-2, optimiser=torch.optim.AdamW, schedule=CosineSchedule(warmup=0.2))
