"""Convolutional networks of the experiments of [allenzhu], at any width and image size; needs torch.

All of them have an attribute ``units``: the names of their layers or blocks in the order in which they run. What
[allenzhu] leaves open was chosen here: no biases in convolutions that a normalisation follows, shortcuts of 1 x 1
convolutions on the raw input of a block, weights of convolutions by He's rule.
"""

import copy
import math
from collections.abc import Sequence

import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.reproduce.allenzhu.images.tensors import Images, Logits, Maps

# Channels of the three parts of a residual network of width 1.
RESIDUAL_CHANNELS = (16, 32, 64)
# Channels of the convolutions between two poolings of a VGG network of width 1.
VGG_CHANNELS = (64, 128, 256, 512, 512)
VGG_CONVOLUTIONS = {13: (2, 2, 2, 2, 2), 19: (2, 2, 4, 4, 4)}
ALEXNET_CHANNELS = (64, 192, 384, 256, 256)
# Weight of the square in the activation z + 0.1 z^2 that [allenzhu] trains in place of z^2.
SQUARE_WEIGHT = 0.1


class QuadraticActivation(nn.Module):
    """The activation ``z + 0.1 z^2``."""

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:  # noqa: D102
        return hidden + SQUARE_WEIGHT * hidden.square()


def _activated(channels: int, *, is_quadratic: bool) -> nn.Sequential:
    """Normalise, then ReLU; or the quadratic activation, then normalise, which tames its scale."""
    norm = nn.BatchNorm2d(channels)
    return nn.Sequential(QuadraticActivation(), norm) if is_quadratic else nn.Sequential(norm, nn.ReLU())


