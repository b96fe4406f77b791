import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import unweave
from commands import document, output
from unweave.cli import run
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.reports.files import read_run
from unweave.result import Cost, Outcome, Result

# One shape for all tests, so that each kernel is compiled once.
INPUTS, NEURONS = 5, 3

MODELS = """
import numpy as np
from unweave.networks.network import Network
from unweave.oracles.oracle import CallableOracle

print("models are loading")
secret = Network.load({path!r})
oracle = CallableOracle(lambda points: secret(points), inputs=secret.inputs)
number = 3

def answer(points):
    print("a model that talks")
    return secret(points)

def raises(points):
    raise RuntimeError("the server is down")

def leaves(points):
    raise SystemExit(0)

def not_a_number(points):
    return np.full(len(points), np.nan)

def bowl(points):
    return np.sum((points + 1.0) ** 2 * np.arange(1.0, 6.0), axis=1)

def never_asked(points):
    raise AssertionError("a query was spent")

class Model:
    def predict(self, points):
        return secret(points)

class holder:
    model = Model()
"""


@pytest.fixture
def secret() -> Network:
    return general_network(np.random.default_rng(3), inputs=INPUTS, neurons=NEURONS)


_names = (f"models_of_test_{number}" for number in count())


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: Network) -> Iterator[str]:
    """Name of a module in the current directory, next to the saved secret."""
    name = next(_names)
    secret.save(tmp_path / "secret.safetensors")
    (tmp_path / f"{name}.py").write_text(MODELS.format(path=str(tmp_path / "secret.safetensors")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


def in_process(
    *arguments: str, code: str = "raise SystemExit(run())", stderr: int | None = None, **environment: str
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", f"import sys; from unweave.cli import run; {code}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=os.environ | environment)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "--version", code=0)[0] == f"unweave {unweave.__version__}\n"


def test_help_does_not_wait_for_the_numerics() -> None:
    check = (
        "codes = [run([*command, '--help']) for command in ([], ['demo'], ['identify'], ['verify'], "
        "['learn'], ['learn', 'halfspaces'], ['landscape'], ['correction'], ['reproduce'], ['journal', 'export'], "
        "['doctor'])];"
        "assert codes == [0] * 11;"
        "print(sorted({'numpy', 'scipy', 'jax', 'safetensors', 'jaxtyping'} & set(sys.modules)))"
    )
    process = in_process(code=check)
    out = process.communicate()[0].decode()
    assert process.returncode == 0
    assert "module:name" in out
    assert out.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown"],
        ["demo", "--neurons", "0"],
        ["demo", "--inputs", "many"],
        ["demo", "--seed", "-1"],
        ["demo", "--activation", "unknown"],
        ["identify"],
        ["verify", "somewhere"],
        ["verify", "nowhere", "--against", "secret.safetensors"],
        ["verify", "secret.safetensors", "--against", "nowhere.safetensors"],
        ["verify", "secret.safetensors", "--against", "secret.safetensors", "--tolerance", "nan"],
        ["verify", "secret.safetensors", "--against", "secret.safetensors", "--tolerance", "-1"],
    ],
)
@pytest.mark.usefixtures("models")
def test_wrong_use_leaves_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    out, err = output(capsys, *arguments, code=2)
    assert out == ""
    assert err
    assert "Traceback" not in err


@pytest.mark.parametrize("attribute", ["answer", "holder.model.predict", "oracle", "secret"])
def test_targets_that_can_be_identified(
    capsys: pytest.CaptureFixture[str], models: str, secret: Network, attribute: str
) -> None:
    inputs = [] if attribute in ("oracle", "secret") else ["--inputs", str(INPUTS)]
    result = document(capsys, "identify", f"{models}:{attribute}", *inputs, "--out", "run", code=0)
    assert result["outcome"] == "identified"
    assert result["cost"]["queries"] > 0
    network = read_run("run").result.network
    assert network is not None
    assert unweave.match(network, secret).largest_error < 1e-10


