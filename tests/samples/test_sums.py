"""Sums do not depend on chunks, order or engines."""

import os
import pickle
import signal
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave.exceptions import InvalidInput, WorkersFailed
from unweave.learn.relu_network.starts import HermiteRegression
from unweave.reproduce.awasthi.contracted_moments import ContractedMoments
from unweave.samples.hermite.inputs import Coordinates, GaussianityCheck, InputMoments
from unweave.samples.hermite.moments import Control, HermiteMoments, LabelMoments
from unweave.samples.npy_files import NpySource
from unweave.samples.sources import ArraySource, ChunkSource, SourcePiece
from unweave.samples.sums import DaskCluster, Statistic, Sums, ThisProcess, Together, accumulate, merge

INPUTS, ROWS = 3, 120
EVERYWHERE = Coordinates.identity(INPUTS)
STATISTICS: dict[str, Statistic] = {
    "inputs": InputMoments(np.zeros(INPUTS)),
    "gaussianity": GaussianityCheck(EVERYWHERE, np.eye(INPUTS)),
    "even order": LabelMoments(EVERYWHERE, 4),
    "odd order": LabelMoments(EVERYWHERE, 3),
    "regression": HermiteRegression(EVERYWHERE, 2),
    "contracted": ContractedMoments(EVERYWHERE, np.eye(INPUTS), 2, 4),
}
STATISTIC = LabelMoments(Coordinates.identity(INPUTS), 4)


def rows_of(seed: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, INPUTS)), rng.standard_normal(rows)


def sums_of(statistic: Statistic, points: np.ndarray, labels: np.ndarray) -> Sums:
    return Sums.empty(statistic).add((points, labels))


