"""Samples in Parquet and CSV files."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from unweave.exceptions import InvalidInput
from unweave.samples.sources import first_rows
from unweave.samples.tables import table_source

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
    source, count = table_source((path, path), label="y", inputs=inputs)
    points, labels = first_rows(source, inputs=count, most=1000)
    assert count == len(factors)
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
