"""What results know of the call that they come from, so that reports say how to repeat it; secrets are not among it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

import unweave
from model_server import ModelServer
from unweave.activations import RELU, TANH
from unweave.networks.planted import general_network
from unweave.reports.json import as_document

TRUTH = general_network(np.random.default_rng(0), inputs=3, neurons=2, activation=TANH)
SECRET = "correct-horse-battery-staple"


def secret_function(points: np.ndarray) -> np.ndarray:
    return TRUTH(points)


def test_arguments_that_differ_from_their_defaults_are_known(tmp_path: Path) -> None:
    domain = unweave.Box(np.array([-1.0, -2.0, -1.0]), 1.0)
    found = unweave.identify(
        secret_function, inputs=3, domain=domain, activation=TANH, seed=7, confidence=0.95, progress=lambda *_: None
    )
    assert found.settings == {
        "call": "identify",
        "model": f"{__name__}.secret_function",
        "inputs": 3,
        "domain": {"kind": "Box", "lower": [-1.0, -2.0, -1.0], "upper": 1.0},
        "activation": "tanh",
        "seed": 7,
    }
    assert json.loads(json.dumps(as_document(found)))["settings"] == found.settings
    unweave.write_run(tmp_path / "run", found)
    saved = unweave.read_run(tmp_path / "run")
    assert saved.settings == saved.result.settings == found.settings


def test_a_report_from_python_says_how_to_repeat_it(tmp_path: Path) -> None:
    TRUTH.save(tmp_path / "truth.safetensors")
    found = unweave.identify(tmp_path / "truth.safetensors", seed=3, journal=tmp_path / "run.sqlite")
    text = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "seed=3, journal=" in text
    assert "<title>truth.safetensors" in text
    again = unweave.identify(tmp_path / "truth.safetensors", seed=3)
    assert again.network is not None
    assert found.network is not None
    for one, other in zip(again.network.layers, found.network.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_an_oracle_tells_what_it_was_told_itself() -> None:
    oracle = unweave.CallableOracle(secret_function, inputs=3, domain=unweave.Everywhere(2.0), budget=5_000)
    found = unweave.identify(oracle)
    domain = {"kind": "Everywhere", "scale": 2.0, "center": 0.0}
    assert found.settings["oracle"] == {"inputs": 3, "domain": domain, "budget": 5_000}
    assert set(found.settings) == {"call", "model", "oracle"}
    plain = unweave.identify(unweave.CallableOracle(secret_function, inputs=3))
    assert plain.settings["oracle"] == {"inputs": 3}


def test_the_door_to_the_lowest_layer_records_as_well() -> None:
    relus = general_network(np.random.default_rng(1), inputs=3, neurons=1, activation=RELU)
    found = unweave.identify_lowest_layer(relus, quiet_lines=2)
    assert found.settings["call"] == "identify_lowest_layer"
    assert found.settings["quiet_lines"] == 2


@pytest.mark.parametrize("is_oracle", [True, False])
def test_nothing_secret_is_recorded(is_oracle: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    with ModelServer(TRUTH, inputs=3).running() as server:
        address = server.address.replace("//", f"//user:{SECRET}@") + f"/v2/models/secret?key={SECRET}"
        headers = {"Authorization": "Bearer $TOKEN", "X-Key": SECRET}
        model = unweave.HttpOracle(address, headers=headers) if is_oracle else address
        found = unweave.identify(model, journal=tmp_path / "run.sqlite").require()
        assert all("Authorization" in each for each in server.seen_headers), "they have reached the server"
    assert "/v2/models/secret" in found.settings["model"]
    unweave.write_run(tmp_path / "run", found)
    found.report(tmp_path / "report.html")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 5
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path


def test_models_that_are_no_functions_are_named_by_their_class() -> None:
    class Half:
        def __call__(self, points: np.ndarray) -> np.ndarray:
            return 0.5 * TRUTH(points)

    assert unweave.identify(Half(), inputs=3).settings["model"].endswith("Half")
