"""An example that needs no data from anybody: handwritten digits, and a small convolutional network for them."""

import numpy as np
import torch
from torch import nn

from unweave.explore.feature_correction.recipes import Recipe
from unweave.extras import need

TRAINING_ROWS = 625
# A pull acts over all steps, which are 120 here and 48000 in the published figures, so that it has to be stronger: with
# 0.02 weights of the first unit, from another random start, do not get near.
DIGITS_PROX = (5e-2, 1e-1)
DIGITS_WINDOWS = (0, 1, 2, 3)
# The recipe of the published figures, four times shorter.
DIGITS_RECIPE = Recipe(epochs=120, milestones=(80, 100)).shortened(30)


class ConvolutionUnit(nn.Sequential):
    """Convolution, norm and ReLU."""

    def __init__(self, entering: int, channels: int) -> None:
        super().__init__(nn.Conv2d(entering, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class DigitsNetwork(nn.Module):
    """Four small convolutions with one pooling between them, average pooling and a linear head."""

    def __init__(self, channels: tuple[int, int, int, int] = (6, 6, 12, 12)) -> None:
        super().__init__()
        first, second, third, fourth = channels
        self.unit1 = ConvolutionUnit(1, first)
        self.unit2 = ConvolutionUnit(first, second)
        self.pool = nn.MaxPool2d(2)
        self.unit3 = ConvolutionUnit(second, third)
        self.unit4 = ConvolutionUnit(third, fourth)
        self.head = nn.Linear(fourth, 10)
        self.units = ("unit1", "unit2", "unit3", "unit4")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of the ten digits."""
        features = self.unit4(self.unit3(self.pool(self.unit2(self.unit1(images)))))
        return self.head(features.mean((2, 3)))


def digits_data(rows: int = TRAINING_ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images of 8 x 8 pixels from scikit-learn, always split in the same way: `rows` to train, the rest to test."""
    need("sklearn", purpose="the example of handwritten digits")
    from sklearn.datasets import load_digits

    images, labels = (np.asarray(each) for each in load_digits(return_X_y=True))
    images = (images.reshape(-1, 1, 8, 8) / 16.0).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:rows], order[rows:]
    return images[train], labels[train].astype(np.int64), images[test], labels[test].astype(np.int64)
