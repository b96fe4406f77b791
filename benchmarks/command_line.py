"""What the command lines of benchmarks have in common."""

import argparse


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


def say(words: str) -> None:
    """Print a line at once: sweeps take long, and are often watched through a pipe."""
    print(words, flush=True)
