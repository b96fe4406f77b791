"""Models and samples that train in a blink; import it where it is used, since it needs torch."""

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


class Unknown(nn.Module):
    """A kind of module that nobody has heard of."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))


class TokenModel(nn.Module):
    """Linear layers along sequences of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(3, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.second(torch.relu(self.first(tokens)))).mean(1))


class Powered(nn.Module):
    """Its settings are neither in its text nor in its weights."""

    def __init__(self, power: int, drop: float = 0.0) -> None:
        super().__init__()
        self.inner, self.power, self.drop = perceptron(), power, drop

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(self.inner(rows**self.power), self.drop, self.training)

    def extra_repr(self) -> str:
        return repr(object())


class Rowwise(nn.Module):
    """A linear layer whose bias and averages have two axes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.zeros(1, 3))
        self.register_buffer("averages", torch.zeros(2, 3))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows @ self.weight.T + self.bias


class Beside(nn.Module):
    """Two units, and what somebody may put beside them."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.drop, self.stages = kind, nn.Dropout(0.5), nn.Module()
        self.stages.first, self.stages.second, self.head = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        if kind == "root":
            self.scale = nn.Parameter(torch.ones(3))
        elif kind == "container":
            self.stages.scale = nn.Parameter(torch.ones(3))
        elif kind == "tied":
            self.stages.second.weight = self.stages.first.weight
        elif kind == "tied head":
            self.head.weight = self.stages.first.weight
        elif kind == "functional":
            self.between = nn.Linear(3, 3)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        hidden = self.drop(self.stages.first(rows))
        if self.kind == "functional":
            hidden = nn.functional.linear(hidden, self.between.weight)
        return self.head(self.stages.second(hidden))


class OddArguments(nn.Module):
    """Its second unit is called in a way that can't be cut."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.first, self.second = way, nn.Linear(4, 6), Taking(way)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        hidden = self.first(rows)
        return self.second(rows=hidden) if self.way == "name" else self.second((hidden, hidden))


class Taking(nn.Module):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.inner, self.head = way, nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, rows: torch.Tensor | tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return self.head(self.inner(rows if isinstance(rows, torch.Tensor) else rows[0]))
