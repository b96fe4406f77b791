"""Networks of the figures of [allenzhu] as plain data; building one imports torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from unweave.explore.feature_correction.torch_extra import need_torch

if TYPE_CHECKING:
    from torch import nn


@runtime_checkable
class Blueprint(Protocol):
    """What a network is, before there is one."""

    @property
    def name(self) -> str:
        """As [allenzhu] calls it."""
        ...

    @property
    def units(self) -> int:
        """Number of layers or blocks that the network counts as units."""
        ...

    def resized(self, *, width: float | None, layers: int | None) -> "Blueprint":
        """The same kind of network of another width or depth; None leaves it."""
        ...

    def build(self, seed: int, *, classes: int, shape: tuple[int, int, int]) -> "nn.Module":
        """A network with random weights, for images of this shape: channels, height, width."""
        ...


@dataclass(frozen=True)
class ResidualBlueprint:
    """See `architectures.WideResidualNetwork`."""

    layers: int
    width: float = 1.0
    widens_stem: bool = True
    is_quadratic: bool = False
    reads_every_unit: bool = False

    @property
    def name(self) -> str:
        """ResNet-L, or WRN-L-k when it is widened; a quadratic one says so."""
        words = f"ResNet-{self.layers}" if self.width == 1 else f"WRN-{self.layers}-{self.width:g}"
        return f"quadratic {words}" if self.is_quadratic else words

    @property
    def units(self) -> int:
        """The first convolution and all blocks."""
        return 1 + (self.layers - 4) // 2

    def resized(self, *, width: float | None, layers: int | None) -> "ResidualBlueprint":
        """Another width or depth."""
        return replace(self, width=self.width if width is None else width, layers=layers or self.layers)

    def build(self, seed: int, *, classes: int, shape: tuple[int, int, int]) -> "nn.Module":
        """A network with random weights."""
        need_torch()
        from unweave.reproduce.allenzhu.images.architectures import WideResidualNetwork

        with _seeded(seed):
            return WideResidualNetwork(
                self.layers,
                self.width,
                classes=classes,
                channels=shape[0],
                widens_stem=self.widens_stem,
                is_quadratic=self.is_quadratic,
                reads_every_unit=self.reads_every_unit,
            )


@dataclass(frozen=True)
class VggBlueprint:
    """See `architectures.VggNetwork`."""

    layers: int
    width: float = 1.0

    @property
    def name(self) -> str:
        """VGG19x4 is VGG19, widened by 4."""
        return f"VGG{self.layers}" if self.width == 1 else f"VGG{self.layers}x{self.width:g}"

    @property
    def units(self) -> int:
        """All convolutions."""
        return self.layers - 3

    def resized(self, *, width: float | None, layers: int | None) -> "VggBlueprint":
        """Another width; 13 layers if fewer than 19 are asked for."""
        fewer = self.layers if layers is None else 13 if layers < 19 else 19
        return replace(self, width=self.width if width is None else width, layers=fewer)

    def build(self, seed: int, *, classes: int, shape: tuple[int, int, int]) -> "nn.Module":
        """A network with random weights."""
        need_torch()
        from unweave.reproduce.allenzhu.images.architectures import VggNetwork

        with _seeded(seed):
            return VggNetwork(self.layers, self.width, classes=classes, channels=shape[0], image_size=shape[1])


@dataclass(frozen=True)
class AlexNetBlueprint:
    """See `architectures.LinearlyReadAlexNet`; small images get small filters in the first layer."""

    width: float = 1.0

    @property
    def name(self) -> str:
        """AlexNet, and by how much it is widened."""
        return "AlexNet" if self.width == 1 else f"AlexNet x{self.width:g}"

    @property
    def units(self) -> int:
        """All convolutions."""
        return 5

    def resized(self, *, width: float | None, layers: int | None) -> "AlexNetBlueprint":
        """Another width; it always has five layers."""
        del layers
        return replace(self, width=self.width if width is None else width)

    def build(self, seed: int, *, classes: int, shape: tuple[int, int, int]) -> "nn.Module":
        """A network with random weights."""
        need_torch()
        from unweave.reproduce.allenzhu.images.architectures import LinearlyReadAlexNet

        # Filters of 11 x 11 pixels at every fourth place need images of CIFAR's size.
        kernel, stride = (11, 4) if shape[1] >= 32 else (5, 1)
        with _seeded(seed):
            return LinearlyReadAlexNet(
                self.width,
                classes=classes,
                channels=shape[0],
                image_size=shape[1],
                first_kernel=kernel,
                first_stride=stride,
            )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Random weights by this seed; torch's own generator goes on afterwards as if nothing had been drawn."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
