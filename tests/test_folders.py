"""Files are whole or absent: after kills at every step, full disks, and with two writers at once."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unweave import folders
from unweave.exceptions import InvalidInput, NotWritten
from unweave.folders import JOURNAL, PREFIX, names_in, read_file, read_files, write_file, write_files

OLD, NEW = {"a": b"old a", "b": b"old b"}, {"a": b"new a", "c": b"new c"}
NAMES = ("a", "b", "c")


# A process that copies itself for every writer: copies of the one that runs the tests have to copy a table of all its
# memory, and may hold locks of threads that they do not have.
WRITERS = f"""
import os, signal, sys
from pathlib import Path
from unweave.folders import write_files

for line in sys.stdin:
    step, function, folder = line.rstrip().split(maxsplit=2)
    child = os.fork()
    if child == 0:
        calls, real = iter(range(1_000)), getattr(os, function)

        def dying(*arguments, **settings):
            if next(calls) == int(step):
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **settings)

        setattr(os, function, dying)
        write_files(Path(folder), {NEW}, removed=["b"])
        os._exit(0)
    print(os.WIFSIGNALED(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def writers() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WRITERS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def killed_at(step: int, function: str, folder: Path, writers: subprocess.Popen[str]) -> bool:
    """Write the new files in a child that dies in the given call of a function of `os`; whether it came to that."""
    assert writers.stdin is not None
    assert writers.stdout is not None
    print(step, function, folder, file=writers.stdin, flush=True)
    return {"True\n": True, "False\n": False}[writers.stdout.readline()]


@pytest.mark.parametrize("function", ["open", "replace", "fsync", "unlink"])
def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_files(
    function: str, tmp_path: Path, writers: subprocess.Popen[str]
) -> None:
    """audit B6: kill -9 left half a run, and overwriting deleted the earlier one first."""
    step, is_killed, seen = 0, True, []
    while is_killed:
        folder = tmp_path / str(step)
        write_files(folder, OLD)
        is_killed = killed_at(step, function, folder, writers)
        held = read_files(folder, NAMES)
        assert held in (OLD, NEW)
        assert names_in(folder) == set(held)
        seen.append(held)
        write_files(folder, {"d": b"later"})
        assert {each.name for each in folder.iterdir()} == {*held, "d"}, "leftovers are removed by the next writer"
        assert read_files(folder, NAMES) == held
        step += 1
    # Nothing is removed before the new files count.
    assert seen[0] == (NEW if function == "unlink" else OLD)
    assert seen[-1] == NEW
    assert step > 2


def test_files_are_written_whole(tmp_path: Path) -> None:
    written = write_files(tmp_path / "new", {"a.json": "{}", "b.bin": b"\x00"})
    assert [path.read_bytes() for path in written] == [b"{}", b"\x00"]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"a.json", "b.bin"}


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritten, match=r"could not be written to .*file"):
        write_files(tmp_path / "file", {"a.json": "{}"})
    with pytest.raises(NotWritten, match="no such folder"):
        write_file(tmp_path / "nowhere" / "a", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotWritten, match="directory"):
        write_file(tmp_path / "folder", b"")
    with pytest.raises(NotWritten, match="folder of that name"):
        write_files(tmp_path, {"b": b"", "folder": b""})
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_leaves_nothing_new(is_there: bool, tmp_path: Path) -> None:
    """audit B6: disk full left empty files. A limit on the size of files stands for it: a real error of the system."""
    folder = tmp_path / "deep" / "run"
    if is_there:
        write_files(folder, OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(NotWritten, match="too large"):
            write_files(folder, {"a": b"short", "c": b"longer than that"}, removed=["b"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if is_there:
        assert {each.name: each.read_bytes() for each in folder.iterdir()} == OLD
    else:
        assert not (tmp_path / "deep").exists()


def test_an_interrupted_writer_leaves_nothing_before_the_decision_and_all_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace
    for is_before in (True, False):

        def replace(*arguments: str, is_before: bool = is_before) -> None:
            if not is_before:
                real(*arguments)
            raise KeyboardInterrupt

        folder = tmp_path / str(is_before)
        write_files(folder, OLD)
        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            write_files(folder, NEW, removed=["b"])
        monkeypatch.setattr(os, "replace", real)
        assert read_files(folder, NAMES) == (OLD if is_before else NEW)
        assert not (is_before and any(each.name.startswith(PREFIX) for each in folder.iterdir()))


def test_two_writers_never_mix(tmp_path: Path) -> None:
    """audit B6: two writers mixed settings and result (14 of 54)."""
    sets = [{name: f"{writer} {name}".encode() for name in NAMES} for writer in ("one", "two")]
    write_files(tmp_path, sets[0])

    def write(contents: dict[str, bytes]) -> None:
        for _ in range(30):
            write_files(tmp_path, contents)

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(write, each) for each in sets]
        while not all(each.done() for each in done):
            assert read_files(tmp_path, NAMES) in sets
        for each in done:
            each.result()
    assert {each.name for each in tmp_path.iterdir()} == set(NAMES)


def test_a_writer_that_does_not_end_is_told_and_does_not_stop_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, OLD)
    monkeypatch.setattr(folders, "WAIT_SECONDS", 0.05)
    code = (
        "import fcntl, os, sys; handle = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(handle, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(NotWritten, match="another process is writing"):
            write_files(tmp_path, NEW)
        assert read_files(tmp_path, NAMES) == OLD
        holder.kill()
    write_files(tmp_path, NEW, removed=["b"])
    assert read_files(tmp_path, NAMES) == NEW


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"moves": {"a": "b"}, "removed": []}', '{"moves": {".unweave-x": "../c"}, "removed": []}',
     '{"moves": {}, "removed": ["/etc/passwd"]}', '{"moves": [1], "removed": 3}'],
)  # fmt: skip
def test_a_journal_that_no_writer_wrote_is_no_journal(text: str, tmp_path: Path) -> None:
    write_files(tmp_path, OLD)
    (tmp_path / JOURNAL).write_text(text)
    assert read_files(tmp_path, NAMES) == OLD
    assert read_file(tmp_path / "a") == b"old a"
    write_files(tmp_path, NEW)
    assert {each.name for each in tmp_path.iterdir()} == set(NAMES)


def test_a_check_that_refuses_changes_nothing(tmp_path: Path) -> None:
    def refuse() -> None:
        raise InvalidInput("not now")

    with pytest.raises(InvalidInput, match="not now"):
        write_files(tmp_path / "new", NEW, check=refuse)
    assert not (tmp_path / "new").exists()


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", b"one")
    write_file(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"two"
    with pytest.raises(NotWritten, match="No space left"):
        write_file("/dev/full", b"three")
    assert Path("/dev/full").is_char_device()


def test_where_folders_cannot_be_locked_files_are_whole_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "fcntl", None)
    write_files(tmp_path, OLD)
    write_files(tmp_path, NEW, removed=["b"])
    assert read_files(tmp_path, NAMES) == NEW
    assert {each.name for each in tmp_path.iterdir()} == set(NEW)
