"""Independent jobs: in this process, in others, in any executor, or on the workers of a Dask cluster.

A job is one argument of a function; what it gives depends on nothing else, so that it does not matter where it runs, in
which order, or how often: where a worker dies, its jobs are run again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from unweave.arrays import available_cores
from unweave.exceptions import InvalidInput, WorkersFailed
from unweave.extras import need

Job = TypeVar("Job")
Done = TypeVar("Done")

PROCESSES = "processes"
# How a scheduler is named.
SCHEDULERS = "processes, processes:4, or the address of a Dask scheduler such as tcp://host:8786"
# Seconds to wait for a scheduler that does not answer.
CONNECTION_SECONDS = 10


@dataclass(frozen=True)
class LocalProcesses:
    """Name processes of this machine that are started for some jobs, and started again when one of them dies.

    Args:
        count: of processes.
        deaths: that are borne in a row, without a job that ends in between: a job that kills its worker every time
            would go on for ever. As many as Dask bears by default.
    """

    count: int
    deaths: int = 3

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InvalidInput(f"jobs need at least one process, got {self.count}.")


# Where jobs run. A client of Dask is of a type that is not imported here.
Workers = LocalProcesses | Executor | Any | None


def run_jobs(
    function: Callable[[Job], Done], jobs: Sequence[Job], *, workers: Workers = None
) -> Iterator[tuple[int, Done]]:
    """Run a function on every job, and yield the place of a job among them with its result, as they end.

    Every job computes with one thread of linear algebra, wherever it runs: results are the same bit by bit.

    Args:
        function: of one job; other processes have to be able to import it.
        jobs: its arguments.
        workers: where they run: `LocalProcesses`, an executor of `concurrent.futures`, or a `distributed.Client`; one
            after the other in this process if omitted. A client rather than its executor, which waits for ever where a
            result dies with its worker and the job fails when it is run again.

    Raises:
        InvalidInput: if `workers` is something else.
        WorkersFailed: if workers die, and nobody starts them again.
    """
    if workers is None:
        return ((place, _run(function, job)) for place, job in enumerate(jobs))
    if isinstance(workers, LocalProcesses):
        return _in_processes(function, jobs, workers)
    if isinstance(workers, Executor):
        return _in_executor(function, dict(enumerate(jobs)), workers)
    if hasattr(workers, "get_executor"):
        return _on_cluster(function, jobs, workers)
    raise InvalidInput(
        f"jobs need an executor of concurrent.futures, LocalProcesses or a distributed.Client, got "
        f"{type(workers).__name__}."
    )


@contextmanager
def opened_workers(scheduler: str | None) -> Iterator[Workers]:
    """Open what a user names: nothing, processes of this machine, or the scheduler of a Dask cluster.

    Raises:
        InvalidInput: if it names nothing of the kind, or nobody answers there.
        MissingExtra: without Dask, where it is needed.
    """
    if scheduler is None:
        yield None
        return
    kind, _, count = scheduler.partition(":")
    if kind == PROCESSES:
        if count and not count.isdecimal():
            raise InvalidInput(f"a scheduler needs to be {SCHEDULERS}, got {scheduler!r}.")
        yield LocalProcesses(int(count) if count else available_cores())
        return
    with dask_client(scheduler) as client:
        yield client


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """Connect to a Dask scheduler.

    Raises:
        InvalidInput: if nobody answers there.
        MissingExtra: without Dask.
    """
    need("distributed", purpose="--scheduler")
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECTION_SECONDS)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"there is no Dask scheduler at {address}: {error}.") from error
    with client:
        yield client


@contextmanager
def deaths_told() -> Iterator[None]:
    """Raise as `WorkersFailed` what executors and clusters say when workers are dead, and what these held is lost."""
    try:
        yield
    except (BrokenExecutor, CancelledError) as error:
        raise _failure(error) from error
    except Exception as error:
        # Of Dask, which need not be there.
        if type(error).__name__ == "KilledWorker":
            raise _failure(error) from error
        raise


def _run(function: Callable[[Job], Done], job: Job) -> Done:
    with threadpool_limits(1, user_api="blas"):
        return function(job)


def _in_executor(
    function: Callable[[Job], Done], jobs: dict[int, Job], executor: Executor
) -> Iterator[tuple[int, Done]]:
    places = {executor.submit(_run, function, job): place for place, job in jobs.items()}
    try:
        with deaths_told():
            for future in as_completed(places):
                yield places[future], future.result()
    finally:
        for future in places:
            future.cancel()


def _on_cluster(function: Callable[[Job], Done], jobs: Sequence[Job], client: Any) -> Iterator[tuple[int, Done]]:
    from distributed import as_completed as ended

    # Two jobs that look alike are two jobs.
    places = {client.submit(_run, function, job, pure=False): place for place, job in enumerate(jobs)}
    try:
        with deaths_told():
            for future in ended(list(places), loop=client.loop):
                done = _result_of(future)
                yield places.pop(future), done
    finally:
        for future in places:
            future.release()


def _result_of(future: Any) -> Any:
    """The result of a job that has ended on a cluster, computed once more if it died with its worker meanwhile."""
    try:
        return future.result()
    except OSError as error:
        if future.status == "error":
            # The job's own.
            raise
        raise _failure(error) from error


def _in_processes(
    function: Callable[[Job], Done], jobs: Sequence[Job], workers: LocalProcesses
) -> Iterator[tuple[int, Done]]:
    left, deaths = dict(enumerate(jobs)), 0
    while left:
        # Fresh ones: a copy of a process that has threads of its own, as JAX has, may stand still.
        pool = ProcessPoolExecutor(min(workers.count, len(left)), mp_context=get_context("spawn"))
        with pool:
            try:
                for place, done in _in_executor(function, left.copy(), pool):
                    del left[place]
                    deaths = 0
                    yield place, done
            except WorkersFailed:
                deaths += 1
                if deaths > workers.deaths:
                    raise


def _failure(error: BaseException) -> WorkersFailed:
    return WorkersFailed(
        f"workers died with jobs that were not done ({type(error).__name__}: {error}): start them again, with more "
        "memory if that was missing."
    )
