"""Where sums over samples are made beside this process: on any workers that independent jobs run on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from unweave.exceptions import InvalidInput
from unweave.jobs import LocalProcesses, Workers, opened_workers, run_jobs
from unweave.samples.sources import SourcePiece
from unweave.samples.sums import WINDOW, DaskCluster, Engine, Moments, Statistic, Sums, merge, partial_sums


@dataclass(frozen=True)
class OnWorkers(Engine):
    """Compute partial sums wherever independent jobs run, and merge them here in the order of the pieces.

    Pieces of files are read there, so the paths must mean the same; rows in memory are sent. On a cluster of many
    workers `DaskCluster` merges sums where they are, which sends less.

    Args:
        workers: `unweave.jobs.LocalProcesses`, which replaces processes that die, or an executor of
            `concurrent.futures`.
        window: pieces that are handed over at once; processes are started for each of these rounds.
    """

    workers: Workers
    window: int = WINDOW

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InvalidInput(f"at least one piece must be on its way, got window={self.window}.")

    def total(self, pieces: Iterator[SourcePiece], statistic: Statistic[Moments]) -> Sums[Moments]:
        """Add up the sums over all rows of all pieces.

        Raises:
            WorkersFailed: if workers die, and nobody starts them again.
        """
        total = Sums.empty(statistic)
        while batch := list(islice(pieces, self.window)):
            jobs = [(piece, statistic) for piece in batch]
            waiting, following = {}, 0
            for place, part in run_jobs(_sums_of, jobs, workers=self.workers):
                waiting[place] = part
                # In order, so that the result does not depend on which worker was faster; and soon, for the memory.
                while following in waiting:
                    total = merge(total, waiting.pop(following))
                    following += 1
        return total


def _sums_of(job: tuple[SourcePiece, Statistic[Moments]]) -> Sums[Moments]:
    return partial_sums(*job)


@contextmanager
def engine_at(scheduler: str | None) -> Iterator[Engine | None]:
    """Open what a user names: None, for this process, without a name; processes; or the scheduler of a Dask cluster."""
    with opened_workers(scheduler) as workers:
        if workers is None:
            yield None
        else:
            yield OnWorkers(workers) if isinstance(workers, LocalProcesses) else DaskCluster(workers)
