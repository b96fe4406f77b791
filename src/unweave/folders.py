"""Files that are whole or absent: what is written together appears together, or not at all.

New files are written under names of their own beside their places and forced to the disk. A journal, put into place by
one rename, then says which of them belong where: from that moment on the new files count, before it the old ones. After
it they are moved, and the journal is removed. Whoever is killed in between leaves a journal that readers go by and the
next writer carries out, or leftovers that the next writer removes. Writers of a folder wait for each other on a lock of
the folder itself, which ends with the process that holds it.
"""

import errno
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from unweave.exceptions import NotWritten

try:
    import fcntl
except ImportError:  # Windows has no such locks: two writers at once are then told apart by checksums only.
    fcntl = None

# Names of files that are not yet, or no longer, part of what a folder holds.
PREFIX = ".unweave-"
JOURNAL = f"{PREFIX}journal.json"
# Writing takes milliseconds; who waits longer waits for a process that was stopped, or for a dead file server.
WAIT_SECONDS = 30.0
POLL_SECONDS = 0.005

Contents = Mapping[str, bytes | str]


@dataclass(frozen=True)
class Journal:
    """What a writer has decided, and may not have carried out.

    Args:
        moves: names that files get, by the names under which they were written.
        removed: names that are gone.
    """

    moves: Mapping[str, str]
    removed: tuple[str, ...]

    def place(self, folder: Path, name: str) -> Path | None:
        """Where the file of a name is now; None if it is gone."""
        if name in self.removed:
            return None
        for written, final in self.moves.items():
            if final == name and (folder / written).exists():
                return folder / written
        return folder / name


NO_JOURNAL = Journal({}, ())


@contextmanager
def writing_to(place: object) -> Iterator[None]:
    """Turn errors of the disk into `NotWritten`, which says where.

    Raises:
        NotWritten: if the disk is full, the place is protected, or is no folder.
    """
    try:
        yield
    except OSError as error:
        raise NotWritten(f"the results could not be written to {place}: {error}.") from error


def write_files(
    folder: str | Path, contents: Contents, *, removed: Iterable[str] = (), check: Callable[[], object] | None = None
) -> tuple[Path, ...]:
    """Write files to a folder, which is made if it is missing: all of them are there afterwards, or none.

    Args:
        folder: where to.
        contents: of the files, by their names.
        removed: names of files that are gone when the new ones appear.
        check: called when no other writer is at work; nothing is changed if it raises.

    Raises:
        NotWritten: if that is not possible; what was there before is then still there.
    """
    folder = Path(folder)
    with writing_to(folder), made(folder):
        _write(folder, contents, removed, check)
    return tuple(folder / name for name in contents)


def write_file(path: str | Path, content: bytes | str) -> None:
    """Write one file to a folder that exists; a file of that name is replaced when the new one is whole.

    Raises:
        NotWritten: if that is not possible.
    """
    # A link stays a link: what it points to is replaced.
    place = Path(os.path.realpath(path))
    with writing_to(path):
        if place.exists() and not place.is_file():
            # A device or a pipe has no whole state; a folder is refused by the system.
            place.write_bytes(_encoded(content))
            return
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(place.parent))
        _write(place.parent, {place.name: content}, (), None)


def read_files(folder: str | Path, names: Iterable[str]) -> dict[str, bytes]:
    """Read those of the named files that are there, all as one writer has left them.

    Raises:
        OSError: if one can't be read.
    """
    folder, found = Path(folder), {}
    with _locked(folder, is_shared=True):
        journal = _journal(folder)
        for name in names:
            place = journal.place(folder, name)
            with suppress(FileNotFoundError):
                if place is not None:
                    found[name] = place.read_bytes()
    return found


def read_file(path: str | Path) -> bytes:
    """Read one file, as its last writer has left it.

    Raises:
        OSError: if it can't be read.
    """
    path = Path(path)
    if not (path.parent / JOURNAL).exists():
        return path.read_bytes()
    found = read_files(path.parent, [path.name])
    return found[path.name] if path.name in found else path.read_bytes()


def names_in(folder: str | Path) -> set[str]:
    """Names of what a folder holds, without what killed writers have left."""
    folder = Path(folder)
    with _locked(folder, is_shared=True):
        journal = _journal(folder)
        held = {each.name for each in folder.iterdir() if not each.name.startswith(PREFIX)}
    return (held | set(journal.moves.values())) - set(journal.removed)


