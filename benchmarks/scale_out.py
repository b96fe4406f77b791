"""How much faster independent runs are with two workers: runs per second in this process, in processes and on Dask.

    python benchmarks/scale_out.py                      a phase diagram of 4 x 4 sizes, 3 networks and 3 starts each
    python benchmarks/scale_out.py --sizes 2 --planted 2

The fastest of some passes counts, after a first one, with another seed, in which workers import and compile. Results of
all places are compared bit by bit with those of this process; the exit code is 1 if one differs.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np

from command_line import parsed, parser_of, say
from unweave.activations import softplus
from unweave.explore.landscape.experiment import LandscapeDesign
from unweave.explore.landscape.sweeps import PhaseDiagram, sweep_both
from unweave.jobs import Workers


@contextmanager
def processes(count: int) -> Iterator[Workers]:
    """An executor of the standard library."""
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def dask(count: int) -> Iterator[Workers]:
    """A real cluster on this machine."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=count, **options) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def here(_: int) -> Iterator[Workers]:
    """This process."""
    yield None


PLACES = {"this process": here, "processes": processes, "Dask workers": dask}


def measured(design: LandscapeDesign, sizes: range, workers: Workers, passes: int) -> tuple[PhaseDiagram, float]:
    """The diagram, and the seconds that it takes after a first pass has warmed the workers up."""
    found = sweep_both(design, neurons=sizes, inputs=sizes, workers=workers, seed=1)
    seconds = []
    for _ in range(passes):
        begin = time.perf_counter()
        found = sweep_both(design, neurons=sizes, inputs=sizes, workers=workers, seed=0)
        seconds.append(time.perf_counter() - begin)
    return found, min(seconds)


def is_same(found: PhaseDiagram, expected: PhaseDiagram) -> bool:
    """Whether all losses and steps are equal bit by bit."""
    pairs = zip(found.points, expected.points, strict=True)
    return all(np.array_equal(a.losses, b.losses) and np.array_equal(a.steps, b.steps) for a, b in pairs)


def main() -> int:
    """Print a row per place."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=int, default=4, help="numbers of neurons and of inputs")
    parser.add_argument("--planted", type=int, default=3)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--passes", type=int, default=3, help="of which the fastest counts")
    args = parsed(parser)
    design = LandscapeDesign(softplus(10.0), samples=100, planted=args.planted, starts=args.starts)
    sizes = range(9, 9 + args.sizes)
    runs = len(sizes) ** 2 * args.planted * args.starts
    say(f"{runs} runs, {len(sizes) ** 2} jobs, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    say(f"{'where':14} {'workers':>7} {'seconds':>8} {'runs/s':>8} {'speed':>6}  bits")
    expected, are_same = None, True
    for name, place in PLACES.items():
        alone = 0.0
        for count in (1,) if place is here else (1, 2):
            with place(count) as workers:
                found, seconds = measured(design, sizes, workers, args.passes)
            expected, alone = expected or found, alone or seconds
            same = is_same(found, expected)
            are_same = are_same and same
            args.json.keep(
                "workers",
                where=name,
                workers=count,
                runs=runs,
                seconds=seconds,
                runs_per_second=runs / seconds,
                bits="equal" if same else "different",
            )
            speed, told = f"{alone / seconds:.2f}x", "equal" if same else "DIFFERENT"
            say(f"{name:14} {count:7d} {seconds:8.2f} {runs / seconds:8.1f} {speed:>6}  {told}")
    return 0 if are_same else 1


if __name__ == "__main__":
    sys.exit(main())
