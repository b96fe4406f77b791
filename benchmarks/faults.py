"""What run folders and readers of files stand: kill -9 at random moments, two writers, a full disk, damaged files.

    python benchmarks/faults.py                        # 500 kills, a few minutes
    python benchmarks/faults.py --kills 20 --writes 20 --damages 200

Half of the kills hit the whole command `unweave identify network.safetensors --out run --overwrite`, half a process
that does nothing but replace the run. After every kill the folder is read, and written again. Printed are counts of

* torn: something was read that no single run had written, or an earlier run was gone;
* blocked: the next run could not be written;
* other: a damaged file ended with something else than a clear error or a value.

The exit code is 1 if one of them is not zero.
"""

import io
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np

from command_line import parser_of
from unweave.activations import TANH
from unweave.cli import run
from unweave.exceptions import NotWritten, UnweaveError
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.reports.files import read_run, write_run
from unweave.reports.json import as_document, network_document
from unweave.result import Cost, Outcome, Result

SAVED = "network.safetensors"
TABLES = ("a.csv", "a.tsv.gz", "a.parquet", "a.feather")
FULL_DISK = 5


def planted(number: int) -> Result:
    """Make a result that tells which one it is, by its cost and by the width of its network."""
    network = general_network(np.random.default_rng(0), inputs=3, neurons=2 + number % 3, activation=TANH)
    return Result(Outcome.IDENTIFIED, "planted.", network if number % 4 else None, cost=Cost(queries=number))


def is_whole(folder: Path) -> bool:
    """Whether what is read was written by one run."""
    saved = read_run(folder)
    number, network = saved.result.queries, saved.result.network
    width = network.widths[0] if isinstance(network, Network) else None
    return saved.settings == {"number": number} and width == (2 + number % 3 if number % 4 else None)


def in_child(work: Callable[[], object]) -> int:
    """Start work in a copy of this process, so that nothing is imported again."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                code = int(work() or 0)  # type: ignore[call-overload]
        finally:
            os._exit(code)
    return child


def replace_for_ever(folder: Path, first: int) -> None:
    """Write one run after the other."""
    number = first
    while True:
        write_run(folder, planted(number), {"number": number}, overwrite=True)
        number += 1


def kill_writers(folder: Path, kills: int, rng: np.random.Generator) -> Counter[str]:
    """Kill processes that replace a run again and again."""
    counts: Counter[str] = Counter(kills=0, torn=0, blocked=0)
    write_run(folder, planted(1), {"number": 1}, overwrite=True)
    for kill in range(kills):
        child = in_child(lambda kill=kill: replace_for_ever(folder, 1 + 1_000 * kill))
        time.sleep(float(rng.uniform(0.0, 0.03)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts.update(kills=1, torn=not _holds(lambda: is_whole(folder)))
        counts.update(blocked=not _holds(lambda: write_run(folder, planted(3), {"number": 3}, overwrite=True)))
        leftovers = [each.name for each in folder.iterdir() if each.name.startswith(".")]
        counts.update(blocked=bool(leftovers))
    return counts


def kill_commands(folder: Path, kills: int, rng: np.random.Generator) -> Counter[str]:
    """Kill the command at moments all over its run, and in the moments in which it writes."""
    counts: Counter[str] = Counter(kills=0, torn=0, blocked=0)
    source = folder / SAVED
    general_network(np.random.default_rng(1), inputs=3, neurons=2, activation=TANH).save(source)
    arguments = ["identify", str(source), "--out", str(folder / "run"), "--overwrite", "--quiet"]
    # Here, so that copies of this process import nothing.
    with redirect_stdout(io.StringIO()):
        run(arguments)
    began = time.perf_counter()
    _, status = os.waitpid(in_child(lambda: run(arguments)), 0)
    seconds = time.perf_counter() - began
    if status != 0:
        raise RuntimeError(f"the command that is to be killed ends with {os.waitstatus_to_exitcode(status)} by itself")
    for kill in range(kills):
        child = in_child(lambda: run(arguments))
        # Files are written in the last tenth.
        time.sleep(seconds * float(rng.uniform(0.0, 1.1) if kill % 2 else rng.uniform(0.85, 1.1)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts.update(kills=1, torn=not _holds(lambda: read_run(folder / "run").result.is_identified))
    _, status = os.waitpid(in_child(lambda: run(arguments)), 0)
    counts.update(blocked=status != 0)
    return counts


def two_writers(folder: Path, writes: int) -> Counter[str]:
    """Let two processes replace the same run, and read it all the time."""
    counts: Counter[str] = Counter(reads=0, torn=0, blocked=0)

    def write(first: int) -> None:
        for number in range(first, first + writes):
            write_run(folder, planted(number), {"number": number}, overwrite=True)

    write(1)
    children = {in_child(lambda first=first: write(first)) for first in (1_000_000, 2_000_000)}
    while children:
        counts.update(reads=1, torn=not _holds(lambda: is_whole(folder)))
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            children.remove(ended)
            counts.update(blocked=status != 0)
    return counts


def full_disk(folder: Path, step: int) -> Counter[str]:
    """Write with limits on the size of files, `step` bytes apart, which give a real error of the system at any byte."""
    counts: Counter[str] = Counter(tries=0, torn=0, blocked=0, other=0)
    write_run(folder, planted(1), {"number": 1}, overwrite=True)
    names = set(os.listdir(folder))

    def write(limit: int) -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            write_run(folder, planted(2), {"number": 2}, overwrite=True)
        except NotWritten:
            return FULL_DISK
        return 0

    for limit in range(0, 1_000, step):
        _, status = os.waitpid(in_child(lambda limit=limit: write(limit)), 0)
        is_kept = _holds(lambda: read_run(folder).result.queries == 1) and set(os.listdir(folder)) == names
        counts.update(tries=1, other=os.waitstatus_to_exitcode(status) != FULL_DISK, torn=not is_kept)
    counts.update(blocked=not _holds(lambda: write_run(folder, planted(3), {"number": 3}, overwrite=True)))
    return counts


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, insert, or overwrite a stretch."""
    data, place = bytearray(whole), int(rng.integers(len(whole)))
    match int(rng.integers(5)):
        case 0:
            data[place] ^= 1 << int(rng.integers(8))
        case 1:
            del data[place:]
        case 2:
            data[place:place] = rng.bytes(int(rng.integers(1, 20)))
        case 3:
            data[place : place + 8] = rng.bytes(8)
        case _:
            del data[place : place + int(rng.integers(1, 20))]
    return bytes(data)


