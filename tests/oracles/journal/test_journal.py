"""Answers that are kept: on disk before they are used, read once per question, never those of another model."""

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import BadAnswer, BudgetExhausted, InvalidInput, OracleFailed, UnreadableFile
from unweave.oracles.journal import store
from unweave.oracles.journal.export import export_answers
from unweave.oracles.journal.oracle import Journal, JournalOracle, ModelProbe
from unweave.oracles.journal.store import JournalFile
from unweave.oracles.oracle import Box, CallableOracle, Domain, Oracle

PROBE = ModelProbe.points * ModelProbe.repeats


class Recorder:
    """A model that keeps what it was asked; noise makes every answer another one."""

    def __init__(self, *, noise: float = 0.0, factor: float = 2.0, fails_at: int | None = None) -> None:
        self.asked: list[np.ndarray] = []
        self._noise, self._factor, self._fails_at = noise, factor, fails_at
        self._rng = np.random.default_rng(0)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        if self._fails_at is not None and len(self.asked) >= self._fails_at:
            raise RuntimeError("the server is down")
        self.asked.append(points)
        return self._factor * points[:, :2] + self._noise * self._rng.standard_normal((len(points), 2))

    @property
    def count(self) -> int:
        """Points that were asked beside probes."""
        return sum(map(len, self.asked)) - PROBE


