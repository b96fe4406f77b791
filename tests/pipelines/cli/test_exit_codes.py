"""Exit codes that have little to do with the outcome: 5 and 130, and how `--help` tells of all of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unweave
from unweave.cli import run
from unweave.cli.console import EXIT_CODES, OUTCOME_CODES
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.result import Cost, Outcome, Result

COMMAND = [sys.executable, "-c", "from unweave.cli import run; raise SystemExit(run())"]
SLEEPS = """
import sys, time

def answer(points):
    print("asked", file=sys.stderr, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    """A network in a file of the current directory."""
    monkeypatch.chdir(tmp_path)
    network = general_network(np.random.default_rng(3), inputs=5, neurons=3)
    network.save("secret.safetensors")
    return network


@pytest.mark.parametrize("command", [[], ["identify"], ["learn"], ["learn", "relu"], ["correction"], ["verify"]])
def test_help_tells_all_exit_codes(command: list[str], capsys: pytest.CaptureFixture) -> None:
    assert run([*command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert EXIT_CODES in shown
    for words in ("0 identified", "1 not identified", "2 wrong use", "3 the model failed", "4 partly identified",
                  "5 results could not be written", "130 interrupted"):  # fmt: skip
        assert words in shown


def test_every_outcome_has_a_code() -> None:
    assert {outcome: OUTCOME_CODES[outcome.value] for outcome in Outcome} == {
        Outcome.IDENTIFIED: 0,
        Outcome.NOT_IDENTIFIED: 1,
        Outcome.PARTLY_IDENTIFIED: 4,
    }


def found_by(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Result(Outcome.IDENTIFIED, "all is known.", network, cost=Cost(queries=9))
    monkeypatch.setattr(unweave, "identify", lambda *_, **__: found)


def test_a_full_disk_leaves_with_5_after_the_report(
    secret: Network, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    found_by(secret, monkeypatch)
    monkeypatch.setattr(os, "fsync", fail)
    assert run(["identify", "secret.safetensors", "--out", "run"]) == 5
    captured = capsys.readouterr()
    assert captured.out.startswith("identified: all is known.")
    assert "NotWritten: the results could not be written to run: [Errno 28]" in " ".join(captured.err.split())
    names = {each.name for each in Path("run").iterdir()}
    assert names <= {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"}, "only answers are left of it"


def test_a_folder_that_changes_while_the_model_is_asked_leaves_with_5(
    secret: Network, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def identify(*_: object, **__: object) -> Result:
        Path("run").write_text("somebody else was here")
        return Result(Outcome.IDENTIFIED, "all is known.", secret, cost=Cost(queries=9))

    monkeypatch.setattr(unweave, "identify", identify)
    assert run(["identify", "secret.safetensors", "--out", "run", "--no-journal"]) == 5
    captured = capsys.readouterr()
    assert captured.out.startswith("identified: all is known.")
    assert "NotWritten: " in captured.err
    assert Path("run").read_text() == "somebody else was here"


@pytest.mark.parametrize("picture", ["nowhere/curve.png", "curve.xyz", "curve"])
def test_pictures_that_cannot_be_are_refused_first(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["landscape", "--picture", picture]) == 2
    assert "--picture needs" in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_picture_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "curve.png").mkdir()
    assert run(["landscape", "--picture", str(tmp_path / "curve.png")]) == 2
    assert "--picture needs a file that can be written" in " ".join(capsys.readouterr().err.split())


def test_a_picture_that_cannot_be_written_leaves_with_5_after_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    sizes = ["--neurons", "1:2", "--inputs", "2", "--samples", "4", "--planted", "2", "--starts", "1"]
    monkeypatch.setattr(os, "fsync", fail)
    assert run(["landscape", *sizes, "--picture", str(tmp_path / "curve.png")]) == 5
    captured = capsys.readouterr()
    assert "runs at a global" in captured.out
    assert "curve.png" in captured.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_full", [True, False])
def test_stdout_that_cannot_be_written_leaves_with_5(is_full: bool) -> None:
    """On a full disk, and into a pipe that nobody reads."""
    if is_full:
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    process = subprocess.run([*COMMAND, "reproduce", "--json"], stdout=target, stderr=subprocess.PIPE, check=False)
    os.close(target)
    assert process.returncode == 5
    message = process.stderr.decode()
    assert message.startswith("NotWritten: the result could not be written to stdout")
    assert "Traceback" not in message
    assert "Exception ignored" not in message


def test_an_interruption_leaves_with_130(tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    # Whoever starts tests in the background may ignore interruptions, which children inherit.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [*COMMAND[:-1], heed + COMMAND[-1], "identify", "sleeps:answer", "--inputs", "3", "--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline() == b"asked\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = b"0 answers are saved in run/journal.sqlite. Run the same command again to go on.\n"
    assert (out, err) == (b"", kept + b"Interrupted.\n")
    assert {each.name for each in (tmp_path / "run").iterdir()} == {"journal.sqlite"}
