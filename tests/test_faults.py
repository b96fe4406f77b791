"""A small version of `benchmarks/faults.py`: kills, two writers, a full disk and damaged files."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

FAULTS = Path(__file__).parent.parent / "benchmarks" / "faults.py"


def test_nothing_torn_is_read_and_nothing_blocks() -> None:
    """audit B6: kills tore 22 of 120 runs, two writers mixed 14 of 54; damaged files of all formats are refused."""
    sizes = ["--kills", "2", "--writes", "2", "--damages", "30", "--disk-step", "100"]
    done = subprocess.run([sys.executable, str(FAULTS), *sizes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 13
    for line in lines:
        told = dict(pairwise(line))
        assert told["torn"] == "0"
        assert {told.get(word, "0") for word in ("blocked", "other")} == {"0"}
