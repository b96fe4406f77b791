"""`unweave learn`: samples in, report, JSON and run folder out."""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from distributed import LocalCluster

from unweave.cli import run
from unweave.networks import Network
from unweave.planted import relu_network

INPUTS = 4


@pytest.fixture
def truth() -> Network:
    return relu_network(np.random.default_rng(0), inputs=INPUTS, neurons=3)


@pytest.fixture
def samples(truth: Network, tmp_path: Path) -> Path:
    points = np.random.default_rng(1).standard_normal((8_000, INPUTS))
    columns = {f"x{k}": points[:, k] for k in range(INPUTS)} | {"y": truth(points)[:, 0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "samples.parquet")
    return tmp_path / "samples.parquet"


def test_a_run_can_be_verified(samples: Path, truth: Network, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    truth.save(tmp_path / "truth.safetensors")
    assert run(["learn", "relu", str(samples), "--target", "y", "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("identified: 3 neurons meet all labels")
    assert "4 -> 3 relu -> 1" in shown
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "network.safetensors",
        "result.json",
        "settings.json",
    }
    assert run(["verify", str(tmp_path / "run"), "--against", str(tmp_path / "truth.safetensors")]) == 0
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]
    assert settings["learner"] == "relu"
    assert settings["seed"] == 0


def test_json_is_one_document(samples: Path, capsys: pytest.CaptureFixture) -> None:
    assert run(["learn", "relu", str(samples), "--target", "y", "--json", "--standard"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == "identified"
    assert document["network"]["neurons"] == [3]
    assert document["certificate"]["rms_error"] < 1e-12
    assert document["samples"] == 8_000


def test_what_is_not_identified_leaves_with_one(samples: Path, capsys: pytest.CaptureFixture) -> None:
    assert run(["learn", "relu", str(samples), "--target", "y", "--neurons", "1", "--quiet"]) == 1
    assert "not the 1 that were given" in " ".join(capsys.readouterr().out.split())


def test_some_columns_only(samples: Path) -> None:
    assert run(["learn", "relu", str(samples), "--target", "y", "--inputs", "x0, x1", "--quiet"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.parquet", "--target", "y"], "needs to be a Parquet file"),
        (["samples.xlsx", "--target", "y"], "all end in"),
        (["samples.parquet", "--target", "z"], "has no column z"),
    ],
)
def test_wrong_use_leaves_with_two(
    arguments: list[str], message: str, samples: Path, capsys: pytest.CaptureFixture
) -> None:
    path = str(samples.parent / arguments[0])
    assert run(["learn", "relu", path, *arguments[1:]]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_is_checked_before_anything_is_read(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    assert run(["learn", "relu", str(samples), "--target", "y", "--out", str(tmp_path / "full")]) == 2


# The cluster's own sockets are closed after it has left.
@pytest.mark.filterwarnings("ignore")
def test_sums_may_come_from_a_cluster(samples: Path) -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert run(["learn", "relu", str(samples), "--target", "y", "--scheduler", address, "--quiet"]) == 0
