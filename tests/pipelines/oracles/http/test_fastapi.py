"""A plain FastAPI app, as people write one for a model of theirs, is asked by a template: address in, network out."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import numpy as np
import pytest

import unweave
from unweave.activations import TANH
from unweave.cli import run
from unweave.networks.planted import general_network

SECRET = general_network(np.random.default_rng(1), inputs=3, neurons=2, activation=TANH)
KEY, MOST_ROWS = "correct-horse-battery-staple", 40
TEMPLATE = ["--inputs", "3", "--request", '{"rows": $points, "model": "churn"}', "--answer", "$.predictions[*].score"]
HEADER = ["--header", "X-Api-Key: $SCORING_KEY"]


def scoring() -> Any:
    """Write the app; the imports take a while, and no other test needs them."""
    import fastapi
    import pydantic

    app = fastapi.FastAPI()

    class Question(pydantic.BaseModel):
        """What the app takes; FastAPI answers anything else with status 422."""

        model: str
        rows: list[list[float]] = pydantic.Field(max_length=MOST_ROWS)

    class Prediction(pydantic.BaseModel):
        """What it says of one row."""

        score: float
        unit: str = "logit"

    @app.post("/score")
    def score(question: Question, x_api_key: Annotated[str, fastapi.Header()]) -> dict[str, list[Prediction]]:
        if x_api_key != KEY:
            raise fastapi.HTTPException(401, "wrong key")
        return {"predictions": [Prediction(score=value) for (value,) in SECRET(np.array(question.rows)).tolist()]}

    return app


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the app on a free port of this machine until the tests have ended."""
    import uvicorn

    settings = uvicorn.Config(scoring(), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(settings)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the app did not start"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/score"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
    assert not thread.is_alive()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORING_KEY", KEY)


def test_an_app_is_identified_by_a_template(address: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = ["identify", address, *TEMPLATE, *HEADER, "--max-batch", str(MOST_ROWS), "--out", str(folder), "--quiet"]
    assert run(command) == 0
    network = unweave.read_run(folder).result.network
    assert unweave.match(network, SECRET).largest_error < 1e-8
    for path in folder.iterdir():
        assert KEY.encode() not in path.read_bytes(), path


def test_an_app_is_audited_by_a_template(address: str, capsys: pytest.CaptureFixture) -> None:
    options = ["--forms", "float32", "--max-batch", str(MOST_ROWS), "--json"]
    assert run(["audit", address, *TEMPLATE, *HEADER, *options]) == 0
    (exposure,) = json.loads(capsys.readouterr().out)["exposures"]
    assert exposure["outcome"] == "identified"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([*TEMPLATE, *HEADER, "--max-batch", "1000"], f"List should have at most {MOST_ROWS} items"),
        ([*TEMPLATE, "--header", "X-Api-Key: wrong"], "wrong key"),
        ([*TEMPLATE[:-1], "$.predictions[*].value", *HEADER], "there is nothing at $.predictions[*].value"),
    ],
)
def test_what_the_app_refuses_is_said(
    options: list[str], words: str, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["identify", address, *options, "--quiet"]) == 3
    assert words in capsys.readouterr().err
