"""A real MLServer, with a scikit-learn and an ONNX model: address in, network out.

`UNWEAVE_MLSERVER` names the folder of an environment with mlserver, mlserver-sklearn and onnxruntime; `.ci/full` makes
it. Its pins need not fit to those of Unweave.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import numpy as np
import pytest

import unweave
from faulty_gateway import FaultyGateway
from model_server import CUT, DROPPED, GARBLED, NAN, SHAPE, SLOW, Fault
from unweave.activations import TANH
from unweave.cli import run
from unweave.exceptions import BadAnswer
from unweave.networks.planted import general_network
from unweave.oracles.http.open_inference import OpenInference

ENVIRONMENT = os.environ.get("UNWEAVE_MLSERVER")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(ENVIRONMENT is None, reason="UNWEAVE_MLSERVER names no environment with MLServer"),
]

INPUTS = 4
TRAIN = """
import joblib, numpy as np, warnings
from sklearn.neural_network import MLPRegressor

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
points = rng.standard_normal((300, 4))
model = MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", solver="lbfgs", random_state=0)
model.fit(points, np.sin(points[:, 0]) + points[:, 1])
joblib.dump(model, "perceptron/model.joblib")
np.savez("weights.npz", *model.coefs_, *model.intercepts_)
"""
ONNX_RUNTIME = """
import numpy as np
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse
from mlserver.utils import get_model_uri


class OnnxModel(MLModel):
    async def load(self):
        self._session = onnxruntime.InferenceSession(await get_model_uri(self.settings))
        return True

    async def predict(self, payload):
        points = NumpyCodec.decode_input(payload.inputs[0])
        entry, output = self._session.get_inputs()[0].name, self._session.get_outputs()[0].name
        answers = self._session.run([output], {entry: points.astype(np.float64)})[0]
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("values", answers)])
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def secret() -> unweave.Network:
    return general_network(np.random.default_rng(1), inputs=INPUTS, neurons=6, activation=TANH)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, secret: unweave.Network) -> Iterator[tuple[str, Path]]:
    """Address of a server with the models `perceptron` and `graph`, and the folder that it runs in."""
    folder, scripts = tmp_path_factory.mktemp("models"), Path(str(ENVIRONMENT), "bin")
    for name in ("perceptron", "graph"):
        (folder / name).mkdir()
    subprocess.run([scripts / "python", "-c", TRAIN], cwd=folder, check=True, timeout=300)
    secret.to_onnx(folder / "graph" / "model.onnx")
    (folder / "graph" / "onnx_models.py").write_text(ONNX_RUNTIME)
    described = [{"name": "points", "datatype": "FP64", "shape": [-1, INPUTS]}]
    settings = {
        "perceptron": {"implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": "./model.joblib"}},
        "graph": {
            "implementation": "onnx_models.OnnxModel",
            "parameters": {"uri": "./model.onnx"},
            "inputs": described,
            "outputs": [{"name": "values", "datatype": "FP64", "shape": [-1, 1]}],
        },
    }
    for name, chosen in settings.items():
        (folder / name / "model-settings.json").write_text(json.dumps({"name": name} | chosen))
    ports = {f"{kind}_port": free_port() for kind in ("http", "grpc", "metrics")}
    (folder / "settings.json").write_text(json.dumps(ports | {"host": "127.0.0.1", "parallel_workers": 0}))
    address = f"http://127.0.0.1:{ports['http_port']}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([scripts / "mlserver", "start", "."], cwd=folder, stdout=log, stderr=log)
    try:
        wait_until_ready(address, process, folder / "log")
        yield address, folder
    finally:
        process.terminate()
        process.wait(timeout=60)


def wait_until_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            models = ("perceptron", "graph")
            if all(httpx.get(f"{address}/v2/models/{name}/ready").status_code == 200 for name in models):
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(log.read_text())


def test_a_trained_perceptron_is_recovered_from_its_address(served: tuple[str, Path]) -> None:
    address, folder = served
    # MLServer knows no inputs of models of scikit-learn, and takes JSON only.
    oracle = unweave.HttpOracle(f"{address}/v2/models/perceptron", inputs=INPUTS)
    found = unweave.identify(oracle).require()
    weights = list(np.load(folder / "weights.npz").values())
    truth = unweave.Network.shallow(weights[0].T, weights[2], weights[1].T, weights[3], TANH)
    assert found.network is not None
    assert unweave.match(found.network, truth).largest_error < 1e-8


