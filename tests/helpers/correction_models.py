"""Models and samples that train in a blink."""

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class SmallConvolutions(nn.Module):
    """Convolutions with their norms beside them, as most people write them."""

    def __init__(self) -> None:
        super().__init__()
        self.norm2 = nn.BatchNorm2d(5)
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 5, 3, padding=1)
        self.conv3 = nn.Conv2d(5, 6, 3, padding=1)
        self.head = nn.Linear(6, 3)
        self.units = ("conv1", "conv2", "conv3")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.norm1(self.conv1(images)))
        second = torch.relu(self.norm2(self.conv2(first)))
        return self.head(torch.relu(self.conv3(second)).mean((2, 3)))


def small_images(seed: int, *, train: int = 40, test: int = 20) -> tuple[np.ndarray, ...]:
    """Noise with a bright corner that tells the class."""
    rng = np.random.default_rng(seed)
    images, labels = rng.standard_normal((train + test, 1, 4, 4)).astype(np.float32), np.arange(train + test) % 3
    images[labels == 1, 0, 0, 0] += 3
    images[labels == 2, 0, 3, 3] += 3
    return images[:train], labels[:train], images[train:], labels[train:]


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))


def small_points(seed: int, *, train: int = 40, test: int = 20) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((train + test, 4)).astype(np.float32)
    labels = (points[:, 0] * points[:, 1] > 0).astype(np.int64)
    return points[:train], labels[:train], points[train:], labels[train:]


def small_convolutions(seed: int) -> SmallConvolutions:
    torch.manual_seed(seed)
    return SmallConvolutions()
