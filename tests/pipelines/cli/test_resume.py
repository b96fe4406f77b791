"""Runs that are ended go on after kill -9, Ctrl-C, a model that fails, a spent budget; and no secret is written."""

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unweave
from late import pyarrow
from unweave.cli import run
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.journal.store import NAME, JournalFile
from unweave.reports.json import as_document

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from model_server import ModelServer  # noqa: E402

INPUTS = 5
PROBE = 8
MODELS = """
import os
import numpy as np
from pathlib import Path
from unweave.networks.network import Network

secret = Network.load("secret.safetensors")

def answer(points):
    with open("asked", "a") as asked:
        asked.write(f"{len(points)}\\n")
    if Path("broken").exists():
        raise RuntimeError("out of order")
    if Path("interrupted").exists():
        raise KeyboardInterrupt
    return secret(points)
"""


@pytest.fixture
def secret() -> Network:
    return general_network(np.random.default_rng(3), inputs=INPUTS, neurons=3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: Network) -> Path:
    """The current directory, with a model in `models.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    secret.save("secret.safetensors")
    Path("models.py").write_text(MODELS)
    return tmp_path


@pytest.fixture
def server(secret: Network) -> Iterator[ModelServer]:
    with ModelServer(secret, inputs=INPUTS).running() as running:
        yield running


def asked() -> int:
    """Points that the model was asked since the last time, probes not among them."""
    count = sum(map(int, Path("asked").read_text().split()))
    Path("asked").unlink()
    return count - PROBE


def held(path: Path) -> int:
    file = JournalFile(path, is_read=True)
    return sum(file.count(model) for model in file.models())


def identified(*options: str, code: int = 0, out: str = "run") -> Any:
    assert run(["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", out, "--quiet", *options]) == code
    return unweave.read_run(out).result


def test_the_same_command_again_asks_nothing_and_finds_the_same() -> None:
    first, queries = identified(), asked()
    assert queries == first.queries - PROBE
    again = identified()
    assert asked() == 0
    assert as_document(again)["network"] == as_document(first)["network"]
    assert (again.reason, again.queries, again.certificate) == (first.reason, first.queries, first.certificate)


@pytest.mark.parametrize(
    ("trouble", "code", "words"), [("broken", 3, "out of order"), ("interrupted", 130, "Interrupted")]
)
def test_what_was_paid_for_is_kept(trouble: str, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """audit B7: Ctrl-C or an exception in the model loses what was paid for."""
    whole = identified(out="whole")
    needed = asked()
    command = ["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", "run"]
    run([*command, "--budget", "150", "--quiet"])
    spent = asked()
    Path(trouble).touch()
    capsys.readouterr()
    assert run([*command, "--budget", "9000"]) == code
    said = " ".join(capsys.readouterr().err.split())
    assert f"{spent} answers are saved in run/{NAME}. Run the same command again to go on." in said
    assert words in said
    Path(trouble).unlink()
    Path("asked").unlink()
    found = identified("--budget", "9000")
    assert asked() == needed - spent
    assert as_document(found)["network"] == as_document(whole)["network"]


def test_without_a_place_for_answers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken").touch()
    assert run(["identify", "models.py:answer", "--inputs", str(INPUTS)]) == 3
    assert "No answers were saved: with --out or --journal" in capsys.readouterr().err


def test_no_journal_keeps_nothing() -> None:
    identified("--no-journal")
    assert {each.name for each in Path("run").iterdir()} == {"network.safetensors", "result.json", "settings.json"}


def test_a_shared_journal_serves_several_runs() -> None:
    identified("--journal", "shared.sqlite", out="one")
    asked()
    identified("--journal", "shared.sqlite", out="two")
    assert asked() == 0
    assert not Path("two", NAME).exists()
    # The same command again goes on there, too.
    identified("--journal", "shared.sqlite", out="two")


def test_wrong_use_leaves_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("nothing.onnx", "models.py:nothing", "http://127.0.0.1:9/v2/models/m", "http://127.0.0.1:9/other"):
        assert run(["identify", target, "--inputs", str(INPUTS), "--out", "deep/run"]) in (2, 3)
        assert not Path("deep").exists()
    assert "Traceback" not in capsys.readouterr().err


def test_a_model_that_has_changed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    identified()
    general_network(np.random.default_rng(4), inputs=INPUTS, neurons=3).save("secret.safetensors")
    capsys.readouterr()
    assert run(["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", "run"]) == 2
    assert "has answered differently at the same points" in " ".join(capsys.readouterr().err.split())


def test_another_question_does_not_replace_a_run_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    identified()
    for options in (["--seed", "3"], ["--scale", "2"]):
        assert run(["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", "run", *options]) == 2
        assert "holds an earlier run" in " ".join(capsys.readouterr().err.split())


def test_answers_of_another_model_are_not_gone_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    identified()
    for name in ("network.safetensors", "result.json", "settings.json"):
        Path("run", name).unlink()
    assert run(["identify", "secret.safetensors", "--out", "run"]) == 2
    assert "holds answers of models.py:answer, not of secret.safetensors" in " ".join(capsys.readouterr().err.split())


def test_exports_hold_every_question_and_its_answer(secret: Network) -> None:
    found = identified()
    assert run(["journal", "export", "run"]) == 0
    assert run(["journal", "export", "run", "--parquet"]) == 0
    with Path("run", "journal.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    table = pyarrow.parquet.read_table("run/journal.parquet").to_pydict()
    assert len(rows) == len(table["request"]) == found.queries
    points = np.array([[float(row[f"x{i}"]) for i in range(INPUTS)] for row in rows])
    answers = np.array([float(row["y0"]) for row in rows])
    np.testing.assert_array_equal(np.column_stack([table[f"x{i}"] for i in range(INPUTS)]), points)
    np.testing.assert_array_equal(table["y0"], answers)
    np.testing.assert_allclose(answers, secret(points)[:, 0], rtol=1e-12)
    # They do not keep the run from going on.
    identified()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["journal", "export", "nowhere"], "there is no journal"),
        (["journal", "export", "secret.safetensors"], "is no journal of Unweave, or damaged"),
        (["journal", "export", "run", "--out", "answers.txt"], "ends in .csv or .parquet"),
        (["journal", "export", "run", "--model", "other"], "name one of models.py:answer"),
    ],
)
def test_exports_that_can_not_be_made_say_why(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    identified()
    assert run(arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_no_secret_is_written_anywhere(
    server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("A_TOKEN", "topsecret")
    monkeypatch.setenv("A_KEY", "hushhush")
    host = server.address.removeprefix("http://")
    address = f"http://me:paroleword@{host}/predict?key=$A_KEY&other=plainvalue"
    template = ["--request", '{"key": "$A_KEY", "rows": $points}', "--answer", "$.scores[*]", "--inputs", str(INPUTS)]
    headers = ["--header", "Authorization: Bearer $A_TOKEN", "--header", "X-Key: literalkey"]
    command = ["identify", address, *template, *headers, "--out", "run"]
    assert run(command) == 0
    assert run(["journal", "export", "run"]) == 0
    assert run(["report", "run", "--html", "report.html"]) == 0
    audit = ["audit", *command[1:-1], "audited", "--forms", "float32", "--html", "audit.html", "--max-batch", "50"]
    assert run(audit) == 0
    server.fault = lambda _: 500
    Path("run", NAME).unlink()
    assert run([*command, "--overwrite"]) == 3
    sent = server.seen_headers[0]
    assert (sent["Authorization"], sent["X-Key"]) == ("Bearer topsecret", "literalkey")
    captured = capsys.readouterr()
    texts = [captured.out.encode(), captured.err.encode()]
    texts += [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert len(texts) > 10
    for word in (b"topsecret", b"hushhush", b"paroleword", b"plainvalue", b"literalkey"):
        assert not [text for text in texts if word in text]
    written = unweave.read_run("run").settings
    assert written["headers"] == ["Authorization", "X-Key"]
    assert written["target"] == f"http://{host}/predict?key=$A_KEY&other=***"


@pytest.mark.parametrize("option", [["--rate", "3"], ["--header", "A: b"], ["--request", "{}"], ["--binary"]])
def test_options_of_servers_are_refused_elsewhere(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["identify", "models.py:answer", "--inputs", str(INPUTS), *option]) == 2
    assert f"{option[0]} belongs to a server" in " ".join(capsys.readouterr().err.split())


def test_ctrl_c_waits_for_what_is_under_way_and_says_how_to_go_on(server: ModelServer) -> None:
    server.seconds = 0.2
    # Whoever starts tests in the background may ignore interruptions, which children inherit.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", heed + "from unweave.cli import run; raise SystemExit(run())"]
    options = ["identify", f"{server.address}/v2/models/secret", "--out", "run", "--max-batch", "5"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, env=os.environ, text=True) as process:
        while server.requests < 6:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"answers are saved in run/{NAME}. Run the same command again to go on." in said
    assert "Traceback" not in said
    # All that the server has answered is there.
    assert held(Path("run", NAME)) + PROBE == sum(server.asked.values())


def test_a_full_disk_says_what_was_saved_and_the_run_goes_on() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000)); "
    command = [sys.executable, "-c", limit + "from unweave.cli import run; raise SystemExit(run())"]
    options = ["identify", "models.py:answer", "--inputs", str(INPUTS), "--out", "run", "--quiet"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    # What did not fit any more was asked in vain.
    spent, kept = asked(), held(Path("run", NAME))
    assert 0 < kept < spent
    assert f"{kept} answers are saved in run/{NAME}. Run the same command again to go on." in done.stderr
    assert "make room" in " ".join(done.stderr.split())
    whole = identified(out="whole")
    needed = asked()
    found = identified()
    assert asked() == needed - kept
    assert as_document(found)["network"] == as_document(whole)["network"]


def test_kills_in_small() -> None:
    """A small version of `benchmarks/journals.py`, in a process of its own: copies of one that runs JAX may block."""
    command = [sys.executable, str(BENCHMARKS / "journals.py"), "kills", "--kills", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[:3] == ["kills", "kills", "1"]
