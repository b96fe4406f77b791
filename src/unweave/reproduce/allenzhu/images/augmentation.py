"""What is done to batches of images before a network sees them: crops, flips, Cutout, normalisation; needs torch.

Everything here is a `BatchTransform`: called with the model, the images, their labels and a generator, it returns the
images changed. All randomness is the generator's, so that the same generator gives the same batches on every device.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Float64
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.reproduce.allenzhu.images.tensors import Images, Labels


@dataclass(frozen=True)
class RandomCrop:
    """Shift each image by up to ``padding`` pixels in both directions; zeros come in."""

    padding: int = 4

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """Crop at a random place of the padded image, another for every image."""
        del model, labels
        count, _, height, width = images.shape
        padded = nn.functional.pad(images, (self.padding,) * 4)
        tops, lefts = _integers(2 * self.padding + 1, (2, count), generator).to(images.device)
        rows = (tops[:, None] + torch.arange(height, device=images.device))[:, None, :, None]
        columns = (lefts[:, None] + torch.arange(width, device=images.device))[:, None, None, :]
        picked = torch.arange(count, device=images.device)[:, None, None, None]
        channels = torch.arange(images.shape[1], device=images.device)[None, :, None, None]
        return padded[picked, channels, rows, columns]


@dataclass(frozen=True)
class RandomFlip:
    """Mirror each image, left to right, with probability one half."""

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """Toss one coin per image."""
        del model, labels
        is_flipped = _integers(2, (len(images),), generator).to(images.device).bool()
        return torch.where(is_flipped[:, None, None, None], images.flip(3), images)


@dataclass(frozen=True)
class Cutout:
    """Set a square around a random pixel of each image to zero; the part outside the image is lost.

    Attributes:
        share: side of the square relative to that of the image; one half is 16 pixels for CIFAR.
    """

    share: float = 0.5

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """Cut one square per image, the same in all channels."""
        del model, labels
        count, _, height, width = images.shape
        sides = [max(1, round(self.share * extent)) for extent in (height, width)]
        inside = []
        for side, extent in zip(sides, (height, width), strict=True):
            starts = _integers(extent, (count,), generator).to(images.device) - side // 2
            offsets = torch.arange(extent, device=images.device) - starts[:, None]
            inside.append((offsets >= 0) & (offsets < side))
        is_cut = inside[0][:, None, :, None] & inside[1][:, None, None, :]
        return images.masked_fill(is_cut, 0.0)


@dataclass(frozen=True)
class Normalisation:
    """Shift and scale every channel by the mean and the standard deviation of the training images."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]

    @classmethod
    def of(cls, images: Float32[np.ndarray, "images channels height width"]) -> "Normalisation":
        """Measured on training images.

        Raises:
            InvalidInput: if a channel is constant.
        """
        # Rounding of 32 bits would add up over millions of pixels.
        pixels = np.moveaxis(images, 1, 0).reshape(images.shape[1], -1)
        means, deviations = pixels.mean(axis=1, dtype=np.float64), pixels.std(axis=1, dtype=np.float64)
        if not np.all(deviations > 0):
            raise InvalidInput(f"normalisation needs channels that vary, got standard deviations {deviations}.")
        return cls(tuple(means.tolist()), tuple(deviations.tolist()))

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """Zero mean and unit variance over the training images."""
        del model, labels, generator
        means, deviations = (images.new_tensor(each)[:, None, None] for each in (self.means, self.deviations))
        return (images - means) / deviations


# Added to the variances of all directions, relative to their mean: [allenzhu] does not say. Without it directions that
# images hardly have, such as the corners of digits, would be blown up to as much as all others.
WHITENING_FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class ZcaWhitening:
    """Turn images so that their pixels are uncorrelated over the training images, and back to where they were.

    Attributes:
        mean: of the training images, flat.
        matrix: ``(C + floor)^(-1/2)`` for their covariance C.
    """

    mean: Float64[np.ndarray, "pixels"]
    matrix: Float64[np.ndarray, "pixels pixels"]

    @classmethod
    def of(cls, images: Float32[np.ndarray, "images channels height width"]) -> "ZcaWhitening":
        """Measured on training images."""
        flat = images.reshape(len(images), -1).astype(np.float64)
        mean = flat.mean(axis=0)
        values, vectors = np.linalg.eigh((flat - mean).T @ (flat - mean) / len(flat))
        floor = WHITENING_FLOOR * float(np.mean(values))
        if not floor > 0:
            raise InvalidInput("whitening needs images that differ, got equal ones.")
        return cls(mean, (vectors / np.sqrt(np.maximum(values, 0.0) + floor)) @ vectors.T)

    def __call__(self, model: nn.Module, images: Images, labels: Labels, generator: torch.Generator) -> Images:
        """Whiten a batch."""
        del model, labels, generator
        flat = images.flatten(start_dim=1) - images.new_tensor(self.mean)
        return (flat @ images.new_tensor(self.matrix)).reshape(images.shape)


def _integers(bound: int, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(bound, shape, generator=generator, device=generator.device)
