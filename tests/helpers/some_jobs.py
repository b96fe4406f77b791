"""Jobs that other processes import: sums that depend on the order of terms, and jobs that meet or end their worker."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info


def awkward_sum(seed: int) -> float:
    """Add up products of matrices: another number of threads, or another order, changes the last digits."""
    rng = np.random.default_rng(seed)
    return float(np.sum(rng.standard_normal((150, 400)) @ rng.standard_normal((400, 150))))


def threads_of_a_job(_: int) -> int:
    """The largest number of threads of linear algebra that a job sees."""
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@dataclass(frozen=True)
class Deadly:
    """A job whose first worker dies; the second one finds a file and ends well.

    Args:
        seed: of the sum that it computes.
        mark: the file that names the process that has died here; None for a job that kills none.
    """

    seed: int
    mark: Path | None = None

    def kill_once(self) -> None:
        """Kill this process if none has died before."""
        if self.mark is not None and not self.mark.exists():
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)


def sum_of(job: Deadly) -> tuple[float, int]:
    """Compute a sum, and tell the process; kill the worker where the job says so."""
    job.kill_once()
    time.sleep(0.02)
    return awkward_sum(job.seed), os.getpid()


def always_deadly(_: int) -> None:
    """Kill the worker, every time."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(seed: int) -> int:
    """Raise for one of the seeds."""
    if seed == 3:
        raise ZeroDivisionError("the third one")
    return seed


@dataclass(frozen=True)
class DeadlyToSend:
    """A result that kills a process, as its job or a number says, while it leaves its worker."""

    job: Deadly | int

    def __reduce__(self) -> tuple[type, tuple[str]]:
        if isinstance(self.job, int):
            os.kill(self.job, signal.SIGKILL)
        else:
            self.job.kill_once()
        return str, ("sent",)


def deadly_to_send(job: Deadly | int) -> DeadlyToSend:
    """Give what kills when it is sent."""
    return DeadlyToSend(job)


def deadly_to_send_and_refused_again(job: Deadly) -> DeadlyToSend:
    """Give what kills when it is sent, and raise when a worker has died."""
    if job.mark is not None and job.mark.exists():
        raise ZeroDivisionError("the second time")
    return DeadlyToSend(job)


def meet(folder: Path) -> int:
    """Wait until two processes have come, and name this one: a job ends only where another process works beside it."""
    (folder / str(os.getpid())).touch()
    end = time.monotonic() + 120.0
    while len([*folder.iterdir()]) < 2:
        if time.monotonic() > end:
            raise TimeoutError("no second process has come.")
        time.sleep(0.01)
    return os.getpid()
