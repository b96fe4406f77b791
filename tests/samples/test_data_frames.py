"""DataFrames of pandas and Polars, and the files that they write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from unweave.exceptions import InvalidInput
from unweave.learn import HalfspaceUnionClassifier, QuadraticNetworkRegressor
from unweave.samples.frames import FrameSource
from unweave.samples.sources import first_rows
from unweave.samples.tables import table_source

POINTS = np.random.default_rng(0).standard_normal((60, 2))
LABELS = (POINTS @ [1.0, -2.0]) ** 2
PANDAS = pandas.DataFrame({"age": POINTS[:, 0], "bmi": POINTS[:, 1], "y": LABELS})
FRAMES: dict[str, Any] = {
    "pandas": PANDAS,
    "pandas with missing values": PANDAS.convert_dtypes(),
    "pandas with Arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars.DataFrame(PANDAS),
}
WRITERS: dict[str, Callable[[Path], Any]] = {
    "pandas.parquet": PANDAS.to_parquet,
    "pandas.feather": PANDAS.to_feather,
    "pandas.csv": lambda path: PANDAS.to_csv(path, index=False),
    "pandas.csv.gz": lambda path: PANDAS.to_csv(path, index=False),
    "pandas.tsv": lambda path: PANDAS.to_csv(path, index=False, sep="\t"),
    "polars.parquet": FRAMES["polars"].write_parquet,
    "polars.arrow": FRAMES["polars"].write_ipc,
    "polars.csv": FRAMES["polars"].write_csv,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_are_sources_of_samples(frame: Any) -> None:
    source = FrameSource(frame, "y", chunk_rows=7)
    assert source.input_names == ("age", "bmi")
    points, labels = first_rows(source, inputs=2, most=1000)
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(labels, LABELS)


def test_rows_that_were_filtered_keep_their_place() -> None:
    points, _ = first_rows(FrameSource(PANDAS[PANDAS.age > 0], "y"), inputs=2, most=1000)
    np.testing.assert_array_equal(points, POINTS[POINTS[:, 0] > 0])


@pytest.mark.parametrize("name", WRITERS)
def test_files_that_frames_write(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    source = table_source((tmp_path / name,), label="y")
    assert source.input_names == ("age", "bmi")
    points, labels = first_rows(source, inputs=2, most=1000)
    np.testing.assert_allclose(points, POINTS, rtol=1e-15)
    np.testing.assert_allclose(labels, LABELS, rtol=1e-15)


def test_a_column_without_a_name_is_told(tmp_path: Path) -> None:
    """What pandas writes unless it is told not to."""
    PANDAS.to_csv(tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match=r"column 1 of .*a\.csv has no name"):
        table_source((tmp_path / "a.csv",), label="y")
    assert table_source((tmp_path / "a.csv",), label="y", inputs=("age",)).input_names == ("age",)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_estimators_take_frames(frame: Any) -> None:
    columns = frame[["age", "bmi"]]
    model = QuadraticNetworkRegressor().fit(columns, frame["y"])
    assert model.result_.input_names == ("age", "bmi")
    np.testing.assert_allclose(model.predict(columns), LABELS, atol=1e-9)
    classes = np.where(POINTS[:, 0] > 0, "old", "young")
    weights = np.ones(len(POINTS))
    text = (
        (polars.Series(classes), polars.Series(weights))
        if isinstance(frame, polars.DataFrame)
        else (pandas.Series(classes, dtype="category"), pandas.Series(weights))
    )
    found = HalfspaceUnionClassifier(random_state=0).fit(columns, text[0], sample_weight=text[1])
    assert found.score(columns, classes) > 0.9


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_holes_of_frames_are_told(frame: Any) -> None:
    holed = frame.clone() if isinstance(frame, polars.DataFrame) else frame.copy()
    if isinstance(holed, polars.DataFrame):
        holed[3, "bmi"] = None
    else:
        holed.loc[3, "bmi"] = None
    with pytest.raises(InvalidInput, match="row 3, column 'bmi'"):
        QuadraticNetworkRegressor().fit(holed[["age", "bmi"]], holed["y"])
    with pytest.raises(InvalidInput, match=r"row 4 \(counted from 1\), column 'bmi' is missing"):
        first_rows(FrameSource(holed, "y"), inputs=2, most=99)


def test_what_is_no_frame_is_told() -> None:
    with pytest.raises(InvalidInput, match="got LazyFrame: collect it first"):
        FrameSource(FRAMES["polars"].lazy(), "y")
    with pytest.raises(InvalidInput, match="can't be read as Arrow data"):
        FrameSource(PANDAS.rename(columns={"age": 0}), "y")
