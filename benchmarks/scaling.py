"""How time, memory and queries grow with the size of a network, stage by stage, and what became slower.

    python benchmarks/scaling.py                             sizes up to 12,000 parameters
    python benchmarks/scaling.py --largest 110000            all sizes; minutes
    python benchmarks/scaling.py --families relu --seeds 3
    python benchmarks/scaling.py --store                     keep this commit and its figures as the baseline
    python benchmarks/scaling.py --compare                   what became slower since the stored commit, both in one run
    python benchmarks/scaling.py --compare 55fb756           against another one
    python benchmarks/scaling.py --peers                     and then peers on small sizes (peers.py, peers_tensors.py)

Every run is a process of its own with one thread, and CPU seconds count, after a first small run. Exponents are
the slopes of log seconds and log gigabytes over log parameters, from the sizes above 1,000 parameters; what a process
holds before its first query is left out of the memory. A comparison measures both commits in turn, since machines
differ from day to day: it prints ratios and both exponents, and exits with 1 if the median of one size is more than
10 % slower. `baseline.json` holds the commit, and the figures that were seen when it was stored.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median

import numpy as np

from command_line import parser_of, say

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "benchmarks" / "baseline.json"
# Above it a size counts as slower than before. The same commit against itself stays below with medians of five.
SLOWER = 1.1
# What differs by less CPU seconds is no news, whatever its ratio.
NEGLIGIBLE = 0.02
FEWEST_PARAMETERS = 1_000


@dataclass(frozen=True)
class Network:
    """A size of a family.

    Args:
        family: which networks grow.
        activation: of all hidden layers.
        shape: inputs, neurons and outputs.
        domain: where it is asked, a box or all of space.
    """

    family: str
    activation: str
    shape: str
    domain: str = "everywhere"

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        sizes = [int(size) for size in self.shape.split("-")]
        return sum((inputs + 1) * neurons for inputs, neurons in pairwise(sizes))


SMOOTH = ("10-20-1", "20-160-1", "30-360-1", "40-640-1", "50-1000-1")
SIZES = (
    *(Network("tanh", "tanh", shape) for shape in SMOOTH),
    *(Network("sigmoid", "sigmoid", shape) for shape in SMOOTH),
    *(Network("relu", "relu", shape) for shape in ("10-5-1", "100-50-1", "784-32-1", "784-128-1", "3072-64-10")),
    *(Network("two layers", "relu", shape) for shape in ("20-10-10-1", "40-20-20-1", "60-30-30-1", "784-32-32-1")),
    *(Network("box", "tanh", shape, "box") for shape in ("6-8-1", "10-30-1", "20-160-1", "30-360-1")),
)


def measured(network: Network, seed: int, source: Path) -> dict:
    """Run one identification with the package below a folder."""
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).with_name("scaling_run.py"))]
    options = [network.activation, network.shape, network.domain, str(seed)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{network.family} {network.shape} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def chosen(families: Sequence[str], largest: int) -> Iterator[Network]:
    """The sizes that were asked for."""
    return (size for size in SIZES if size.family in families and size.parameters <= largest)


def exponent(rows: Sequence[dict], numbers: Sequence[float]) -> str:
    """The power of the parameters that a number grows like."""
    parameters = np.array([row["parameters"] for row in rows], dtype=float)
    values, is_large = np.array(numbers), parameters >= FEWEST_PARAMETERS
    is_large &= values > 0
    if np.count_nonzero(is_large) < 2:
        return ""
    return f"{np.polyfit(np.log(parameters[is_large]), np.log(values[is_large]), 1)[0]:.2f}"


def show_table(family: str, rows: Sequence[dict]) -> None:
    """Print the rows of a family, one column per stage, and exponents."""
    stages = list(dict.fromkeys(stage for row in rows for stage in row["stages"]))
    columns = ["parameters", "identified", "q/param", "error", "radius", "GB", "CPU s", *stages]
    lines = [
        [
            f"{row['parameters']:,}",
            f"{row['identified']:d}",
            f"{row['queries'] / row['parameters']:.2f}",
            f"{row['error']:.1e}",
            f"{row['radius']:.1e}",
            f"{row['gigabytes']:.2f}",
            f"{row['seconds']:.2f}",
            *(f"{row['stages'].get(stage, 0.0):.2f}" for stage in stages),
        ]
        for row in rows
    ]
    held = min(row["gigabytes"] for row in rows)
    last = ["exponent", "", "", "", "", exponent(rows, [row["gigabytes"] - held for row in rows])]
    last += [exponent(rows, [row["seconds"] for row in rows])]
    last += [exponent(rows, [row["stages"].get(stage, 0.0) for row in rows]) for stage in stages]
    names = [row["shape"] for row in rows]
    widths = [max(len(line[column]) for line in (columns, *lines, last)) for column in range(len(columns))]
    first = max(len(name) for name in [family, *names])
    for name, line in zip([family, *names, ""], [columns, *lines, last], strict=True):
        say(f"{name:{first}s}  " + "  ".join(f"{word:>{width}s}" for word, width in zip(line, widths, strict=True)))
    say("")


def middle(rows: Sequence[dict]) -> dict:
    """The run of median time; identified only if all were."""
    row = sorted(rows, key=lambda each: each["seconds"])[len(rows) // 2]
    return row | {"identified": all(each["identified"] for each in rows)}


def checkout(commit: str, folder: Path) -> Path:
    """Put the source of a commit below a folder."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=False)
    if archive.returncode:
        raise SystemExit(f"no commit {commit}: {archive.stderr.decode()}")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def compare(commit: str, sizes: Sequence[Network], seeds: range) -> bool:
    """Print seconds of a commit and of this checkout, and their ratio; say whether anything became slower."""
    is_slower = False
    with tempfile.TemporaryDirectory() as folder:
        before = checkout(commit, Path(folder))
        say(f"{'':26s} {commit[:7]:>9s}  {'now':>8s}  ratio  {'GB':>11s}  q/param")
        for _, family in groupby(sizes, key=lambda size: size.family):
            rows = [compared(size, before, seeds) for size in family]
            is_slower |= any(is_worse for _, is_worse in rows)
            powers = [
                exponent(side, [row["seconds"] for row in side]) for side in zip(*(row for row, _ in rows), strict=True)
            ]
            if all(powers):
                say(f"{'':10s} {'exponent':14s}  {powers[0]:>8s}  {powers[1]:>8s}")
    return is_slower


