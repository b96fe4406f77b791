"""Attackers of adversarial training and testing by projected gradient ascent; needs torch.

An attacker is a `BatchTransform`: it moves images within [0, 1] so that the cross-entropy of the model grows. The model
is attacked in evaluation mode (its normalisation statistics do not see the attack), its parameters collect no
gradients, and every submodule is left in the mode in which it was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from unweave.explore.feature_correction.cuts import in_evaluation
from unweave.reproduce.allenzhu.images.tensors import Images, Labels

# Of the radius, spread over the steps: enough to cross the ball and to turn back. [allenzhu] does not give its own.
TOTAL_STEP = 2.5

Losses = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class LinfPGD:
    """Projected gradient ascent in the ball of the largest entry (l-infinity), from a random start in it.

    Attributes:
        radius: no pixel moves further; images stay within [0, 1].
        steps: [allenzhu, App. A] takes 7 in training and 20 in tests.
    """

    needs_labels: ClassVar[bool] = True

    radius: float = 6 / 255
    steps: int = 7

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """The attacked images."""
        step = TOTAL_STEP * self.radius / self.steps
        noise = torch.rand(images.shape, generator=generator, device=generator.device, dtype=images.dtype)
        attacked = (images + self.radius * (2 * noise.to(images.device) - 1)).clamp(0, 1)
        with _under_attack(model, labels) as losses:
            for _ in range(self.steps):
                moved = attacked + step * _gradient(losses, attacked).sign()
                attacked = torch.clamp(moved, images - self.radius, images + self.radius).clamp(0, 1)
        return attacked


@dataclass(frozen=True)
class NoisyL2PGD:
    """The attacker "l2(0.5, 0.12)" of [allenzhu]: Gaussian noise, then projected gradient ascent in a ball around it.

    This is done ``trials`` times from the same image; per image the trial with the largest loss is kept. The noise is
    not clipped: it would not be Gaussian any more.

    Attributes:
        radius: of the ball around the noisy image.
        noise: standard deviation per pixel.
        steps: [allenzhu, App. A] takes 4 in training and 20 in tests.
    """

    needs_labels: ClassVar[bool] = True

    radius: float = 0.5
    noise: float = 0.12
    steps: int = 4
    trials: int = 2

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """The attacked images."""
        with _under_attack(model, labels) as losses:
            found = [self._one_trial(losses, images, generator) for _ in range(self.trials)]
            with torch.no_grad():
                worst = torch.stack([losses(each) for each in found]).argmax(dim=0)
        return torch.stack(found)[worst, torch.arange(len(images), device=images.device)]

    def _one_trial(self, losses: Losses, images: Images, generator: torch.Generator) -> Images:
        drawn = torch.randn(images.shape, generator=generator, device=generator.device, dtype=images.dtype)
        noisy = images + self.noise * drawn.to(images.device)
        moved = torch.zeros_like(images)
        step = TOTAL_STEP * self.radius / self.steps
        for _ in range(self.steps):
            gradient = _gradient(losses, noisy + moved)
            moved = moved + step * gradient / _lengths(gradient).clamp_min(torch.finfo(images.dtype).tiny)
            moved = moved * (self.radius / _lengths(moved).clamp_min(self.radius))
        return noisy + moved


@contextmanager
def _under_attack(model: nn.Module, labels: Labels) -> Iterator[Losses]:
    """The loss per image, of the model in evaluation mode; modes are restored one by one, as parts may be frozen."""
    with in_evaluation(model):
        yield lambda images: nn.functional.cross_entropy(model(images), labels, reduction="none")


def _gradient(losses: Losses, images: Images) -> Images:
    """Of the summed losses with respect to the images, and to nothing else."""
    free = images.detach().requires_grad_(True)
    with torch.enable_grad():
        return torch.autograd.grad(losses(free).sum(), free)[0]


def _lengths(images: Images) -> torch.Tensor:
    return images.flatten(start_dim=1).norm(dim=1)[:, None, None, None]
