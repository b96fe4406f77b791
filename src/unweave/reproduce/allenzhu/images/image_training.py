"""One image experiment's trainings: the batches of its configuration, weights kept in a folder; needs torch."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import ImageData
from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.store import HalfwayFile
from unweave.explore.feature_correction.subjects import Deadline
from unweave.explore.feature_correction.training import Penalty, RecipeLoop, answers, prepared, pull
from unweave.folders import read_file, write_files
from unweave.reproduce.allenzhu.images.architectures import WideResidualNetwork
from unweave.reproduce.allenzhu.images.blueprints import Blueprint
from unweave.reproduce.allenzhu.images.configurations import FigureConfiguration
from unweave.reproduce.allenzhu.images.tangent_kernel import TangentNetwork, settle_norms
from unweave.seals import UNSEALED, check_tensors, seal_tensors

# Told what is trained, and how many trainings are done.
Progress = Callable[[str, int], None]
# How files of trainings that are not done end.
HALFWAY = ".halfway"
NO_PENALTY = pull([], 0.0)


@dataclass(eq=False)
class ImageTraining:
    """Trains networks on images as a configuration says.

    A trained network's weights are kept in the folder under a name that holds a digest of the configuration, the images
    and the training; the same training is then read, not repeated.

    Attributes:
        device: a GPU if there is one.
        done: trainings that are finished, for progress.
    """

    configuration: FigureConfiguration
    images: ImageData
    folder: Path
    deadline: Deadline
    tell: Progress
    done: int = 0

    @cached_property
    def device(self) -> torch.device:
        """Where networks train."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @cached_property
    def transforms(self) -> tuple[BatchTransform | None, BatchTransform | None]:
        """What is done to batches of training and of tests."""
        return self.configuration.prepared(self.images)

    def build(self, blueprint: Blueprint, seed: int) -> nn.Module:
        """A network with random weights."""
        model = blueprint.build(seed, classes=self.images.classes, shape=self.images.shape)
        return model.to(self.device)

    def truncated(self, model: WideResidualNetwork, depth: int, seed: int) -> WideResidualNetwork:
        """The first units with fresh read-outs; torch's own generator goes on as if nothing had been drawn."""
        # Not the numbers of the first layer again, which the seed itself gives.
        (drawn,) = np.random.SeedSequence((seed, depth)).generate_state(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(drawn))
            return model.truncated(depth).to(self.device)

    def tangent(self, blueprint: Blueprint, seed: int) -> TangentNetwork:
        """The network that is linear in the weights of a random one, whose norms have seen the training images."""
        base = self.build(blueprint, seed)
        settle_norms(base, self._prepared_train_images(base, seed))
        return TangentNetwork(base, self.images.classes)

    def _prepared_train_images(self, model: nn.Module, seed: int) -> torch.Tensor:
        """Training images as images are prepared for tests."""
        inputs, labels = self._train_tensors
        return torch.cat(list(prepared(model, inputs, labels, self.transforms[1], seed)))

    def train(
        self,
        name: str,
        model: nn.Module,
        recipe: Recipe,
        *,
        seed: int,
        penalty: Penalty = NO_PENALTY,
    ) -> None:
        """Train all parameters that take gradients, or read what the same training has left.

        Args:
            name: tells this training from all others of the experiment.

        Raises:
            OutOfTime: if the time is over.
        """
        self.tell(name, self.done)
        kept = self.folder / f"{name.replace(' ', '-')}-{self._digest(name, recipe, seed)}.safetensors"
        if kept.is_file():
            _read_weights(model, kept)
        else:
            inputs, labels = self._train_tensors
            parameters = [each for each in model.parameters() if each.requires_grad]
            loop = RecipeLoop(recipe, inputs, labels, self.transforms[0])
            loop(model, parameters, penalty, seed, self.deadline, HalfwayFile(kept.with_suffix(HALFWAY)))
            _write_weights(model, kept)
        self.done += 1

    def test_outputs(self, model: nn.Module, seed: int) -> np.ndarray:
        """Answers at all test images, attacked if the configuration says so.

        Raises:
            OutOfTime: if the time is over.
        """
        inputs, labels = self._test_tensors
        return answers(model, inputs, labels, self._prepared_in_time, seed)

    def _prepared_in_time(
        self, model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        self.deadline.check()
        prepare = self.transforms[1]
        return inputs if prepare is None else prepare(model, inputs, labels, generator)

    def accuracy(self, outputs: np.ndarray) -> float:
        """Share of test images whose class has the largest output."""
        return float(np.mean(np.argmax(outputs, axis=1) == self.images.test_labels))

    def _digest(self, name: str, recipe: Recipe, seed: int) -> str:
        told = f"{self.configuration} {name} {recipe} {seed} {self._images_digest} {torch.__version__}"
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    @cached_property
    def _images_digest(self) -> str:
        digest = hashlib.sha256(self.images.train_images.tobytes())
        digest.update(self.images.train_labels.tobytes())
        return digest.hexdigest()

    @cached_property
    def _train_tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        images, labels, _, _ = self.images.as_floats()
        return torch.from_numpy(images).to(self.device), torch.from_numpy(labels).to(self.device)

    @cached_property
    def _test_tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        _, _, images, labels = self.images.as_floats()
        return torch.from_numpy(images).to(self.device), torch.from_numpy(labels).to(self.device)


def _write_weights(model: nn.Module, path: Path) -> None:
    weights = save({name: value.contiguous() for name, value in model.state_dict().items()}, UNSEALED)
    write_files(path.parent, {path.name: seal_tensors(weights)}, removed=[path.with_suffix(HALFWAY).name])


def _read_weights(model: nn.Module, path: Path) -> None:
    try:
        data = read_file(path)
        check_tensors(data)
        model.load_state_dict(load(data))
    except (SafetensorError, RuntimeError, OSError, InvalidInput) as error:
        raise InvalidInput(f"{path} needs to hold weights of this training, else remove it: {error}") from error
