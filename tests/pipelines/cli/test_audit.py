"""`unweave audit`: exit codes, tables, JSON, HTML and folders."""

import json
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from model_server import ModelServer
from unweave.cli import run
from unweave.networks.network import Network
from unweave.networks.planted import general_network


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    general_network(np.random.default_rng(0), inputs=5, neurons=3).save("secret.safetensors")
    return tmp_path


def done(command: str) -> int:
    return run(command.split())


@pytest.mark.usefixtures("folder")
def test_the_table_tells_queries_time_price_and_catalogues(capsys: pytest.CaptureFixture) -> None:
    assert done("audit secret.safetensors --forms float32,top-1 --rate 10 --price-per-1000 2") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "float32",
        "identified",
        "requests",
        "seconds at the rate limit",
        "price",
        "ML05:2023",
        "AML.T0024.002",
        "defence",
    ):
        assert words in shown


def test_a_folder_a_page_and_json_tell_the_same(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert done("audit secret.safetensors --forms float32 --out run --html page.html --json") == 0
    document = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "run" / "audit.json").read_text()) == document
    assert done("report run --html") == 0
    for page in ("page.html", "run/report.html"):
        text = (folder / page).read_text(encoding="utf-8")
        assert document["verdict"].partition(": ")[2][1:] in text
        assert "unweave audit secret.safetensors --forms float32" in text


@pytest.mark.usefixtures("folder")
def test_a_server_is_asked_at_the_rate_that_is_reported(capsys: pytest.CaptureFixture) -> None:
    """`--rate` means requests per second, for those that are sent and for those that are reckoned."""
    batches: list[int] = []
    secret = Network.load("secret.safetensors")

    def model(points: np.ndarray) -> np.ndarray:
        batches.append(len(points))
        return secret(points)

    began = time.monotonic()
    with ModelServer(model, inputs=5).running() as server:
        command = f"audit {server.address}/v2/models/secret --forms float32 --rate 100 --max-batch 50 --json"
        assert done(command) == 0
    elapsed = time.monotonic() - began
    found = json.loads(capsys.readouterr().out)
    assert found["max_batch"] == 50 == max(batches)
    (exposure,) = found["exposures"]
    looked = 2  # requests of the first look at 64 points
    assert exposure["requests"] == len(batches) - looked
    assert exposure["waiting_seconds"] == exposure["requests"] / 100
    assert elapsed > (len(batches) - 1) / 100


INTERRUPTED = """
from pathlib import Path
from unweave.networks.network import Network

secret = Network.load("secret.safetensors")

def answer(points):
    asked = int(Path("asked").read_text()) + len(points)
    if asked > int(Path("most").read_text()):
        raise KeyboardInterrupt
    Path("asked").write_text(str(asked))
    return secret(points)
"""


def test_an_audit_that_was_interrupted_goes_on(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """With `--out` alone, as a run of `identify` does."""
    (folder / "models.py").write_text(INTERRUPTED)
    command = shlex.split("audit models.py:answer --inputs 5 --forms 'float32,noise 1e-6' --out run --json")
    (folder / "asked").write_text("0")
    (folder / "most").write_text("500")
    assert run(command) == 130
    said = " ".join(capsys.readouterr().err.split())
    assert "answers are saved in run/journal.sqlite. Run the same command again to go on." in said
    assert not (folder / "run" / "audit.json").exists()
    (folder / "most").write_text("1000000")
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    probes = 8
    assert int((folder / "asked").read_text()) == found["queries"] + probes
    # Again, and with another price: nothing but probes is asked, and the folder is its own.
    assert run([*command, "--price-per-1000", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == found["queries"]
    assert int((folder / "asked").read_text()) == found["queries"] + 2 * probes
    assert run([*command, "--seed", "3"]) == 2
    assert "holds an earlier run" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "wrong",
    ["audit secret.safetensors --forms nothing", "audit secret.safetensors --rate 0",
     "identify secret.safetensors --confidence 2", "identify secret.safetensors --max-seconds 0"],
)  # fmt: skip
def test_wrong_use_leaves_no_journal(wrong: str) -> None:
    assert done(f"{wrong} --out deep/run") == 2
    assert not Path("deep").exists()
    assert done(f"{wrong} --journal shared.sqlite") == 2
    assert not list(Path().glob("shared*"))
    done("identify secret.safetensors --journal shared.sqlite --quiet")
    before = Path("shared.sqlite").stat().st_size
    assert done(f"{wrong} --journal shared.sqlite") == 2
    assert Path("shared.sqlite").stat().st_size == before


@pytest.mark.usefixtures("folder")
def test_ranges_of_typical_rows_are_kept(capsys: pytest.CaptureFixture) -> None:
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 5))
    np.savetxt("rows.csv", rows, delimiter=",", header="a,b,c,d,e", comments="")
    Path("models.py").write_text(
        "import numpy as np\nfrom unweave.networks.network import Network\n"
        "secret = Network.load('secret.safetensors')\n"
        "def answer(points):\n    assert np.max(np.abs(points)) <= 1.0\n    return secret(points)\n"
    )
    assert done("audit models.py:answer --like rows.csv --inside --forms float32 --json") == 0
    assert json.loads(capsys.readouterr().out)["exposures"][0]["queries"] > 0


def test_a_budget_that_ends_leaves_with_4_and_is_never_exceeded(capsys: pytest.CaptureFixture, folder: Path) -> None:
    assert done("audit secret.safetensors --budget 200 --json") == 4
    assert json.loads(capsys.readouterr().out)["queries"] <= 200
    assert not list(folder.glob("run*"))


@pytest.mark.parametrize(
    "options",
    [
        "--budget 10",
        "--forms nothing",
        "--rate 0",
        "--max-batch 0",
        "--html nowhere/page.html",
        "--html .",
        "--box 1 0",
        "--inputs 7",
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_use_leaves_with_2(options: str, capsys: pytest.CaptureFixture) -> None:
    assert done(f"audit secret.safetensors {options}") == 2
    assert capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_results_that_cannot_be_written_leave_with_5(capsys: pytest.CaptureFixture) -> None:
    assert done("audit secret.safetensors --forms top-1 --html /dev/full") == 5
    assert "top-1" in capsys.readouterr().out, "the result is shown all the same"
