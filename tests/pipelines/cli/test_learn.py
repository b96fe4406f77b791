"""`unweave learn`: samples in, report, JSON and run folder out."""

import json
from pathlib import Path

import numpy as np
import pytest

from late import pyarrow
from unweave.cli import run
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reports.files import read_run

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
    assert document["cost"]["samples"] == 8_000


def test_what_is_partly_identified_leaves_with_four(samples: Path, capsys: pytest.CaptureFixture) -> None:
    assert run(["learn", "relu", str(samples), "--target", "y", "--neurons", "1", "--quiet"]) == 4
    assert "not the 1 that were given" in " ".join(capsys.readouterr().out.split())


def test_some_columns_only(samples: Path) -> None:
    assert run(["learn", "relu", str(samples), "--target", "y", "--inputs", "x0, x1", "--quiet"]) == 4


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
    # Its import takes a second, and no other test needs it.
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        assert run(["learn", "relu", str(samples), "--target", "y", "--scheduler", address, "--quiet"]) == 0


@pytest.mark.slow
def test_sums_may_come_from_processes(samples: Path, capsys: pytest.CaptureFixture) -> None:
    asked = ["learn", "relu", str(samples), "--target", "y", "--quiet"]
    assert run([*asked, "--scheduler", "processes:2"]) == 0
    capsys.readouterr()
    assert run([*asked, "--scheduler", "threads"]) == 2
    assert "there is no Dask scheduler at threads" in capsys.readouterr().err


def written(path: Path, points: np.ndarray, labels: np.ndarray) -> str:
    columns = {f"x{k}": points[:, k] for k in range(points.shape[1])} | {"y": labels}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def test_networks_of_squares(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 6))
    path = written(tmp_path / "squares.parquet", points, (points @ rng.standard_normal(6)) ** 2)
    assert run(["learn", "quadratic", path, "--target", "y", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["certificate"]["loss"] < 1e-20
    assert document["network"]["activations"] == ["quadratic", "identity"]


def test_many_neurons_meet_any_labels(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rng = np.random.default_rng(0)
    path = written(tmp_path / "any.parquet", rng.standard_normal((20, 4)), rng.standard_normal(20))
    out = str(tmp_path / "run")
    # Every label is met, but by one of many networks.
    assert run(["learn", "overparameterized", path, "--target", "y", "--neurons", "30", "--out", out]) == 4
    assert "a global minimum" in " ".join(capsys.readouterr().out.split())
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]["neurons"] == 30


def test_lowest_layers(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    points = np.random.default_rng(0).standard_normal((10_000, 3))
    hidden = np.maximum(points[:, :2] - 1.3, 0.0)
    path = written(tmp_path / "layer.parquet", points, hidden.sum(axis=1) + hidden[:, 0] * hidden[:, 1])
    assert run(["learn", "lowest-layer", path, "--target", "y"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "3 -> 2 relu" in shown
    assert "exact labels met to" in shown


@pytest.mark.parametrize(("option", "is_union"), [("--intersection", False), ("--union", True)])
def test_half_spaces_with_a_picture(option: str, is_union: bool, tmp_path: Path) -> None:
    points = np.random.default_rng(0).standard_normal((10_000, 2))
    is_beyond = points > 1.2
    labels = np.any(is_beyond, axis=1) if is_union else ~np.any(is_beyond, axis=1)
    path, picture = written(tmp_path / "half.parquet", points, labels.astype(float)), tmp_path / "half.png"
    # audit A18: no held-out label is wrong, which is identified.
    given = ["learn", "halfspaces", path, "--target", "y", option, "--picture", str(picture), "--out"]
    assert run([*given, str(tmp_path / "run")]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["outcome"] == "identified"
    assert np.allclose(
        np.abs(Network.load(tmp_path / "run" / "network.safetensors").layers[0].weights).max(axis=1), 1.0, atol=0.01
    )


def test_pictures_need_two_or_three_inputs(samples: Path, capsys: pytest.CaptureFixture) -> None:
    assert run(["learn", "halfspaces", str(samples), "--target", "y", "--picture", "none.png"]) == 2
    assert "two or three inputs, got 4" in capsys.readouterr().err


@pytest.fixture
def quadratic_samples(tmp_path: Path) -> Path:
    teacher = make_teacher(np.random.default_rng(2), inputs=6, widths=(2, 1), level_weights=(1.0, 0.3))
    points = np.random.default_rng(3).uniform(-1.7, 1.7, (1_500, 6))
    values = teacher(points)[:, 0]
    columns = {f"x{k}": points[:, k] for k in range(6)} | {"y": values, "class": np.where(values > values.mean(), 1, 0)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "quadratic.parquet")
    return tmp_path / "quadratic.parquet"


def test_a_deep_quadratic_network_is_learnt_and_kept(
    quadratic_samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    inputs = ",".join(f"x{k}" for k in range(6))
    command = ["learn", "hierarchical", str(quadratic_samples), "--target", "y", "--inputs", inputs, "--widths", "2,1"]
    assert run([*command, "--connections", "1;2,0", "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("identified")
    assert "level 2, inputs" in shown
    table = pyarrow.parquet.read_table(quadratic_samples)
    points = np.stack([table.column(f"x{k}").to_numpy() for k in range(6)], axis=1)
    learnt = QuadraticDenseNet.load(tmp_path / "run" / "network.safetensors")
    np.testing.assert_allclose(learnt(points)[:, 0], table.column("y").to_numpy(), atol=1e-8)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["network"]["features"] == [2, 1]
    assert result["network"]["connections"] == [[1], [2, 0]]


def test_classes_of_a_deep_quadratic_network(quadratic_samples: Path, capsys: pytest.CaptureFixture) -> None:
    command = ["learn", "hierarchical", str(quadratic_samples), "--target", "class", "--classes", "--widths", "2,1"]
    assert run([*command, "--inputs", ",".join(f"x{k}" for k in range(6)), "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == "partly identified"
    assert document["certificate"]["relative_error"] < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--widths", "two"], "--widths needs whole numbers with commas between, got 'two'"),
        (["--connections", "1;2,x"], "--connections needs whole numbers"),
        (["--connections", "1;2,1"], "is excluded by the theory"),
    ],
)
def test_shapes_that_cannot_be_are_named(
    quadratic_samples: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert run(["learn", "hierarchical", str(quadratic_samples), "--target", "y", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_run_of_another_class_of_networks_is_verified_by_its_answers(
    quadratic_samples: Path, truth: Network, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out, file = str(tmp_path / "run"), tmp_path / "run" / "network.safetensors"
    inputs = ",".join(f"x{k}" for k in range(6))
    command = ["learn", "hierarchical", str(quadratic_samples), "--target", "y", "--inputs", inputs, "--quiet"]
    assert run([*command, "--widths", "2,1", "--out", out]) == 0
    run([*command, "--widths", "1", "--out", str(tmp_path / "other")])
    capsys.readouterr()
    assert run(["verify", out, "--against", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == {"answers": 0.0}
    assert run(["verify", str(tmp_path / "other"), "--against", out]) == 1
    assert "not the same network: the largest relative error of an answer" in capsys.readouterr().out
    truth.save(tmp_path / "truth.safetensors")
    assert run(["verify", out, "--against", str(tmp_path / "truth.safetensors"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"] == "the inputs differ: 6 and 4."
    saved = read_run(out).result
    assert saved.is_identified
    assert saved.network is not None
    np.testing.assert_array_equal(saved.network.levels[0].features, QuadraticDenseNet.load(file).levels[0].features)
    assert saved.report().startswith("identified")
