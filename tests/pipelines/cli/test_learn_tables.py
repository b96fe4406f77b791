"""`unweave learn` from tables as people have them: many formats, text labels, errors with place, nothing lost."""

import gzip
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import unweave.learn
from late import pyarrow
from unweave.cli import console, learn, run
from unweave.cli.console import Reading
from unweave.networks.network import Network
from unweave.reports.files import read_run

POINTS = np.random.default_rng(0).standard_normal((60, 3))
SQUARES = (POINTS @ [1.0, -2.0, 0.5]) ** 2
COLUMNS = {"age": POINTS[:, 0], "bmi": POINTS[:, 1], "dose": POINTS[:, 2], "y": SQUARES}
SQUARED = ["learn", "quadratic", "--target", "y"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(separator: str) -> bytes:
    rows = [
        separator.join(pyarrow.table(COLUMNS).column_names),
        *(separator.join(map(repr, row)) for row in np.c_[POINTS, SQUARES].tolist()),
    ]
    return "\n".join(rows).encode()


def write(name: str) -> None:
    """The table in a file of the kind that its name says."""
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pyarrow.table(COLUMNS), name)
    elif name.endswith((".feather", ".arrow")):
        pyarrow.feather.write_feather(pyarrow.table(COLUMNS), name)
    else:
        data = text("\t" if "tsv" in name else ";" if "semicolon" in name else ",")
        Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


@pytest.mark.parametrize(
    "name",
    ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "semicolon.csv", "semicolon.txt", "a.parquet", "a.feather", "a.arrow"],
)
def test_the_same_network_from_every_format(name: str, capsys: pytest.CaptureFixture) -> None:
    write(name)
    assert run([*SQUARED, name, "--json", "--out", "run"]) == 0
    document = json.loads(capsys.readouterr().out)
    layer, above = document["network"]["layers"]
    weights = np.array(layer["weights"])
    matrix = weights.T @ np.diag(above["weights"][0]) @ weights
    np.testing.assert_allclose(matrix, np.outer([1, -2, 0.5], [1, -2, 0.5]), atol=1e-9)
    assert document["input_names"] == ["age", "bmi", "dose"]
    assert read_run("run").result.input_names == ("age", "bmi", "dose")


def test_a_separator_can_be_given(capsys: pytest.CaptureFixture) -> None:
    Path("a.csv").write_bytes(text("~"))
    assert run([*SQUARED, "a.csv", "--separator", "~", "--quiet"]) == 0
    Path("tabs.csv").write_bytes(text("\t"))
    assert run([*SQUARED, "tabs.csv", "--separator", "tab", "--quiet"]) == 0
    capsys.readouterr()
    assert run([*SQUARED, "a.csv", "--separator", "~~"]) == 2
    assert "one character" in capsys.readouterr().err


def test_names_of_columns_are_in_the_report(capsys: pytest.CaptureFixture) -> None:
    write("a.csv")
    assert run([*SQUARED, "a.csv", "--inputs", "dose, bmi,age", "--out", "run"]) == 0
    assert "weights of dose, bmi, age" in capsys.readouterr().out
    assert run(["report", "run", "--html"]) == 0
    page = next(Path().rglob("*.html")).read_text()
    assert all(f">{name}<" in page for name in ("dose", "bmi", "age"))


@pytest.mark.parametrize("names", [("benign", "malignant"), ("malignant", "benign"), ("0", "1")])
def test_classes_may_be_text(names: tuple[str, str]) -> None:
    points = np.random.default_rng(0).standard_normal((6_000, 2))
    classes = np.where(np.any(points > 1.2, axis=1), *names)
    table = pyarrow.table({"size": points[:, 0], "age": points[:, 1], "kind": classes})
    pyarrow.csv.write_csv(table, "cells.csv")
    arguments = ["learn", "halfspaces", "cells.csv", "--target", "kind", "--picture", "cells.png", "--out", "run"]
    assert run(arguments) == 0
    layer = Network.load("run/network.safetensors").layers[0]
    np.testing.assert_allclose(np.sort(np.abs(layer.weights), axis=1), [[0, 1], [0, 1]], atol=0.05)
    assert Path("cells.png").stat().st_size > 0


def test_pictures_need_two_classes(capsys: pytest.CaptureFixture) -> None:
    Path("a.csv").write_text("a,b,y\n1,2,x\n2,3,y\n3,5,z\n")
    assert run(["learn", "halfspaces", "a.csv", "--target", "y", "--picture", "a.png"]) == 2
    assert "a picture needs two classes, got 3" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "is_cut"), [(40, True), (61, False)])
