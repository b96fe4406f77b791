"""What a benchmark writes with `--json FILE`: every row that it prints, and how it was made.

A row is a dictionary. Words that mean the same everywhere, so that rows of different benchmarks can be summed up:
`trials`, `recovered` (to the tolerance of the benchmark, and said to be), `wrong` (said to be recovered, and not),
`largest_error` (of those recovered), `queries_per_parameter` (the median) and `cpu_seconds` (the median, of one trial).
"""

import argparse
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("numpy", "scipy", "scikit-learn", "jax", "torch", "distributed", "adversarial-robustness-toolbox")
# Below it a core was free: what runs here has not yet raised the load when it is read.
IDLE = 0.5
# Options that say where files are, which is nobody's business but the user's.
FILES = ("--json", "--out")


@dataclass
class Figures:
    """Keeps rows, and writes them as they come, so that a run that is stopped loses none.

    Args:
        file: where to; None keeps nothing.
        made: how the rows were made.
        rows: in the order in which they came.
    """

    file: Path | None
    made: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Figures":
        """Begin the figures of a command line."""
        return cls(args.json, {} if args.json is None else provenance(args))

    def keep(self, table: str, **row: Any) -> None:
        """Add a row to a table, which has the same columns in every row."""
        if self.file is None:
            return
        # Some benchmarks set the threads of linear algebra before anything is imported.
        from unweave.writing import as_json, for_json

        self.rows.append({"table": table, **for_json(row)})
        self.file.write_text(as_json({**self.made, "rows": self.rows}) + "\n", encoding="utf-8")


def provenance(args: argparse.Namespace) -> dict[str, Any]:
    """Say how figures were made: command, commit, seeds, date and kind of machine."""
    first = getattr(args, "seed", getattr(args, "first", None))
    return {
        "command": command(sys.argv),
        "commit": commit(),
        "first_seed": first if isinstance(first, int) else None,
        "seeds": next(
            (getattr(args, name) for name in ("seeds", "networks", "states", "planted") if name in args), None
        ),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            **{name: found for name in PACKAGES if (found := installed(name))},
        },
        "beside_other_work": os.getloadavg()[0] > IDLE,
    }


def command(words: list[str]) -> str:
    """Write the command that repeats a run, without the files that it wrote."""
    left = iter(words[1:])
    options = []
    for word in left:
        if word in FILES:
            next(left, None)
        elif not word.startswith(tuple(f"{name}=" for name in FILES)):
            options.append(word)
    return shlex.join(["python", f"benchmarks/{Path(words[0]).name}", *options])


def commit() -> str:
    """Name the commit of this checkout; "changed" behind it says that code is not that of the commit."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    status = [*git, "status", "--porcelain", "--untracked-files=no", "src", "benchmarks"]
    is_changed = bool(subprocess.run(status, capture_output=True, text=True, check=False).stdout)
    return (head or "unknown") + (" changed" if is_changed else "")


def installed(package: str) -> str:
    """Give the version of a package, or nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
