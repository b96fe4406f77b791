"""What campaigns share: many seeded trials in limited processes, kept in a file as they end, and a table of verdicts.

A campaign is a list of families. A family belongs to a door (an estimator, `identify`, ..) and has a function that
takes a seed, plants a truth, opens the door and judges what comes out:

    def judge(seed: int) -> Judged: ...

    if __name__ == "__main__":
        sys.exit(main([Family("identify", "relu in a box", judge), ...], description=__doc__))

    python benchmarks/campaign_samples.py --fits 1000 --seed 0 --doors "relu network"

Every trial that has ended is one line of a JSONL file, keyed by (door, family, seed): a campaign that is started again
goes on where it stopped. A trial that raises is a crash, one that needs too much CPU time is over time; both leave the
campaign running. The exit code is 1 if anything was wrong or crashed.

`--scheduler processes:2` or `--scheduler tcp://host:8786` sends trials to processes or to workers of a Dask cluster,
`run(..., elsewhere=)` to any executor. A worker starts this script again as a server of trials, with the same limits of
CPU time, so that it needs the same files at the same places, and the folder of benchmarks in its `PYTHONPATH`.

`--seed` is the number that the first seven hexadecimal digits of the measured commit form, so that nobody has worked on
the seeds, and `--summary FILE` keeps the counts of every family with that commit.
"""

import argparse
import contextlib
import importlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from unweave.jobs import Workers, opened_workers, run_jobs

# CPU seconds after the limit in which a trial may still end by itself; then its process is killed.
GRACE = 10.0


class Verdict(StrEnum):
    """How a trial ended, compared with the truth that was planted."""

    RIGHT = "right"
    PARTLY_RIGHT = "partly right"
    HONEST_NO = "honest no"
    WRONG = "wrong"
    CRASH = "crash"
    OVER_TIME = "over time"


@dataclass(frozen=True)
class Judged:
    """A verdict, and why: what to read first when it is a bad one."""

    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True)
class Family:
    """Trials of one kind.

    Args:
        door: what is tried.
        name: what is special about these trials.
        judge: plants by a seed, tries and judges.
    """

    door: str
    name: str
    judge: Callable[[int], Judged]

    @classmethod
    def of(cls, door: str, judges: Mapping[str, Callable[[int], Judged]]) -> "list[Family]":
        """The families of a door, by what is special about each."""
        return [cls(door, name, judge) for name, judge in judges.items()]


@dataclass(frozen=True)
class Trial:
    """One line of the file."""

    door: str
    family: str
    seed: int
    verdict: str
    detail: str
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, str, int]:
        """What a campaign that goes on looks for."""
        return self.door, self.family, self.seed


class OverTime(BaseException):
    """Interrupts a trial; no `Exception`, which code under trial might catch."""


@dataclass(frozen=True)
class Elsewhere:
    """Where trials run that are not run here.

    Args:
        workers: as `unweave.jobs.run_jobs` takes them.
        script: the campaign, which a worker starts to be its server of trials.
    """

    workers: Workers
    script: Path


def run(
    families: Sequence[Family],
    *,
    fits: int,
    seed: int,
    out: Path,
    processes: int = 2,
    cpu_seconds: float = 60.0,
    elsewhere: Elsewhere | None = None,
) -> list[Trial]:
    """Run what the file does not hold yet.

    Args:
        families: what is tried.
        fits: trials of every door; its families take turns, with seeds from `seed` on.
        seed: the first one.
        out: the file; made if missing.
        processes: trials at the same time.
        cpu_seconds: limit of a trial.
        elsewhere: workers that run the trials instead of processes that are forked here.

    Returns:
        All trials that were asked for, from the file or run now.
    """
    planned = list(_plan(families, fits=fits, seed=seed))
    known = {trial.key: trial for trial in _read(out)}
    pending = iter([(family, s) for family, s in planned if (family.door, family.name, s) not in known])
    out.parent.mkdir(parents=True, exist_ok=True)
    is_torn = out.exists() and not out.read_text().endswith("\n")
    with out.open("a") as lines:
        lines.write("\n" if is_torn else "")
        trials = (
            _trials(pending, processes, cpu_seconds) if elsewhere is None else _sent(pending, cpu_seconds, elsewhere)
        )
        for trial in trials:
            known[trial.key] = trial
            lines.write(json.dumps(asdict(trial)) + "\n")
            lines.flush()
    return [known[family.door, family.name, s] for family, s in planned]


