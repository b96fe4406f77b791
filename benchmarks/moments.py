"""Hermite moments of streamed samples: rows per second against the matrix products of this machine, memory, workers.

    python benchmarks/moments.py                          a million rows of 20 inputs
    python benchmarks/moments.py --rows 10000000          ten million
    python benchmarks/moments.py --rows 100000 --workers  also one and two worker processes (needs distributed)

Rates are in seconds of CPU time of one thread, because wall time says little on a machine that others use, too; workers
are timed by the wall. The rate of matrix products is measured before and after every statistic. Operations are those
that the docstrings of the statistics count, products of matrices only. Chunks are drawn before the clock starts.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from math import comb
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import parser_of, say
from unweave.learn.relu_network.starts import HermiteRegression
from unweave.reproduce.awasthi.contracted_moments import ContractedMoments, random_directions
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments, lines_for
from unweave.samples.hermite.moments import Control, HermiteMoments, LabelMoments
from unweave.samples.npy_files import NpySource
from unweave.samples.sources import CHUNK_ROWS, Chunk, ChunkSource
from unweave.samples.sums import DaskCluster, Statistic, accumulate

PRODUCT_SIZE = 1000
RANK, DIRECTIONS = 8, 20


def product_rate(repeats: int = 15) -> float:
    """Operations per second of a product of square matrices."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, PRODUCT_SIZE, PRODUCT_SIZE))
    left @ right
    start = time.process_time()
    for _ in range(repeats):
        left @ right
    return 2 * PRODUCT_SIZE**3 * repeats / (time.process_time() - start)


def cases(inputs: int) -> list[tuple[str, Statistic, int]]:
    """Name, statistic and operations per row."""
    rng = np.random.default_rng(1)
    everywhere = Coordinates.identity(inputs)
    inside = everywhere.within(np.linalg.qr(rng.standard_normal((inputs, RANK)))[0])
    quadratic, linear = comb(inputs + 2, 2), inputs + 1
    control = Control.shared(everywhere, HermiteMoments(inputs, 2, rng.standard_normal(quadratic)))
    directions = random_directions(rng, rank=inputs, directions=DIRECTIONS)
    square, fourth = 2 * inputs**2, comb(RANK + 4, 4)
    return [
        ("mean and covariance", InputMoments(np.zeros(inputs)), inputs**2),
        ("Gaussianity", GaussianityCheck(everywhere, lines_for(rng, rank=inputs)), square + 4 * inputs**2),
        ("orders 0 to 3", LabelMoments(everywhere, 3), square + 2 * linear * quadratic),
        ("orders 0 to 4", LabelMoments(everywhere, 4), square + quadratic**2),
        ("orders 0 to 4, control", LabelMoments(everywhere, 4, control), 2 * square + 2 * linear**2 + quadratic**2),
        ("regression, degree 2", HermiteRegression(everywhere, 2), square + quadratic**2),
        (f"regression, degree 4, rank {RANK}", HermiteRegression(inside, 4), 2 * inputs * RANK + fourth**2),
        (
            f"{DIRECTIONS} slices, orders 2 to 6",
            ContractedMoments(everywhere, directions, 2, 6),
            square + 2 * inputs * DIRECTIONS + 2 * quadratic * DIRECTIONS * 5,
        ),
    ]


def chunks(inputs: int, rows: int) -> Callable[[], Iterator[Chunk]]:
    """The same chunk over and over."""
    rng = np.random.default_rng(2)
    points, labels = rng.standard_normal((CHUNK_ROWS, inputs)), rng.standard_normal(CHUNK_ROWS)

    def run() -> Iterator[Chunk]:
        yield from repeat((points, labels), rows // CHUNK_ROWS)
        yield points[: rows % CHUNK_ROWS], labels[: rows % CHUNK_ROWS]

    return run


def throughput(inputs: int, rows: int) -> None:
    """Print a line per statistic."""
    print(f"{'statistic':34} {'rows/s':>12} {'op/row':>9} {'Gop/s':>7} {'products':>9} {'share':>6}")
    before = product_rate()
    for name, statistic, operations in cases(inputs):
        source = ChunkSource(chunks(inputs, rows))
        start = time.process_time()
        accumulate(source, statistic)
        seconds = time.process_time() - start
        after = product_rate()
        speed, rate = rows / seconds, (before + after) / 2
        share = operations * speed / rate
        say(f"{name:34} {speed:12,.0f} {operations:9,d} {operations * speed / 1e9:7.1f} {rate / 1e9:9.1f} {share:6.0%}")
        before = after


def memory(inputs: int, rows: int) -> None:
    """Print how much higher the peak of memory is after ten times as many rows."""
    statistic = LabelMoments(Coordinates.identity(inputs), 4)
    peaks = []
    for count in (rows // 10, rows):
        accumulate(ChunkSource(chunks(inputs, count)), statistic)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(f"peak memory: {peaks[0]:.0f} MB after {rows // 10:,d} rows, {peaks[1]:.0f} MB after {rows:,d}")


def workers(inputs: int, rows: int) -> None:
    """Print the time of a pass over files with one and two worker processes."""
    from distributed import Client, LocalCluster

    statistic = LabelMoments(Coordinates.identity(inputs), 4)
    with tempfile.TemporaryDirectory() as folder:
        points, labels = Path(folder, "points.npy"), Path(folder, "labels.npy")
        rng = np.random.default_rng(3)
        np.save(points, rng.standard_normal((rows, inputs)))
        np.save(labels, rng.standard_normal(rows))
        source = NpySource(points, labels)
        seconds = []
        for count in (1, 2):
            with (
                LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                # The first pass imports the package on every worker.
                accumulate(source, statistic, engine=DaskCluster(client))
                start = time.perf_counter()
                accumulate(source, statistic, engine=DaskCluster(client))
                seconds.append(time.perf_counter() - start)
    print(
        f"workers: {seconds[0]:.2f} s with one, {seconds[1]:.2f} s with two, {seconds[0] / seconds[1]:.2f} times faster"
    )


def main() -> None:
    """Run what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--workers", action="store_true", help="also time one and two worker processes")
    args = parser.parse_args()
    with threadpool_limits(1):
        memory(args.inputs, args.rows)
        throughput(args.inputs, args.rows)
        if args.workers:
            workers(args.inputs, args.rows)


if __name__ == "__main__":
    main()
