"""Where sums are computed: in this process, or by the workers of a Dask cluster (``pip install 'unweave[dask]'``)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.sources import HeldPiece, Piece, Source
from unweave.samples.sums import Moments, Statistic, Sums, merge

# Partial sums that are merged by one task of a cluster.
BRANCHES = 8
# Pieces that are sent before the first are finished: enough to keep some dozens of workers busy, few enough that chunks
# from an iterator do not pile up.
WINDOW = 64


class Engine(ABC):
    """Something that can sum a statistic over pieces of samples."""

    @abstractmethod
    def total(self, pieces: Iterator[Piece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """The sums over all rows of all pieces."""


@dataclass(frozen=True)
class ThisProcess(Engine):
    """One piece after the other, here; matrix products use the threads that BLAS is allowed."""

    def total(self, pieces: Iterator[Piece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """The sums over all rows of all pieces."""
        sums = Sums.empty(statistic)
        for piece in pieces:
            for chunk in piece.chunks():
                sums = sums.add(chunk)
        return sums


@dataclass(frozen=True)
class DaskCluster(Engine):
    """Partial sums on the workers of a Dask cluster, merged there in a tree.

    Workers read pieces of files by themselves, so the paths must mean the same to all of them. Sums are merged in the
    order of the pieces: the result does not depend on the number of workers or their speed.

    Args:
        client: a `distributed.Client`; only its methods `submit` and `scatter` are used.
        window: pieces that are sent before the first are finished.
    """

    client: Any
    window: int = WINDOW

    def __post_init__(self) -> None:
        if not hasattr(self.client, "submit"):
            raise InvalidInput(f"a Dask cluster needs a distributed.Client, got {type(self.client).__name__}.")
        if self.window < 1:
            raise InvalidInput(f"at least one piece must be on its way, got window={self.window}.")

    def total(self, pieces: Iterator[Piece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """The sums over all rows of all pieces."""
        total = self.client.submit(Sums.empty, statistic, pure=False)
        while batch := list(islice(pieces, self.window)):
            parts = [self.client.submit(partial_sums, self._sent(piece), statistic, pure=False) for piece in batch]
            newest = self.client.submit(merge_all, total, self._merged(parts), pure=False)
            # Waiting for the window before keeps the workers busy with this one.
            total.result()
            total = newest
        return total.result()

    def _sent(self, piece: Piece) -> Any:
        """Rows travel as data of the cluster; a path travels with the task."""
        return self.client.scatter(piece, hash=False) if isinstance(piece, HeldPiece) else piece

    def _merged(self, parts: list[Any]) -> Any:
        while len(parts) > 1:
            groups = [parts[first : first + BRANCHES] for first in range(0, len(parts), BRANCHES)]
            parts = [self.client.submit(merge_all, *group, pure=False) for group in groups]
        return parts[0]


def accumulate(source: Source, statistic: Statistic[Moments], *, engine: Engine | None = None) -> Sums[Moments]:
    """Sum a statistic over all rows of a source, in one pass.

    Args:
        source: the samples.
        statistic: what is measured; `Together` for several in the same pass.
        engine: where the work is done; this process if not given.

    Raises:
        InvalidInput: for rows that do not fit the statistic, or are not finite.
    """
    return (engine or ThisProcess()).total(source.pieces(), statistic)


def partial_sums(piece: Piece, statistic: Statistic[Moments]) -> Sums[Moments]:
    """The sums over one piece."""
    return ThisProcess().total(iter([piece]), statistic)


def merge_all(first: Sums[Moments], *others: Sums[Moments]) -> Sums[Moments]:
    """The sums over the rows of all, merged from left to right."""
    for other in others:
        first = merge(first, other)
    return first