def table(trials: Sequence[Trial]) -> str:
    """Counts of verdicts by family and door, and CPU seconds: median and largest."""
    names = [verdict.value for verdict in Verdict]
    lines = [f"{'door':22} {'family':32} {'trials':>6} " + " ".join(f"{name:>12}" for name in names) + "   CPU s"]
    doors = dict.fromkeys(trial.door for trial in trials)
    for door in doors:
        here = [trial for trial in trials if trial.door == door]
        for family in dict.fromkeys(trial.family for trial in here):
            lines.append(_line(door, family, [trial for trial in here if trial.family == family]))
        lines.append(_line(door, "all", here))
    return "\n".join(lines)


def summary(trials: Sequence[Trial], *, seed: int) -> dict[str, Any]:
    """Counts of verdicts by door and family, and the commit that the first seed names."""
    doors: dict[str, Any] = {}
    for trial in trials:
        counts = doors.setdefault(trial.door, {}).setdefault(trial.family, Counter(trials=0, largest_cpu_seconds=0))
        counts.update({"trials": 1, trial.verdict: 1})
        counts["largest_cpu_seconds"] = max(counts["largest_cpu_seconds"], trial.cpu_seconds)
    return {"commit": f"{seed:07x}", "first_seed": seed, "cores": os.cpu_count(), "doors": doors}


def main(families: Sequence[Family], *, description: str) -> int:
    """Read options, run, print the table and every bad trial."""
    stem = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=100, help="trials of every door")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--doors", nargs="+", choices=sorted({f.door for f in families}))
    parser.add_argument("--families", nargs="+", choices=sorted({f.name for f in families}))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cpu-seconds", type=float, default=60.0, help="limit of a trial")
    parser.add_argument("--scheduler", help="processes:2, or the address of a Dask scheduler, instead of --processes")
    parser.add_argument("--serve", action="store_true", help="judge the trials that stdin names, for a worker")
    parser.add_argument("--out", type=Path, default=Path("/tmp") / f"{stem}.jsonl", help="file that is gone on with")
    parser.add_argument("--summary", type=Path, help="file for the counts of every family")
    args = parser.parse_args()
    if args.serve:
        _serve(families)
        return 0
    chosen = [f for f in families if f.door in (args.doors or [f.door]) and f.name in (args.families or [f.name])]
    with opened_workers(args.scheduler) as workers:
        trials = run(
            chosen,
            fits=args.fits,
            seed=args.seed,
            out=args.out,
            processes=args.processes,
            cpu_seconds=args.cpu_seconds,
            elsewhere=None if workers is None else Elsewhere(workers, Path(sys.argv[0]).resolve()),
        )
    print(table(trials))
    if args.summary:
        args.summary.write_text(json.dumps(summary(trials, seed=args.seed), indent=1) + "\n")
    bad = [trial for trial in trials if trial.verdict in (Verdict.WRONG, Verdict.CRASH)]
    for trial in bad:
        print(f"{trial.verdict}: {trial.door}, {trial.family}, seed {trial.seed}: {trial.detail}")
    return 1 if bad else 0


def _plan(families: Sequence[Family], *, fits: int, seed: int) -> Iterator[tuple[Family, int]]:
    """Families of a door take turns, so that a campaign that is stopped has tried all of them."""
    by_door = {door: [f for f in families if f.door == door] for door in dict.fromkeys(f.door for f in families)}
    for number in range(fits):
        for members in by_door.values():
            yield members[number % len(members)], seed + number // len(members)


def _read(out: Path) -> Iterator[Trial]:
    if not out.exists():
        return
    for line in out.read_text().splitlines():
        try:
            yield Trial(**json.loads(line))
        except (ValueError, TypeError):
            continue  # the last line of a campaign that was killed while writing: its trial is run again


def _line(door: str, family: str, trials: Sequence[Trial]) -> str:
    counts = Counter(trial.verdict for trial in trials)
    seconds = sorted(trial.cpu_seconds for trial in trials)
    shown = " ".join(f"{counts[verdict.value]:12d}" for verdict in Verdict)
    return f"{door:22} {family:32} {len(trials):6d} {shown}   {seconds[len(seconds) // 2]:.1f} to {seconds[-1]:.1f}"


