import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from some_jobs import (
    Deadly,
    always_deadly,
    awkward_sum,
    deadly_to_send,
    deadly_to_send_and_refused_again,
    meet,
    refuse,
    sum_of,
    threads_of_a_job,
)
from unweave.exceptions import InvalidInput, WorkersFailed
from unweave.jobs import LocalProcesses, opened_workers, run_jobs


class Immediately(Executor):
    """An executor that is none of Python's own: it runs at once."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def results(function: Any, jobs: list, workers: Any = None) -> list:
    """What the jobs gave, in their order; every job has ended once."""
    found = list(run_jobs(function, jobs, workers=workers))
    assert sorted(place for place, _ in found) == list(range(len(jobs)))
    return [done for _, done in sorted(found)]


def assert_right_though_a_worker_died(function: Any, jobs: list[Deadly], deadly: int, workers: Any) -> None:
    found = results(function, jobs, workers)
    assert [value for value, _ in found] == [awkward_sum(job.seed) for job in jobs]
    mark = jobs[deadly].mark
    assert mark is not None
    assert found[deadly][1] != int(mark.read_text()), "a process that was killed has given a result"
    assert os.getpid() not in {process for _, process in found}


@pytest.fixture
def client() -> Iterator[Any]:
    import distributed

    with (
        # Any port: another cluster may run on this machine.
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def test_any_executor_gives_what_this_process_gives() -> None:
    expected = results(awkward_sum, list(range(8)))
    assert expected == [awkward_sum(seed) for seed in range(8)]
    with ThreadPoolExecutor(2) as threads:
        assert results(awkward_sum, list(range(8)), threads) == expected
    assert results(awkward_sum, list(range(8)), Immediately()) == expected
    assert results(awkward_sum, [], Immediately()) == []


def test_a_job_computes_with_one_thread() -> None:
    with threadpool_limits(2, user_api="blas"):
        assert threads_of_a_job(0) == 2
        assert results(threads_of_a_job, [0]) == [1]


def test_results_come_as_they_are_asked_for() -> None:
    # In this process nothing is computed before it is looked at: what is done can be kept at once.
    seen = []
    first = next(run_jobs(lambda seed: seen.append(seed) or seed, [5, 6, 7]))
    assert (first, seen) == ((0, 5), [5])


def test_an_error_of_a_job_ends_all() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(ZeroDivisionError, match="the third one"):
        list(run_jobs(refuse, list(range(50)), workers=threads))


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    jobs = [Deadly(seed, tmp_path / "died" if seed == 1 else None) for seed in range(4)]
    assert_right_though_a_worker_died(sum_of, jobs, 1, LocalProcesses(1))


@pytest.mark.slow
def test_one_of_two_processes_may_die(tmp_path: Path) -> None:
    jobs = [Deadly(seed, tmp_path / "died" if seed == 5 else None) for seed in range(30)]
    assert_right_though_a_worker_died(sum_of, jobs, 5, LocalProcesses(2))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["processes", "cluster"])
def test_two_workers_work_side_by_side(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    workers = request.getfixturevalue("client") if place == "cluster" else LocalProcesses(2)
    # Which of two workers computes how many jobs depends on how fast each starts; that both do does not.
    found = results(meet, [tmp_path] * 8, workers)
    assert {str(process) for process in found} == {each.name for each in tmp_path.iterdir()}
    assert len(set(found)) == 2


@pytest.mark.slow
def test_jobs_that_always_kill_are_given_up() -> None:
    with pytest.raises(WorkersFailed, match="workers died"):
        list(run_jobs(always_deadly, [0], workers=LocalProcesses(1, deaths=1)))
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(WorkersFailed, match="BrokenProcessPool"),
    ):
        list(run_jobs(always_deadly, [0], workers=pool))


@pytest.mark.slow
def test_a_cluster_gives_what_this_process_gives_though_a_worker_dies(client: Any, tmp_path: Path) -> None:
    for place, workers in enumerate((client, client.get_executor(pure=False))):
        mark = tmp_path / f"died-{place}"
        jobs = [Deadly(seed, mark if seed == 12 else None) for seed in range(40)]
        assert_right_though_a_worker_died(sum_of, jobs, 12, workers)
    with opened_workers(client.scheduler.address) as again:
        assert results(awkward_sum, list(range(4)), again) == [awkward_sum(seed) for seed in range(4)]


@pytest.mark.slow
def test_a_result_that_dies_with_its_worker_is_computed_again(client: Any, tmp_path: Path) -> None:
    assert results(deadly_to_send, [Deadly(0, tmp_path / "died")], client) == ["sent"]
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_result_that_dies_with_its_worker_and_cannot_be_computed_again_is_told(client: Any, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError, match="the second time"):
        list(run_jobs(deadly_to_send_and_refused_again, [Deadly(0, tmp_path / "died")], workers=client))


@pytest.mark.slow
def test_an_error_of_a_job_on_a_cluster_ends_all(client: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="the third one"):
        list(run_jobs(refuse, list(range(50)), workers=client))
    with pytest.raises(FileNotFoundError):
        list(run_jobs(os.stat, ["/there/is/no/such/file"], workers=client))
    # What is left is given up, and the cluster serves the next ones.
    assert results(awkward_sum, [7], client) == [awkward_sum(7)]


@pytest.mark.slow
def test_jobs_that_always_kill_workers_of_a_cluster_are_given_up(client: Any) -> None:
    with pytest.raises(WorkersFailed, match="KilledWorker"):
        list(run_jobs(always_deadly, [0], workers=client))


@pytest.mark.slow
def test_a_scheduler_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "helpers"), prepend=os.pathsep)
    file = str(tmp_path / "scheduler.json")
    scheduler, worker = (
        subprocess.Popen([sys.executable, "-m", "dask", *command, "--scheduler-file", file], stderr=subprocess.DEVNULL)
        for command in (
            ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
            ["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "120"],
        )
    )
    try:
        with (
            distributed.Client(scheduler_file=file) as client,
            pytest.raises(WorkersFailed, match="workers died"),
        ):
            list(run_jobs(deadly_to_send, [scheduler.pid], workers=client))
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def test_schedulers_have_names() -> None:
    with opened_workers(None) as workers:
        assert workers is None
    with opened_workers("processes:3") as workers:
        assert workers == LocalProcesses(3)
    with opened_workers("processes") as workers:
        assert isinstance(workers, LocalProcesses)


@pytest.mark.parametrize("scheduler", ["processes:two", "processes:0", "processes:-1"])
def test_wrong_numbers_of_processes_are_refused(scheduler: str) -> None:
    with pytest.raises(InvalidInput, match="process"), opened_workers(scheduler):
        pass


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.jobs.CONNECTION_SECONDS", 0.2)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(InvalidInput, match=f"no Dask scheduler at {address}"), opened_workers(address):
            pass


def test_something_else_is_no_place_for_jobs() -> None:
    with pytest.raises(InvalidInput, match="got str"):
        run_jobs(awkward_sum, [1], workers="processes")