def _convolution(inputs: int, outputs: int, *, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


def _widened(channels: int, width: float) -> int:
    if not (math.isfinite(width) and round(channels * width) >= 1):
        raise InvalidInput(f"a width needs to leave at least one of {channels} channels, got {width}: raise it.")
    return round(channels * width)


class ResidualBlock(nn.Module):
    """A pre-activation basic block of two 3 x 3 convolutions.

    Without its branch a block is its shortcut alone: the identity, or the 1 x 1 convolution that changes the shape.
    """

    def __init__(self, inputs: int, outputs: int, *, stride: int, is_quadratic: bool) -> None:
        super().__init__()
        self.branch: nn.Sequential | None = nn.Sequential(
            _activated(inputs, is_quadratic=is_quadratic),
            _convolution(inputs, outputs, stride=stride),
            _activated(outputs, is_quadratic=is_quadratic),
            _convolution(outputs, outputs),
        )
        is_same_shape = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if is_same_shape else _convolution(inputs, outputs, kernel=1, stride=stride)

    def forward(self, hidden: Images) -> Maps:  # noqa: D102
        carried = self.shortcut(hidden)
        return carried if self.branch is None else carried + self.branch(hidden)


class Readout(nn.Module):
    """Activation and normalisation, average over space, and a linear layer."""

    def __init__(self, channels: int, classes: int, *, is_quadratic: bool) -> None:
        super().__init__()
        self.activated = _activated(channels, is_quadratic=is_quadratic)
        self.linear = nn.Linear(channels, classes)

    def forward(self, hidden: Images) -> Logits:  # noqa: D102
        return self.linear(self.activated(hidden).mean(dim=(2, 3)))


class WideResidualNetwork(nn.Module):
    """A pre-activation residual network: one convolution, then three parts of equally many basic blocks.

    Args:
        layers: ``6 n + 4`` for n blocks per part: 10, 16, 22, 28, 34, ... ResNet-34 has 1 + 30 convolutions.
        width: factor on all channels; below 1 for miniatures.
        widens_stem: whether the first convolution is widened, too. So it is in [allenzhu, Fig. 3, 6, 12, 13]
            and not in 9, 10, 14. Widths below 1 always narrow it.
        is_quadratic: activation ``z + 0.1 z^2``, normalised afterwards, in place of ReLU.
        reads_every_unit: the output is a sum of read-outs of all units, not of the last one alone.
        channels: channels of the images.

    Raises:
        InvalidInput: if there is no such number of layers, or no channel is left at this width.
    """

    def __init__(
        self,
        layers: int,
        width: float = 1.0,
        *,
        classes: int = 10,
        channels: int = 3,
        widens_stem: bool = True,
        is_quadratic: bool = False,
        reads_every_unit: bool = False,
    ) -> None:
        super().__init__()
        if layers < 10 or (layers - 4) % 6:
            raise InvalidInput(f"a residual network needs 10, 16, 22, ... (6 n + 4) layers, got {layers}.")
        parts = [_widened(each, width) for each in RESIDUAL_CHANNELS]
        stem = parts[0] if widens_stem else min(parts[0], RESIDUAL_CHANNELS[0])
        repeats = (layers - 4) // 6
        outputs = [each for each in parts for _ in range(repeats)]
        inputs = [stem, *outputs[:-1]]
        strides = [2 if number in (repeats, 2 * repeats) else 1 for number in range(len(outputs))]
        self.stem = _convolution(channels, stem)
        self.blocks = nn.ModuleList(
            ResidualBlock(before, after, stride=stride, is_quadratic=is_quadratic)
            for before, after, stride in zip(inputs, outputs, strides, strict=True)
        )
        self.units: tuple[str, ...] = ("stem", *(f"blocks.{number}" for number in range(len(outputs))))
        self.is_quadratic = is_quadratic
        self.classes = classes
        self.unit_channels = (stem, *outputs)
        every = range(len(self.units))
        self._attach_readouts(every if reads_every_unit else every[-1:])
        _initialise(self)

    def forward(self, images: Images) -> Logits:  # noqa: D102
        hidden = [self.stem(images)]
        for block in self.blocks:
            hidden.append(block(hidden[-1]))
        read = [readout(hidden[unit]) for unit, readout in zip(self.read_units, self.readouts, strict=True)]
        return torch.stack(read).sum(dim=0)

    def reset_parameters(self) -> None:
        """Draw the weights of all convolutions anew."""
        _initialise(self)

    def truncated(self, depth: int) -> "WideResidualNetwork":
        """A copy that keeps the first ``depth`` units; deeper blocks lose their branch and keep their shortcut.

        Weights of what is kept are copied, read-outs are fresh.

        Raises:
            InvalidInput: if there are not that many units.
        """
        if not 1 <= depth <= len(self.units):
            raise InvalidInput(f"a depth needs to be from 1 to {len(self.units)} units, got {depth}.")
        shallow = copy.deepcopy(self)
        for block in shallow.blocks[depth - 1 :]:
            assert isinstance(block, ResidualBlock)
            block.branch = None
        is_dense = len(self.read_units) > 1
        shallow._attach_readouts(range(depth) if is_dense else self.read_units)
        return shallow

    def _attach_readouts(self, units: Sequence[int]) -> None:
        self.read_units = tuple(units)
        self.readouts = nn.ModuleList(
            Readout(self.unit_channels[unit], self.classes, is_quadratic=self.is_quadratic) for unit in units
        )


class VggNetwork(nn.Module):
    """VGG13 or VGG19 with batch normalisation: 10 or 16 convolutions, each a unit, and one linear layer.

    Poolings that would leave nothing of a small image are left out.

    Args:
        layers: 13 or 19.
        width: factor on all channels.
        channels: channels of the images.
        image_size: height and width of the images.
    """

    def __init__(
        self, layers: int, width: float = 1.0, *, classes: int = 10, channels: int = 3, image_size: int = 32
    ) -> None:
        super().__init__()
        if layers not in VGG_CONVOLUTIONS:
            raise InvalidInput(f"a VGG network needs 13 or 19 layers, got {layers}.")
        size, inputs, convolutions = image_size, channels, []
        for outputs, repeats in zip(VGG_CHANNELS, VGG_CONVOLUTIONS[layers], strict=True):
            for number in range(repeats):
                is_pooled = number == 0 and bool(convolutions) and size > 1
                size = size // 2 if is_pooled else size
                convolutions.append(_vgg_unit(inputs, _widened(outputs, width), is_pooled=is_pooled))
                inputs = _widened(outputs, width)
        self.convolutions = nn.ModuleList(convolutions)
        self.linear = nn.Linear(inputs, classes)
        self.units: tuple[str, ...] = tuple(f"convolutions.{number}" for number in range(len(convolutions)))
        _initialise(self)

    def forward(self, images: Images) -> Logits:  # noqa: D102
        hidden = images
        for convolution in self.convolutions:
            hidden = convolution(hidden)
        # The last pooling of VGG takes the largest entry of 2 x 2 = all positions of a 32 x 32 image.
        return self.linear(hidden.amax(dim=(2, 3)))

    def reset_parameters(self) -> None:
        """Draw the weights of all convolutions anew."""
        _initialise(self)


def _vgg_unit(inputs: int, outputs: int, *, is_pooled: bool) -> nn.Sequential:
    """Pooling comes first, so that a read-out of the unit sees its convolution before any pooling."""
    pooling = [nn.MaxPool2d(2)] if is_pooled else []
    return nn.Sequential(*pooling, _convolution(inputs, outputs), nn.BatchNorm2d(outputs), nn.ReLU())


class LinearlyReadAlexNet(nn.Module):
    """The five convolutions of AlexNet with ReLU, and an output that is linear in the answers of all five.

    Args:
        width: factor on all channels.
        channels: channels of the images.
        image_size: height and width of the images.
        first_kernel: size of the filters of the first convolution, which has stride ``first_stride``.
    """

    def __init__(
        self,
        width: float = 1.0,
        *,
        classes: int = 10,
        channels: int = 3,
        image_size: int = 32,
        first_kernel: int = 11,
        first_stride: int = 4,
    ) -> None:
        super().__init__()
        outputs = [_widened(each, width) for each in ALEXNET_CHANNELS]
        inputs = [channels, *outputs[:-1]]
        kernels = (first_kernel, 5, 3, 3, 3)
        size, sizes, layers = image_size, [], []
        for number, (before, after, kernel) in enumerate(zip(inputs, outputs, kernels, strict=True)):
            stride = first_stride if number == 0 else 1
            # AlexNet pools before its second and third convolution.
            is_pooled = number in (1, 2) and size > 1
            size = size // 2 if is_pooled else size
            size = (size - 1) // stride + 1
            sizes.append(size)
            pooling = [nn.MaxPool2d(2)] if is_pooled else []
            layer = nn.Conv2d(before, after, kernel, stride=stride, padding=kernel // 2)
            layers.append(nn.Sequential(*pooling, layer, nn.ReLU()))
        self.layers = nn.ModuleList(layers)
        read = sum(after * side**2 for after, side in zip(outputs, sizes, strict=True))
        self.linear = nn.Linear(read, classes)
        self.units: tuple[str, ...] = tuple(f"layers.{number}" for number in range(len(layers)))

    def forward(self, images: Images) -> Logits:  # noqa: D102
        hidden, read = images, []
        for layer in self.layers:
            hidden = layer(hidden)
            read.append(hidden.flatten(start_dim=1))
        return self.linear(torch.cat(read, dim=1))

    @property
    def first_filters(self) -> torch.Tensor:
        """Filters of the first convolution, one per output channel."""
        return next(each.weight for each in self.layers[0].modules() if isinstance(each, nn.Conv2d)).detach()


def _initialise(model: nn.Module) -> None:
    """He's rule for all convolutions: gradients keep their size through ReLU layers."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
