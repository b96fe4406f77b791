"""Where a torch model gets its inputs from, batch by batch: tensors, or datasets that are read meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from unweave.explore.feature_correction.datasets import DatasetRows
from unweave.explore.feature_correction.samples import Rows

# Rows of tensors that are answered at once.
EVALUATION_ROWS = 500


@runtime_checkable
class Feed(Protocol):
    """Inputs of rows, as a model takes them."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    @property
    def rows_at_once(self) -> int:
        """How many of them are answered at once."""
        ...

    def batches(self, groups: Sequence[torch.Tensor], seed: int, *, first: int = 0) -> Iterator[torch.Tensor]:
        """Give inputs batch by batch.

        Args:
            groups: numbers of the rows of every batch.
            seed: of what is drawn while they are read.
            first: the batch to begin with.
        """
        ...


@dataclass(frozen=True, eq=False)
class TensorFeed:
    """Inputs that are in memory, as they were given; every batch is converted by itself.

    Args:
        tensor: all of them.
        like: a tensor of the precision and on the device that a model works in.
    """

    tensor: torch.Tensor
    like: torch.Tensor

    def __len__(self) -> int:
        return len(self.tensor)

    @property
    def rows_at_once(self) -> int:
        """How many rows are answered at once."""
        return EVALUATION_ROWS

    def batches(self, groups: Sequence[torch.Tensor], seed: int, *, first: int = 0) -> Iterator[torch.Tensor]:
        """Give inputs batch by batch; nothing is drawn."""
        del seed
        for rows in groups[first:]:
            yield self.tensor[rows.to(self.tensor.device)].to(self.like)


@dataclass(frozen=True, eq=False)
class DatasetFeed:
    """Inputs of a dataset.

    Args:
        rows: of it.
        like: a tensor of the precision and on the device that a model works in.
    """

    rows: DatasetRows
    like: torch.Tensor

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows_at_once(self) -> int:
        """How many rows are answered at once."""
        return self.rows.reading.batch

    def batches(self, groups: Sequence[torch.Tensor], seed: int, *, first: int = 0) -> Iterator[torch.Tensor]:
        """Give inputs batch by batch."""
        for batch in self.rows.inputs([rows.numpy() for rows in groups], seed, first=first):
            yield batch.to(self.like)


def feed_of(inputs: np.ndarray | Rows, like: torch.Tensor) -> Feed:
    """Feed a model with an array, or with rows of a dataset."""
    if isinstance(inputs, DatasetRows):
        return DatasetFeed(inputs, like)
    return TensorFeed(torch.as_tensor(inputs), like)


def as_feed(inputs: torch.Tensor | Feed) -> Feed:
    """Feed a model with a tensor that is as it takes it."""
    return TensorFeed(inputs, inputs[:0]) if isinstance(inputs, torch.Tensor) else inputs


def first_inputs(inputs: np.ndarray | Rows, count: int, like: torch.Tensor) -> torch.Tensor:
    """Take a few inputs to look at."""
    return next(feed_of(inputs, like).batches([torch.arange(count)], seed=0))
