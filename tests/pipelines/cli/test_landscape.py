"""`unweave landscape`: curves, phase diagrams and published figures, in tables, JSON, pictures and folders."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from unweave.cli import run
from unweave.exceptions import WorkersFailed
from unweave.explore.landscape.experiment import LandscapeDesign
from unweave.explore.landscape.figures import FIGURES, ActivationFigure, CurveFigure

SMALL = ["--samples", "6", "--planted", "3", "--starts", "2"]
CURVE = ["landscape", "--neurons", "1:4", "--inputs", "3", *SMALL]
DIAGRAM = ["landscape", "--neurons", "1:3", "--inputs", "2:3", *SMALL]


def document_of(command: list[str], capsys: pytest.CaptureFixture) -> dict:
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def without_seconds(document: dict) -> list[dict]:
    return [{name: value for name, value in point.items() if name != "seconds"} for point in document["points"]]


def test_curves(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    picture = tmp_path / "curve.png"
    document = document_of([*CURVE, "--picture", str(picture)], capsys)
    assert document["varied"] == "neurons"
    assert [point["neurons"] for point in document["points"]] == [1, 2, 3, 4]
    # With four neurons there are 16 parameters for 6 samples.
    assert document["points"][-1]["global"] == 6
    low, high = document["points"][-1]["clean_interval"]
    assert 0.2 < low < 0.5
    assert high == 1.0
    assert document["published"] is None
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_two_ranges_are_a_phase_diagram(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    document = document_of([*DIAGRAM, "--picture", str(tmp_path / "diagram.png")], capsys)
    assert [(point["inputs"], point["neurons"]) for point in document["points"]] == [
        (inputs, neurons) for inputs in (2, 3) for neurons in (1, 2, 3)
    ]
    assert [row["inputs"] for row in document["crossings"]] == [2, 3]
    assert (tmp_path / "diagram.png").stat().st_size > 5_000
    assert run(DIAGRAM) == 0
    assert "by inputs (rows) and neurons (columns)" in " ".join(capsys.readouterr().out.split())


def test_a_folder_goes_on_and_grows(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = ["--out", str(tmp_path / "run")]
    first = document_of([*DIAGRAM, *out], capsys)
    # Times are those of the first run: nothing was computed.
    assert document_of([*DIAGRAM, *out], capsys) == first
    wider = document_of(["landscape", "--neurons", "1:4", "--inputs", "3", *SMALL, *out], capsys)
    assert [point for point in wider["points"] if point["neurons"] < 4] == first["points"][3:]
    assert not (tmp_path / "run" / "phase_diagram.json").exists(), "the folder holds the last result"
    assert run([*DIAGRAM, *out, "--seed", "1"]) == 2
    assert "other settings (seed)" in " ".join(capsys.readouterr().err.split())
    other = document_of([*DIAGRAM, *out, "--seed", "1", "--overwrite"], capsys)
    assert without_seconds(other) != without_seconds(first)
    assert len([*(tmp_path / "run" / "sizes").glob("neurons-*")]) == 6


def test_an_interrupted_run_says_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unweave.explore.landscape import sweeps

    explore, seen = sweeps.explore, []

    def interrupted(*args: object, **given: object) -> object:
        seen.append(given["neurons"])
        if len(seen) == 3:
            raise KeyboardInterrupt
        return explore(*args, **given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sweeps, "explore", interrupted)
    assert run([*CURVE, "--out", str(tmp_path / "run")]) == 130
    assert "Run the same command again to go on" in capsys.readouterr().err
    assert run([*CURVE, "--out", str(tmp_path / "run")]) == 0
    assert seen == [1, 2, 3, 3, 4]


def test_workers_that_die_leave_with_four(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def died(*_: object, **__: object) -> None:
        raise WorkersFailed("workers died with jobs that were not done.")

    monkeypatch.setattr("unweave.explore.landscape.kept_sizes.run_jobs", died)
    assert run(CURVE) == 4
    assert "workers died" in capsys.readouterr().err


def test_quiet_says_one_sentence(capsys: pytest.CaptureFixture) -> None:
    for command in (CURVE, DIAGRAM, ["landscape", "--figure", "4b-ones", "--steps", "250", "--planted", "1"]):
        assert run([*command, "--quiet"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert said.endswith(".")
        assert "seconds" not in said


def test_an_earlier_result_is_not_replaced_by_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = ["--out", str(tmp_path / "run")]
    assert run([*CURVE, *out]) == 0
    assert run(["landscape", "--figure", "1", *out]) == 2
    assert "--overwrite" in capsys.readouterr().err
    # A run of another command that has come between is not a landscape that goes on.
    (tmp_path / "run" / "result.json").write_text("{}")
    assert run([*CURVE, *out]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_runs_of_others_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    assert run([*CURVE, "--out", str(tmp_path), "--overwrite"]) == 2
    assert "left alone" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_figures_are_the_published_ones(capsys: pytest.CaptureFixture) -> None:
    assert run(["landscape", "--figure", "1"]) == 0
    assert "[soltanolkotabi, Example 2.4]" in " ".join(capsys.readouterr().out.split())
    document = document_of(["landscape", "--figure", "1"], capsys)
    values = {curve["name"]: np.array(curve["values"]) for curve in document["curves"]}
    z = np.array(document["arguments"])
    assert np.allclose(values["softplus, b = 4"], np.log1p(np.exp(4 * z)) / 4)
    assert np.allclose(values["sigmoid, b = 4"], 1 / (1 + np.exp(-4 * z)))
    # The integral of the work, by the trapezoidal rule.
    fine = np.linspace(0.0, z[-1], 10_001)
    integral = 2 / np.sqrt(np.pi) * np.trapezoid(np.exp(-(fine**2) / 2), fine)
    assert values["erf"][-1] == pytest.approx(integral, abs=1e-7)
    published = {name: each.crossing for name, each in FIGURES.items() if isinstance(each, CurveFigure)}
    assert published == {"2a": 11.4, "2b": 10.7, "3a": 5.5, "3b": 25.4}
    for each in FIGURES.values():
        assert isinstance(each, ActivationFigure) or each.design.samples == 100


def test_the_defaults_are_figure_2a() -> None:
    from unweave.cli.landscape import ACTIVATION, INPUTS, NEURONS, SAMPLES, _range

    figure = FIGURES["2a"]
    assert isinstance(figure, CurveFigure)
    assert (tuple(_range(NEURONS, "neurons")), tuple(_range(INPUTS, "inputs"))) == (figure.neurons, figure.inputs)
    assert figure.design == LandscapeDesign(figure.design.activation, SAMPLES)
    assert str(figure.design.activation) == ACTIVATION


def test_figure_four_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    given = ["landscape", "--figure", "4b-ones", "--steps", "500", "--planted", "2", "--out", str(tmp_path / "run")]
    document = document_of([*given, "--picture", str(tmp_path / "four.png")], capsys)
    assert [curve["neurons"] for curve in document["curves"]] == [10, 20]
    for curve in document["curves"]:
        errors = np.array(curve["errors"])
        assert errors.shape == (2, 3)
        assert np.all(np.diff(errors) <= 0)
    assert (tmp_path / "four.png").stat().st_size > 5_000
    assert document_of(given, capsys) == document
    assert run(given) == 0
    assert "0 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--neurons", "0:3"], "a number or a range"),
        (["--neurons", "a"], "a number or a range"),
        (["--neurons", "5:2"], "a number or a range"),
        (["--neurons", "5", "--inputs", "3"], "needs to be a range"),
        (["--neurons", "2:99999999999"], "at most 10,000 sizes"),
        (["--figure", "7"], "2a, 2b, 3a, 3b, 4a, 4b"),
        (["--figure", "2a", "--neurons", "3:4"], "leave out --neurons"),
        (["--figure", "4a", "--search", "gradient"], "leave out --search"),
        (["--steps", "5"], "--steps belongs to --figure 4a"),
        (["--activation", "step"], "a step has no slope"),
        (["--activation", "nonsense"], "unknown activation"),
        (["--scheduler", "processes:no"], "a scheduler needs to be"),
    ],
)
def test_wrong_use_is_told(asked: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    assert run(["landscape", *asked]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["processes:2", "dask"])
def test_schedulers_change_nothing(scheduler: str, capsys: pytest.CaptureFixture) -> None:
    from distributed import LocalCluster

    expected = document_of(DIAGRAM, capsys)
    if scheduler != "dask":
        assert without_seconds(document_of([*DIAGRAM, "--scheduler", scheduler], capsys)) == without_seconds(expected)
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        found = document_of([*DIAGRAM, "--scheduler", cluster.scheduler_address], capsys)
    assert without_seconds(found) == without_seconds(expected)


@pytest.mark.slow
def test_a_killed_run_goes_on_with_whole_files(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sizes = tmp_path / "run" / "sizes"
    program = [sys.executable, "-c", "import sys; from unweave.cli import run; run(sys.argv[1:])"]
    process = subprocess.Popen([*program, *DIAGRAM, "--out", str(tmp_path / "run")])
    end = time.monotonic() + 60.0
    while len([*sizes.glob("neurons-*")]) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {each.name: each.read_bytes() for each in sizes.glob("neurons-*")}
    assert 2 <= len(before) <= 6
    found = document_of([*DIAGRAM, "--out", str(tmp_path / "run")], capsys)
    assert all((sizes / name).read_bytes() == data for name, data in before.items())
    assert without_seconds(found) == without_seconds(document_of(DIAGRAM, capsys))
