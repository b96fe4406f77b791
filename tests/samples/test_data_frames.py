"""DataFrames of pandas and Polars, and the files that they write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from late import LateModule, pandas, polars
from unweave.exceptions import InvalidInput
from unweave.samples.frames import FrameSource
from unweave.samples.sources import first_rows
from unweave.samples.tables import table_source

POINTS = np.random.default_rng(0).standard_normal((60, 2))
LABELS = (POINTS @ [1.0, -2.0]) ** 2
KINDS = ("pandas", "pandas with missing values", "pandas with Arrow", "polars")
WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "pandas.parquet": lambda frame, path: frame.to_parquet(path),
    "pandas.feather": lambda frame, path: frame.to_feather(path),
    "pandas.csv": lambda frame, path: frame.to_csv(path, index=False),
    "pandas.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "pandas.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "polars.parquet": lambda frame, path: frame.write_parquet(path),
    "polars.arrow": lambda frame, path: frame.write_ipc(path),
    "polars.csv": lambda frame, path: frame.write_csv(path),
}
learn = LateModule("unweave.learn")


def frame_of(kind: str = "pandas") -> Any:
    frame = pandas.DataFrame({"age": POINTS[:, 0], "bmi": POINTS[:, 1], "y": LABELS})
    if kind == "pandas with missing values":
        return frame.convert_dtypes()
    if kind == "pandas with Arrow":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    return polars.DataFrame(frame) if kind == "polars" else frame


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_sources_of_samples(kind: str) -> None:
    frame = frame_of(kind)
    source = FrameSource(frame, "y", chunk_rows=7)
    assert source.input_names == ("age", "bmi")
    points, labels = first_rows(source, inputs=2, most=1000)
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(labels, LABELS)


def test_rows_that_were_filtered_keep_their_place() -> None:
    frame = frame_of()
    points, _ = first_rows(FrameSource(frame[frame.age > 0], "y"), inputs=2, most=1000)
    np.testing.assert_array_equal(points, POINTS[POINTS[:, 0] > 0])


@pytest.mark.parametrize("name", WRITERS)
def test_files_that_frames_write(name: str, tmp_path: Path) -> None:
    WRITERS[name](frame_of(name.split(".")[0]), tmp_path / name)
    source = table_source((tmp_path / name,), label="y")
    assert source.input_names == ("age", "bmi")
    points, labels = first_rows(source, inputs=2, most=1000)
    np.testing.assert_allclose(points, POINTS, rtol=1e-15)
    np.testing.assert_allclose(labels, LABELS, rtol=1e-15)


def test_a_column_without_a_name_is_told(tmp_path: Path) -> None:
    """What pandas writes unless it is told not to."""
    frame_of().to_csv(tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match=r"column 1 of .*a\.csv has no name"):
        table_source((tmp_path / "a.csv",), label="y")
    assert table_source((tmp_path / "a.csv",), label="y", inputs=("age",)).input_names == ("age",)


@pytest.mark.parametrize("kind", KINDS)
def test_estimators_take_frames(kind: str) -> None:
    frame = frame_of(kind)
    columns = frame[["age", "bmi"]]
    model = learn.QuadraticNetworkRegressor().fit(columns, frame["y"])
    assert model.result_.input_names == ("age", "bmi")
    np.testing.assert_allclose(model.predict(columns), LABELS, atol=1e-9)
    classes = np.where(POINTS[:, 0] > 0, "old", "young")
    weights = np.ones(len(POINTS))
    text = (
        (polars.Series(classes), polars.Series(weights))
        if isinstance(frame, polars.DataFrame)
        else (pandas.Series(classes, dtype="category"), pandas.Series(weights))
    )
    found = learn.HalfspaceUnionClassifier(random_state=0).fit(columns, text[0], sample_weight=text[1])
    assert found.score(columns, classes) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_holes_of_frames_are_told(kind: str) -> None:
    frame = frame_of(kind)
    holed = frame.clone() if isinstance(frame, polars.DataFrame) else frame.copy()
    if isinstance(holed, polars.DataFrame):
        holed[3, "bmi"] = None
    else:
        holed.loc[3, "bmi"] = None
    with pytest.raises(InvalidInput, match="row 3, column 'bmi'"):
        learn.QuadraticNetworkRegressor().fit(holed[["age", "bmi"]], holed["y"])
    with pytest.raises(InvalidInput, match=r"row 4 \(counted from 1\), column 'bmi' is missing"):
        first_rows(FrameSource(holed, "y"), inputs=2, most=99)


def test_what_is_no_frame_is_told() -> None:
    with pytest.raises(InvalidInput, match="got LazyFrame: collect it first"):
        FrameSource(frame_of("polars").lazy(), "y")
    with pytest.raises(InvalidInput, match="can't be read as Arrow data"):
        FrameSource(frame_of().rename(columns={"age": 0}), "y")