def readers(folder: Path) -> Mapping[str, tuple[Path, Callable[[], object], bool]]:
    """A good file of every format, how it is read, and whether it holds a checksum."""
    from unweave.explore.feature_correction.image_data import read_archive
    from unweave.samples.npy_files import NpySource
    from unweave.samples.sources import first_rows
    from unweave.samples.tables import table_source

    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 2))
    network = general_network(rng, inputs=2, neurons=2, activation=TANH)
    network.save(folder / SAVED)
    run_folder = write_run(folder / "run", planted(1), {"number": 1})
    np.savez_compressed(folder / "a.npz", x_train=points, y_train=points[:, 0])
    np.save(folder / "x.npy", points)
    np.save(folder / "y.npy", points[:, 0])
    _write_tables(folder, points)

    def table(name: str) -> object:
        source = table_source((folder / name,), label="y")
        return first_rows(source, inputs=len(source.input_names), most=1_000)

    def whole_run() -> object:
        saved = read_run(run_folder)
        return as_document(saved.result), saved.settings, saved.environment

    arrays = folder / "x.npy"
    return {
        "result.json": (run_folder / "result.json", whole_run, True),
        "settings.json": (run_folder / "settings.json", whole_run, True),
        "safetensors": (folder / SAVED, lambda: network_document(Network.load(folder / SAVED)), True),
        "npz": (folder / "a.npz", lambda: read_archive(folder / "a.npz"), False),
        "npy": (arrays, lambda: first_rows(NpySource(arrays, folder / "y.npy"), inputs=2, most=1_000), False),
        **{name: (folder / name, partial(table, name), False) for name in TABLES},
    }


def damage(folder: Path, damages: int, rng: np.random.Generator) -> dict[str, Counter[str]]:
    """Read damaged files of all formats; what holds a checksum is refused, or reads as before."""
    found = {}
    for name, (path, read, is_sealed) in readers(folder).items():
        whole, counts = path.read_bytes(), Counter(damages=0, refused=0, torn=0, other=0)
        first = read()
        for _ in range(damages):
            path.write_bytes(damaged(whole, rng))
            counts.update(damages=1)
            try:
                again = read()
                counts.update(torn=is_sealed and again != first)
            except UnweaveError:
                counts.update(refused=1)
            except Exception as error:
                counts.update(other=1)
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        path.write_bytes(whole)
        found[name] = counts
    return found


def _write_tables(folder: Path, points: np.ndarray) -> None:
    import pyarrow as arrow
    from pyarrow import feather, parquet

    np.savetxt(folder / "a.csv", points, delimiter=",", header="a,y", comments="")
    np.savetxt(folder / "a.tsv.gz", points, delimiter="\t", header="a\ty", comments="")
    whole = arrow.table({"a": points[:, 0], "y": points[:, 1]})
    parquet.write_table(whole, folder / "a.parquet")
    feather.write_feather(whole, folder / "a.feather")


def _holds(statement: Callable[[], object]) -> bool:
    try:
        return bool(statement())
    except UnweaveError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return False


def main(arguments: list[str] | None = None) -> int:
    """Run all of it and print the counts."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--writes", type=int, default=300, help="of each of two writers")
    parser.add_argument("--damages", type=int, default=5_000, help="of every format")
    parser.add_argument("--disk-step", type=int, default=20, help="bytes between two sizes of a full disk")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("writer", "command", "two", "full", "damaged"):
            (place / part).mkdir()
        counts = {
            "kill -9, writer": kill_writers(place / "writer", options.kills - options.kills // 2, rng),
            "kill -9, command": kill_commands(place / "command", options.kills // 2, rng),
            "two writers": two_writers(place / "two", options.writes),
            "full disk": full_disk(place / "full", options.disk_step),
            **{f"damaged {each}": held for each, held in damage(place / "damaged", options.damages, rng).items()},
        }
    for each, held in counts.items():
        print(f"{each:24}" + "  ".join(f"{word} {number:5}" for word, number in held.items()))
    bad = sum(held[word] for held in counts.values() for word in ("torn", "blocked", "other"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