def _write(folder: Path, contents: Contents, removed: Iterable[str], check: Callable[[], object] | None) -> None:
    with _locked(folder, is_shared=False) as is_alone:
        if is_alone:
            _settle(folder)
        if check is not None:
            check()
        for name in contents:
            if (folder / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", str(folder / name))
        # Unique, so that not even writers on a disk without locks touch each other's files.
        key = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}-"
        journal = Journal({f"{key}{name}": name for name in contents}, tuple(sorted(set(removed) - set(contents))))
        with _undone(folder, journal, key):
            for written, name in journal.moves.items():
                _write_through(folder / written, _encoded(contents[name]))
            if len(journal.moves) == 1 and not journal.removed:
                # One rename needs no journal.
                ((written, name),) = journal.moves.items()
                os.replace(folder / written, folder / name)
                _sync(folder)
                return
            text = json.dumps({"moves": journal.moves, "removed": journal.removed})
            _write_through(folder / key, text.encode())
            _sync(folder)
            os.replace(folder / key, folder / JOURNAL)
        _sync(folder)
        _finish(folder, journal)


def _finish(folder: Path, journal: Journal) -> None:
    """Carry out what was decided; what is done already is passed over."""
    for written, name in journal.moves.items():
        with suppress(FileNotFoundError):
            os.replace(folder / written, folder / name)
    for name in journal.removed:
        (folder / name).unlink(missing_ok=True)
    _sync(folder)
    (folder / JOURNAL).unlink(missing_ok=True)
    _sync(folder)


def _settle(folder: Path) -> None:
    """Finish the work of a writer that was killed, and remove what others have left; the lock tells that none lives."""
    if (folder / JOURNAL).exists():
        _finish(folder, _journal(folder))
    for each in list(folder.iterdir()):
        if each.name.startswith(PREFIX):
            with suppress(OSError):
                each.unlink()


def _journal(folder: Path) -> Journal:
    """What is decided and not carried out; nothing if there is no journal, or none that a writer has written."""
    try:
        told = json.loads((folder / JOURNAL).read_text(encoding="utf-8"))
        moves, removed = dict(told["moves"]), tuple(told["removed"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return NO_JOURNAL
    names = [*moves, *moves.values(), *removed]
    # Names of this folder only, wherever it came from.
    are_names = all(isinstance(each, str) and each == os.path.basename(each) not in ("", "..", ".") for each in names)
    is_ours = are_names and all(each.startswith(PREFIX) for each in moves)
    return Journal(moves, removed) if is_ours else NO_JOURNAL


def _write_through(path: Path, data: bytes) -> None:
    """Write a new file that survives a power cut."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make names survive a power cut, where the system can do that for folders."""
    with _handle(folder) as handle:
        if handle is not None:
            with suppress(OSError):
                os.fsync(handle)


@contextmanager
def _undone(folder: Path, journal: Journal, key: str) -> Iterator[None]:
    """Leave nothing behind if it fails or is interrupted before the decision."""
    try:
        yield
    except BaseException:
        is_decided = _journal(folder) == journal
        for name in () if is_decided else (*journal.moves, key):
            with suppress(OSError):
                (folder / name).unlink()
        raise


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder with its parents, and remove those that are still empty if what is done inside fails."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in new:
            with suppress(OSError):
                each.rmdir()
        raise


@contextmanager
def _handle(folder: Path) -> Iterator[int | None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # A folder that may be written but not listed, or Windows.
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path, *, is_shared: bool) -> Iterator[bool]:
    """Keep writers out, and as a writer readers, too; False where folders can't be locked, or a reader waits in vain.

    Raises:
        TimeoutError: if another writer does not end.
    """
    with _handle(folder) as handle:
        if fcntl is None or handle is None:
            yield False
            return
        kind, end = (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX), time.monotonic() + WAIT_SECONDS
        is_held = False
        while not is_held:
            try:
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
                is_held = True
            except BlockingIOError:
                if time.monotonic() > end:
                    if is_shared:
                        break
                    raise TimeoutError(errno.ETIMEDOUT, "another process is writing there and does not end") from None
                time.sleep(POLL_SECONDS)
            except OSError:  # Some file servers know no such locks.
                break
        yield is_held


def _encoded(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