@pytest.mark.usefixtures("models")
def test_a_saved_network_knows_its_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = output(capsys, "identify", "secret.safetensors", code=0)
    assert out.startswith("identified: ")
    assert "queries per parameter" in out


def test_what_a_model_prints_does_not_reach_stdout(capsys: pytest.CaptureFixture[str], models: str) -> None:
    out, err = output(capsys, "identify", f"{models}:answer", "--inputs", str(INPUTS), "--json", code=0)
    json.loads(out)
    assert err.startswith("models are loading a model that talks")


@pytest.mark.usefixtures("models")
def test_quiet_prints_the_outcome_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = output(capsys, "identify", "secret.safetensors", "--quiet", "--out", "run", code=0)
    assert " ".join(out.split()).startswith(f"identified: {NEURONS} neurons of tanh;")
    assert "certificate" not in out
    assert err == ""


def test_partly_identified_leaves_with_4_and_keeps_the_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, models: str, secret: Network
) -> None:
    partly = Result(Outcome.PARTLY_IDENTIFIED, "too noisy.", secret, cost=Cost(queries=9))
    monkeypatch.setattr(unweave, "identify", lambda *_, **__: partly)
    given = [f"{models}:never_asked", "--inputs", str(INPUTS), "--out", "run"]
    out, _ = output(capsys, "identify", *given, code=4)
    assert out.startswith("partly identified: too noisy.")
    output(capsys, "verify", "run", "--against", "secret.safetensors", code=0)


def test_a_run_folder_holds_every_setting_and_can_be_verified(capsys: pytest.CaptureFixture[str], models: str) -> None:
    target = f"{models}:answer"
    given = ["--inputs", str(INPUTS), *["--activation", "sigmoid", "--budget", "5000", "--seed", "4", "--neurons", "3"]]
    _, err = output(capsys, "identify", target, *given, "--scale", "1.5", "--center", "-0.1", "--out", "run", code=0)
    assert err.endswith("The run is in run")
    written = read_run("run")
    assert written.settings == {
        "target": target,
        "inputs": INPUTS,
        "outputs": None,
        "output": None,
        "activation": "sigmoid",
        "neurons": 3,
        "budget": 5000,
        "confidence": 0.95,
        "coverage": None,
        "max_seconds": None,
        "seed": 4,
        "scale": "1.5",
        "center": "-0.1",
        "box": None,
        "like": None,
        "columns": None,
        "inside": False,
        "journal": None,
        "headers": [],
        "request": None,
        "answer": None,
        "is_binary": None,
        "rate": None,
        "max_batch": None,
        "concurrency": None,
        "timeout": None,
    }
    assert written.result.network is not None
    assert str(written.result.network.activations[0]) == "sigmoid"

    out, _ = output(capsys, "verify", "run", "--against", "secret.safetensors", code=0)
    assert out.startswith("the same network")
    assert document(capsys, "verify", "run", "--against", "run", code=0)["largest_error"] == 0.0
    general_network(np.random.default_rng(9), inputs=INPUTS, neurons=NEURONS).save("wrong.safetensors")
    wrong = document(capsys, "verify", "run", "--against", "wrong.safetensors", code=1)
    assert wrong["largest_error"] > 0.1
    assert not wrong["is_same"]
    general_network(np.random.default_rng(9), inputs=INPUTS, neurons=4).save("wider.safetensors")
    wider = document(capsys, "verify", "run", "--against", "wider.safetensors", code=1)
    assert wider["largest_error"] == "inf"
    assert "widths differ" in wider["reason"]


