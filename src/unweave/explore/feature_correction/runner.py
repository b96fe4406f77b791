"""Does the trainings of a measurement that are not done yet: one after the other here, or at once on workers."""

import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.plan import Kind, Training
from unweave.explore.feature_correction.records import Record, compared_with, measure
from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.store import FolderStore, MemoryStore, Store
from unweave.explore.feature_correction.subjects import Deadline, OutOfTime, Subject, TrainedModel
from unweave.jobs import LocalProcesses, Workers, run_jobs

# Kinds whose weights or answers are needed again.
BUILT_UPON = (Kind.ONLY, Kind.JOINT, Kind.LAYERWISE)
# Arrays that a cluster, whose scheduler holds all jobs at once, is sent with every job, at most. Chosen.
MOST_SENT_BYTES = 100_000_000
# Seconds that a clock may not see.
TICK = 1e-9
# Torch has one generator per process: threads of one process train one after the other.
_ALONE = threading.Lock()


@dataclass(frozen=True)
class MeasurementProgress:
    """Tell how far a measurement is.

    Args:
        name: of the training that begins; on workers, of the one that has ended; "done" at the end.
        done: trainings.
        total: trainings of the whole measurement.
        seconds_left: about, at the pace so far; None while nothing is known of it.
    """

    name: str
    done: int
    total: int
    seconds_left: float | None