def assert_same(first: Sums, second: Sums) -> None:
    np.testing.assert_array_equal(first.rows, second.rows)
    for mine, yours in zip((*first.even, *first.odd), (*second.even, *second.odd), strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("name", STATISTICS)
@given(cuts=st.lists(st.integers(0, ROWS // 2), max_size=6))
def test_merging_pieces_of_even_length_is_one_pass(name: str, cuts: list[int]) -> None:
    points, labels = rows_of(0)
    edges = [0, *sorted(2 * cut for cut in cuts), ROWS]
    merged = Sums.empty(STATISTICS[name])
    for first, last in pairwise(edges):
        merged += sums_of(STATISTICS[name], points[first:last], labels[first:last])
    assert_same(merged, sums_of(STATISTICS[name], points, labels))


@pytest.mark.parametrize("name", STATISTICS)
def test_adding_rows_one_by_one_is_one_pass(name: str, seed: int) -> None:
    points, labels = rows_of(seed, 21)
    sums = Sums.empty(STATISTICS[name])
    for row in range(21):
        sums = sums.add((points[row : row + 1], labels[row : row + 1]))
    assert_same(sums, sums_of(STATISTICS[name], points, labels))


def test_merging_is_associative_and_commutative(seed: int) -> None:
    a, b, c = (sums_of(STATISTICS["even order"], *rows_of(seed + k, 10 + k)) for k in range(3))
    assert_same(merge(merge(a, b), c), merge(a, merge(b, c)))
    assert_same(a + b, b + a)


def test_blocks_do_not_change_the_sums(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points, labels = rows_of(seed)
    whole = sums_of(STATISTICS["odd order"], points, labels)
    monkeypatch.setattr(LabelMoments, "block_rows", 7)
    assert_same(sums_of(STATISTICS["odd order"], points, labels), whole)


def test_adding_leaves_earlier_sums_as_they_were(seed: int) -> None:
    before = sums_of(STATISTICS["regression"], *rows_of(seed))
    copies = [array.copy() for array in before.even]
    before.add(rows_of(seed + 1))
    for copy, array in zip(copies, before.even, strict=True):
        np.testing.assert_array_equal(copy, array)


def test_together_is_each_for_itself(seed: int) -> None:
    points, labels = rows_of(seed)
    found = sums_of(Together(tuple(STATISTICS.values())), points, labels).finalise()
    alone = sums_of(STATISTICS["even order"], points, labels).finalise()
    np.testing.assert_allclose(found.of(lambda all_of: all_of[2]).odd.packed, alone.odd.packed, atol=1e-12)
    assert len(found.whole) == len(STATISTICS)
    assert found.rows == ROWS


@pytest.mark.parametrize("name", STATISTICS)
def test_sums_survive_a_journey(name: str, seed: int) -> None:
    sums = sums_of(STATISTICS[name], *rows_of(seed))
    assert_same(pickle.loads(pickle.dumps(sums)), sums)


def test_half_the_difference_is_the_noise(seed: int) -> None:
    points, labels = rows_of(seed)
    found = sums_of(STATISTICS["inputs"], points, labels).finalise()
    expected = 0.5 * (points[::2].mean(axis=0) - points[1::2].mean(axis=0))
    np.testing.assert_allclose(found.noise(lambda half: half.mean), expected, atol=1e-14)
    assert found.error(lambda half: half.mean) == pytest.approx(np.linalg.norm(expected))
    assert found.error(lambda half: half.label_mean) == pytest.approx(abs(labels[::2].mean() - labels[1::2].mean()) / 2)


def test_single_precision_is_summed_in_double(seed: int) -> None:
    points, labels = (array.astype(np.float32) for array in rows_of(seed))
    single = sums_of(STATISTICS["even order"], points, labels)
    assert_same(single, sums_of(STATISTICS["even order"], points.astype(np.float64), labels.astype(np.float64)))


@pytest.mark.parametrize("name", STATISTICS)
def test_sums_that_come_back_from_a_journey_can_be_merged(name: str, seed: int) -> None:
    sums = sums_of(STATISTICS[name], *rows_of(seed))
    both = merge(sums, pickle.loads(pickle.dumps(sums)))
    np.testing.assert_array_equal(both.even[0], 2 * sums.even[0])


def test_different_statistics_are_not_merged(seed: int) -> None:
    shifted = Coordinates(np.full(INPUTS, 0.1), np.eye(INPUTS))
    controlled = Control.shared(EVERYWHERE, HermiteMoments(INPUTS, 1, np.ones(INPUTS + 1)))
    others = [
        STATISTICS["odd order"],
        LabelMoments(shifted, 4),
        LabelMoments(EVERYWHERE, 4, controlled),
        Together((STATISTICS["even order"],)),
    ]
    for other in others:
        with pytest.raises(InvalidInput, match="same statistic"):
            merge(sums_of(STATISTICS["even order"], *rows_of(seed)), sums_of(other, *rows_of(seed)))
    with pytest.raises(InvalidInput, match="same statistic"):
        merge(sums_of(others[3], *rows_of(seed)), sums_of(Together((others[1],)), *rows_of(seed)))


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows_are_no_estimate(rows: int, seed: int) -> None:
    with pytest.raises(InvalidInput, match="at least one row each"):
        sums_of(STATISTICS["inputs"], *rows_of(seed, rows)).finalise()


def test_wrong_chunks_are_refused(seed: int) -> None:
    points, labels = rows_of(seed)
    empty = Sums.empty(STATISTICS["inputs"])
    with pytest.raises(InvalidInput, match="need 3 columns, got 2"):
        empty.add((points[:, :2], labels))
    with pytest.raises(InvalidInput, match="120 points and 119 labels"):
        empty.add((points, labels[1:]))
    with pytest.raises(InvalidInput, match="labels of a chunk needs 1 axes"):
        empty.add((points, points))
    points[7, 1] = np.nan
    with pytest.raises(InvalidInput, match="1 that are NaN"):
        empty.add((points, labels))
    with pytest.raises(InvalidInput, match="needs numbers"):
        empty.add(([["one", "two", "three"]], labels[:1]))


def test_statistics_of_one_pass_see_the_same_inputs() -> None:
    with pytest.raises(InvalidInput, match="same number of inputs"):
        Together((InputMoments(np.zeros(2)), InputMoments(np.zeros(3))))


def test_memory_does_not_grow_with_the_rows(seed: int) -> None:
    def chunks(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield rng.standard_normal((2_000, 8)), rng.standard_normal(2_000)

    def peak(count: int) -> int:
        tracemalloc.start()
        sums = Sums.empty(InputMoments(np.zeros(8)))
        for chunk in chunks(count):
            sums = sums.add(chunk)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(2)
    assert peak(100) < 1.2 * peak(10)


class FutureOfNow:
    """What a cluster would return, computed already."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def result(self) -> Any:
        return self.value


class ClusterOfNone:
    """Has the two methods of a client and does the work itself; counts what is under way."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def submit(self, task: Any, *arguments: Any, pure: bool) -> FutureOfNow:
        assert not pure
        self.tasks.append(task.__name__)
        return FutureOfNow(task(*(a.value if isinstance(a, FutureOfNow) else a for a in arguments)))

    def scatter(self, data: Any, *, hash: bool) -> FutureOfNow:
        assert not hash
        return FutureOfNow(data)


@pytest.fixture
def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((1000, INPUTS)), rng.standard_normal(1000)


@contextmanager
def two_workers() -> Iterator[Any]:
    # Its import takes a second, and few tests need it.
    import dask
    import distributed

    with (
        # Both workers are copies of a process that has imported it once.
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        # Any port: another cluster may run on this machine.
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with two_workers() as connected:
        yield connected


@pytest.mark.parametrize("window", [1, 3, 64])
def test_sums_are_merged_in_a_tree(window: int, rows: tuple[np.ndarray, np.ndarray]) -> None:
    cluster = ClusterOfNone()
    source = ArraySource(*rows, chunk_rows=10)
    found = accumulate(source, STATISTIC, engine=DaskCluster(cluster, window=window)).finalise()
    expected = accumulate(source, STATISTIC).finalise()
    np.testing.assert_allclose(found.whole.packed, expected.whole.packed, atol=1e-12)
    np.testing.assert_allclose(found.even.packed, expected.even.packed, atol=1e-12)
    assert cluster.tasks.count("partial_sums") == 100


def test_two_worker_processes_give_what_one_gives(
    client: Any, rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    np.save(tmp_path / "points.npy", rows[0])
    np.save(tmp_path / "labels.npy", rows[1])
    expected = accumulate(ArraySource(*rows), STATISTIC, engine=ThisProcess()).finalise()
    sources = [
        NpySource(tmp_path / "points.npy", tmp_path / "labels.npy", chunk_rows=100),
        ArraySource(*rows, chunk_rows=100),
        ChunkSource((rows[0][first : first + 50], rows[1][first : first + 50]) for first in range(0, 1000, 50)),
    ]
    for source in sources:
        found = accumulate(source, STATISTIC, engine=DaskCluster(client, window=6)).finalise()
        assert found.rows == 1000
        np.testing.assert_allclose(found.whole.packed, expected.whole.packed, atol=1e-12)
        np.testing.assert_allclose(found.odd.packed, expected.odd.packed, atol=1e-12)


def test_wrong_rows_on_a_worker_are_reported_here(client: Any, rows: tuple[np.ndarray, np.ndarray]) -> None:
    points = rows[0].copy()
    points[777, 0] = np.inf
    with pytest.raises(InvalidInput, match="1 that are NaN or infinite"):
        accumulate(ArraySource(points, rows[1], chunk_rows=100), STATISTIC, engine=DaskCluster(client))


def killing_all(pieces: Iterator[SourcePiece], workers: list[int], after: int) -> Iterator[SourcePiece]:
    """Pieces, and the death of all workers between two of them."""
    for place, piece in enumerate(pieces):
        if place == after:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        yield piece


@pytest.mark.slow
def test_files_are_read_again_where_workers_die_and_rows_of_this_process_are_lost(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    np.save(tmp_path / "points.npy", rows[0])
    np.save(tmp_path / "labels.npy", rows[1])
    files = NpySource(tmp_path / "points.npy", tmp_path / "labels.npy", chunk_rows=50)
    with two_workers() as connected:
        engine = DaskCluster(connected, window=6)
        workers = [*connected.run(os.getpid).values()]
        assert_same(
            engine.total(killing_all(files.pieces(), workers, 15), STATISTIC),
            accumulate(ArraySource(*rows), STATISTIC),
        )
    with two_workers() as connected:
        engine = DaskCluster(connected, window=6)
        workers = [*connected.run(os.getpid).values()]
        with pytest.raises(WorkersFailed, match="died"):
            engine.total(killing_all(ArraySource(*rows, chunk_rows=50).pieces(), workers, 15), STATISTIC)


@pytest.mark.parametrize(
    ("broken", "message"),
    [("submit", "workers died with jobs"), ("scatter", "sent to a worker that has died")],
)
def test_what_a_cluster_says_of_dead_workers_is_told(
    broken: str, message: str, rows: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise CancelledError if broken == "submit" else OSError("the stream is closed")

    monkeypatch.setattr(ClusterOfNone, broken, fails)
    with pytest.raises(WorkersFailed, match=message):
        accumulate(ArraySource(*rows, chunk_rows=10), STATISTIC, engine=DaskCluster(ClusterOfNone()))


def test_a_cluster_needs_a_client() -> None:
    with pytest.raises(InvalidInput, match=r"distributed\.Client, got str"):
        DaskCluster("tcp://10.0.0.1:8786")
    with pytest.raises(InvalidInput, match="window=0"):
        DaskCluster(ClusterOfNone(), window=0)