def test_an_earlier_run_is_kept_unless_told_otherwise(capsys: pytest.CaptureFixture[str], models: str) -> None:
    bowl = [f"{models}:bowl", "--inputs", str(INPUTS), "--out", "run"]
    output(capsys, "identify", *bowl, code=1)
    never = [f"{models}:never_asked", "--inputs", str(INPUTS), "--out"]
    assert "earlier run" in output(capsys, "identify", *never, "run", code=2)[1]
    assert "left alone" in output(capsys, "identify", *never, ".", "--overwrite", code=2)[1]
    output(capsys, "identify", f"{models}:answer", *bowl[1:], "--overwrite", code=0)
    assert read_run("run").result.is_identified


def test_not_identified_leaves_with_1_and_a_run_without_network(
    capsys: pytest.CaptureFixture[str], models: str
) -> None:
    given = [f"{models}:bowl", "--inputs", str(INPUTS)]
    out, _ = output(capsys, "identify", *given, "--out", "run", code=1)
    assert out.startswith("not identified: ")
    assert document(capsys, "verify", "run", "--against", "secret.safetensors", code=1)["errors"] is None
    assert "holds no network" in output(capsys, "verify", "secret.safetensors", "--against", "run", code=2)[1]
    assert "holds no network" in output(capsys, "identify", "run", code=2)[1]


def test_a_budget_that_is_too_small_leaves_with_1(capsys: pytest.CaptureFixture[str], models: str) -> None:
    given = [f"{models}:answer", "--inputs", str(INPUTS), "--budget", "60"]
    result = document(capsys, "identify", *given, code=1)
    assert "budget is too small" in result["reason"]
    assert result["cost"]["queries"] <= 60


def test_a_box_is_respected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, models: str, secret: Network
) -> None:
    seen: list[np.ndarray] = []

    def answer(points: np.ndarray) -> np.ndarray:
        seen.append(points)
        return secret(points)

    sys.path.insert(0, str(Path.cwd()))
    monkeypatch.setattr(import_module(models), "answer", answer)
    capsys.readouterr()
    given = [f"{models}:answer", "--inputs", str(INPUTS), "--box", "-1.5", "1"]
    document(capsys, "identify", *given, code=0)
    points = np.concatenate(seen)
    assert points.min() >= -1.5 - 1e-9
    assert points.max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("raises", "OracleFailed: the oracle raised RuntimeError: the server is down"),
        ("leaves", "OracleFailed: the oracle left the program"),
        ("not_a_number", "BadAnswer: the oracle gave a bad answer: answers must be finite"),
    ],
)
def test_a_broken_oracle_leaves_with_3(
    capsys: pytest.CaptureFixture[str], models: str, attribute: str, message: str
) -> None:
    out, err = output(capsys, "identify", f"{models}:{attribute}", "--inputs", str(INPUTS), code=3)
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("no_such_module:answer", ["--inputs", "5"], "there is no module 'no_such_module'"),
        ("{models}.part:answer", ["--inputs", "5"], "there is no module"),
        ("{models}:nothing", ["--inputs", "5"], "has no attribute 'nothing'"),
        ("{models}:holder.model.fit", ["--inputs", "5"], "has no attribute 'fit'"),
        ("{models}:number", ["--inputs", "5"], "needs to be callable, got an object of type int"),
        ("{models}:Model", ["--inputs", "5"], "is a class"),
        ("{models}:", ["--inputs", "5"], "as in an import"),
        ("{models}.py:nothing", ["--inputs", "5"], "has no attribute 'nothing'"),
        ("./{models}:answer", ["--inputs", "5"], "as in an import"),
        ("fails_to_load:answer", ["--inputs", "5"], "importing fails_to_load raised ZeroDivisionError"),
        ("leaves_on_load:answer", ["--inputs", "5"], "importing leaves_on_load raised SystemExit"),
        (
            "misses_a_module:answer",
            ["--inputs", "5"],
            "importing misses_a_module failed: No module named 'absent'",
        ),
        ("{models}", ["--inputs", "5"], "or the path of a saved network"),
        ("missing.safetensors", [], "there is no such file"),
        ("fails_to_load.py", [], "needs to be a file written by Network.save"),
        ("secret.safetensors", ["--inputs", "6"], "the network has 5 inputs, but --inputs says 6"),
        ("secret.safetensors", ["--outputs", "2"], "the network has 1 outputs, but --outputs says 2"),
        ("{models}:oracle", ["--inputs", "5"], "carries its own inputs"),
        ("{models}:never_asked", [], "needs --inputs"),
        ("{models}:never_asked", ["--inputs", "0"], "'--inputs'"),
        ("{models}:never_asked", ["--inputs", "5", "--activation", "swoosh"], "unknown activation 'swoosh'"),
        ("{models}:never_asked", ["--inputs", "5", "--activation", "quadratic"], "determines its neurons"),
        ("{models}:never_asked", ["--inputs", "5", "--scale", "-1"], "positive finite scale"),
        ("{models}:never_asked", ["--inputs", "5", "--center", "nan"], "finite center"),
        ("{models}:never_asked", ["--inputs", "5", "--box", "1", "-1"], "lower < upper"),
        ("{models}:never_asked", ["--inputs", "5", "--box", "1"], "--box"),
        ("{models}:never_asked", ["--inputs", "5", "--box", "0", "1", "--scale", "1"], "leave --scale"),
        ("{models}:never_asked", ["--inputs", "5", "--out", "."], "left alone"),
        (
            "{models}:never_asked",
            ["--inputs", "5", "--out", "secret.safetensors"],
            "folder that can be written",
        ),
    ],
)
def test_what_can_be_refused_is_refused_before_a_query_is_spent(
    capsys: pytest.CaptureFixture[str], models: str, target: str, options: list[str], message: str
) -> None:
    Path("fails_to_load.py").write_text("1 / 0")
    Path("leaves_on_load.py").write_text("raise SystemExit(0)")
    Path("misses_a_module.py").write_text("import absent")
    out, err = output(capsys, "identify", target.format(models=models), *options, code=2)
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("models")
def test_a_malformed_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    given = ["verify", "run", "--against", "secret.safetensors"]
    assert "UnreadableFile: run is not a complete run" in output(capsys, *given, code=2)[1]
    Path("run", "settings.json").write_text("[")
    assert "UnreadableFile: run/settings.json needs to be a file of a run" in output(capsys, *given, code=2)[1]