def compared(size: Network, before: Path, seeds: range) -> tuple[tuple[dict, ...], bool]:
    """Measure one size on both sides in turn and print a line: the two middle runs, and whether it is worse now."""
    pairs = [(measured(size, seed, before), measured(size, seed, ROOT)) for seed in seeds]
    old, new = (median(pair[side]["seconds"] for pair in pairs) for side in (0, 1))
    is_slow = new > SLOWER * old and new - old > NEGLIGIBLE
    memory = [max(pair[side]["gigabytes"] for pair in pairs) for side in (0, 1)]
    queries = [median(pair[side]["queries"] for pair in pairs) / size.parameters for side in (0, 1)]
    lost = sum(pair[0]["identified"] and not pair[1]["identified"] for pair in pairs)
    said = ("  SLOWER" if is_slow else "") + (f"  {lost} no longer identified" if lost else "")
    say(
        f"{size.family:10s} {size.shape:14s}  {old:8.2f}  {new:8.2f}  {new / old:5.2f}  "
        f"{memory[0]:.2f} {memory[1]:.2f}    {queries[0]:.2f} {queries[1]:.2f}{said}"
    )
    return tuple(middle([pair[side] for pair in pairs]) for side in (0, 1)), is_slow or lost > 0


def stored_commit() -> str:
    """The commit of the stored baseline, which has to be in this clone."""
    if not BASELINE.exists():
        raise SystemExit(f"no baseline is stored in {BASELINE.name}: run with --store first, or name a commit.")
    commit = json.loads(BASELINE.read_text())["commit"]
    known = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", commit], capture_output=True, check=False)
    if known.returncode:
        raise SystemExit(f"the stored commit {commit[:7]} is not in this clone: fetch it, or store another baseline.")
    return commit


def this_commit() -> str:
    """The commit of this checkout, which has to be clean."""
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True, check=True).stdout:
        raise SystemExit("a baseline is that of a commit, and there are changes that are not committed.")
    return subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Measure, store or compare."""
    parser = parser_of(__doc__)
    families = list(dict.fromkeys(size.family for size in SIZES))
    parser.add_argument("--families", nargs="+", choices=families, default=families)
    parser.add_argument("--largest", type=int, default=12_000, help="most parameters of a network")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=300, help="the first seed")
    parser.add_argument("--store", action="store_true", help="keep the figures as the baseline")
    parser.add_argument("--compare", nargs="?", const="", metavar="COMMIT", help="the stored commit if none is given")
    parser.add_argument("--peers", action="store_true", help="run peers on small sizes afterwards")
    options = parser.parse_args()
    sizes, seeds = list(chosen(options.families, options.largest)), range(options.first, options.first + options.seeds)
    if options.compare is not None:
        return int(compare(options.compare or stored_commit(), sizes, seeds))
    commit = this_commit() if options.store else ""
    kept = []
    for family in options.families:
        rows = [middle([measured(size, seed, ROOT) for seed in seeds]) for size in sizes if size.family == family]
        if rows:
            show_table(family, rows)
        kept += rows
    if options.store:
        BASELINE.write_text(json.dumps({"commit": commit, "rows": kept}, indent=1) + "\n")
    return run_peers(seeds) if options.peers else 0


def run_peers(seeds: range) -> int:
    """Run the comparisons with peers, on sizes that they can do, and say whether all ended well."""
    chosen = ["--seeds", str(len(seeds)), "--first", str(seeds.start)]
    runs = [["peers.py", *chosen], ["peers_tensors.py", *chosen]]
    here = Path(__file__).parent
    return max(subprocess.run([sys.executable, here / name, *rest], check=False).returncode for name, *rest in runs)


if __name__ == "__main__":
    sys.exit(main())
