"""What every command writes with `--json`, and what run folders hold, against `docs/result.schema.json`."""

import contextlib
import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main

import unweave
from late import LateModule
from shown_reports import identification, planted
from unweave.cli import run
from unweave.cli.app import app
from unweave.networks.planted import general_network
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reports.fields import CERTIFICATES
from unweave.reports.json import as_document
from unweave.result import Diagnostic, Outcome, Result, Verdict
from unweave.seals import check_document

jsonschema = LateModule("jsonschema")
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "result.schema.json").read_text(encoding="utf-8"))

# Arguments and exit codes; files are those of the fixture.
COMMANDS: dict[str, tuple[str, int]] = {
    "demo": ("demo --inputs 5 --neurons 3", 0),
    "demo, not identified": ("demo --inputs 5 --neurons 3 --activation quadratic", 1),
    "identify": ("identify secret.safetensors --out run", 0),
    "identify, not identified": ("identify secret.safetensors --budget 60", 1),
    "identify, dry run": ("identify secret.safetensors --dry-run --price-per-1000 2", 0),
    "journal": ("journal export answers.sqlite", 0),
    "doctor": ("doctor", 0),
    "verify": ("verify secret.safetensors --against secret.safetensors", 0),
    "verify, other shape": ("verify secret.safetensors --against wider.safetensors", 1),
    "verify, quadratic": ("verify deep.safetensors --against deep.safetensors", 0),
    "learn relu": ("learn relu relu.csv --target y --out run", 0),
    "learn quadratic": ("learn quadratic squares.csv --target y --bias --out run", 0),
    "learn overparameterized": ("learn overparameterized any.csv --target y --out run", 4),
    "learn lowest-layer": ("learn lowest-layer layer.csv --target y --out run", 0),
    "learn halfspaces": ("learn halfspaces half.csv --target y --neurons 2 --out run", 0),
    "learn hierarchical": ("learn hierarchical deep.csv --target y --widths 2,1 --out run", 0),
    "audit": ("audit secret.safetensors --forms float32,top-1 --rate 10 --price-per-1000 2", 0),
    "audit, cut short": ("audit secret.safetensors --budget 120", 4),
    "landscape": ("landscape --neurons 1:2 --inputs 2 --samples 4 --planted 2", 0),
    "landscape, two ranges": ("landscape --neurons 1:2 --inputs 2:3 --samples 4 --planted 2 --starts 2", 0),
    "landscape, activations": ("landscape --figure 1", 0),
    "landscape, trainings": ("landscape --figure 4b-ones --steps 250 --planted 1", 0),
    "correction": (
        "correction --model correction_models:small_convolutions --data images.npz --seeds 1 --epochs 1 "
        "--windows 0 --prox 1e-3 --depths 1",
        0,
    ),
    "reproduce": ("reproduce allenzhu:figure-2 --width 0.125 --epochs 1 --images 60 --out figure", 0),
    "reproduce, tables": (
        "reproduce allenzhu:figure-9 --width 0.0625 --layers 10 --images 40 --seeds 1 --max-seconds 0 --out figure",
        4,
    ),
    "reproduce, list": ("reproduce", 0),
}


def assert_described(document: Any) -> None:
    """Fail with the deepest error."""
    error = min(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(document),
        key=lambda each: -len(each.absolute_path),
        default=None,
    )
    assert error is None, error


