"""One process and a real cluster of two give the same sums."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.samples.engines import DaskCluster, ThisProcess, accumulate
from unweave.samples.hermite.coordinates import Coordinates
from unweave.samples.hermite.label_moments import LabelMoments
from unweave.samples.sources import ArraySource, ChunkSource, NpySource

INPUTS = 3
STATISTIC = LabelMoments(Coordinates.identity(INPUTS), 4)


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


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as connected,
    ):
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


def test_a_cluster_needs_a_client() -> None:
    with pytest.raises(InvalidInput, match=r"distributed\.Client, got str"):
        DaskCluster("tcp://10.0.0.1:8786")
    with pytest.raises(InvalidInput, match="window=0"):
        DaskCluster(ClusterOfNone(), window=0)
