"""Datasets, models and runs of feature correction that tests of torch import when they run."""

import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler

import unweave
from correction_models import SmallConvolutions, small_images
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


class Killed(Exception):
    """A run that was stopped."""


# Batches of training that were prepared, and the one at which a run is stopped.
STEPS = {"done": 0, "stop": 0}


def counted(_: nn.Module, inputs: torch.Tensor, *__: object) -> torch.Tensor:
    """Count batches of training, and stop the run at one of them."""
    STEPS["done"] += 1
    if STEPS["done"] == STEPS["stop"]:
        raise Killed
    return inputs


@dataclass(frozen=True)
class KillsOnce:
    """Kills the first process that trains, at a batch; the next one finds a file and goes on."""

    mark: Path

    def __call__(self, _: nn.Module, inputs: torch.Tensor, *__: object) -> torch.Tensor:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return inputs


ADAM = Recipe(epochs=2, batch=20, learning_rate=1e-2, optimiser=torch.optim.AdamW, schedule=CosineSchedule(warmup=0.2))


def picked(rows: int) -> WeightedRandomSampler:
    """Make a sampler that takes some rows more often than others."""
    return WeightedRandomSampler([1.0] * rows, rows)


def loader(dataset: Dataset, **options: Any) -> DataLoader:
    """Make a loader."""
    return DataLoader(dataset, **options)


class PositionedEncoder(nn.TransformerEncoder):
    """Torch's encoder with positions in it, as the one of torchvision."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.positions = nn.Parameter(torch.zeros(5, 1, 8))

    def reset_parameters(self) -> None:
        """Draw the positions."""
        nn.init.normal_(self.positions, std=0.1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        is_batch_first = hidden.shape[1] == len(self.positions)
        return super().forward(hidden + (self.positions.transpose(0, 1) if is_batch_first else self.positions))


class TokenTransformer(nn.Module):
    """A small vision transformer: patches, a class token, positions, torch's own layers, and a scale above them."""

    def __init__(self, *, is_batch_first: bool) -> None:
        super().__init__()
        self.is_batch_first = is_batch_first
        self.patches = nn.Conv2d(1, 8, 2, stride=2)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=is_batch_first)
        self.encoder = PositionedEncoder(layer, 2, norm=nn.LayerNorm(8), enable_nested_tensor=False)
        self.scale, self.head = nn.Parameter(torch.ones(8)), nn.Linear(8, 3)

    def reset_parameters(self) -> None:
        """Draw what no module of its own holds."""
        nn.init.normal_(self.token, std=0.1)
        nn.init.ones_(self.scale)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        hidden = torch.cat([self.token.expand(len(patches), -1, -1), patches], 1)
        hidden = hidden if self.is_batch_first else hidden.transpose(0, 1)
        hidden = self.encoder(hidden)
        hidden = hidden if self.is_batch_first else hidden.transpose(0, 1)
        return self.head(hidden[:, 0] * self.scale)


def bag_of_words() -> nn.Sequential:
    """A model whose inputs are numbers of words."""
    return nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 5), Averaged(), nn.Linear(5, 2))


class Averaged(nn.Module):
    """The mean over words."""

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return words.mean(1)


def convolutions() -> SmallConvolutions:
    """Make a model of three convolutions."""
    return SmallConvolutions()


class Scaled(nn.Sequential):
    """Three units and a head, with a parameter beside them that acts somewhere."""

    def __init__(self, kind: str) -> None:
        super().__init__(*(nn.Linear(3, 3) for _ in range(4)))
        self.kind, self.scale = kind, nn.Parameter(torch.ones(3))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scaled = rows if self.kind == "nowhere" else rows * self.scale
        second = self[1](self[0](scaled))
        second = {"twice": second * self.scale, "around": second + scaled}.get(self.kind, second)
        third = self[2](second)
        return self[3](third * self.scale if self.kind == "unit and head" else third)


class Mixed(nn.Module):
    """Makes rows of places, and nobody takes them apart."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.flatten(0, 1)


def both() -> tuple[TensorDataset, TensorDataset]:
    """The small images, as the command line names them."""
    return tensor_datasets(0)


class Staying(SmallConvolutions):
    """A model that can't be moved, as one of 64 bits to where only 32 are known."""

    def to(self, *_: Any, **__: Any) -> Any:
        raise TypeError("it stays")
