"""`unweave correction`: what training does, in tables, JSON and pictures."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from unweave.cli import run


def _one_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


ONE_ARRAY = _one_array()


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    from correction_models import small_images

    names = ("x_train", "y_train", "x_test", "y_test")
    np.savez(tmp_path / "samples.npz", **dict(zip(names, small_images(0), strict=True)))
    return tmp_path / "samples.npz"


@pytest.fixture
def arguments(samples: Path, tmp_path: Path) -> list[str]:
    asked = ["--model", "correction_models:small_convolutions", "--data", str(samples), "--seeds", "1"]
    return ["correction", *asked, "--epochs", "1", "--windows", "0", "--prox", "1e-3", "--out", str(tmp_path / "run")]


def test_a_model_is_measured_and_the_folder_goes_on(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "no conclusion: 4 more seeds needed" in shown
    assert "train only <= l" in shown
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert written == {"configuration.json", "trainings", "correction.json", "correction.txt", "correction.png"}
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["units"] == ["conv1", "conv2", "conv3"]
    assert document["missing"] == []


def test_what_is_missing_leaves_with_four(arguments: list[str], capsys: pytest.CaptureFixture) -> None:
    assert run([*arguments, "--max-seconds", "1e-9", "--json"]) == 4
    assert len(json.loads(capsys.readouterr().out)["missing"]) > 5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--data", "nowhere.npz"], "--data needs --model"),
        (["--model", "correction_models:perceptron"], "--model needs --data"),
        (["--depths", "one"], "--depths needs whole numbers"),
        (
            ["--model", "correction_models:nothing", "--data", "nowhere.npz"],
            "--model 'correction_models:nothing' needs",
        ),
    ],
)
def test_wrong_use_leaves_with_two(asked: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    assert run(["correction", *asked]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("written", [b"nothing", b"", ONE_ARRAY])
def test_a_file_that_holds_something_else_is_refused(
    written: bytes, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "data.npz").write_bytes(written)
    asked = ["--model", "correction_models:perceptron", "--data", str(tmp_path / "data.npz")]
    assert run(["correction", *asked]) == 2
    assert "needs an .npz file with x_train" in " ".join(capsys.readouterr().err.split())
