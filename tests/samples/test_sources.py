"""Sources give the rows they were made of, and parts of them that do not overlap."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.samples import tables
from unweave.samples.arrow_files import ParquetSource
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import LabelMoments
from unweave.samples.npy_files import NpySource
from unweave.samples.sources import ArraySource, ChunkSource, Source, first_rows, split
from unweave.samples.sums import accumulate

ROWS, INPUTS = 101, 3
NAMES = [f"x{i}" for i in range(INPUTS)]


@pytest.fixture
def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((ROWS, INPUTS)), rng.standard_normal(ROWS)


def cut(points: np.ndarray, labels: np.ndarray, size: int = 10) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for first in range(0, len(points), size):
        yield points[first : first + size], labels[first : first + size]


def written_npy(folder: Path, points: np.ndarray, labels: np.ndarray) -> tuple[Path, Path]:
    np.save(folder / "points.npy", points)
    np.save(folder / "labels.npy", labels)
    return folder / "points.npy", folder / "labels.npy"


def written_parquet(path: Path, points: np.ndarray, labels: np.ndarray) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"y": labels, **dict(zip(NAMES, points.T, strict=True))}
    pq.write_table(pa.table(columns), path, row_group_size=40)
    return path


def assert_holds(source: Source, points: np.ndarray, labels: np.ndarray) -> None:
    for _ in range(2):
        chunks = list(source.chunks())
        assert all(len(chunk[0]) <= 10 for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate([chunk[0] for chunk in chunks]), points)
        np.testing.assert_array_equal(np.concatenate([chunk[1] for chunk in chunks]), labels)


def test_arrays(rows: tuple[np.ndarray, np.ndarray]) -> None:
    assert_holds(ArraySource(*rows, chunk_rows=10), *rows)


def test_npy_files(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    assert_holds(NpySource(*written_npy(tmp_path, *rows), chunk_rows=10), *rows)


def test_memory_maps(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    mapped = [np.load(path, mmap_mode="r") for path in written_npy(tmp_path, *rows)]
    assert_holds(ArraySource(*mapped, chunk_rows=10), *rows)


def test_parquet_files(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    points, labels = rows
    paths = (
        written_parquet(tmp_path / "a.parquet", points[:60], labels[:60]),
        written_parquet(tmp_path / "b.parquet", points[60:], labels[60:]),
    )
    source = ParquetSource(paths, "y", chunk_rows=10)
    assert_holds(source, *rows)
    assert len(list(source.pieces())) == 4
    swapped = ParquetSource(paths, "x0", ("x2", "y"), chunk_rows=10)
    assert_holds(swapped, np.stack([points[:, 2], labels], axis=1), points[:, 0])


def test_functions_that_start_a_run_over_chunks(rows: tuple[np.ndarray, np.ndarray]) -> None:
    assert_holds(ChunkSource(lambda: cut(*rows)), *rows)


def test_lists_of_chunks(rows: tuple[np.ndarray, np.ndarray]) -> None:
    assert_holds(ChunkSource(list(cut(*rows))), *rows)


def test_an_iterator_serves_one_pass_only(rows: tuple[np.ndarray, np.ndarray]) -> None:
    source = ChunkSource(cut(*rows))
    assert sum(len(chunk[0]) for chunk in source.chunks()) == ROWS
    with pytest.raises(InvalidInput, match="read before"):
        list(source.chunks())


def test_all_sources_give_the_same_moments(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    statistic = LabelMoments(Coordinates.identity(INPUTS), 4)
    expected = accumulate(ArraySource(*rows), statistic).finalise()
    sources = [
        NpySource(*written_npy(tmp_path, *rows), chunk_rows=8),
        ParquetSource((written_parquet(tmp_path / "a.parquet", *rows),), "y", chunk_rows=8),
        ChunkSource(cut(*rows)),
    ]
    for source in sources:
        found = accumulate(source, statistic).finalise()
        np.testing.assert_allclose(found.whole.packed, expected.whole.packed, atol=1e-12)
        np.testing.assert_allclose(found.even.packed, expected.even.packed, atol=1e-12)


def test_arrays_that_do_not_fit_are_refused(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    points, labels = rows
    with pytest.raises(InvalidInput, match="101 points and 100 labels"):
        ArraySource(points, labels[1:])
    with pytest.raises(InvalidInput, match="reshape"):
        ArraySource(points, labels[:, None])
    with pytest.raises(InvalidInput, match="chunk_rows=0"):
        ArraySource(points, labels, chunk_rows=0)
    with pytest.raises(InvalidInput, match="101 points and 100 labels"):
        NpySource(*written_npy(tmp_path, points, labels[1:]))


def test_files_that_are_no_arrays_are_refused(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    points, labels = written_npy(tmp_path, *rows)
    with pytest.raises(InvalidInput, match=r"missing\.npy needs to be an array"):
        NpySource(tmp_path / "missing.npy", labels)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(InvalidInput, match=r"text\.npy needs to be an array"):
        NpySource(points, tmp_path / "text.npy")
    np.savez(tmp_path / "both.npz", points=rows[0], labels=rows[1])
    with pytest.raises(InvalidInput, match="several arrays"):
        NpySource(tmp_path / "both.npz", labels)


def test_parquet_columns_are_checked(rows: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    path = written_parquet(tmp_path / "a.parquet", *rows)
    with pytest.raises(InvalidInput, match=r"no column label: its columns are y, x0, x1, x2"):
        ParquetSource((path,), "label")
    with pytest.raises(InvalidInput, match="no column x7, x8"):
        ParquetSource((path,), "y", ("x0", "x7", "x8"))
    with pytest.raises(InvalidInput, match="at least one file"):
        ParquetSource((), "y")
    with pytest.raises(InvalidInput, match=r"none\.parquet needs to be a Parquet file"):
        ParquetSource((tmp_path / "none.parquet",), "y")


def test_cells_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    statistic = LabelMoments(Coordinates.identity(1), 2)
    pq.write_table(pa.table({"y": [1.0, 2.0], "x": ["one", "two"]}), tmp_path / "words.parquet")
    with pytest.raises(InvalidInput, match=r"words.parquet, row 1 .*, column 'x' needs a number, got 'one'"):
        accumulate(ParquetSource((tmp_path / "words.parquet",), "y"), statistic)
    pq.write_table(pa.table({"y": [1.0, 2.0], "x": [None, 0.5]}), tmp_path / "holes.parquet")
    with pytest.raises(InvalidInput, match=r"holes.parquet, row 1 .*, column 'x' is missing"):
        accumulate(ParquetSource((tmp_path / "holes.parquet",), "y"), statistic)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tables, "import_module", missing)
    with pytest.raises(InvalidInput, match=r"unweave\[data\]"):
        ParquetSource((tmp_path / "a.parquet",), "y")


def test_chunks_need_to_be_pairs(rows: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(InvalidInput, match="pair of points and labels"):
        list(ChunkSource(lambda: [rows[0]]).chunks())


def numbered(rows: int, chunk_rows: int) -> ArraySource:
    return ArraySource(np.arange(2.0 * rows).reshape(rows, 2), np.arange(float(rows)), chunk_rows)


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_every_row_is_in_exactly_one_part(chunk_rows: int) -> None:
    training, held_out = split(numbered(500, chunk_rows), share=0.2, seed=3)
    seen = [first_rows(part, inputs=2, most=1000)[1] for part in (training, held_out)]
    assert sorted(np.concatenate(seen)) == list(range(500))
    assert 60 <= len(seen[1]) <= 140


def test_every_pass_and_every_copy_makes_the_same_choice() -> None:
    source = numbered(300, 50)
    first, again = (split(source, share=0.3, seed=1)[1] for _ in range(2))
    expected = first_rows(first, inputs=2, most=300)[1]
    np.testing.assert_array_equal(first_rows(first, inputs=2, most=300)[1], expected)
    np.testing.assert_array_equal(first_rows(again, inputs=2, most=300)[1], expected)
    alone = [labels for piece in list(first.pieces())[::-1] for _, labels in piece.chunks()]
    assert sorted(np.concatenate(alone)) == sorted(expected)


def test_points_and_labels_stay_together() -> None:
    points, labels = first_rows(split(numbered(100, 9), share=0.5, seed=0)[0], inputs=2, most=1000)
    np.testing.assert_array_equal(points[:, 0], 2 * labels)


def test_no_more_rows_than_asked_for() -> None:
    points, labels = first_rows(numbered(100, 30), inputs=2, most=45)
    assert points.shape == (45, 2)
    np.testing.assert_array_equal(labels, np.arange(45))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_shares_are_checked(share: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        split(numbered(10, 5), share=share, seed=0)


def test_rows_are_checked() -> None:
    with pytest.raises(InvalidInput, match="need 2 columns"):
        first_rows(ChunkSource([(np.ones((3, 5)), np.ones(3))]), inputs=2, most=10)