class _Running:
    """A trial in a process of its own, forked so that imports are there and families need not be sent."""

    def __init__(self, family: Family, seed: int, cpu_seconds: float) -> None:
        context: Any = multiprocessing.get_context("fork")
        self._family, self._seed, self._cpu_seconds = family, seed, cpu_seconds
        self.connection, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_judge_and_send, args=(theirs, family, seed, cpu_seconds))
        self._process.start()
        theirs.close()

    def finish(self) -> Trial:
        """Take what the trial has sent; a process that died without a word was killed by its limit, or crashed."""
        try:
            judged, seconds, loaded = self.connection.recv()
        except EOFError:
            judged, seconds, loaded = None, self._cpu_seconds, []
        # What a trial had to import is there when the next one is forked: imports took half of a small trial's time.
        for name in loaded:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        self._process.join()
        self.connection.close()
        if judged is None:
            code = self._process.exitcode
            is_late = code in (-signal.SIGXCPU, -signal.SIGKILL)
            judged = Judged(Verdict.OVER_TIME if is_late else Verdict.CRASH, f"its process ended with {code}")
        family = self._family
        return Trial(family.door, family.name, self._seed, judged.verdict.value, judged.detail, round(seconds, 3))


def _trials(pending: Iterator[tuple[Family, int]], processes: int, cpu_seconds: float) -> Iterator[Trial]:
    """Run all of them, some at the same time, and yield each as it ends."""
    busy: dict[Connection, _Running] = {}

    def fill() -> None:
        while len(busy) < processes and (job := next(pending, None)) is not None:
            running = _Running(*job, cpu_seconds)
            busy[running.connection] = running

    fill()
    while busy:
        for ready in wait(list(busy)):
            yield busy.pop(ready).finish()
        fill()


@dataclass(frozen=True)
class _Sent:
    """A trial on its way to a worker: the function of a family can't travel, its name can."""

    script: Path
    door: str
    family: str
    seed: int
    cpu_seconds: float


def _sent(pending: Iterator[tuple[Family, int]], cpu_seconds: float, elsewhere: Elsewhere) -> Iterator[Trial]:
    """Run all of them on workers, and yield each as it ends."""
    jobs = [_Sent(elsewhere.script, family.door, family.name, seed, cpu_seconds) for family, seed in pending]
    for _, trial in run_jobs(judge_here, jobs, workers=elsewhere.workers):
        yield trial


# One server for each thread of a worker: a worker may have several, and a server judges one trial after the other.
_SERVERS = threading.local()


def judge_here(job: _Sent) -> Trial:
    """Judge a trial on a worker, by a server that is started once.

    A worker has threads of its own and may not have children, so that it can't fork trials itself.
    """
    server = getattr(_SERVERS, "held", {}).get(job.script)
    if server is None or server.poll() is not None:
        command = [sys.executable, str(job.script), "--serve"]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _SERVERS.held = {job.script: server}
    asked = {name: value for name, value in asdict(job).items() if name != "script"}
    server.stdin.write(json.dumps(asked) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise RuntimeError(f"the server of trials {job.script} has ended with {server.wait()}: see its stderr.")
    return Trial(**json.loads(answer))


def _serve(families: Sequence[Family]) -> None:
    """Judge the trials that stdin names, one per line, until it ends; what trials print goes to stderr."""
    known = {(family.door, family.name): family for family in families}
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            job = json.loads(line)
            pending = iter([(known[job["door"], job["family"]], job["seed"])])
            for trial in _trials(pending, 1, job["cpu_seconds"]):
                answers.write(json.dumps(asdict(trial)) + "\n")
                answers.flush()


def _judge_and_send(connection: Connection, family: Family, seed: int, cpu_seconds: float) -> None:
    """Run one trial in this process and send its verdict."""

    def interrupt(*_: object) -> None:
        raise OverTime

    signal.signal(signal.SIGPROF, interrupt)
    limit = int(time.process_time() + cpu_seconds + GRACE) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    known, began = set(sys.modules), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        judged = family.judge(seed)
    except OverTime:
        judged = Judged(Verdict.OVER_TIME, f"more than {cpu_seconds:g} CPU s")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name}:{place.lineno}"
        judged = Judged(Verdict.CRASH, f"{type(error).__name__} at {at}: {error}"[:400])
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    connection.send((judged, time.process_time() - began, sorted(set(sys.modules) - known)))
    connection.close()
    os._exit(0)  # a fork of a process with threads of its own must not run their clean-up
