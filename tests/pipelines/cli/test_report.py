"""`unweave report`: of every command that writes a folder, and of everything that is none."""

import json
import os
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import unweave
from unweave.cli import run
from unweave.networks.planted import general_network
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reports.html.origin import command_of

HOSTILE = "<script>window.hacked=1</script>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with a secret network, where commands are run."""
    monkeypatch.chdir(tmp_path)
    secret = general_network(np.random.default_rng(0), inputs=5, neurons=3)
    secret.save("secret.safetensors")
    secret.to_onnx("secret.onnx")
    return tmp_path


def done(command: str) -> int:
    """Run a command and give its exit code."""
    return run(command.split())


def page_of(path: Path) -> str:
    text = unescape(path.read_text(encoding="utf-8"))
    assert text.startswith("<!DOCTYPE html>")
    return text


@pytest.mark.parametrize("model", ["secret.onnx", "secret.safetensors"])
def test_a_newcomer_gets_from_a_model_to_a_report(model: str, folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert done(f"identify {model} --seed 7 --out run --quiet") == 0
    assert done("report run --html") == 0
    assert "run/report.html" in capsys.readouterr().err
    text = page_of(folder / "run" / "report.html")
    assert "give away the network: 5 → 3 tanh → 1 with 22 parameters." in text
    assert f"unweave identify {model} --confidence 0.95 --seed 7" in text
    network = unweave.read_run(folder / "run").result.network
    assert unweave.match(network, unweave.Network.load("secret.safetensors")).largest_error < 1e-10
    settings = json.loads((folder / "run" / "settings.json").read_text())
    assert all(checksum in text for checksum in settings["files"].values())
    assert settings["environment"]["versions"]["numpy"] in text


def test_the_report_goes_where_it_is_told(folder: Path) -> None:
    assert done("identify secret.safetensors --out run --quiet") == 0
    assert done("report run --html mine.html") == 0
    assert page_of(folder / "mine.html")
    assert not (folder / "run" / "report.html").exists()


@pytest.mark.usefixtures("folder")
def test_without_html_the_text_is_shown_again(capsys: pytest.CaptureFixture) -> None:
    done("identify secret.safetensors --out run")
    first = capsys.readouterr().out
    assert done("report run") == 0
    assert capsys.readouterr().out == first


def test_a_report_goes_with_its_run(folder: Path) -> None:
    """A report of an earlier run beside a later one would tell wrong things."""
    for further in ("", " --overwrite"):
        done(f"identify secret.safetensors --out run --quiet{further}")
        assert not (folder / "run" / "report.html").exists()
        done("report run --html")
        assert (folder / "run" / "report.html").exists()


def test_python_writes_the_same_report(folder: Path) -> None:
    found = unweave.identify(unweave.Network.load("secret.safetensors"))
    assert found.report("report.html") == Path("report.html")
    text = page_of(folder / "report.html")
    assert "give away the network" in text
    assert f"{found.queries:,} queries" in text
    assert all(f"{queries:,}" in text for queries in found.cost.stage_queries.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("overparameterized --neurons 12", "12 softplus(10.0)"),
        ("quadratic --bias", "training loss"),
        ("hierarchical --widths 2,1", "2 squared → 1 squared"),
    ],
)
def test_estimators_have_reports(folder: Path, options: str, words: str) -> None:
    points = np.random.default_rng(3).uniform(-1.7, 1.7, (300, 6))
    teacher = make_teacher(np.random.default_rng(2), inputs=6, widths=(2, 1), level_weights=(1.0, 0.3))
    labels = teacher(points)[:, 0] if "hier" in options else (points @ np.arange(6.0)) ** 2
    rows = slice(0, 20 if "over" in options else 300)
    names = ["a", HOSTILE, "c", "d", "e", "f"]
    header = ",".join([*names, "y"])
    np.savetxt("s.csv", np.column_stack([points, labels])[rows], delimiter=",", header=header, comments="")
    columns = ["--inputs", ",".join(names)]
    run(["learn", *options.split(), "s.csv", "--target", "y", *columns, "--out", "run", "--quiet"])
    assert done("report run --html") == 0
    text = page_of(folder / "run" / "report.html")
    assert words in text
    assert "samples" in text
    assert (folder / "run" / "report.html").read_text().count("<script") == 2, "of data and of the page"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "landscape --neurons 1:3 --inputs 2:3 --samples 4 --planted 2 --starts 2",
            "Global minima over neurons and inputs",
        ),
        ("landscape --figure 1", "sigmoid, b = 4"),
        ("landscape --figure 4b-ones --steps 250 --planted 1", "Gradient descent on random labels"),
    ],
)
def test_phase_diagrams_and_figures_have_reports(folder: Path, command: str, words: str) -> None:
    assert run([*command.split(), "--out", "run", "--quiet"]) == 0
    assert done("report run --html") == 0
    assert words in page_of(folder / "run" / "report.html")


