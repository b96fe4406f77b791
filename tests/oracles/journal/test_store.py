"""The file of a journal: what is forced to the disk, and what a killed process leaves."""

import gc
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import UnreadableFile
from unweave.oracles.journal import store
from unweave.oracles.journal.export import export_answers
from unweave.oracles.journal.oracle import Journal, JournalOracle
from unweave.oracles.journal.store import JournalFile
from unweave.oracles.oracle import CallableOracle

# What SQLite calls its ways to force: nothing, what is moved to the file, every transaction.
NOTHING, MOVED, EVERYTHING = range(3)
POINTS = np.arange(30.0).reshape(10, 3)


class Remote(CallableOracle):
    is_remote = True


def forced(file: JournalFile) -> int:
    return file.connection.execute("PRAGMA synchronous").fetchone()[0]


def written(path: Path, name: str = "model", *, kind: type[CallableOracle] = CallableOracle, **given: Any) -> Any:
    """A journal with some answers, still open."""
    oracle = JournalOracle(kind(lambda points: points, inputs=3), Journal(path, model=name, **given))
    oracle.query(POINTS)
    return oracle


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_answers_that_come_faster_than_a_disk_takes_them_are_not_forced(path: Path) -> None:
    assert forced(written(path).log.file) == NOTHING


def test_answers_of_a_slow_model_are_forced_and_stay_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a function that asks a service."""
    oracle = written(path)
    monkeypatch.setattr(store, "FORCED_SECONDS", 0.0)
    monkeypatch.setattr(store, "FORCED_BYTES", 1e15)
    oracle.query(POINTS + 1.0)
    assert forced(oracle.log.file) == MOVED
    monkeypatch.setattr(store, "FORCED_BYTES", 1)
    oracle.query(POINTS + 2.0)
    assert forced(oracle.log.file) == MOVED


def test_a_journal_is_closed_by_whatever_thread_lets_it_go(path: Path) -> None:
    """The collector of garbage runs in any of them; SQLite removes its files when the last connection is closed."""
    waiting, held = path.with_name(f"{path.name}-wal"), [written(path)]
    assert waiting.exists()
    thread = Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert not waiting.exists()


def test_answers_of_servers_are_forced_one_by_one(path: Path) -> None:
    assert forced(written(path, kind=Remote).log.file) == EVERYTHING
    assert forced(written(path.with_name("other"), is_forced=True).log.file) == EVERYTHING


def test_what_was_there_before_is_never_risked(path: Path) -> None:
    written(path)
    oracle = written(path)
    oracle.query(POINTS + 1.0)
    assert forced(oracle.log.file) == MOVED


def test_another_model_in_the_same_file_brings_forcing_back(path: Path) -> None:
    ours = written(path)
    theirs = written(path, "paid", kind=Remote)
    ours.query(POINTS + 1.0)
    assert (forced(ours.log.file), forced(theirs.log.file)) == (MOVED, EVERYTHING)
    # All that was written before it came is in the file now: nothing waits to be moved.
    _, waiting, moved = ours.log.file.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    assert waiting == moved


KILLED = """
import sys
import numpy as np
from unweave.oracles.journal.oracle import Journal, JournalOracle
from unweave.oracles.oracle import CallableOracle
oracle = JournalOracle(CallableOracle(lambda points: points, inputs=100), Journal(sys.argv[1], model="model"))
for number in range(100_000):
    oracle.query(np.full((500, 100), float(number)))
    print(number + 1, flush=True)
"""


@pytest.mark.parametrize("after", [1, pytest.param(30, marks=pytest.mark.slow), 100])
def test_a_killed_process_loses_nothing_that_was_not_forced(path: Path, after: int) -> None:
    """100 batches are 40 MB: what waits in the log of SQLite is moved to the file again and again."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == after:
                break
        process.send_signal(signal.SIGKILL)
        used = max([after, *map(int, process.stdout.read().split())])
    file = JournalFile(path)
    (model,) = file.models()
    # One more may have been written when the process was killed.
    assert file.count(model) in (500 * used, 500 * (used + 1))
    requests = [request for request in file.requests(model) if not request.is_probe]
    assert all(np.array_equal(each.points, each.answers) for each in requests)
    assert file.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def long_journal(path: Path) -> None:
    """A journal of some dozen pages."""
    oracle = JournalOracle(CallableOracle(lambda points: 2.0 * points, inputs=40), Journal(path, model="model"))
    for number in range(5):
        oracle.query(np.full((1000, 40), float(number)))


PAGES = 48


@pytest.mark.parametrize(
    "page", [page if page % 8 == 0 else pytest.param(page, marks=pytest.mark.slow) for page in range(0, PAGES, 2)]
)
def test_a_page_that_is_lost_is_noticed_or_asked_again(path: Path, page: int) -> None:
    """As a power cut may leave a file that was not forced; nothing is ever read that was not written."""
    long_journal(path)
    content = bytearray(path.read_bytes())
    assert len(content) > PAGES * store.PAGE_BYTES
    content[page * store.PAGE_BYTES : (page + 1) * store.PAGE_BYTES] = bytes(store.PAGE_BYTES)
    path.write_bytes(content)
    try:
        oracle = JournalOracle(CallableOracle(lambda points: 2.0 * points, inputs=40), Journal(path, model="model"))
        for number in range(5):
            asked = np.full((1000, 40), float(number))
            np.testing.assert_array_equal(oracle.query(asked), 2.0 * asked)
    except UnreadableFile as error:
        assert "damaged" in str(error)  # noqa: PT017
    try:
        export_answers(path, path.with_suffix(".csv"))
    except UnreadableFile as error:
        assert "damaged" in str(error)  # noqa: PT017


@pytest.mark.parametrize("change", ["answers = zeroblob(length(answers))", "type = 'abc'", "outputs = 2"])
def test_answers_that_were_changed_are_refused_and_are_no_failure_of_the_model(path: Path, change: str) -> None:
    written(path)
    other = sqlite3.connect(path)
    other.execute(f"UPDATE requests SET {change}")
    other.commit()
    other.close()
    with pytest.raises(UnreadableFile, match=r"is damaged: .* Name another one, or remove it"):
        written(path)
    with pytest.raises(UnreadableFile, match="is damaged"):
        export_answers(path, path.with_suffix(".csv"))


def test_a_journal_is_read_where_nothing_can_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(path)
    monkeypatch.setattr(store.os, "access", lambda *_: False)
    names = sorted(path.parent.iterdir())
    file = JournalFile(path, is_read=True)
    assert [file.count(model) for model in file.models()] == [len(POINTS)]
    assert sorted(path.parent.iterdir()) == names


def test_answers_that_wait_beside_a_file_are_not_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = written(path)
    copy = path.with_name("copy.sqlite")
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{copy}{ending}")
    del oracle
    monkeypatch.setattr(store.os, "access", lambda *_: False)
    with pytest.raises(UnreadableFile, match="copy both to another folder"):
        JournalFile(copy, is_read=True)
