"""One SQLite file of answers: a log of requests that only grows, and an index of the points in it.

A request is written in one transaction, with its points, its answers in their own type, and its time, a long one as
several rows; a process that is killed leaves all of a request or nothing. The index is made from the log when a run
opens the file, so that only the log is written while a model is asked. Answers have a checksum, and points are compared
with those that are asked, so that damage is noticed.
"""

import os
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, NotWritten, UnreadableFile
from unweave.oracles.journal.tables import ADDED, APPLICATION, COLUMNS, TABLES, VERSION, WRITTEN

NAME = "journal.sqlite"
# SQLite keeps what was written last in two files beside it, until the last process closes it; tables are exports.
FILES = (NAME, f"{NAME}-wal", f"{NAME}-shm", "journal.csv", "journal.parquet")
# How long one run waits for another that writes to the same file.
WAIT_SECONDS = 60.0
# Points that are put into the index at once: enough to sort them, few enough for any memory.
INDEXED_TOGETHER = 50_000
# Bytes of a page of a new file: requests are long, and SQLite spends its time per page. With 32 kB writing takes half
# of the CPU time of pages of 4 kB; an empty journal takes a quarter of a megabyte.
PAGE_BYTES = 32_768
# Pages that wait in the log of SQLite before they are moved to the file: 16 MB at a time where they are forced to the
# disk, and 2 MB, which stay in the processor's cache, where they are not: a quarter less CPU time.
MOVED_TOGETHER, MOVED_LOOSELY = 500, 60
# Bytes a second above which answers are not forced to the disk. Below, forcing takes little of the time of a run: a
# disk that takes 100 MB a second is busy with them, which are written twice, for a fiftieth of it.
FORCED_BYTES = 1_000_000
# Seconds before which nothing is: what was asked in them is asked again in as many.
FORCED_SECONDS = 1.0
# What reading a damaged file raises: its texts, and those of SQLite about it, may be none.
DAMAGES = (sqlite3.DatabaseError, UnicodeDecodeError)
# Bytes of points in a row of the table: SQLite copies a row several times, which takes half of the CPU time where the
# copies stay in the processor's cache. Longer requests are written in parts, in one transaction.
PART_BYTES = 250_000


@dataclass(frozen=True, eq=False)
class Request:
    """Points that were sent together, or a part of them, and what came back.

    Args:
        number: of the request, the same for its parts.
        time: when it was written, in seconds since 1970.
        points: that were asked.
        answers: one row per point, in the type in which they came.
        is_probe: whether it was asked to see that the model is still the same.
        first_row: points of the request in the parts before this one.
    """

    number: int
    time: float
    points: Points
    answers: np.ndarray
    is_probe: bool
    first_row: int = 0


@dataclass(frozen=True)
class HeldModel:
    """A model whose answers a journal holds.

    Args:
        number: its place in the file.
        name: under which its answers are kept.
        fingerprint: checksum of the model, where there is one.
        inputs: numbers in a point.
    """

    number: int
    name: str
    fingerprint: str
    inputs: int


