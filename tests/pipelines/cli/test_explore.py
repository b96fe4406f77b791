"""`unweave correction`: what training does, in tables, JSON and pictures."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from unweave.cli import run
from unweave.exceptions import InvalidInput


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


def test_optimiser_schedule_and_rates_reach_the_recipe(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    import torch

    from unweave.explore.feature_correction.recipes import CosineSchedule, Recipe

    def seen(*_: object, recipe: Recipe, device: str | None, **__: object) -> None:
        asked.append((recipe, device))
        raise InvalidInput("seen")

    asked: list[tuple[Recipe, str | None]] = []
    monkeypatch.setattr("unweave.measure_feature_correction", seen)
    start = ["correction", "--model", "correction_models:perceptron", "--data", str(samples)]
    wanted = ["--optimiser", "adamw", "--schedule", "cosine", "--warmup", "0.1", "--batch", "32", "--device", "cpu"]
    for options in ([], wanted, [*wanted, "--learning-rate", "0.01"], ["--optimiser", "sgd", "--epochs", "7"]):
        assert run([*start, *options]) == 2
    assert "seen" in capsys.readouterr().err
    plain, adam, slow, short = (recipe for recipe, _ in asked)
    assert plain == Recipe()
    assert adam == Recipe(learning_rate=1e-3, batch=32, optimiser=torch.optim.AdamW, schedule=CosineSchedule(0.1))
    assert slow.learning_rate == 0.01
    assert short == Recipe(epochs=7)
    assert [device for _, device in asked] == [None, "cpu", "cpu", None]


def test_datasets_are_named_in_a_module(capsys: pytest.CaptureFixture) -> None:
    start = ["correction", "--model", "correction_models:small_convolutions"]
    sizes = ["--seeds", "1", "--epochs", "1", "--depths", "1", "--windows", "0", "--prox", "1e-3", "--json"]
    assert run([*start, "--data", "correction_datasets:both", *sizes]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == []
    for named, message in (("loader", "raised TypeError"), ("QUICK", "two datasets, (train, test), or a function")):
        assert run([*start, "--data", f"correction_datasets:{named}", *sizes]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "warp"], "the device 'warp' can't be used"),
        (["--warmup", "0.1"], "--warmup belongs to --schedule"),
        (["--schedule", "cosine", "--warmup", "2"], "a warmup from 0 to below 1"),
        (["--scheduler", "nowhere"], "there is no Dask scheduler at nowhere"),
    ],
)
def test_options_that_do_not_fit_are_named_before_any_training(
    options: list[str], message: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert run([*arguments, *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run" / "trainings").exists()


def test_progress_shows_totals_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.cli.console import Trainings
    from unweave.explore.feature_correction.runner import MeasurementProgress

    clock = [100.0]
    monkeypatch.setattr("unweave.cli.console.time.monotonic", lambda: clock[0])
    trainings = Trainings(began=clock[0])
    assert trainings.words.split() == ["loading", "0", "trainings", "done", "0:00:00"]
    trainings.tell(MeasurementProgress("seed 0, depth 1, joint", 12, 45, 260.0))
    clock[0] += 60.0
    assert trainings.words.endswith("12 of 45 trainings done  0:01:00, about 0:03:20 left")
    trainings.tell(MeasurementProgress("done", 45, 45, 0.0))
    clock[0] += 60.0
    assert trainings.words.endswith("about 0:00:00 left")