Progress = Callable[[MeasurementProgress], None]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One training, with all that it needs in another process.

    Args:
        subject: what trains.
        samples: on which.
        training: which one.
        store: holds what it builds on.
        ends: when the time is over, by the clock of the wall, which other machines have, too; never if None.
    """

    subject: Subject
    samples: Samples
    training: Training
    store: Store
    ends: float | None = None

    def run(self, deadline: Deadline) -> tuple[Record, TrainedModel]:
        """Train and measure.

        Raises:
            OutOfTime: if the time is over.
        """
        training = self.training
        source, other = (None if t is None else self.store.trained(t) for t in _needed(training))
        began = time.perf_counter()
        weights, halfway = None if source is None else source.weights, self.store.halfway(training)
        trained = self.subject.train(training, weights, deadline, halfway)
        record = measure(
            training,
            trained,
            filters=self.subject.filters,
            start=self.subject.start(training.start_seed),
            other=other,
            samples=self.samples,
            seconds=time.perf_counter() - began,
        )
        return record, trained


def run_there(job: TrainingJob) -> tuple[Record, TrainedModel] | None:
    """Run a job on a worker, which keeps it itself where there is a folder; None then, and if the time was over."""
    with _ALONE, _one_thread():
        try:
            deadline = Deadline.after(None if job.ends is None else job.ends - time.time())
            deadline.check()
            record, trained = job.run(deadline)
        except OutOfTime:
            return None
    if isinstance(job.store, FolderStore):
        keep(job.store, job.training, record, trained)
        return None
    return record, trained


def keep(store: Store, training: Training, record: Record, trained: TrainedModel) -> None:
    """Keep a training, and what it has left if later ones build on it."""
    store.keep(training, record, trained, is_needed=training.kind in BUILT_UPON)


@dataclass(frozen=True, eq=False)
class MeasurementRun:
    """Does the trainings that are not done yet.

    Args:
        subject: what trains.
        samples: on which.
        store: keeps what is done.
        deadline: when to stop.
        tell: hears of progress.
        workers: where trainings run; here if None.

    Raises:
        InvalidInput: if what trains can't be sent to workers.
    """

    subject: Subject
    samples: Samples
    store: Store
    deadline: Deadline
    tell: Progress
    workers: Workers = None

    def __post_init__(self) -> None:
        if isinstance(self.workers, LocalProcesses | ProcessPoolExecutor):
            _check_sent(self.subject)
        sent = sum(each.nbytes for each in vars(self.samples).values() if isinstance(each, np.ndarray))
        if hasattr(self.workers, "get_executor") and sent > MOST_SENT_BYTES:
            raise InvalidInput(
                f"every training on a cluster is sent its samples, and {sent:,} bytes are too many: give datasets that "
                "read files which all workers see."
            )

    def __call__(self, trainings: Sequence[Training]) -> None:
        """Do what is not done, as long as there is time."""
        pace = _Pace.of(trainings, self.store)
        run = self._one_by_one if self.workers is None else self._in_rounds
        run(trainings, pace)
        if not pace.left:
            self.tell(pace.seen("done"))

    def _one_by_one(self, trainings: Sequence[Training], pace: "_Pace") -> None:
        for training in trainings:
            if training.name not in pace.left:
                continue
            self.tell(pace.seen(training.name))
            try:
                self.deadline.check()
                record, trained = TrainingJob(self.subject, self.samples, training, self.store).run(self.deadline)
            except OutOfTime:
                return
            keep(self.store, training, record, trained)
            pace.count(training, record)

    def _in_rounds(self, trainings: Sequence[Training], pace: "_Pace") -> None:
        """Always all trainings at once whose sources are there."""
        seconds = self.deadline.seconds_left
        ends = None if seconds is None else time.time() + seconds
        while pace.left and not self.deadline.is_over:
            ready = [each for each in trainings if each.name in pace.left and self._is_ready(each, pace)]
            jobs = [TrainingJob(self.subject, self.samples, each, self._part(each), ends) for each in ready]
            for place, done in run_jobs(run_there, jobs, workers=self.workers):
                self._take(ready[place], done, pace)

    def _take(self, training: Training, done: tuple[Record, TrainedModel] | None, pace: "_Pace") -> None:
        if done is not None:
            keep(self.store, training, *done)
        record = self.store.record(training)
        if record is not None:
            pace.count(training, record)
            self.tell(pace.seen(training.name))
        elif not self.deadline.is_over:
            raise InvalidInput(f"{training.name} is done, but not in {self.store}: workers need to see the folder.")

    def _is_ready(self, training: Training, pace: "_Pace") -> bool:
        return all(each is None or each.name not in pace.left for each in _needed(training))

    def _part(self, training: Training) -> Store:
        """What a worker needs of the store: the folder, or the trainings that one builds on."""
        if isinstance(self.store, FolderStore):
            # Workers may have been started elsewhere.
            return replace(self.store, folder=self.store.folder.absolute())
        if not isinstance(self.store, MemoryStore):
            return self.store
        return self.store.part(each for each in _needed(training) if each is not None)


class _Pace:
    """What is left of a measurement, and how long that takes: as long as the same trainings of other seeds took.

    Args:
        left: trainings by their names.
        total: number of all trainings.
    """

    def __init__(self, left: dict[str, Training], total: int) -> None:
        self.left, self.total, self.began = left, total, time.monotonic()
        self.seconds: dict[tuple, list[float]] = {}
        self.counted = 0.0

    @classmethod
    def of(cls, trainings: Sequence[Training], store: Store) -> "_Pace":
        """What a store lacks."""
        records = {each.name: store.record(each) for each in trainings}
        pace = cls({each.name: each for each in trainings if records[each.name] is None}, len(trainings))
        for training in trainings:
            record = records[training.name]
            if record is not None:
                pace._learn(training, record)
        return pace

    def count(self, training: Training, record: Record) -> None:
        """Take a training for done."""
        del self.left[training.name]
        self._learn(training, record)
        self.counted += record.seconds

    def seen(self, name: str) -> MeasurementProgress:
        """How far the measurement is when a training of this name begins or ends."""
        return MeasurementProgress(name, self.total - len(self.left), self.total, self._seconds_left())

    def _seconds_left(self) -> float | None:
        if not self.left or not self.seconds:
            return None if self.left else 0.0
        mean = float(np.mean([np.mean(each) for each in self.seconds.values()]))
        left = sum(float(np.mean(self.seconds.get(_alike(each), [mean]))) for each in self.left.values())
        # How much faster than one after the other it goes, as far as this run tells.
        elapsed = max(time.monotonic() - self.began, TICK)
        speed = self.counted / elapsed if self.counted else 1.0
        return left / speed

    def _learn(self, training: Training, record: Record) -> None:
        self.seconds.setdefault(_alike(training), []).append(record.seconds)


def _alike(training: Training) -> tuple:
    """What trainings of different seeds have in common."""
    return training.kind, training.depth, training.frozen


def _needed(training: Training) -> tuple[Training | None, Training | None]:
    """The training that one builds on, and the one that it is compared with."""
    return training.source, compared_with(training)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute with one thread, if it is there: results are then the same wherever they are computed."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: object) -> int:
        return len(memoryview(data))  # pyright: ignore[reportArgumentType]


def _check_sent(subject: Subject) -> None:
    try:
        pickle.Pickler(_Nowhere()).dump(subject)
    # Whatever a model or a dataset holds may refuse in its own way.
    except Exception as error:
        raise InvalidInput(
            f"model, functions and datasets need to be sent to other processes, and can't be: {error}: define them at "
            "the top of a module that can be imported."
        ) from error
