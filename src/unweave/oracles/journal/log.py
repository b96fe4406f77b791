"""The answers of one model in a journal: what it has answered before, and what is added."""

import sqlite3
import weakref
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np
from jaxtyping import Bool

from unweave.arrays import Points
from unweave.oracles.journal.store import HeldModel, JournalFile, Request, keys_of

# Memory for the numbers of the points that were asked in this run, in KiB; the rest of them lies in a temporary file.
ASKED_MEMORY = 16_384


class AskedPoints:
    """Count how often points were asked in this run, in a temporary file of SQLite that ends with the process."""

    def __init__(self) -> None:
        # Whichever thread lets it go closes it.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{ASKED_MEMORY}"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute("CREATE TABLE asked (key INTEGER PRIMARY KEY, first INTEGER NOT NULL)")
        self._connection.execute("CREATE TABLE repeats (key INTEGER PRIMARY KEY, times INTEGER NOT NULL)")
        # Nobody else reads it, and it need not survive: no transaction ends.
        self._connection.execute("BEGIN")
        self._count = 0

    def occurrences(self, keys: list[int]) -> list[int]:
        """Count how often every point was asked before, earlier in the same list included."""
        numbered = list(zip(keys, range(self._count, self._count + len(keys)), strict=True))
        self._count += len(keys)
        new = self._connection.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", numbered).rowcount
        return [0] * len(keys) if new == len(keys) else [self._occurrence(key, number) for key, number in numbered]

    def _occurrence(self, key: int, number: int) -> int:
        (first,) = self._connection.execute("SELECT first FROM asked WHERE key = ?", (key,)).fetchone()
        if first == number:
            return 0
        counted = "INSERT INTO repeats VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET times = times + 1"
        self._connection.execute(counted, (key,))
        return self._connection.execute("SELECT times FROM repeats WHERE key = ?", (key,)).fetchone()[0]


class ModelLog:
    """The answers of a model, as one run meets them: the n-th question for a point gets the n-th answer to it.

    Args:
        file: that holds them.
        model: whose answers they are.
    """

    def __init__(self, file: JournalFile, model: HeldModel) -> None:
        self.file, self.model = file, model
        # Answers of earlier runs that this one has not met yet.
        self._unmet, self._asked = file.count(model), AskedPoints()

    def lookup(self, points: Points) -> tuple[Bool[np.ndarray, "points"], list[tuple[np.ndarray, np.ndarray]]]:
        """Find the answers that are there: which points have one, and rows with their answers.

        Raises:
            UnreadableFile: if the file is damaged.
        """
        is_held, found = np.zeros(len(points), dtype=bool), []
        if self._unmet == 0:
            # A new run, or one that has caught up with what was asked before: nothing need be counted any more.
            return is_held, found
        keys = keys_of(points.tobytes(), 8 * self.model.inputs)
        occurrences = self._asked.occurrences(keys)
        with self.file.reading():
            places = [self._place(*asked) for asked in zip(keys, occurrences, strict=True)]
        there = sorted((request, row, asked) for asked, (request, row) in enumerate(places) if request)
        for number, group in groupby(there, key=itemgetter(0)):
            rows, asked = np.array([(row, index) for _, row, index in group]).T
            (request,) = self.file.requests(self.model, condition=f"id = {number}")
            # A checksum may be the same by chance; the point is not.
            same = np.all(request.points[rows].view(np.int64) == points[asked].view(np.int64), axis=1)
            is_held[asked[same]] = True
            found.append((asked[same], request.answers[rows[same]]))
        self._unmet -= int(np.count_nonzero(is_held))
        return is_held, found

    def _place(self, key: int, occurrence: int) -> tuple[int, int]:
        """Request and row of an answer; zeros if there is none."""
        question = "SELECT request, row FROM places WHERE model = ? AND key = ? ORDER BY request, row LIMIT 1 OFFSET ?"
        return self.file.connection.execute(question, (self.model.number, key, occurrence)).fetchone() or (0, 0)

    def append(self, points: Points, answers: np.ndarray, *, is_probe: bool = False) -> None:
        """Write a request; it is in the file when this returns.

        Raises:
            NotWritten: if that is not possible.
        """
        self.file.append(self.model, points, answers, is_probe=is_probe)

    def probes(self) -> Iterable[Request]:
        """Yield what was asked to see that the model is still the same."""
        return self.file.requests(self.model, condition="is_probe = 1")
