"""Which axis of a hidden tensor holds its features: the second of images, the last of sequences; and which its rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import nn

from unweave.exceptions import InvalidInput

SECOND_AXIS = (nn.modules.conv._ConvNd, nn.modules.batchnorm._NormBase, nn.GroupNorm)
LAST_AXIS = (
    nn.Linear, nn.Bilinear, nn.LayerNorm, nn.RMSNorm, nn.MultiheadAttention, nn.Embedding, nn.RNNBase,
    nn.TransformerEncoderLayer, nn.TransformerDecoderLayer,
)  # fmt: skip
# Where modules tell how many features they put out.
SIZES = ("out_channels", "num_features", "num_channels", "out_features", "embed_dim", "embedding_dim")


class Channels(NamedTuple):
    """Axis of the features, and how many there are; 0 if that is not told; and the axis of the rows.

    The axis of the features is counted when rows come first; sequences of torch have them second if nobody says
    `batch_first`.
    """

    axis: int
    size: int
    rows: int = 0


def channels_after(modules: Iterable[nn.Module]) -> Channels | None:
    """Of what modules leave that run one after the other, by the last one with weights; None if its kind is unknown."""
    for module in reversed(tuple(modules)):
        shape = getattr(module, "normalized_shape", ())
        if len(shape) > 1:
            # A norm over several axes does not tell which of them are features.
            continue
        size = next((getattr(module, name) for name in SIZES if hasattr(module, name)), shape[-1] if shape else 0)
        if isinstance(module, SECOND_AXIS):
            return Channels(1, size)
        if isinstance(module, LAST_AXIS):
            return Channels(-1, size)
        if any(True for _ in module.parameters(recurse=False)):
            return None
    return None


def axis_of_rows(few: Sequence[int], more: Sequence[int], *, rows: int) -> int | None:
    """Which axis of a hidden tensor holds its rows, by its shapes for so many and for one more; None if no one does."""
    if len(few) != len(more):
        return None
    other = [axis for axis, sizes in enumerate(zip(few, more, strict=True)) if sizes[0] != sizes[1]]
    return other[0] if len(other) == 1 and (few[other[0]], more[other[0]]) == (rows, rows + 1) else None


def rows_first(value: torch.Tensor, told: Channels | None) -> torch.Tensor:
    """A hidden tensor with its rows on the first axis."""
    return value if told is None or told.rows == 0 else value.movedim(told.rows, 0)


def channel_axis(value: torch.Tensor, told: Channels | None) -> int:
    """The axis of the features of a tensor; a transposition after the last module is seen by their number.

    Raises:
        InvalidInput: for three axes after a module of unknown kind: they may be images of one dimension or sequences.
    """
    if value.ndim == 2:
        return 1
    if told is None:
        if value.ndim == 3:
            raise InvalidInput(
                f"a tensor of shape {tuple(value.shape)} reaches a cut after a module of unknown kind: its features "
                "may be its second or its last axis. Let the unit end with a layer of torch, such as a norm."
            )
        return 1
    other = -1 if told.axis == 1 else 1
    return other if value.shape[told.axis] != told.size and value.shape[other] == told.size else told.axis


def pooled(value: torch.Tensor, told: Channels | None) -> torch.Tensor:
    """Features averaged over all places."""
    value = rows_first(value, told)
    axis = channel_axis(value, told)
    if value.ndim == 2:
        return value
    return value.flatten(2).mean(2) if axis == 1 else value.flatten(1, -2).mean(1)


def by_places(value: torch.Tensor, told: Channels | None) -> torch.Tensor:
    """Features as an array of rows, places and features."""
    value = rows_first(value, told)
    return value[:, None] if value.ndim == 2 else value.movedim(channel_axis(value, told), -1).flatten(1, -2)