class JournalFile:
    """An open file of answers.

    Args:
        path: of the file; it is made if there is none.
        is_forced: whether every answer is forced to the disk, so that it survives a power cut, too. That takes some
            milliseconds per request. Without it answers survive the end of the process, however it ends, and a power
            cut up to the last moments; a new file of one model that answers faster than a disk can be forced to take
            it (`FORCED_BYTES`) may be lost by a power cut: asking again takes as little time.
        is_read: whether it is only read; it has to be there then.

    Raises:
        UnreadableFile: if it is something else, or damaged.
        InvalidInput: if it can't be opened.
    """

    def __init__(self, path: str | Path, *, is_forced: bool = False, is_read: bool = False) -> None:
        self.path = Path(path)
        self._opened, self._written = time.monotonic(), 0
        if is_read and not self.path.is_file():
            raise UnreadableFile(f"there is no journal at {path}: check the path.")
        place = f"file:{quote(str(self.path.absolute()))}?mode={self._mode() if is_read else 'rwc'}"
        try:
            # Whichever thread lets a journal go closes it.
            self.connection = sqlite3.connect(
                place, timeout=WAIT_SECONDS, isolation_level=None, uri=True, check_same_thread=False
            )
            weakref.finalize(self, self.connection.close)
            self._prepare(is_forced=is_forced, is_read=is_read)
        except sqlite3.OperationalError as error:
            raise InvalidInput(f"the journal {path} can't be opened: {error}; name another place.") from error
        except DAMAGES as error:
            raise UnreadableFile(f"{path} is no journal of Unweave, or damaged: {error}; name another.") from error

    def _mode(self) -> str:
        """How a file is opened to be read: a run that was killed may have left its last answers to be put into place.

        Raises:
            UnreadableFile: if that is not possible in its folder.
        """
        if os.access(self.path.absolute().parent, os.W_OK):
            return "rw"
        if Path(f"{self.path}-wal").exists():
            raise UnreadableFile(
                f"the last answers of {self.path} wait beside it, in a folder that can't be written: copy both to "
                "another folder, and name that one."
            )
        return "ro&immutable=1"

    def _prepare(self, *, is_forced: bool, is_read: bool) -> None:
        is_new = not self._has_tables()
        if not is_new:
            # Before anything is changed. A run that was killed at its very beginning has left no tables.
            self._check_kind()
        # Answers of before may have been dear, whatever the speed of those that are added.
        self._is_loose = not (is_forced or is_read) and (
            is_new or not self._number("SELECT EXISTS (SELECT 1 FROM requests)")
        )
        if is_read:
            return
        forcing = "FULL" if is_forced else "OFF" if self._is_loose else "NORMAL"
        self.connection.execute(f"PRAGMA synchronous = {forcing}")
        self.connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute(f"PRAGMA wal_autocheckpoint = {MOVED_LOOSELY if self._is_loose else MOVED_TOGETHER}")
        # Two runs may begin at once: the second one waits, and finds the tables of the first.
        with self.writing() as connection:
            for statement in TABLES if not self._has_tables() else ADDED.get(self._version(), ()):
                connection.execute(statement)
        self._check_kind()

    def _has_tables(self) -> bool:
        return self._number("SELECT count(*) FROM sqlite_master") > 0

    def _check_kind(self) -> None:
        if self._number("PRAGMA application_id") != APPLICATION:
            raise UnreadableFile(f"{self.path} is a database of something else, not a journal of Unweave.")
        if self._version() > VERSION:
            raise UnreadableFile(
                f"{self.path} is a journal of version {self._version()}, this Unweave reads up to {VERSION}."
            )

    def _version(self) -> int:
        return self._number("PRAGMA user_version")

    def _number(self, question: str) -> int:
        return self.connection.execute(question).fetchone()[0]

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Make one transaction: all of it is in the file afterwards, or nothing.

        Raises:
            NotWritten: if the disk is full, or the folder is protected.
            UnreadableFile: if the file is damaged.
        """
        with self._failing_as_not_written():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _failing_as_not_written(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise NotWritten(
                f"answers could not be written to the journal {self.path}: {error}. What it holds stays: make room, or "
                "end what keeps it from being written."
            ) from error
        except DAMAGES as error:
            raise self.damaged(str(error)) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say of what can't be read that it is damaged.

        Raises:
            UnreadableFile: for whatever SQLite says.
        """
        try:
            yield
        except DAMAGES as error:
            raise self.damaged(str(error)) from error

    def damaged(self, problem: str) -> UnreadableFile:
        """Make the error that refuses a file in which something is not as it was written."""
        return UnreadableFile(
            f"the journal {self.path} is damaged: {problem}. Name another one, or remove it to ask everything again."
        )

    def append(self, model: HeldModel, points: Points, answers: np.ndarray, *, is_probe: bool) -> None:
        """Write a request; it is in the file when this returns.

        Raises:
            NotWritten: if that is not possible.
        """
        written = answers.astype(answers.dtype.newbyteorder("<"), copy=False)
        # A probe is compared as a whole.
        together = len(points) if is_probe else max(1, PART_BYTES // (8 * model.inputs))
        values = (model.number, is_probe, time.time())
        with self._failing_as_not_written():
            self._choose_forcing(points.nbytes + written.nbytes)
        if len(points) <= together:
            with self._failing_as_not_written():
                # One statement is a transaction of its own.
                self._write(values, points, written, None, 0)
            return
        with self.writing():
            request = None
            for first in range(0, len(points), together):
                rows = slice(first, first + together)
                number = self._write(values, points[rows], written[rows], request, first)
                request = number if request is None else request

    def _choose_forcing(self, more: int) -> None:
        """Force nothing as long as one model answers faster than a disk would take it; from then on what is moved.

        A killed process loses nothing by it: what was written belongs to the system. Answers of a slow model may be
        dear, and another model in the same file may have a price: both bring forcing back, also for what is there.
        """
        if not self._is_loose:
            return
        self._written += more
        is_fast = self._written > FORCED_BYTES * (time.monotonic() - self._opened - FORCED_SECONDS)
        if not is_fast or self._number("SELECT count(*) FROM models") > 1:
            self._is_loose = False
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {MOVED_TOGETHER}")
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _write(
        self, values: tuple[int, bool, float], points: Points, answers: np.ndarray, part_of: int | None, first_row: int
    ) -> int | None:
        """Write a row of the log, and give its number."""
        # Views of the memory: copies would cost as much as a checksum.
        numbers = [np.ascontiguousarray(each).data for each in (points, answers)]
        kind, outputs = answers.dtype.str, answers.shape[1]
        row = (*values, *numbers, kind, outputs, part_of, first_row, _checksum(numbers[1], kind, outputs))
        return self.connection.execute(WRITTEN, row).lastrowid

    def model_of(self, name: str, *, fingerprint: str, inputs: int) -> HeldModel:
        """Find a model by its name, or begin its log; the index is brought up to date.

        Raises:
            InvalidInput: if there are answers of a model of that name with other inputs or another checksum.
        """
        with self.writing() as connection:
            row = "INSERT OR IGNORE INTO models (name, fingerprint, inputs) VALUES (?, ?, ?)"
            connection.execute(row, (name, fingerprint, inputs))
        model = next((each for each in self.models() if each.name == name), None)
        if model is None:
            raise self.damaged("the name of the model is not as it was written")
        if model.inputs != inputs:
            raise self.changed(model, f"had {model.inputs} inputs, this one has {inputs}")
        if model.fingerprint != fingerprint:
            raise self.changed(model, "had another content")
        while self._index_more():
            pass
        return model

    def models(self) -> list[HeldModel]:
        """List the models whose answers it holds."""
        with self.reading():
            if not self._has_tables():
                return []
            rows = self.connection.execute("SELECT id, name, fingerprint, inputs FROM models ORDER BY id")
            return [HeldModel(*row) for row in rows]

    def changed(self, model: HeldModel, how: str) -> InvalidInput:
        """Make the error that refuses a model which is not the one that has answered before."""
        return InvalidInput(
            f"the journal {self.path} holds answers of a model {model.name!r} that {how}: answers of two models can't "
            "be used together. Name another journal or run folder, or remove this one."
        )

    def requests(self, model: HeldModel, *, condition: str = "1") -> Iterator[Request]:
        """Yield the requests of a model in the order in which they were written, long ones in parts.

        Raises:
            UnreadableFile: if the file is damaged.
        """
        # A file of an earlier version may be read only.
        place = COLUMNS[self._version()]
        columns = f"SELECT {place}, time, points, answers, type, outputs, is_probe FROM requests"
        question = f"{columns} WHERE model = ? AND {condition} ORDER BY id"
        with self.reading():
            for number, first, checksum, when, points, answers, kind, outputs, is_probe in self.connection.execute(
                question, (model.number,)
            ):
                try:
                    is_whole = checksum in (None, _checksum(answers, kind, outputs))
                    asked = np.frombuffer(points, dtype="<f8").reshape(-1, model.inputs)
                    said = np.frombuffer(answers, dtype=kind).reshape(len(asked), outputs)
                except (TypeError, ValueError) as error:
                    raise self.damaged(f"request {number} is not as it was written ({error})") from error
                if not is_whole:
                    raise self.damaged(f"the answers of request {number} are not those that were written")
                yield Request(number, when, asked, said, bool(is_probe), first)

    def count(self, model: HeldModel) -> int:
        """Count the answers of a model that are in the log, probes not among them."""
        question = "SELECT coalesce(sum(length(points)), 0) FROM requests WHERE model = ? AND is_probe = 0"
        with self.reading():
            return self.connection.execute(question, (model.number,)).fetchone()[0] // (8 * model.inputs)

    def _index_more(self) -> bool:
        """Put some points of the log into the index; whether there may be more of them."""
        with self.writing() as connection:
            (last,) = connection.execute("SELECT request FROM indexed").fetchone()
            rows = connection.execute(
                "SELECT requests.id, model, is_probe, points, inputs FROM requests JOIN models ON models.id = model "
                "WHERE requests.id > ? ORDER BY requests.id",
                (last,),
            )
            places: list[tuple[int, int, int, int]] = []
            for number, model, is_probe, points, inputs in rows:
                last = number
                if not is_probe:
                    places += [(model, key, number, row) for row, key in enumerate(keys_of(points, 8 * inputs))]
                if len(places) >= INDEXED_TOGETHER:
                    break
            # In the order of the index, which is written in long stretches then.
            connection.executemany("INSERT INTO places VALUES (?, ?, ?, ?)", sorted(places))
            connection.execute("UPDATE indexed SET request = ?", (last,))
        return len(places) >= INDEXED_TOGETHER


def keys_of(points: bytes, width: int) -> list[int]:
    """Give a checksum of every point, of so many bytes each, that SQLite holds as a number."""
    digests = [blake2b(points[first : first + width], digest_size=8).digest() for first in range(0, len(points), width)]
    return np.frombuffer(b"".join(digests), dtype="<i8").tolist()


def _checksum(answers: bytes | memoryview, kind: str, outputs: int) -> int:
    """Give a checksum of answers in their type and shape."""
    return crc32(answers, crc32(f"{kind} {outputs}".encode()))
