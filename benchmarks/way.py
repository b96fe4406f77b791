"""The way of three jobs through the source: files in the order of their first visit.

    python benchmarks/way.py                                 this checkout
    python benchmarks/way.py --source ../before --brief      another one, numbers only

A reader who follows a job opens these files. A job runs once before it is watched, so that imports do not count. A
method folder is `identification/<route>` or `learn/<method>`; a walk returns to one if it visits a new file there after
a file of another method folder.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import FrameType

import numpy as np

from command_line import parser_of

# Folders with methods, and what lies in them for several methods.
METHODS, SHARED = ("identification", "learn"), ("identification/walks",)


def identify_tanh(rng: np.random.Generator, folder: Path) -> None:
    """Identify a tanh network with 10 inputs and 5 neurons from its answers."""
    import unweave

    del folder
    weights, biases = rng.standard_normal((5, 10)) / np.sqrt(10), 0.3 * rng.standard_normal(5)
    heights = rng.standard_normal(5) / np.sqrt(5)
    found = unweave.identify(lambda points: np.tanh(points @ weights.T + biases) @ heights, inputs=10)
    assert found.is_identified, found.reason


def fit_relu(rng: np.random.Generator, folder: Path) -> None:
    """Fit the estimator for ReLU networks to 10,000 samples of 5 neurons."""
    import unweave.learn

    del folder
    weights, biases = rng.standard_normal((5, 10)), 0.3 * rng.standard_normal(5)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    heights, points = 2 * rng.standard_normal(5) / np.sqrt(5), rng.standard_normal((10_000, 10))
    unweave.learn.ReluNetworkRegressor().fit(points, np.maximum(points @ weights.T + biases, 0.0) @ heights)


def learn_halfspaces(rng: np.random.Generator, folder: Path) -> None:
    """Run `unweave learn halfspaces` on 20,000 points in and outside of a triangle."""
    from unweave.cli import run

    points, table = rng.standard_normal((20_000, 2)), folder / "triangle.csv"
    inside = np.all(points @ np.array([[1, 0.2], [-0.5, 1], [-0.4, -1]]).T < 1.2, axis=1)
    np.savetxt(table, np.c_[points, inside], delimiter=",", header="a,b,inside", comments="")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        run(["learn", "halfspaces", str(table), "--target", "inside", "--quiet"])


JOBS: dict[str, Callable[[np.random.Generator, Path], None]] = {
    "identify a tanh network": identify_tanh,
    "ReluNetworkRegressor.fit": fit_relu,
    "unweave learn halfspaces": learn_halfspaces,
}


def visited(job: Callable[[], None], source: Path) -> list[str]:
    """Files below a folder in the order in which a job first calls something in them."""
    found: dict[str, None] = {}
    prefix = f"{source}{os.sep}"

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(prefix) and frame.f_code.co_name != "<module>":
            found.setdefault(name.removeprefix(prefix))

    sys.setprofile(watch)
    try:
        job()
    finally:
        sys.setprofile(None)
    return list(found)


def method_folders(files: Sequence[str]) -> Iterator[str]:
    """The method folders of a walk, one entry for every stay."""
    folders = ("/".join(Path(file).parts[:2]) for file in files if len(Path(file).parts) > 2)
    inside = (folder for folder in folders if folder.split("/")[0] in METHODS and folder not in SHARED)
    return (folder for folder, _ in groupby(inside))


def returns(files: Sequence[str]) -> list[str]:
    """Method folders that a walk comes back to after it was in another one."""
    stays = list(method_folders(files))
    return sorted({folder for folder in stays if stays.count(folder) > 1})


def show(name: str, files: Sequence[str], *, is_brief: bool) -> None:
    """Print a walk."""
    stays = sum(1 for _ in groupby(str(Path(file).parent) for file in files))
    back = ", ".join(returns(files)) or "none"
    print(f"{name}: {len(files)} files, {stays} stays in folders; method folders returned to: {back}")
    if not is_brief:
        print("".join(f"    {file}\n" for file in files), end="")


def main() -> None:
    """Print the ways of all jobs."""
    parser = parser_of(__doc__)
    parser.add_argument("--source", type=Path, help="another checkout, whose src/unweave is walked through")
    parser.add_argument("--brief", action="store_true", help="numbers only")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.source is not None:
        # In a process of its own, which has not loaded this checkout.
        brief = ["--brief"] if args.brief else []
        command = [sys.executable, __file__, "--seed", str(args.seed), *brief]
        environment = os.environ | {"PYTHONPATH": str((args.source / "src").resolve())}
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    import unweave

    source = Path(unweave.__file__).parent
    print(source)
    with tempfile.TemporaryDirectory() as folder:
        for name, job in JOBS.items():

            def run(job: Callable[[np.random.Generator, Path], None] = job) -> None:
                job(np.random.default_rng(args.seed), Path(folder))

            run()
            show(name, visited(run, source), is_brief=args.brief)


if __name__ == "__main__":
    main()
