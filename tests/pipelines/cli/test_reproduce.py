"""`unweave reproduce`: what there is, and what a miniature leaves."""

import json
from pathlib import Path

import pytest

from unweave.cli import run
from unweave.reproduce.allenzhu.images.configurations import FIGURES

TINY = ["--width", "0.125", "--epochs", "1", "--batch", "20", "--images", "60"]


@pytest.mark.parametrize("arguments", [[], ["--list"], ["allenzhu:figure-9", "--list"]])
def test_what_can_be_reproduced_is_listed(arguments: list[str], capsys: pytest.CaptureFixture) -> None:
    assert run(["reproduce", *arguments]) == 0
    shown = capsys.readouterr().out
    assert all(f"allenzhu:{name} " in shown for name in FIGURES)
    assert "feature correction; CIFAR-100" in shown


def test_a_miniature_leaves_numbers_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    given = ["reproduce", "allenzhu:figure-2", *TINY, "--out", str(tmp_path / "run")]
    assert run(given) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("figure-2: miniature, on ")
    assert "A miniature: " in shown.out
    assert {"figure.json", "figure.npz", "figure.png"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert run([*given, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "run" / "figure.json").read_text())
    assert (document["kind"], document["work"], document["number"]) == ("reproduction", "allenzhu", "figure-2")


def test_what_is_missing_leaves_with_four(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    given = ["reproduce", "allenzhu:figure-2", *TINY, "--out", str(tmp_path / "run"), "--max-seconds", "0"]
    assert run([*given, "--quiet"]) == 4
    assert "not complete" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["allenzhu:figure-99", "--out", "x"], "there is no reproduction 'allenzhu:figure-99'"),
        (["allenzhu:figure-9"], "needs --out"),
        (["allenzhu:figure-9", "--full", "--out", "x"], "figure-9 at its published size needs --data"),
        (["allenzhu:figure-9", "--out", "x", "--depths", "one"], "--depths needs whole numbers"),
    ],
)
def test_wrong_use_leaves_with_two(asked: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    assert run(["reproduce", *asked]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