def test_a_newcomer_gets_from_an_address_to_a_report(
    served: tuple[str, Path], secret: unweave.Network, tmp_path: Path
) -> None:
    address, _ = served
    folder = tmp_path / "run"
    assert run(["identify", f"{address}/v2/models/graph", "--out", str(folder)]) == 0
    assert run(["report", str(folder), "--html"]) == 0
    page = unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert "give away the network: 4 → 6 tanh → 1" in page
    assert f"unweave identify {address}/v2/models/graph" in page
    network = unweave.read_run(folder).result.network
    assert isinstance(network, unweave.Network)
    assert unweave.match(network, secret).largest_error < 1e-8


TRITON = """
import json, sys
import numpy as np
from tritonclient import http

entry = http.InferInput("x", [3, 2], "FP64")
entry.set_data_from_numpy(np.arange(6.0).reshape(3, 2), binary_data=True)
body, length = http.InferenceServerClient.generate_request_body([entry])
sys.stdout.buffer.write(body[:length] + b"\\n" + body[length:])
"""


def test_bytes_are_sent_as_the_client_of_triton_sends_them() -> None:
    command = [Path(str(ENVIRONMENT), "bin", "python"), "-c", TRITON]
    head, _, tail = subprocess.run(command, check=True, capture_output=True, timeout=300).stdout.partition(b"\n")
    body = OpenInference("x", "FP64", (2,), is_binary=True).write(np.arange(6.0).reshape(3, 2))
    length = int(body.headers["Inference-Header-Content-Length"])
    assert json.loads(body.content[:length]) == json.loads(head)
    assert body.content[length:] == tail


def test_what_mlserver_refuses_is_said(served: tuple[str, Path]) -> None:
    address, _ = served
    with pytest.raises(unweave.TransportFailed, match=r"status 404 .*Model nothing not found"):
        unweave.HttpOracle(f"{address}/v2/models/nothing")
    oracle = unweave.HttpOracle(f"{address}/v2/models/perceptron", inputs=INPUTS + 1)
    with pytest.raises(unweave.TransportFailed, match=r"status \d+ .*features"):
        unweave.identify(oracle)


# The gateway keeps slow answers back for longer than these wait.
QUICK = unweave.Transport(first_wait=0.001, longest_wait=0.01, timeout=2.0)


@pytest.mark.parametrize("fault", [429, 503, DROPPED, CUT, GARBLED, SLOW])
def test_what_passes_on_the_way_takes_nothing_from_the_result(
    fault: Fault, served: tuple[str, Path], secret: unweave.Network
) -> None:
    gateway = FaultyGateway(served[0], lambda number: fault if number in (1, 3, 4) else None)
    with gateway.running() as address:
        oracle = unweave.HttpOracle(f"{address}/v2/models/graph", transport=QUICK)
        found = unweave.identify(oracle).require()
    assert found.network is not None
    assert unweave.match(found.network, secret).largest_error < 1e-8
    assert "3 of them repeated" in oracle.traffic
    assert oracle.ledger.sent == oracle.ledger.answered == found.queries


@pytest.mark.parametrize(
    ("fault", "words"), [(500, "status 500 .*out of order"), (429, "nothing about the model"), (SHAPE, r"\d+ .*\d+")]
)
@pytest.mark.parametrize("first", [1, 4])
def test_what_stays_ends_the_run_and_says_nothing_about_the_model(
    fault: Fault, words: str, first: int, served: tuple[str, Path]
) -> None:
    gateway = FaultyGateway(served[0], lambda number: fault if number >= first else None)
    with gateway.running() as address, pytest.raises(unweave.TransportFailed, match=words):
        unweave.identify(unweave.HttpOracle(f"{address}/v2/models/graph", transport=QUICK))


def test_answers_that_are_not_finite_are_those_of_the_model(served: tuple[str, Path]) -> None:
    with FaultyGateway(served[0], lambda _: NAN).running() as address:
        oracle = unweave.HttpOracle(f"{address}/v2/models/graph", transport=QUICK)
        with pytest.raises(BadAnswer, match="must be finite"):
            oracle.query(np.zeros((3, INPUTS)))