def test_landscapes_have_folders_and_reports(folder: Path, capsys: pytest.CaptureFixture) -> None:
    command = "landscape --neurons 1:2 --inputs 2 --samples 4 --planted 2 --starts 2 --out run"
    assert run(command.split()) == 0
    assert done("report run --html") == 0
    text = page_of(folder / "run" / "report.html")
    assert "unweave landscape --neurons 1:2 --inputs 2" in text
    (folder / "run" / "landscape.json").write_text((folder / "run" / "landscape.json").read_text().replace("2", "3"))
    assert done("report run --html") == 2
    assert "landscape.json" in capsys.readouterr().err


def test_feature_corrections_have_reports(folder: Path) -> None:
    from correction_models import small_images

    np.savez("images.npz", **dict(zip(("x_train", "y_train", "x_test", "y_test"), small_images(0), strict=True)))
    options = "--data images.npz --seeds 1 --epochs 1 --windows 0 --prox 1e-3 --depths 1,2 --out run --quiet"
    run(["correction", "--model", "correction_models:small_convolutions", *options.split()])
    assert done("report run --html") == 0
    assert "correction of frozen units" in page_of(folder / "run" / "report.html")


@pytest.mark.parametrize(
    "arguments", ["report run run.html", "report nowhere --html", "report secret.safetensors --html", "report . --html"]
)
def test_wrong_use_is_told_before_anything_is_written(
    folder: Path, arguments: str, capsys: pytest.CaptureFixture
) -> None:
    done("identify secret.safetensors --out run --quiet")
    before = sorted(folder.rglob("*"))
    assert run(arguments.split()) == 2
    assert capsys.readouterr().err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.usefixtures("folder")
def test_a_report_that_cannot_be_written_leaves_with_5(capsys: pytest.CaptureFixture) -> None:
    done("identify secret.safetensors --out run --quiet")
    assert done("report run --html /dev/full") == 5
    assert done("report run --html gone/report.html") == 5
    assert "could not be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "identify secret.safetensors --box -1.0 1.0 --neurons 3 --budget 5000",
        "identify secret.safetensors --center 0.5 --scale 2.0 --activation tanh --coverage 0.9",
        "learn quadratic 'my samples.csv' --target y --bias --signs both",
        "landscape --neurons 1:2 --inputs 2 --samples 4 --planted 1 --starts 1 --random-labels",
        "landscape --figure 1",
    ],
)
def test_the_command_of_a_report_repeats_the_run(folder: Path, command: str) -> None:
    points = np.random.default_rng(3).standard_normal((60, 3))
    table = np.column_stack([points, points[:, 0] ** 2])
    np.savetxt("my samples.csv", table, delimiter=",", header="a,b,c,y", comments="")
    run([*shlex.split(command), "--out", "one", "--quiet"])
    settings = [json.loads((folder / "one" / "settings.json").read_text())["settings"]]
    told = command_of(settings[0])
    assert told.startswith("unweave ")
    run([*shlex.split(told)[1:], "--out", "two", "--quiet"])
    settings.append(json.loads((folder / "two" / "settings.json").read_text())["settings"])
    assert settings[0] == settings[1]


def test_shells_complete_commands() -> None:
    """What the script asks that `--install-completion` gives to bash."""
    asked = {"_UNWEAVE_COMPLETE": "complete_bash", "COMP_WORDS": "unweave ide", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from unweave.cli import run; raise SystemExit(run())"]
    shown = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert shown.stdout.split() == ["identify"]
