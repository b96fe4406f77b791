"""What the command lines of benchmarks have in common."""

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from figures import Figures


def parser_of(page: str | None) -> argparse.ArgumentParser:
    """A parser of options whose help begins with the docstring of a benchmark, line breaks as they are."""
    return argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)


def seeds_parser_of(page: str | None, *, seeds: int, atol: float | None) -> argparse.ArgumentParser:
    """The parser of benchmarks that recover planted networks, one per seed, up to a tolerance."""
    parser = parser_of(page)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--atol", type=float, default=atol, help="largest error of what counts as recovered")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read a command line, with the option `--json`; `json.keep` of what comes back adds a row to that file."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures, and how they were made")
    args = parser.parse_args()
    args.json = Figures.of(args)
    return args


def seeds_of(args: argparse.Namespace) -> range:
    """List the seeds of the options."""
    return range(args.first, args.first + args.seeds)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Give a benchmark whose seeds are run by `over_seeds` the option that says where."""
    parser.add_argument("--scheduler", help="where seeds run: processes, processes:2, or a Dask scheduler")


def over_seeds(function: Callable[..., Any], args: argparse.Namespace, *settings: Any) -> Iterator[tuple[int, Any]]:
    """Yield every seed of the options with what a function of seed, options and settings gives, in their order.

    Without a scheduler one after the other, as they are asked for; workers need the folder of benchmarks in their path.
    """
    # Some benchmarks set the threads of linear algebra before anything is imported.
    from unweave.jobs import opened_workers, run_jobs

    seeds = seeds_of(args)
    with opened_workers(args.scheduler) as workers:
        done = run_jobs(_of_seed, [(function, seed, args, settings) for seed in seeds], workers=workers)
        for place, result in done if workers is None else sorted(done, key=lambda each: each[0]):
            yield seeds[place], result


def _of_seed(job: tuple[Callable[..., Any], int, argparse.Namespace, tuple]) -> Any:
    function, seed, args, settings = job
    return function(seed, args, *settings)


def median_and_largest(numbers: Sequence[float], layout: str) -> str:
    """Two columns about some numbers, in one layout; not a number where there are none."""
    middle = statistics.median(numbers) if numbers else float("nan")
    return f"{middle:{layout}} {max(numbers, default=float('nan')):{layout}}"


def say(words: str) -> None:
    """Print a line at once: sweeps take long, and are often watched through a pipe."""
    print(words, flush=True)
