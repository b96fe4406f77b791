"""CPU seconds (user and system) until Unweave can be used, and the imports that take longest.

    python benchmarks/startup.py                     # 5 runs of each
    python benchmarks/startup.py --runs 1 --imports 0

Each run is a process of its own, after one that is not counted (it compiles to bytecode). NumPy alone is given as a
scale, since CPU seconds differ from machine to machine.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from command_line import parser_of, say

LIBRARY = "import unweave; unweave.identify"
COMMAND = "import sys; from unweave.cli import run; sys.exit(run(sys.argv[1:]))"
# A model that ends the process at its first query.
MODEL = "import os\ndef answer(points):\n    os._exit(7)\n"
IMPORT_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def start(code: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *options, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def cpu_seconds(code: str, *arguments: str, expected: int = 0) -> float:
    """CPU seconds of a process, which has to end with the expected exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = start(code, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != expected:
        raise SystemExit(f"{code} ended with {done.returncode}:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def heaviest_imports(code: str) -> list[tuple[str, float]]:
    """Seconds of each package's own modules, second level for the largest packages, longest first."""
    seconds: Counter[str] = Counter()
    for line in start(code, options=("-X", "importtime")).stderr.splitlines():
        if found := IMPORT_LINE.match(line):
            parts = found[2].split(".")
            seconds[".".join(parts[: 2 if parts[0] in ("scipy", "unweave") else 1])] += int(found[1]) / 1e6
    return seconds.most_common()


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--imports", type=int, default=15, help="how many of the heaviest imports are printed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "startup_model.py").write_text(MODEL)
        os.chdir(folder)
        cases = {
            "import numpy": ("import numpy",),
            "unweave --help": (COMMAND, "--help"),
            "unweave identify --help": (COMMAND, "identify", "--help"),
            "import unweave; unweave.identify": (LIBRARY,),
            "unweave identify, to its first query": (COMMAND, "identify", "startup_model:answer", "--inputs", "3"),
        }
        print(f"{'CPU seconds':38s} smallest  median")
        for name, case in cases.items():
            expected = 7 if "query" in name else 0
            times = sorted(cpu_seconds(*case, expected=expected) for _ in range(options.runs + 1))[: options.runs]
            say(f"{name:38s} {times[0]:8.2f} {times[len(times) // 2]:7.2f}")
        for package, seconds in heaviest_imports(LIBRARY)[: options.imports]:
            print(f"{seconds:8.3f} s  {package}")


if __name__ == "__main__":
    main()
