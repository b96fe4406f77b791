"""Default subspace power method against [fiedler, Alg. 2.2], and against JAX, on the same subspaces, in one run.

    python benchmarks/subspace_power.py              # D = 20, 25, 30, exact subspaces, m = 0.4 D^2
    python benchmarks/subspace_power.py --inputs 20
    python benchmarks/subspace_power.py --jax --inputs 10 20 30 50      # needs unweave[jax]

The reference takes its fixed 1000 steps from 5 m log D starts. With `--jax` the steps of the method (20 power steps,
Gauss-Newton to 1e-11) are taken from the same starts by NumPy and by a kernel that JAX has compiled; compilation is
excluded by a warm-up, times are the smallest of several, in turns. Times are CPU seconds of one thread.
"""

import argparse
import time
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import parsed, parser_of, say
from unweave.arrays import pack_squares
from unweave.numerics import power_steps
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.power_steps import Ascent
from unweave.numerics.subspace_power import SubspacePower
from unweave.reproduce.fiedler.subspace_power import FixedSubspacePower

T = TypeVar("T")
METHOD = SubspacePower()


def exact_subspace(rng: np.random.Generator, inputs: int, neurons: int) -> tuple[np.ndarray, MatrixSubspace]:
    """Random unit atoms and the span of their squares."""
    atoms = rng.standard_normal((neurons, inputs))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    mixed = rng.standard_normal((2 * neurons, neurons)) @ pack_squares(atoms)
    return atoms, span_of_hessians(mixed, inputs=inputs, rank=neurons)


def recovered(atoms: np.ndarray, found: np.ndarray) -> int:
    """Number of true atoms that some found one matches to 1e-6."""
    return int(np.count_nonzero(np.max(np.abs(atoms @ found.T), axis=1) > 1 - 1e-12)) if len(found) else 0


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


class Searched(NamedTuple):
    """CPU seconds of a search, true atoms that it found, and its starts."""

    seconds: float
    found: int
    starts: int


def compare_with_reference(inputs: int, options: argparse.Namespace) -> None:
    """Print one line: seconds, atoms found and starts of both methods."""
    neurons = int(0.4 * inputs**2)
    atoms, subspace = exact_subspace(np.random.default_rng(inputs), inputs, neurons)
    rows = []
    for method in (METHOD, FixedSubspacePower()):
        seconds, directions = timed(lambda method=method: method(subspace, np.random.default_rng(2)))
        rows.append(Searched(seconds, recovered(atoms, directions.atoms), directions.starts))
    mine, reference = rows
    ratio = reference.seconds / mine.seconds
    options.json.keep(
        "directions",
        inputs=inputs,
        neurons=neurons,
        found=mine.found,
        reference_found=reference.found,
        cpu_seconds=mine.seconds,
        reference_cpu_seconds=reference.seconds,
        ratio=ratio,
    )
    say(
        f"{inputs:3d} {neurons:5d} {mine.seconds:10.2f} {mine.found:6d} {mine.starts:7d} "
        f"{reference.seconds:12.2f} {reference.found:6d} {reference.starts:7d} {ratio:7.1f}"
    )


def climb(kernel: ModuleType, starts: np.ndarray, subspace: MatrixSubspace) -> Ascent:
    """Take the steps of one restart round."""
    return METHOD.climb(starts, subspace.complement, is_complement=True, by=kernel)


def compare_with_jax(inputs: int, *, starts: int, repetitions: int) -> None:
    """Print one line: seconds of both kernels, and how far apart they end."""
    import subspace_power_jax

    neurons = int(0.4 * inputs**2)
    rng = np.random.default_rng(inputs)
    _, subspace = exact_subspace(rng, inputs, neurons)
    points = rng.standard_normal((starts, inputs))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    kernels = power_steps, subspace_power_jax
    first = [timed(lambda kernel=kernel: climb(kernel, points, subspace)) for kernel in kernels]
    ends = [ascent for _, ascent in first]
    # In turns, so that a busy machine slows both down alike.
    runs = [
        [timed(lambda kernel=kernel: climb(kernel, points, subspace))[0] for kernel in kernels]
        for _ in range(repetitions)
    ]
    (numpy_warm, jax_warm), jax_first = np.min(runs, axis=0), first[1][0]
    apart = np.max(np.abs(ends[0].points - ends[1].points))
    say(
        f"{inputs:3d} {neurons:5d} {starts:7d} {numpy_warm:10.4f} {jax_warm:10.4f} {jax_warm / numpy_warm:7.2f} "
        f"{jax_first:12.2f} {ends[0].steps:6d} {ends[1].steps:6d} {apart:9.1e}"
    )


def main() -> None:
    """Run the comparison."""
    parser = parser_of(__doc__)
    parser.add_argument("--inputs", type=int, nargs="*", default=[20, 25, 30])
    parser.add_argument("--jax", action="store_true", help="compare the steps with compiled ones")
    parser.add_argument("--starts", type=int, default=128, help="with --jax")
    parser.add_argument("--repetitions", type=int, default=20, help="with --jax")
    options = parsed(parser)
    with threadpool_limits(1):
        if options.jax:
            print("  D     m  starts    NumPy s      JAX s   ratio  JAX first s  steps of both    apart")
            for inputs in options.inputs:
                compare_with_jax(inputs, starts=options.starts, repetitions=options.repetitions)
            return
        print("  D     m  default s  found  starts  reference s  found  starts   ratio")
        for inputs in options.inputs:
            compare_with_reference(inputs, options)


if __name__ == "__main__":
    main()
