"""Samples in files of Parquet, Arrow and text, and in DataFrames."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from late import pyarrow
from unweave.exceptions import InvalidInput
from unweave.samples.frames import FrameSource
from unweave.samples.sources import first_rows
from unweave.samples.tables import column_names, rows_with_classes, table_source

ROWS = 40


@pytest.fixture(params=["parquet", "csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table = pyarrow.table({"a": np.arange(ROWS) * 1.0, "y": np.arange(ROWS) * 3.0, "b": np.arange(ROWS) * 2.0})
    path = tmp_path / f"samples.{request.param}"
    if request.param == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=16)
    else:
        pyarrow.csv.write_csv(table, path)
    return path


@pytest.mark.parametrize(("inputs", "factors"), [((), [1, 2]), (("b",), [2]), (("b", "a"), [2, 1])])
def test_columns_are_read_in_order(path: Path, inputs: tuple[str, ...], factors: list[int]) -> None:
    source = table_source((path, path), label="y", inputs=inputs)
    points, labels = first_rows(source, inputs=len(factors), most=1000)
    assert source.input_names == (inputs or ("a", "b"))
    np.testing.assert_array_equal(points, np.outer(labels / 3, factors))
    np.testing.assert_array_equal(labels, 3 * np.tile(np.arange(ROWS), 2))


def test_missing_columns_are_told(path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no column z"):
        table_source((path,), label="z")
    with pytest.raises(InvalidInput, match="has no column c"):
        table_source((path,), label="y", inputs=("c",))


def test_tables_without_inputs_are_told(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(pyarrow.table({"y": [1.0]}), tmp_path / "alone.csv")
    with pytest.raises(InvalidInput, match="no column beside 'y'"):
        table_source((tmp_path / "alone.csv",), label="y")


@pytest.mark.parametrize("names", [(), ("a.xlsx",), ("a.csv", "b.parquet")])
def test_other_files_are_told(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="all end in"):
        table_source(tuple(map(Path, names)), label="y")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_that_are_not_there_are_told(tmp_path: Path, ending: str) -> None:
    with pytest.raises(InvalidInput, match="needs to be a"):
        table_source((tmp_path / f"none.{ending}",), label="y")


ARROW_KINDS = ("feather", "arrow", "stream.arrow")


def written_arrow(path: Path, table: "pyarrow.Table") -> Path:
    """A file of Feather, or an IPC file or stream of several batches."""
    if path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
        return path
    kind = pyarrow.ipc.new_stream if "stream" in path.name else pyarrow.ipc.new_file
    with kind(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=16)
    return path


@pytest.mark.parametrize("kind", ARROW_KINDS)
def test_arrow_files(kind: str, tmp_path: Path) -> None:
    table = pyarrow.table({"a": np.arange(ROWS), "flag": np.arange(ROWS) % 2 == 0, "y": np.arange(ROWS) * 3.0})
    source = table_source((written_arrow(tmp_path / f"samples.{kind}", table),), label="y")
    points, labels = first_rows(source, inputs=2, most=1000)
    np.testing.assert_array_equal(points, np.stack([np.arange(ROWS), np.arange(ROWS) % 2 == 0], axis=1))
    np.testing.assert_array_equal(labels, 3 * np.arange(ROWS))
    # Older versions of pyarrow count the rows of no Arrow file beforehand, as no version does for streams.
    counts = hasattr(pyarrow.RecordBatchFileReader, "count_rows") and "stream" not in kind
    assert source.rows_about == (ROWS if counts else None)


@pytest.mark.parametrize("kind", [*ARROW_KINDS, "parquet"])
@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([1.0] * 20 + [None, 2.0], "row 21 (counted from 1), column 'a' is missing"),
        ([1.0] * 20 + [float("inf"), 2.0], "row 21 (counted from 1), column 'a' needs a finite number, got inf"),
        ([None, "x"], "row 2 (counted from 1), column 'a' needs a number, got 'x' (string)"),
        ([date(2024, 1, 1)], "row 1 (counted from 1), column 'a' needs a number, got datetime.date(2024, 1, 1)"),
        ([[1.0]], "row 1 (counted from 1), column 'a' needs a number, got [1.0]"),
    ],
)
def test_cells_that_are_no_numbers_are_told(kind: str, cells: list[object], told: str, tmp_path: Path) -> None:
    path, table = tmp_path / f"samples.{kind}", pyarrow.table({"a": cells, "y": [0.5] * len(cells)})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=16)
    else:
        written_arrow(path, table)
    with pytest.raises(InvalidInput) as raised:
        first_rows(table_source((path,), label="y"), inputs=1, most=1000)
    assert f"{path}, {told}" in str(raised.value)


@pytest.mark.parametrize("kind", [*ARROW_KINDS, "parquet"])
def test_classes_may_be_text(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"samples.{kind}"
    names = pyarrow.array(["benign", " malignant", "benign"])
    table = pyarrow.table({"a": [1, 2, 3], "y": names.dictionary_encode()})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        written_arrow(path, table)
    source = table_source((path,), label="y", has_classes=True)
    assert rows_with_classes(source, inputs=1, most=10, name="y")[1].tolist() == ["benign", "malignant", "benign"]


@pytest.mark.parametrize("kind", ["feather", "arrow"])
def test_damaged_arrow_files_are_told(kind: str, tmp_path: Path) -> None:
    table = pyarrow.table({"a": np.arange(200.0), "y": np.arange(200.0)})
    path = written_arrow(tmp_path / f"samples.{kind}", table)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(100):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        # What is not noticed reads as numbers: these files have no checksums.
        with suppress(InvalidInput):
            first_rows(table_source((path,), label="y"), inputs=1, most=1000)


def test_labels_of_rows_of_pandas_are_no_inputs(tmp_path: Path) -> None:
    """What pandas writes for a DataFrame that was filtered: numbers of rows in a column of their own."""
    table = pyarrow.table({"a": [1.0], "y": [2.0], "__index_level_0__": [7]})
    table = table.replace_schema_metadata({"pandas": json.dumps({"index_columns": ["__index_level_0__"]})})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    for name in ("a.parquet", "a.feather"):
        assert table_source((tmp_path / name,), label="y").input_names == ("a",)
        assert column_names(tmp_path / name) == ("a", "y")
    assert FrameSource(StreamFrame(table), "y").input_names == ("a",)


class Frame:
    """A DataFrame of another library, as far as Unweave knows: it hands its columns over by a protocol."""

    def __init__(self, table: "pyarrow.Table") -> None:
        self.table = table


class StreamFrame(Frame):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class InterchangeFrame(Frame):
    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self.table.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize("kind", [StreamFrame, InterchangeFrame, lambda table: table])
def test_data_frames(kind: "Callable[[pyarrow.Table], object]") -> None:
    table = pyarrow.table({"a": np.arange(ROWS), "y": np.arange(ROWS) * 3.0, "b": np.arange(ROWS) * 2.0})
    source = FrameSource(kind(table), "y", chunk_rows=7)
    points, labels = first_rows(source, inputs=2, most=1000)
    assert source.input_names == ("a", "b")
    np.testing.assert_array_equal(points, np.outer(labels / 3, [1, 2]))
    np.testing.assert_array_equal(labels, 3 * np.arange(ROWS))
    with pytest.raises(InvalidInput, match="the DataFrame has no column z"):
        FrameSource(kind(table), "z")


def test_data_frames_with_holes_are_told() -> None:
    frame = StreamFrame(pyarrow.table({"a": [1.0] * 9 + [None], "y": np.arange(10.0)}))
    with pytest.raises(InvalidInput, match=r"the DataFrame, row 10 \(counted from 1\), column 'a' is missing"):
        first_rows(FrameSource(frame, "y", chunk_rows=4), inputs=1, most=100)
    with pytest.raises(InvalidInput, match="need a DataFrame with named columns, got ndarray"):
        FrameSource(np.zeros((3, 2)), "y")