def test_rows_that_were_left_out_are_told(
    rows: int, is_cut: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(learn, "MOST_NUMBERS", 3 * rows)
    write("a.csv")
    assert run([*SQUARED, "a.csv", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cost"]["samples"] == min(rows, 60)
    assert any("only the first 40 rows were read" in note for note in document["notes"]) == is_cut


def test_text_is_no_target_of_a_regression(capsys: pytest.CaptureFixture) -> None:
    Path("a.csv").write_text("a,y\n1,2\n3,many\n")
    assert run([*SQUARED, "a.csv"]) == 2
    assert "a.csv, line 3, column 'y' needs a number, got 'many'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("learner", ["relu", "quadratic", "halfspaces"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("holes.csv", "holes.csv, line 4, column 'b' is empty"),
        ("holes.parquet", "holes.parquet, row 3 (counted from 1)"),
    ],
)
def test_holes_are_told_with_their_place(learner: str, name: str, told: str, capsys: pytest.CaptureFixture) -> None:
    """audit D: missing values were reported without row and column."""
    table = pyarrow.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, None], "y": [0.0, 1.0, 1.0]})
    pyarrow.parquet.write_table(table, "holes.parquet")
    pyarrow.csv.write_csv(table, "holes.csv")
    assert run(["learn", learner, name, "--target", "y"]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("learner", ["relu", "quadratic", "halfspaces"])
def test_tables_without_rows_are_told(learner: str, capsys: pytest.CaptureFixture) -> None:
    Path("head.csv").write_text("a,b,y\n")
    assert run(["learn", learner, "head.csv", "--target", "y"]) == 2
    assert "there is no row in head.csv" in capsys.readouterr().err


def test_out_is_tried_before_the_fit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """audit D: permissions of /proc allow the superuser to write, but nobody can."""
    write("a.csv")
    monkeypatch.setattr(unweave.learn.QuadraticNetworkRegressor, "fit", lambda *_: pytest.fail("it was fitted"))
    assert run([*SQUARED, "a.csv", "--out", "/proc/run"]) == 2
    assert "needs a folder that can be written" in capsys.readouterr().err


def test_a_failed_picture_loses_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    points = np.random.default_rng(0).standard_normal((2_000, 2))
    table = pyarrow.table({"a": points[:, 0], "b": points[:, 1], "y": (points[:, 0] > 0.5).astype(int)})
    pyarrow.csv.write_csv(table, "a.csv")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr("unweave.reports.pictures.halfspaces.draw_halfspaces", fails)
    assert run(["learn", "halfspaces", "a.csv", "--target", "y", "--picture", "a.png", "--out", "run"]) == 5
    captured = capsys.readouterr()
    assert "half space" in captured.out
    assert "a.png could not be drawn: no fonts. The result is complete" in " ".join(captured.err.split())
    assert read_run("run").result.network is not None


def test_shares_and_remaining_time_of_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    reading = Reading(total=1_000, began=100.0)
    reading.tell("inputs", 0)
    reading.begin_pass()
    clock[0] += 10.0
    reading.count(250)
    assert reading.words.split("  ")[-1] == "0:00:10, about 0:00:30 left for reading"
    assert "250 samples, 25% read" in reading.words
    # More than was thought: nobody knows how much is left.
    reading.count(1_250)
    assert "left" not in reading.words
    reading.end_pass()
    assert (reading.total, "1,500 samples" in reading.words) == (1_500, True)


@pytest.mark.parametrize(("learner", "stage"), [("quadratic", "certificate"), ("relu", "certificate")])
def test_stages_of_all_estimators_are_shown(
    learner: str, stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    told: list[tuple[str, int | None]] = []
    tell, count = Reading.tell, Reading.count
    monkeypatch.setattr(
        Reading, "tell", lambda self, name, samples: (told.append((name, None)), tell(self, name, samples))
    )
    monkeypatch.setattr(Reading, "count", lambda self, rows: (told.append((self.stage, rows)), count(self, rows)))
    points = np.random.default_rng(0).standard_normal((400, 2))
    table = pyarrow.table({"a": points[:, 0], "b": points[:, 1], "y": np.maximum(points[:, 0], 0)})
    pyarrow.parquet.write_table(table, "a.parquet", row_group_size=100)
    run(["learn", learner, "a.parquet", "--target", "y", "--quiet"])
    capsys.readouterr()
    assert (stage, None) in told
    assert [rows for _, rows in told if rows is not None][:4] == [100] * 4


def test_lines_are_written_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0.001)
    write("a.parquet")
    assert run([*SQUARED, "a.parquet"]) == 0
    assert re.search(
        r"^(loading|learning|training|conditions|certificate) .* \d:\d\d:\d\d$", capsys.readouterr().err, re.M
    )
