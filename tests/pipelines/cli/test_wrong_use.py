"""Wrong use ends with exit code 2 and a sentence, before anything is spent; never with a traceback."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unweave.learn
from unweave.cli import run
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.subjects import Deadline, OutOfTime
from unweave.networks.planted import general_network
from unweave.reproduce.allenzhu.images.configurations import figure_configuration
from unweave.reproduce.allenzhu.images.image_sets import digit_images

LEARNERS = ("relu", "quadratic", "overparameterized", "lowest-layer", "halfspaces", "hierarchical")
ROWS = np.random.default_rng(0).standard_normal((200, 3))
NO_SEED = """
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
"""


def write(name: str, head: str, rows: np.ndarray) -> None:
    np.savetxt(name, rows, delimiter=",", header=head, comments="")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("samples.csv", "a,b,y", ROWS)
    return tmp_path


def message(arguments: list[str], capsys: pytest.CaptureFixture) -> str:
    """What wrong use says."""
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("InvalidInput: ")
    return " ".join(captured.err.split())


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("head", ["a,a,y", "a,y,y"])
def test_columns_of_the_same_name_are_refused(learner: str, head: str, capsys: pytest.CaptureFixture) -> None:
    """audit B8: duplicate columns."""
    write("twice.csv", head, ROWS)
    assert "more than one column" in message(["learn", learner, "twice.csv", "--target", "y"], capsys)


@pytest.mark.parametrize("learner", LEARNERS)
def test_text_after_many_numbers_is_refused(learner: str, capsys: pytest.CaptureFixture) -> None:
    """audit B8: late text, beyond the block from which types are guessed."""
    write("late.csv", "a,b,y", np.tile(ROWS, (100, 1)))
    with open("late.csv", "a") as file:
        file.write("1,2,three\n")
    told = message(["learn", learner, "late.csv", "--target", "y"], capsys)
    # Classes may be text, but not some of them.
    place = "'y' of late.csv" if learner == "halfspaces" else "late.csv, line 20002, column 'y'"
    assert place in told
    assert f"got 'three'{' in row 20001' if learner == 'halfspaces' else ''}" in told


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_head_line_alone_is_refused(learner: str, capsys: pytest.CaptureFixture) -> None:
    """audit B8: header only."""
    Path("head.csv").write_text("a,b,y\n")
    message(["learn", learner, "head.csv", "--target", "y"], capsys)


@pytest.mark.parametrize("learner", sorted(set(LEARNERS) - {"quadratic"}))
def test_one_row_is_refused(learner: str, capsys: pytest.CaptureFixture) -> None:
    """audit B8: one row."""
    write("row.csv", "a,b,y", ROWS[:1])
    message(["learn", learner, "row.csv", "--target", "y"], capsys)


@pytest.mark.parametrize("options", [["halfspaces"], ["halfspaces", "--union"], ["hierarchical", "--classes"]])
def test_a_continuous_target_is_no_class(options: list[str], capsys: pytest.CaptureFixture) -> None:
    """audit B8: continuous target for half spaces."""
    assert "continuous" in message(["learn", *options, "samples.csv", "--target", "y"], capsys)


@pytest.mark.parametrize("picture", ["nowhere/halves.png", "halves.xyz", "halves", "folder.png"])
def test_bad_pictures_are_noticed_before_the_fit(
    picture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """audit B8: a bad path or ending was noticed after the fit, and the result was lost."""
    Path("folder.png").mkdir()
    monkeypatch.setattr(unweave.learn.HalfspaceIntersectionClassifier, "fit", lambda *_: pytest.fail("it was fitted"))
    write("halves.csv", "a,b,y", np.column_stack([ROWS[:, :2], ROWS[:, 0] > 0]))
    told = message(["learn", "halfspaces", "halves.csv", "--target", "y", "--picture", picture], capsys)
    assert "--picture needs" in told


def test_a_builder_without_a_seed_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """audit B8: a function without arguments for `unweave correction --model`."""
    (here / "no_seed.py").write_text(NO_SEED)
    rng = np.random.default_rng(0)
    arrays = {"x_train": rng.standard_normal((20, 2)), "x_test": rng.standard_normal((20, 2))}
    np.savez("data.npz", **arrays, y_train=np.arange(20) % 2, y_test=np.arange(20) % 2)
    # The command puts the folder on the path and imports the file: both end with this test.
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, "no_seed", None)
    monkeypatch.delitem(sys.modules, "no_seed")
    told = message(["correction", "--model", "no_seed:build", "--data", "data.npz"], capsys)
    assert "needs to take a seed" in told


@pytest.mark.parametrize("command", ["identify", "learn", "correction", "reproduce"])
def test_an_unwritable_folder_is_noticed_before_the_run(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """audit B8: an unwritable `--out` was noticed after the run."""
    Path("file").write_text("")
    general_network(np.random.default_rng(0), inputs=3, neurons=2).save("secret.safetensors")
    for module, name in (
        ("unweave", "identify"),
        ("unweave", "measure_feature_correction"),
        ("unweave.learn", "QuadraticNetworkRegressor"),
        ("unweave.reproduce.allenzhu.images.figures", "run_figure"),
    ):
        monkeypatch.setattr(f"{module}.{name}", lambda *_, **__: pytest.fail("it was run"))
    options = {
        "identify": ["identify", "secret.safetensors"],
        "learn": ["learn", "quadratic", "samples.csv", "--target", "y"],
        "correction": ["correction"],
        "reproduce": ["reproduce", "allenzhu:figure-2", "--epochs", "1"],
    }
    assert "is not a folder" in message([*options[command], "--out", "file/run"], capsys)


def test_the_target_is_no_input(capsys: pytest.CaptureFixture) -> None:
    """audit B12: `--inputs a,y --target y` was accepted and "identified"."""
    arguments = ["learn", "quadratic", "samples.csv", "--inputs", "a,y", "--target", "y"]
    assert "among the inputs" in message(arguments, capsys)
    assert "more than once" in message([*arguments[:4], "a,a", "--target", "y"], capsys)


@pytest.mark.parametrize("name", ["figure-1", pytest.param("figure-4", marks=pytest.mark.slow)])
def test_figures_look_at_the_clock_at_every_step(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """audit B13: `--max-seconds 25` overran 45 s where features are drawn, during which nobody looked at the clock."""
    from unweave.reproduce.allenzhu.images.figures import run_figure

    looks = Counter[int]()
    tiny = figure_configuration(name).scaled(width=0.0625, layers=10, epochs=1, images=20)
    for steps in (1, 4):
        monkeypatch.setattr(Deadline, "check", lambda _, steps=steps: looks.update([steps]))
        found = run_figure(replace(tiny, ascent_steps=steps), digit_images(), tmp_path, max_seconds=600)
        assert found.is_complete
    features = (looks[4] - looks[1]) / 3
    assert features >= 2 * len(tiny.depths) if name == "figure-4" else features == len(found.result.features)


def test_a_figure_whose_time_is_over_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """audit B13."""
    from unweave.reproduce.allenzhu.images.figures import run_figure

    left = iter(range(40))

    def check(_: Deadline) -> None:
        if next(left, None) is None:
            raise OutOfTime

    monkeypatch.setattr(Deadline, "check", check)
    tiny = figure_configuration("figure-1").scaled(width=0.0625, layers=10, epochs=1, images=20)
    assert not run_figure(tiny, digit_images(), tmp_path, max_seconds=600).is_complete
    assert list(tmp_path.glob("*.safetensors")), "it ended after the training, among the features"


def test_pictures_are_told_of_when_they_are_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """audit B13: "Numbers and pictures are in ..." came before the picture."""

    def fail(*_: object) -> None:
        raise InvalidInput("no picture today")

    monkeypatch.setattr("unweave.cli.console.save_picture", fail)
    options = ["--width", "0.125", "--epochs", "1", "--images", "20", "--out", "figure"]
    assert run(["reproduce", "allenzhu:figure-2", *options]) == 2
    told = capsys.readouterr().err
    assert "no picture today" in told
    assert "Numbers and pictures" not in told
