"""Samples of torch datasets and loaders: read once to be checked, then batch by batch when they are needed.

Only labels stay in memory. Every batch is read with random numbers of its own, so that augmentation in a dataset does
not depend on what was read before, on how many processes read, or on where a training was stopped.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
)

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.samples import CheckedRows

# Rows that are read at once where no loader says it. Chosen: 60 MB of images as large as those of ImageNet.
READ_ROWS = 100
# What inputs and labels may be made of.
NUMBERS = (
    torch.float16, torch.float32, torch.float64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
)  # fmt: skip
# What NumPy takes as a seed.
SEED_BITS = 32
Collate = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Reading:
    """How batches are read, as a loader says it.

    Args:
        batch: rows that are read at once where nothing is trained.
        collate: from items to a batch.
        processes: that read beside the one that trains; none if 0.
        options: others of the loader that matter to these processes.
    """

    batch: int = READ_ROWS
    collate: Collate = default_collate
    processes: int = 0
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class DatasetRows:
    """Some rows of a dataset.

    Args:
        dataset: gives pairs of an input and a label.
        name: of it, in messages.
        reading: how.
        numbers: of the rows.
        labels: of the rows, as they were when the dataset was checked; None while it is.
    """

    dataset: Any
    name: str
    reading: Reading
    numbers: np.ndarray
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def chosen(self, places: np.ndarray) -> "DatasetRows":
        """Some of them."""
        return replace(self, numbers=self.numbers[places], labels=None if self.labels is None else self.labels[places])

    def pairs(self, groups: Sequence[np.ndarray], seed: int, *, first: int = 0) -> Iterator[tuple[Any, Any]]:
        """Read inputs and labels batch by batch.

        Args:
            groups: places of the rows of every batch.
            seed: of all random numbers that are drawn while a batch is read, together with its place among the others.
            first: the batch to begin with.

        Raises:
            InvalidInput: if rows can't be read, or have other labels than before.
        """
        reading = self.reading
        loader = DataLoader(
            _Batches(self, groups, seed),
            batch_size=None,
            sampler=range(first, len(groups)),
            collate_fn=_as_it_is,
            num_workers=reading.processes,
            # Its own, so that it draws nothing from the numbers of the training.
            generator=torch.Generator(),
            **dict(reading.options),
        )
        try:
            yield from loader
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(
                f"{self.name} can't be read batch by batch: {type(error).__name__}: {error}: every item needs to be a "
                "pair of a tensor and a label, inputs all of one shape."
            ) from error

    def inputs(self, groups: Sequence[np.ndarray], seed: int, *, first: int = 0) -> Iterator[torch.Tensor]:
        """Read inputs alone; see `pairs`."""
        for inputs, _ in self.pairs(groups, seed, first=first):
            yield inputs

    def in_turn(self, rows: int | None = None) -> list[np.ndarray]:
        """Places of all rows, cut into batches of so many, or of as many as are read at once."""
        step = self.reading.batch if rows is None else rows
        return [np.arange(start, min(start + step, len(self))) for start in range(0, len(self), step)]


class _Batches(Dataset):
    """A dataset whose items are batches of another one."""

    def __init__(self, rows: DatasetRows, groups: Sequence[np.ndarray], seed: int) -> None:
        self.rows, self.groups, self.seed = rows, groups, seed

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows, places = self.rows, self.groups[place]
        numbers = rows.numbers[places].tolist()
        with drawn_by(self.seed, place):
            several: Any = getattr(rows.dataset, "__getitems__", None)
            items: Any = several(numbers) if callable(several) else [rows.dataset[number] for number in numbers]
            inputs, labels = _pair(rows.reading.collate(items), rows.name, len(places))
        if rows.labels is not None and not np.array_equal(labels.numpy(), rows.labels[places]):
            raise InvalidInput(
                f"{rows.name} has other labels than when it was checked, among the rows {numbers[:5]}: labels must not "
                "be drawn at random; mix samples in `prepare_train` or in a training loop of your own."
            )
        return inputs, labels


@contextmanager
def drawn_by(seed: int, place: int) -> Iterator[None]:
    """Let torch, NumPy and Python draw from seeds of their own for a while, and go on afterwards as if nothing was."""
    drawn = np.random.SeedSequence(seed, spawn_key=(place,)).generate_state(3, np.uint64)
    # What datasets draw from is NumPy's old generator, where they use NumPy.
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(drawn[0]))
            np.random.seed(int(drawn[1] % 2**SEED_BITS))  # noqa: NPY002
            random.seed(int(drawn[2]))
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def checked_datasets(train: Any, test: Any) -> CheckedRows:
    """Read all rows once: their labels, a digest, and whether they can be read again.

    Args:
        train: a dataset with a length, or a loader of one; test: the same.

    Raises:
        InvalidInput: if rows are not pairs of inputs of one shape and a label, hold what is not finite, or are others
            when they are read again.
    """
    digest, found, batch = hashlib.sha256(), [], None
    for given, name in ((train, "train"), (test, "test")):
        rows = _rows(given, f"the dataset {name}")
        found.append(_checked(rows, digest))
        if name == "train" and isinstance(given, DataLoader):
            batch = given.batch_size
    (train_rows, train_shape), (test_rows, test_shape) = found
    if train_shape != test_shape:
        raise InvalidInput(f"inputs of both datasets need equal shapes, got {train_shape} to train and {test_shape}.")
    labels = train_rows.labels, test_rows.labels
    return CheckedRows(train_rows, labels[0], test_rows, labels[1], digest.hexdigest(), batch)


def _rows(given: Any, name: str) -> DatasetRows:
    dataset, reading = _read_as_loader(given, name) if isinstance(given, DataLoader) else (given, Reading())
    has_rows = callable(getattr(dataset, "__getitem__", None)) and callable(getattr(dataset, "__len__", None))
    if isinstance(dataset, IterableDataset) or not has_rows:
        raise InvalidInput(
            f"{name} needs to be a torch Dataset with a length and rows that can be picked, or a DataLoader of one, "
            f"got {type(dataset).__name__}."
        )
    if len(dataset) < 2:
        raise InvalidInput(f"{name} needs at least 2 rows, got {len(dataset)}.")
    return DatasetRows(dataset, name, reading, np.arange(len(dataset)))


def _read_as_loader(loader: DataLoader, name: str) -> tuple[Any, Reading]:
    """The dataset of a loader, and how it reads; its order is drawn anew for every seed."""
    sampler = loader.sampler
    is_every_row_once = type(sampler) is SequentialSampler or (
        type(sampler) is RandomSampler and not sampler.replacement and sampler.num_samples == len(sampler.data_source)
    )
    if isinstance(loader.dataset, IterableDataset):
        return loader.dataset, Reading()
    if type(loader.batch_sampler) is not BatchSampler or not is_every_row_once or loader.batch_size is None:
        raise InvalidInput(
            f"the loader of {name} needs a batch size and no sampler of its own, got {type(sampler).__name__}: every "
            "row trains once per epoch, in an order that is drawn for every seed. Give the dataset, or a Subset of it."
        )
    options = {"worker_init_fn": loader.worker_init_fn, "timeout": loader.timeout}
    if loader.num_workers:
        options |= {
            "prefetch_factor": loader.prefetch_factor,
            "multiprocessing_context": loader.multiprocessing_context,
        }
    return loader.dataset, Reading(loader.batch_size, loader.collate_fn, loader.num_workers, tuple(options.items()))


def _checked(rows: DatasetRows, digest: Any) -> tuple[DatasetRows, tuple[int, ...]]:
    """Read everything; rows with their labels, and the shape of an input."""
    groups = rows.in_turn()
    first, again = (next(iter(rows.pairs(groups[:1], seed))) for seed in (0, 0))
    pairs = zip(first, again, strict=True)
    if not all(np.array_equal(one.numpy(), other.numpy(), equal_nan=True) for one, other in pairs):
        raise InvalidInput(
            f"{rows.name} gives other numbers for the same rows and seeds: draw with the global generators of torch, "
            "NumPy or Python, which are seeded before every batch."
        )
    labels, shape = [], tuple(first[0].shape[1:])
    for inputs, told in rows.pairs(groups, seed=0):
        if not bool(torch.isfinite(inputs).all()) or not bool(torch.isfinite(told).all()):
            raise InvalidInput(f"{rows.name} needs finite numbers, got some that are NaN or infinite.")
        if tuple(inputs.shape[1:]) != shape or inputs.dtype != first[0].dtype:
            raise InvalidInput(f"{rows.name} needs inputs of one shape, got {shape} and {tuple(inputs.shape[1:])}.")
        digest.update(f"{tuple(inputs.shape)} {inputs.dtype} {told.dtype}".encode())
        digest.update(inputs.contiguous().numpy().tobytes() + told.contiguous().numpy().tobytes())
        labels.append(told.numpy().copy())
    return replace(rows, labels=np.concatenate(labels)), shape


def _pair(batch: Any, name: str, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch, if it is a pair of tensors with a row per item."""
    is_pair = isinstance(batch, list | tuple) and len(batch) == 2 and all(isinstance(e, torch.Tensor) for e in batch)
    if not is_pair:
        told = [type(each).__name__ for each in batch] if isinstance(batch, list | tuple) else type(batch).__name__
        raise InvalidInput(f"{name} needs items that are pairs of a tensor and a label, got batches of {told}.")
    inputs, labels = (each.detach().cpu() for each in batch)
    if inputs.ndim < 2 or len(inputs) != rows or not 1 <= labels.ndim <= 2 or len(labels) != rows:
        raise InvalidInput(
            f"{name} needs one row and one label per item, got the shapes {tuple(inputs.shape)} and "
            f"{tuple(labels.shape)} for {rows} items."
        )
    for each in (inputs, labels):
        if each.dtype not in NUMBERS:
            raise InvalidInput(f"{name} needs inputs and labels that are real numbers of NumPy, got {each.dtype}.")
    return inputs, labels


def _as_it_is(batch: Any) -> Any:
    """Collate nothing: a batch is one already."""
    return batch
