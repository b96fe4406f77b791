"""What users see beside results: versions and extras, progress, and what the library notes."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from unweave.cli import console, run
from unweave.cli.console import Progress, query_progress
from unweave.networks.planted import general_network
from unweave.oracles.oracle import CallableOracle

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from model_server import ModelServer


def test_the_doctor_names_versions_extras_and_threads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unweave.cli.doctor.find_spec", lambda package: None if package == "torch" else package)
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"numpy {np.__version__}" in out
    assert "extra torch: needs torch: pip install 'unweave[torch]'" in out
    assert "extra http: httpx " in out
    assert "cores that may be used: " in out
    assert "threads (" in out


def test_progress_says_what_is_left_where_the_end_is_known() -> None:
    oracle = CallableOracle(lambda points: points, inputs=3, budget=100)
    shown = Progress(began=time.monotonic() - 60.0)
    assert "left" not in shown.words
    shown.watch(oracle, neurons=None)
    oracle.query(np.zeros((50, 3)))
    shown.tell("walking", 0)
    assert shown.words == "walking                         50 queries  0:01:00, at most 0:01:00 left"


def test_progress_knows_no_end_without_a_budget_or_a_width() -> None:
    oracle = CallableOracle(lambda points: points, inputs=3)
    oracle.query(np.zeros((50, 3)))
    shown = Progress()
    shown.watch(oracle, neurons=None)
    assert "left" not in shown.words
    shown.watch(oracle, neurons=4)
    assert "left" in shown.words


@pytest.mark.parametrize("command", ["identify", "audit", "learn quadratic", "landscape"])
def test_every_command_writes_lines_where_stderr_is_no_terminal(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "LINE_SECONDS", 0.001)
    general_network(np.random.default_rng(3), inputs=3, neurons=2).save("secret.safetensors")
    points = np.random.default_rng(0).standard_normal((50, 3))
    samples = np.column_stack([points, points[:, 0] ** 2])
    np.savetxt("samples.csv", samples, delimiter=",", header="a,b,c,y", comments="")
    options, unit = {
        "identify": ("secret.safetensors", "queries"),
        "audit": ("secret.safetensors --forms float32 --budget 2000", "queries"),
        "learn quadratic": ("samples.csv --target y", "samples"),
        "landscape": ("--neurons 1:2 --inputs 2 --samples 4 --planted 1 --starts 1", "sizes done"),
    }[command]
    assert run([*command.split(), *options.split()]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if f" {unit}  0:00:0" in line]
    assert lines
    assert (command == "audit") == any(line.startswith("float32: ") and "left" in line for line in lines)
    assert run([*command.split(), *options.split(), "--quiet"]) == 0
    assert f" {unit} " not in capsys.readouterr().err


def test_lines_are_written_where_stderr_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0.01)
    with query_progress(is_shown=True) as shown:
        shown.tell("walking", 0)
        time.sleep(0.1)
    assert "walking" in capsys.readouterr().err
    with query_progress(is_shown=False):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("level", "is_said"), [("info", True), ("warning", False)])
def test_what_the_library_notes_is_shown_from_a_level_on(
    level: str, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    secret = general_network(np.random.default_rng(3), inputs=3, neurons=2)
    with ModelServer(secret, inputs=3, fault=lambda number: 503 if number == 2 else None).running() as server:
        assert run(["--log-level", level, "identify", f"{server.address}/v2/models/secret", "--quiet"]) == 0
    assert ("attempt 1 has failed: it answers with status 503" in caplog.text) == is_said
