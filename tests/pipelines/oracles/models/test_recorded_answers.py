"""A table of recorded answers as a model: what it does not hold is written down as questions, and the run goes on."""

import json
from pathlib import Path

import numpy as np
import pytest

import unweave
from unweave.cli import run
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.models.recorded_answers import RecordedAnswers

INPUTS = 3


@pytest.fixture
def secret() -> Network:
    return general_network(np.random.default_rng(3), inputs=INPUTS, neurons=2)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def add_answers(secret: Network, table: Path, questions: Path) -> None:
    """Do what a user does who can ask the model only elsewhere."""
    points = np.loadtxt(questions, delimiter=",", skiprows=1, ndmin=2)
    with table.open("a") as stream:
        for point, answer in zip(points.tolist(), secret(points)[:, 0].tolist(), strict=True):
            stream.write(",".join(map(repr, [*point, answer])) + "\n")


def test_a_network_is_found_by_questions_and_answers_in_turn(
    secret: Network, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Path("answers.csv")
    table.write_text("x0,x1,x2,y0\n")
    rounds = 0
    while (code := run(["identify", "answers.csv", "--out", "run", "--quiet"])) == 3:
        assert "add them to the table with their answers" in " ".join(capsys.readouterr().err.split())
        add_answers(secret, table, Path("answers.questions.csv"))
        rounds += 1
        assert rounds < 100
    assert code == 0
    found = unweave.read_run("run").result
    assert found.network is not None
    assert unweave.match(found.network, secret).largest_error < 1e-10
    # Every question was asked once.
    assert len(table.read_text().splitlines()) == 1 + found.queries
    assert not Path("run", "journal.sqlite").exists()


def test_an_exported_journal_is_a_table_of_answers(secret: Network, capsys: pytest.CaptureFixture[str]) -> None:
    secret.save("secret.safetensors")
    assert run(["identify", "secret.safetensors", "--out", "run", "--quiet"]) == 0
    assert run(["journal", "export", "run", "--parquet", "--out", "answers.parquet"]) == 0
    capsys.readouterr()
    assert run(["identify", "answers.parquet", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["network"] == json.loads(Path("run/result.json").read_text())["network"]


def test_repeated_points_have_answers_of_their_own() -> None:
    Path("answers.csv").write_text("a,b,left,right\n1,2,3,4\n1,2,5,6\n")
    oracle = RecordedAnswers(Path("answers.csv"), columns=("a", "b"))
    np.testing.assert_array_equal(oracle.query(np.array([[1.0, 2.0], [1.0, 2.0]])), [[3.0, 4.0], [5.0, 6.0]])
    with pytest.raises(unweave.TransportFailed, match="no answers to 1 of 1 points"):
        oracle.query(np.array([[1.0, 2.0]]))
    assert oracle.questions.read_text() == "a,b\n1.0,2.0\n"


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a,b\n1,2\n", [], "needs columns x0, x1"),
        ("x0,x1\n1,2\n", [], "needs columns x0, x1"),
        ("x0,y0\n1,word\n", [], "answers.csv, line 2, column 'y0' needs a number, got 'word'"),
        ("x0,y0\n1,\n", [], "answers.csv, line 2, column 'y0' is empty"),
        ("x0,x0,y0\n1,2,3\n", [], "more than one column x0"),
        ("x0,y0\n1,2\n", ["--inputs", "4"], "the model has 1 inputs, got inputs=4"),
        ("x0,y0\n1,2\n", ["--columns", "z"], "has no column z"),
    ],
)
def test_tables_that_are_none_are_refused(
    content: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("answers.csv").write_text(content)
    assert run(["identify", "answers.csv", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