def write_csv(name: str, points: np.ndarray, labels: np.ndarray) -> None:
    header = ",".join([*(f"x{k}" for k in range(points.shape[1])), "y"])
    np.savetxt(name, np.column_stack([points, labels]), delimiter=",", header=header, comments="")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples and networks for all commands, written once."""
    folder = tmp_path_factory.mktemp("written")
    with contextlib.chdir(folder):
        write_all()
    return folder


@pytest.fixture
def files(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Samples and networks for all commands, in the current directory."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_all() -> None:
    from correction_models import small_images

    rng = np.random.default_rng(0)
    general_network(rng, inputs=5, neurons=3).save("secret.safetensors")
    unweave.identify("secret.safetensors", journal="answers.sqlite")
    general_network(rng, inputs=5, neurons=4).save("wider.safetensors")
    teacher = make_teacher(np.random.default_rng(2), inputs=6, widths=(2, 1), level_weights=(1.0, 0.3))
    teacher.save("deep.safetensors")
    points = rng.standard_normal((8_000, 2))
    write_csv("relu.csv", points, np.maximum(points + np.array([0.3, -0.2]), 0.0) @ [1.0, 2.0])
    write_csv("half.csv", points, ~np.any(points > 1.2, axis=1))
    points = np.random.default_rng(0).standard_normal((10_000, 3))
    hidden = np.maximum(points[:, :2] - 1.3, 0.0)
    write_csv("layer.csv", points, hidden.sum(axis=1) + hidden[:, 0] * hidden[:, 1])
    points = rng.standard_normal((60, 4))
    write_csv("squares.csv", points, (points @ rng.standard_normal(4)) ** 2)
    write_csv("any.csv", points[:20], rng.standard_normal(20))
    points = np.random.default_rng(3).uniform(-1.7, 1.7, (1_500, 6))
    write_csv("deep.csv", points, teacher(points)[:, 0])
    names = ("x_train", "y_train", "x_test", "y_test")
    np.savez("images.npz", **dict(zip(names, small_images(0), strict=True)))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]["certificate"]["properties"]["kind"]["enum"]) == set(CERTIFICATES)


def test_every_command_is_tried() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    # `report` writes no document: it reads what others have written.
    names = (set(commands) - {"learn", "report"}) | {f"learn {name}" for name in commands["learn"].commands}
    assert {name.split(",")[0] for name in COMMANDS} == names


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_write_what_the_schema_describes(name: str, files: Path, capsys: pytest.CaptureFixture) -> None:
    command, code = COMMANDS[name]
    assert run([*command.split(), "--json"]) == code, capsys.readouterr()
    document = json.loads(capsys.readouterr().out)
    assert_described(document)
    check_document(document)
    if command.endswith("--out run"):
        assert json.loads((files / "run" / "result.json").read_text()) == document
        assert_described(json.loads((files / "run" / "settings.json").read_text()))


def test_a_first_layer_alone_is_described(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    layer = general_network(np.random.default_rng(0), inputs=5, neurons=3).layers[0]
    partly = Result(Outcome.PARTLY_IDENTIFIED, "deep.", first_layer=layer, route="saturation walk")
    monkeypatch.setattr(unweave, "identify", lambda *_, **__: partly)
    assert run(["identify", "secret.safetensors", "--json", "--out", "run"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert_described(document)
    np.testing.assert_array_equal(document["first_layer"]["weights"], layer.weights)
    assert document == json.loads((files / "run" / "result.json").read_text())


def result_document() -> dict[str, Any]:
    diagnostic = Diagnostic("gap", np.nan, -np.inf, Verdict.WEAK, "more points")
    return as_document(identification(network=planted(), diagnostics=(diagnostic,)))


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert_described(result_document())


def _set(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "another format": _set("format", to="unweave-run"),
    "another version": _set("format_version", to=1),
    "another kind": _set("kind", to="landscape"),
    "an unknown kind": _set("kind", to="novel"),
    "an unknown outcome": _set("outcome", to="perhaps"),
    "no reason": lambda document: document.pop("reason"),
    "no certificate field": lambda document: document.pop("certificate"),
    "a checksum that is none": _set("sha256", to="0"),
    "a field too many": _set("remark", to="mine"),
    "weights in words": _set("network", "layers", 0, "weights", 0, 0, to="0.5"),
    "weights that are not finite": _set("network", "layers", 0, "weights", 0, 0, to="nan"),
    "weights without rows": _set("network", "layers", 0, "weights", to=[1.0]),
    "no biases": lambda document: document["network"]["layers"][0].pop("biases"),
    "no layers": _set("network", "layers", to=[]),
    "a network of no kind": lambda document: document["network"].pop("kind"),
    "a certificate of another class": _set("certificate", "kind", to="Diploma"),
    "a certificate that states nothing": lambda document: document["certificate"].pop("statements"),
    "a certificate with a nested value": _set("certificate", "radius", to={"value": 1.0}),
    "a diagnostic with another verdict": _set("diagnostics", 0, "verdict", to="fine"),
    "a diagnostic with another word for infinity": _set("diagnostics", 0, "value", to="Infinity"),
    "a share of a query": _set("cost", "queries", to=0.5),
    "fewer than no queries": _set("cost", "queries", to=-1),
    "seconds in words": _set("cost", "seconds", to={"probing": "long"}),
    "notes that are no texts": _set("notes", to=[3]),
}


@pytest.mark.parametrize("name", SPOILT)
def test_wrong_documents_are_refused(name: str) -> None:
    document = copy.deepcopy(result_document())
    SPOILT[name](document)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
