"""Readers who follow a job open few files, in order: `benchmarks/way.py` counts them, and here they stay few."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Two thirds of the files that were visited before methods had folders of their own.
MOST_FILES = {"identify a tanh network": 22, "ReluNetworkRegressor.fit": 30, "unweave learn halfspaces": 25}
# In a process of its own: tests that check types wrap functions, and these would count.
WALKS = """
import json, tempfile
from functools import partial
from pathlib import Path

import numpy as np

import unweave, way

found = {}
with tempfile.TemporaryDirectory() as folder:
    for name, job in way.JOBS.items():
        for walk in (partial(job, np.random.default_rng(0), Path(folder)) for _ in range(2)):
            files = way.visited(walk, Path(unweave.__file__).parent)
        found[name] = files, way.returns(files)
print(json.dumps(found))
"""


@pytest.mark.slow
def test_jobs_visit_few_files_and_return_to_no_method() -> None:
    done = subprocess.run([sys.executable, "-c", WALKS], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    walks = json.loads(done.stdout.splitlines()[-1])
    assert walks.keys() == MOST_FILES.keys()
    for name, (files, returned_to) in walks.items():
        assert len(files) <= MOST_FILES[name], f"{name}: {files}"
        assert not returned_to