def through(path: Path, model: Any, *, domain: Domain | None = None, **settings: Any) -> JournalOracle:
    return JournalOracle(CallableOracle(model, inputs=3, domain=domain, **settings), Journal(path, model="model"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((40, 3))


def test_answers_are_those_of_the_model_and_are_asked_once(path: Path, points: np.ndarray) -> None:
    first, second = Recorder(), Recorder()
    asked = through(path, first).query(points)
    np.testing.assert_array_equal(asked, 2.0 * points[:, :2])
    oracle = through(path, second)
    np.testing.assert_array_equal(oracle.query(points), asked)
    assert (first.count, second.count) == (40, 0)
    assert (oracle.ledger.sent, oracle.ledger.replayed) == (40 + PROBE, 40)


def test_only_what_is_missing_is_asked_whatever_the_order(path: Path, points: np.ndarray) -> None:
    through(path, Recorder()).query(points[::2])
    model = Recorder()
    np.testing.assert_array_equal(through(path, model).query(points[::-1]), 2.0 * points[::-1, :2])
    np.testing.assert_array_equal(model.asked[-1], points[::-1][~np.isin(np.arange(40)[::-1] % 2, 0)])


def test_repeated_questions_get_answers_of_their_own(path: Path, points: np.ndarray) -> None:
    twice = np.concatenate([points[:5], points[:5]])
    oracle = through(path, Recorder(noise=0.1))
    answers = np.concatenate([oracle.query(twice), oracle.query(points[:5])])
    assert len(np.unique(answers[:, 0])) == 15
    model = Recorder(noise=0.1)
    oracle = through(path, model)
    np.testing.assert_array_equal(np.concatenate([oracle.query(twice), oracle.query(points[:5])]), answers)
    assert model.count == 0
    # The fourth time is new.
    oracle.query(points[:5])
    assert model.count == 5


@pytest.mark.parametrize("type_", [np.float32, np.float64, np.float16, np.int64])
def test_the_type_of_answers_survives(path: Path, points: np.ndarray, type_: type) -> None:
    def model(asked: np.ndarray) -> np.ndarray:
        return (100 * asked).astype(type_)

    ledgers = []
    for _ in range(2):
        oracle = through(path, model)
        np.testing.assert_array_equal(oracle.query(points), (100 * points).astype(type_).astype(np.float64))
        ledgers.append((oracle.ledger.answer_digits, oracle.ledger.grid.bits, oracle.ledger.sent))
    assert ledgers[0] == ledgers[1]


def test_what_was_answered_before_a_failure_is_kept(path: Path, points: np.ndarray) -> None:
    """audit B7: an exception in the model loses what was paid for."""
    broken = through(path, Recorder(fails_at=3), batch=10)
    with pytest.raises(OracleFailed, match="the server is down"):
        broken.query(points)
    model = Recorder()
    through(path, model).query(points)
    assert model.count == 20


def test_answers_are_in_the_file_before_they_are_used(path: Path, points: np.ndarray) -> None:
    seen: list[int] = []

    class Slowly(CallableOracle):
        def pieces(self, points: np.ndarray) -> Iterator[tuple[slice, object]]:
            for row in range(len(points)):
                seen.append(held(path))
                yield slice(row, row + 1), self._answer(points[row : row + 1])

    JournalOracle(Slowly(Recorder(), inputs=3), Journal(path, model="model")).query(points[:5])
    assert seen == [0] * PROBE + [0, 1, 2, 3, 4]
    assert held(path) == 5


@pytest.mark.parametrize("part_bytes", [1, 100, 24 * 40])
def test_long_requests_are_written_in_parts_and_read_as_one(
    path: Path, points: np.ndarray, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART_BYTES", part_bytes)
    oracle = through(path, Recorder(noise=0.1))
    answers = oracle.query(points)
    file = JournalFile(path, is_read=True)
    parts = [each for each in file.requests(file.models()[0]) if not each.is_probe]
    assert len({each.number for each in parts}) == 1
    assert [each.first_row for each in parts] == list(range(0, 40, max(1, part_bytes // 24)))
    np.testing.assert_array_equal(np.concatenate([each.points for each in parts]), points)
    model = Recorder(noise=0.1)
    np.testing.assert_array_equal(through(path, model).query(points[::-1]), answers[::-1])
    assert model.count == 0
    table = path.with_suffix(".csv")
    assert export_answers(path, table) == 40 + 2 * PROBE
    rows = [line.split(",")[:2] for line in table.read_text().splitlines()[1 + PROBE : 1 + PROBE + 40]]
    assert rows == [[str(parts[0].number), str(row)] for row in range(40)]


@pytest.mark.parametrize(("version", "lacking"), [(1, ("part_of", "first_row", "checksum")), (2, ("checksum",))])
def test_a_journal_of_an_earlier_version_is_read_and_gone_on_with(
    path: Path, points: np.ndarray, version: int, lacking: tuple[str, ...]
) -> None:
    """The first one has no columns for parts: every request is one row."""
    through(path, Recorder()).query(points[:30])
    old = sqlite3.connect(path)
    for column in lacking:
        old.execute(f"ALTER TABLE requests DROP COLUMN {column}")
    old.execute(f"PRAGMA user_version = {version}")
    old.commit()
    old.close()
    assert export_answers(path, path.with_suffix(".csv")) == 30 + PROBE
    model = Recorder()
    np.testing.assert_array_equal(through(path, model).query(points), 2.0 * points[:, :2])
    assert model.count == 10
    assert held(path) == 40


def held(path: Path) -> int:
    file = JournalFile(path, is_read=True)
    try:
        return sum(file.count(model) for model in file.models())
    finally:
        file.connection.close()


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_model_that_has_changed_is_refused(path: Path, points: np.ndarray, noise: float) -> None:
    through(path, Recorder(noise=noise)).query(points)
    through(path, Recorder(noise=noise)).query(points)
    changed = Recorder(noise=noise, factor=2.1)
    with pytest.raises(InvalidInput, match="'model' that has answered differently at the same points"):
        through(path, changed).query(points)
    assert changed.count == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_models_that_answer_nothing_but_this_are_told_from_others(value: float) -> None:
    probe, same = ModelProbe(), np.full((PROBE, 1), value)
    assert probe.is_same(same, same)
    assert not probe.is_same(same, np.ones((PROBE, 1)))
    assert not probe.is_same(np.ones((PROBE, 1)), same)


def test_rounding_in_the_last_digits_is_no_change() -> None:
    answers = np.random.default_rng(0).standard_normal((ModelProbe.points, 2)).repeat(2, axis=0)
    answers = np.tile(answers[::2], (2, 1)).astype(np.float32)
    assert ModelProbe().is_same(answers, answers * np.float32(1 + 2**-22))
    assert not ModelProbe().is_same(answers, answers * np.float32(1 + 2**-10))


def test_another_content_and_other_inputs_are_refused_before_any_query(path: Path) -> None:
    oracle: Oracle = CallableOracle(Recorder(), inputs=3)
    oracle.fingerprint = "1"
    JournalOracle(oracle, Journal(path, model="model"))
    oracle.fingerprint = "2"
    with pytest.raises(InvalidInput, match="had another content"):
        JournalOracle(oracle, Journal(path, model="model"))
    with pytest.raises(InvalidInput, match="had 3 inputs, this one has 4"):
        JournalOracle(CallableOracle(Recorder(), inputs=4), Journal(path, model="model"))


def test_models_of_other_names_have_answers_of_their_own(path: Path, points: np.ndarray) -> None:
    through(path, Recorder()).query(points)
    other = Recorder(factor=3.0)
    JournalOracle(CallableOracle(other, inputs=3), Journal(path, model="other")).query(points)
    assert other.count == 40


def test_a_domain_without_the_first_probe_has_one_of_its_own(path: Path) -> None:
    through(path, Recorder()).query(np.zeros((1, 3)))
    box = Box(5.0, 6.0)
    for _ in range(2):
        through(path, Recorder(), domain=box).query(np.full((1, 3), 5.5))
    with pytest.raises(InvalidInput, match="answered differently"):
        through(path, Recorder(factor=3.0), domain=box).query(np.full((1, 3), 5.5))


def test_probes_count_and_a_budget_without_room_for_them_sends_nothing(path: Path, points: np.ndarray) -> None:
    model = Recorder()
    with pytest.raises(BudgetExhausted):
        through(path, model, budget=PROBE - 1).query(points[:1])
    assert model.asked == []


def test_answers_that_are_not_finite_are_kept_and_said_again(path: Path) -> None:
    for _ in range(2):
        with pytest.raises(BadAnswer, match="finite"):
            through(path, lambda asked: np.where(asked > 50, np.nan, asked)).query(np.full((2, 3), 60.0))
    assert held(path) == 2


def test_answers_of_the_wrong_shape_are_not_kept(path: Path, points: np.ndarray) -> None:
    with pytest.raises(BadAnswer, match="need answers of shape"):
        through(path, lambda asked: asked[:-1]).query(points)
    assert held(path) == 0


@pytest.mark.parametrize("content", [b"something else", b"SQLite format 3\x00" + bytes(200)])
def test_a_file_of_something_else_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises((UnreadableFile, InvalidInput), match=r"journal\.sqlite"):
        through(path, Recorder())
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (id)")
    other.commit()
    other.close()
    content = path.read_bytes()
    with pytest.raises(UnreadableFile, match="database of something else"):
        through(path, Recorder())
    assert path.read_bytes() == content


def test_a_place_that_can_not_be_written_is_named_before_any_query(tmp_path: Path) -> None:
    model = Recorder()
    with pytest.raises(InvalidInput, match="can't be opened"):
        through(tmp_path / "missing" / "journal.sqlite", model)
    assert model.asked == []


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("place", ["", 3, None])
def test_a_journal_needs_a_path(place: Any) -> None:
    with pytest.raises(InvalidInput, match="needs the path of a file"):
        Journal(place)


FULL = """
import resource, sys
import numpy as np
from unweave.exceptions import NotWritten
from unweave.oracles.journal.oracle import Journal, JournalOracle
from unweave.oracles.oracle import CallableOracle
oracle = JournalOracle(CallableOracle(lambda points: points, inputs=3), Journal(sys.argv[1], model="model"))
oracle.query(np.zeros((1, 3)))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(1000):
        oracle.query(np.full((100, 3), float(number)))
except NotWritten as error:
    print(oracle.ledger.answered, error)
"""


def test_a_full_disk_ends_the_run_and_keeps_what_was_written(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=120)
    answered, _, words = done.stdout.partition(" ")
    assert "could not be written to the journal" in words, done.stderr
    assert held(path) == int(answered) - PROBE
    assert held(path) > 0


def test_two_runs_share_a_file_at_the_same_time(path: Path, points: np.ndarray) -> None:
    first, second = through(path, Recorder()), through(path, Recorder())
    for row in range(0, 40, 5):
        np.testing.assert_array_equal(first.query(points[row : row + 5]), second.query(points[row : row + 5]))
    model = Recorder()
    through(path, model).query(points)
    assert model.count == 0


def test_memory_does_not_grow_with_the_answers(path: Path) -> None:
    """Half a million points of 160 bytes: 80 MB, if they were kept."""
    oracle = JournalOracle(CallableOracle(lambda points: points[:, :1], inputs=20), Journal(path))
    rng = np.random.default_rng(0)
    oracle.query(rng.standard_normal((10_000, 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        oracle.query(rng.standard_normal((10_000, 20)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
    # What was written last is in the log beside the file.
    assert sum(os.path.getsize(each) for each in (path, f"{path}-wal")) > 80e6