def test_progress_goes_to_a_terminal_on_stderr_and_leaves_stdout_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard, terminal = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(keyboard, "rb", buffering=0) as reader, os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert run(["demo", "--inputs", str(INPUTS), "--neurons", str(NEURONS), "--json"]) == 0
        stderr.flush()
        progress = reader.read(2**16).decode()
        monkeypatch.undo()
    assert json.loads(capsys.readouterr().out)["found"]["outcome"] == "identified"
    assert "queries" in progress
    assert "\x1b[?25l" in progress


def test_no_progress_where_stderr_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["demo", "--inputs", str(INPUTS), "--neurons", "2", "--activation", "quadratic"]) == 1
    out, err = capfd.readouterr()
    assert "\x1b[" in out
    assert err == ""


def test_explain_says_of_every_route_why_it_was_taken_or_not(
    capsys: pytest.CaptureFixture[str], models: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    arguments = ("identify", f"{models}:answer", "--inputs", str(INPUTS), "--explain")
    written, _ = output(capsys, *arguments, "--quiet", code=0)
    lines = [" ".join(line.split()) for line in written.splitlines()]
    assert any("saturation walk" in line and " taken " in line and "far out the answers are" in line for line in lines)
    assert any("plateau walk" in line and "not taken" in line for line in lines)
    assert any("Hessians" in line and "explains the answers" in line for line in lines)
    result = run([*arguments, "--json"])
    captured = capsys.readouterr()
    assert result == 0
    assert json.loads(captured.out)["outcome"] == "identified"
    assert "saturation walk" in captured.err
