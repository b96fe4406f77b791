"""What is known before a run: where the model may be asked, and what it would cost."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unweave
from unweave.cli import run
from unweave.networks.planted import general_network

INPUTS = 3
MODEL = """
import numpy as np
from unweave.networks.network import Network

secret = Network.load("secret.safetensors")

def answer(points):
    with open("asked.npy", "ab") as asked:
        np.save(asked, points)
    return secret(points)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    general_network(np.random.default_rng(3), inputs=INPUTS, neurons=2).save("secret.safetensors")
    Path("models.py").write_text(MODEL)
    rows = np.random.default_rng(0).standard_normal((200, INPUTS)) * [1.0, 2.0, 0.5] + [0.0, 1.0, -1.0]
    np.savetxt("rows.csv", rows, delimiter=",", header="a,b,c", comments="")
    parquet.write_table(arrow.table({name: rows[:, i] for i, name in enumerate("abc")}), "rows.parquet")
    np.savetxt("labelled.csv", np.column_stack([rows, rows[:, 0]]), delimiter=",", header="a,b,c,y", comments="")
    np.savetxt("constant.csv", rows * [1.0, 1.0, 0.0], delimiter=",", header="a,b,c", comments="")


def asked() -> np.ndarray:
    batches = []
    with Path("asked.npy").open("rb") as stream:
        while stream.peek(1):
            batches.append(np.load(stream))
    return np.concatenate(batches)


def identify(*options: str, code: int = 0) -> None:
    assert run(["identify", "models.py:answer", "--inputs", str(INPUTS), "--quiet", *options]) == code


def test_bounds_may_be_given_per_input() -> None:
    identify("--box=-1,0,-2", "1,3,0")
    points = asked()
    assert np.all(points >= [-1.0, 0.0, -2.0])
    assert np.all(points <= [1.0, 3.0, 0.0])
    assert np.all(np.ptp(points, axis=0) > [1.9, 2.9, 1.9])


def test_center_and_scale_may_be_given_per_input(capsys: pytest.CaptureFixture[str]) -> None:
    identify("--center", "0,1,-1", "--scale", "1,2,0.5", "--out", "run")
    assert unweave.read_run("run").settings["center"] == "0,1,-1"
    assert run(["identify", "models.py:answer", "--inputs", "3", "--scale", "1,2"]) == 2
    assert "one scale per input, 3 in all, got 2" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("table", [["rows.csv"], ["rows.parquet"], ["labelled.csv", "--columns", "a,b,c"]])
def test_ranges_of_typical_rows_are_kept(table: list[str]) -> None:
    rows = np.loadtxt("rows.csv", delimiter=",", skiprows=1)
    identify("--like", *table, "--inside")
    assert np.all(asked() >= rows.min(axis=0))
    assert np.all(asked() <= rows.max(axis=0))


def test_units_come_from_typical_rows() -> None:
    identify("--like", "rows.csv", "--dry-run")
    center = np.median(asked(), axis=0)
    np.testing.assert_allclose(center, [0.0, 1.0, -1.0], atol=4.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--like", "labelled.csv"], "needs one column per input, 3 in all, but labelled.csv has 4"),
        (["--like", "constant.csv", "--inside"], "column c of constant.csv is constant"),
        (
            ["--like", "nowhere.csv"],
            "nowhere.csv needs to be a file of separated values, but there is no such file:",
        ),
        (["--like", "secret.safetensors"], "needs a name that ends in"),
        (["--like", "rows.csv", "--columns", "a,b,z"], "has no column z"),
        (["--like", "rows.csv", "--box", "0", "1"], "leave --scale, --center and --box out"),
        (["--inside"], "--inside needs the typical rows"),
        (["--box", "a", "1"], "--box needs numbers"),
        (["--dry-run", "--rate", "0"], "--rate needs to be a positive number, got 0.0"),
        (["--dry-run", "--rate", "nan"], "--rate needs to be a positive number, got nan"),
        (["--dry-run", "--price-per-1000", "-1"], "--price-per-1000 needs to be a positive number"),
        (["--price-per-1000", "1"], "--price-per-1000 is for an estimate: say --dry-run"),
        (["--columns", "a,b,c"], "--columns names inputs in a table"),
        (["--center", "1,2"], "one center per input, 3 in all, got 2: give as many; of a table (--like), name"),
    ],
)
def test_what_can_not_be_meant_is_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    identify(*options, code=2)
    assert words in " ".join(capsys.readouterr().err.split())
    assert not Path("asked.npy").exists()


def test_a_dry_run_asks_at_most_50_queries_and_keeps_them(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", "run"]
    assert run([*command, "--dry-run", "--json", "--neurons", "2", "--price-per-1000", "5"]) == 0
    told: Any = json.loads(capsys.readouterr().out)
    spent = len(asked())
    assert told["queries"] == spent <= 50
    (effort,) = told["efforts"]
    assert effort["price"] == pytest.approx([each * 0.005 for each in effort["queries"]])
    assert run([*command, "--quiet"]) == 0
    found = unweave.read_run("run").result
    assert effort["queries"][0] <= found.queries <= effort["queries"][1]
    # All but the probe at the second start was read.
    assert len(asked()) == found.queries + 8


def test_a_spent_budget_says_what_the_plan_takes(capsys: pytest.CaptureFixture[str]) -> None:
    identify("--budget", "70", "--neurons", "2", code=1)
    out = " ".join(capsys.readouterr().out.split())
    assert "In all, one hidden layer behind 3 inputs takes about" in out
    assert "for 2 ordinary neurons (" in out
    assert "more)" in out


@pytest.mark.parametrize("kind", ["int", "float"])
def test_nothing_is_estimated_behind_labels(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("models.py").write_text(f"{MODEL}\ndef label(points): return (secret(points) > 0).astype({kind})\n")
    command = ["identify", "models.py:label", "--inputs", str(INPUTS)]
    assert run([*command, "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "whole numbers, as class labels are: ask for scores or probabilities instead" in said
    assert "There is no estimate for such answers." in said
    assert "neurons" not in said
    assert run([*command, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["efforts"] == []
    assert run([*command, "--budget", "100", "--quiet"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "The answers so far are whole numbers, as class labels are, and what these take is not known" in said
    assert "ordinary neurons" not in said


def test_a_dry_run_in_a_box_tells_of_every_kind_of_network(capsys: pytest.CaptureFixture[str]) -> None:
    identify("--box", "-1", "1", "--neurons", "5", "--dry-run")
    out = " ".join(capsys.readouterr().out.split())
    for words in ("ordinary", "steep", "crowded", "fits from random starts, which do not always find them"):
        assert words in out


def test_a_dry_run_of_a_function_tells_time_at_the_rate_of_the_service_behind_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    identify("--dry-run", "--json", "--neurons", "2", "--rate", "5", "--max-batch", "10")
    (effort,) = json.loads(capsys.readouterr().out)["efforts"]
    assert effort["seconds"] == pytest.approx([each / 5.0 for each in effort["requests"]])
    assert effort["requests"][0] >= effort["queries"][0] / 10


@pytest.mark.parametrize("where", [["--like", "rows.csv"], ["--box=-1,0,-2", "1,3,0"], ["--scale", "1,2,0.5"]])
def test_inputs_are_known_where_ranges_are_given_for_each(where: list[str]) -> None:
    assert run(["identify", "models.py:answer", *where, "--dry-run"]) == 0
    assert asked().shape[1] == INPUTS
