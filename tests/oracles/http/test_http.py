"""Models behind an address: two ways to talk to them, what goes wrong on the way, and what is never written down."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from model_server import CUT, DROPPED, GARBLED, NAN, SHAPE, SLOW, Fault, ModelServer
from unweave.exceptions import BadAnswer, InvalidInput, TransportFailed
from unweave.oracles.http.client import Client, Transport, retry_after
from unweave.oracles.http.open_inference import OpenInference, dialect_of
from unweave.oracles.http.oracle import HttpOracle
from unweave.oracles.http.secrets import Secrets, shown_address
from unweave.oracles.http.template import template_of

POINTS = np.random.default_rng(0).standard_normal((25, 3))
QUICK = Transport(first_wait=0.001, longest_wait=0.01, timeout=5.0)
# How another API is asked.
ROWS: dict[str, Any] = {"request": '{"rows": $points}', "answer": "$.scores[*]", "inputs": 3}


def model(points: np.ndarray) -> np.ndarray:
    return np.tanh(points @ [1.0, -2.0, 0.5])[:, None] + 1e-3


def failing(*faults: Fault) -> Any:
    """Let the first requests fail."""
    return lambda number: faults[number - 1] if number <= len(faults) else None


@contextmanager
def served(*, transport: Transport = QUICK, path: str = "/v2/models/secret", **given: Any) -> Iterator[Any]:
    """A server, and what makes an oracle that asks it."""
    with ModelServer(model, inputs=3, **given).running() as server:

        def ask(**settings: Any) -> HttpOracle:
            return HttpOracle(f"{server.address}{path}", **{"transport": transport} | settings)

        yield server, ask


@pytest.mark.parametrize("extensions", [(), ("binary_tensor_data",)])
def test_the_protocol_says_the_inputs_and_keeps_every_digit(extensions: tuple[str, ...]) -> None:
    with served(extensions=extensions) as (server, ask):
        oracle = ask()
        assert oracle.inputs == 3
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        assert server.requests == 1
        kind = server.seen_headers[-1]["Content-Type"]
        assert kind == ("application/octet-stream" if extensions else "application/json")


def test_bytes_are_sent_if_that_is_wanted() -> None:
    with served() as (server, ask):
        np.testing.assert_array_equal(ask(is_binary=True).query(POINTS), model(POINTS))
        assert "Inference-Header-Content-Length" in server.seen_headers[-1]


@pytest.mark.parametrize("answer", ["$.scores[*]", "$.scores", "$['scores'][*]"])
def test_any_api_of_json_is_asked_by_a_template(answer: str) -> None:
    with served(path="/predict") as (_, ask):
        oracle = ask(**ROWS | {"answer": answer})
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        np.testing.assert_array_equal(oracle.query(POINTS[:1]), model(POINTS[:1]))


def test_one_point_per_request() -> None:
    with served(path="/predict") as (server, ask):
        oracle = ask(**ROWS | {"request": '{"rows": [$point]}'})
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        assert server.requests == 25
        assert oracle.ledger.sent == 25


def test_batches_are_no_larger_than_allowed() -> None:
    with served(transport=Transport(max_batch=4, concurrency=3)) as (server, ask):
        np.testing.assert_array_equal(ask().query(POINTS), model(POINTS))
        assert server.requests == 7


def test_batches_shrink_to_what_the_server_takes() -> None:
    with served(largest=7) as (server, ask):
        oracle = ask()
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        refused = server.requests
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        # The second time it is known; requests that were refused at the same time may have halved it once more.
        assert server.requests - refused in (4, 5)
        assert oracle.ledger.sent == 50


def test_a_server_that_takes_not_one_point_ends_the_run() -> None:
    with served(largest=0) as (_, ask), pytest.raises(TransportFailed, match="not even one point"):
        ask().query(POINTS)


@pytest.mark.parametrize("faults", [(429, 429), (503,), (DROPPED, DROPPED), (CUT,), (GARBLED,), (502, 408, 504)])
def test_what_passes_is_repeated_and_counted_once(faults: tuple[Fault, ...]) -> None:
    with served(fault=failing(*faults)) as (server, ask):
        oracle = ask()
        np.testing.assert_array_equal(oracle.query(POINTS), model(POINTS))
        assert server.requests == 1 + len(faults)
        assert (oracle.ledger.sent, oracle.ledger.answered) == (25, 25)
        assert f"{len(faults)} of them repeated" in oracle.traffic


def test_slow_answers_are_asked_again() -> None:
    with served(fault=failing(SLOW), slow_seconds=1.5, transport=Transport(timeout=0.5, first_wait=0.01)) as (_, ask):
        np.testing.assert_array_equal(ask().query(POINTS), model(POINTS))


@pytest.mark.parametrize(
    ("status", "words"),
    [(500, "status 500 Internal Server Error: .*out of order"), (400, "give a box"), (401, "Authorization: Bearer"),
     (404, "Check the address"), (302, "status 302"), (422, "give a box")],
)  # fmt: skip
def test_other_statuses_end_the_run_with_a_clear_message(status: int, words: str) -> None:
    with served(fault=lambda _: status) as (server, ask):
        with pytest.raises(TransportFailed, match=words):
            ask().query(POINTS)
        assert server.requests == 1


@pytest.mark.parametrize("location", ["https://me:topsecret@host/v3?key=hushhush", "/v3?key=hushhush"])
def test_a_server_that_redirects_says_where_to(location: str) -> None:
    with served(fault=lambda _: 308, headers={"Location": location}) as (server, ask):
        with pytest.raises(TransportFailed, match=r"redirects to https?://[^ @]*/v3\?key=\*\*\*: give that") as raised:
            ask().query(POINTS)
        assert server.requests == 1
    assert "topsecret" not in str(raised.value)
    assert "hushhush" not in str(raised.value)


@pytest.mark.parametrize("failing_attempts", [3, 4])
def test_a_request_that_fails_again_and_again_is_told_meanwhile(
    failing_attempts: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    with served(fault=failing(*[503] * failing_attempts)) as (_, ask):
        ask().query(POINTS)
    assert ("attempt 4 has failed: it answers with status 503" in caplog.text) == (failing_attempts == 4)


@pytest.mark.parametrize("fault", [429, 503, DROPPED])
def test_a_server_that_stays_away_ends_the_run(fault: Fault) -> None:
    with served(fault=lambda _: fault) as (server, ask):
        with pytest.raises(TransportFailed, match=r"could not be asked in 8 attempts: .*nothing about the model"):
            ask().query(POINTS)
        assert server.requests == 8


def test_answers_that_can_never_be_read_are_given_up_soon() -> None:
    with served(fault=lambda _: GARBLED) as (server, ask):
        with pytest.raises(TransportFailed, match="it is no JSON"):
            ask().query(POINTS)
        assert server.requests == Transport.garbled_attempts


@pytest.mark.parametrize("path", ["/v2/models/secret", "/predict"])
def test_wrong_shapes_are_no_property_of_the_model(path: str) -> None:
    with served(fault=lambda _: SHAPE, path=path) as (_, ask):
        oracle = ask(**ROWS) if path == "/predict" else ask()
        with pytest.raises(TransportFailed, match="25"):
            oracle.query(POINTS)


@pytest.mark.parametrize("path", ["/v2/models/secret", "/predict"])
def test_answers_that_are_not_finite_are_a_property_of_the_model(path: str) -> None:
    with served(fault=lambda _: NAN, path=path) as (_, ask), pytest.raises(BadAnswer, match="must be finite"):
        (ask(**ROWS) if path == "/predict" else ask()).query(POINTS)


def test_answers_under_way_are_kept_when_another_request_fails() -> None:
    with served(fault=failing(None, 500), transport=Transport(max_batch=5, concurrency=2), seconds=0.05) as (
        server,
        ask,
    ):
        pieces, arrived = ask().pieces(POINTS), []
        with pytest.raises(TransportFailed, match="500"):
            arrived.extend(rows.stop - rows.start for rows, _ in pieces)
        assert sum(arrived) == sum(server.asked.values()) > 0


def test_the_rate_is_kept() -> None:
    with served(transport=Transport(max_batch=5, rate=20.0)) as (_, ask):
        oracle, began = ask(), datetime.now(UTC)
        oracle.query(POINTS)
        # Two requests were for the description.
        assert (datetime.now(UTC) - began).total_seconds() > 4 / 20.0


@pytest.mark.parametrize("is_date", [False, True])
def test_the_server_is_given_the_time_that_it_asks_for(is_date: bool) -> None:
    with served(fault=failing(429)) as (server, ask):
        oracle, began = ask(), datetime.now(UTC)
        when = format_datetime(began + timedelta(seconds=2), usegmt=True) if is_date else "1"
        server.headers = {"Retry-After": when}
        oracle.query(POINTS)
        assert (datetime.now(UTC) - began).total_seconds() > 0.9


def test_a_pause_that_is_too_long_ends_the_run() -> None:
    words = r"asks to wait for 86400 seconds .* go on later"
    with (
        served(fault=failing(503), headers={"Retry-After": "86400"}) as (_, ask),
        pytest.raises(TransportFailed, match=words),
    ):
        ask().query(POINTS)


@pytest.mark.parametrize(("value", "seconds"), [("", 0.0), ("7", 7.0), ("soon", 0.0), ("-3", 0.0)])
def test_what_servers_write_into_retry_after(value: str, seconds: float) -> None:
    assert retry_after(value) == seconds


def test_no_server_is_told_at_once() -> None:
    with pytest.raises(TransportFailed, match=r"no server at http://127.0.0.1:9/v2/models/m: .*Check the address"):
        HttpOracle("http://127.0.0.1:9/v2/models/m")


@pytest.mark.parametrize(
    ("address", "given", "words"),
    [
        ("{}/elsewhere", {}, "names no model"),
        ("{}/predict", {"request": "{}", "answer": "$", "inputs": 3}, r"needs \$points"),
        (
            "{}/predict",
            {"request": '{"rows": $points}', "answer": "$", "inputs": None},
            "needs all of request, .* got no inputs:",
        ),
        ("{}/predict", {"answer": "$.scores"}, "got no request, inputs: request says where points go"),
        ("{}/predict", ROWS | {"answer": "$["}, "needs a JSONPath"),
        ("{}/predict", ROWS | {"request": "rows: $points"}, "needs to be JSON"),
        ("{}/predict", ROWS | {"request": '{"a": "$", "rows": $points}'}, "names of variables after every"),
        ("{}/predict", ROWS | {"request": '{"a": "$UNSET_NAME", "rows": $points}'}, "variable UNSET_NAME"),
        ("{}/predict", ROWS | {"output": "y"}, "leave output and binary out"),
        ("{}/v2/models/secret", {"headers": {"A": "$UNSET_NAME"}}, "the header A needs the environment variable"),
        ("{}/v2/models/secret", {"headers": {"A b": "c"}}, "needs a name and a value"),
        ("{}/v2/models/secret", {"headers": {"A": "b\nc"}}, "on one line"),
        ("{}/v2/models/secret", {"output": "z"}, "no output 'z': use one of y"),
        ("{}/v2/models/secret", {"inputs": 4}, "the model has 3 inputs, got inputs=4"),
        ("http://", {}, "no address"),
    ],
)
def test_wrong_use_is_refused_before_any_query(address: str, given: dict[str, Any], words: str) -> None:
    with served() as (server, _):
        with pytest.raises(InvalidInput, match=words):
            HttpOracle(address.format(server.address), **given)
        assert server.requests == 0


@pytest.mark.parametrize(("setting", "value"), [("rate", 0.0), ("max_batch", 0), ("timeout", -1.0), ("attempts", 1.5)])
@pytest.mark.usefixtures("without_type_checks")
def test_settings_that_make_no_sense_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"needs {setting} to be"):
        Transport(**{setting: value})


def metadata(**entry: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]} | entry], "outputs": [{"name": "y"}]}


class TestMetadata:
    def test_type_and_shape_are_read(self) -> None:
        dialect, inputs = dialect_of(metadata(shape=[-1, 2, 3]), inputs=None, output=None, is_binary=False)
        assert inputs == 6
        assert dialect == OpenInference("x", "FP32", (2, 3), None, "y")

    def test_a_fixed_number_of_rows_is_filled_up(self) -> None:
        dialect, _ = dialect_of(metadata(shape=[8, 4]), inputs=None, output=None, is_binary=True)
        assert dialect.most_points == 8
        assert len(dialect.write(np.zeros((3, 4))).content) > 8 * 4 * 4

    def test_an_open_shape_needs_the_inputs(self) -> None:
        with pytest.raises(InvalidInput, match="points need a row each"):
            dialect_of(metadata(shape=[-1, -1]), inputs=None, output=None, is_binary=False)
        assert dialect_of(metadata(shape=[-1, -1]), inputs=5, output=None, is_binary=False)[1] == 5

    def test_without_inputs_they_have_to_be_given(self) -> None:
        with pytest.raises(InvalidInput, match="does not say how many inputs"):
            dialect_of({"inputs": []}, inputs=None, output=None, is_binary=False)
        assert dialect_of({"inputs": []}, inputs=5, output="y", is_binary=False)[0].datatype == "FP64"

    @pytest.mark.parametrize(
        ("document", "words"),
        [(metadata(datatype="BYTES"), "x of BYTES"), (metadata(shape=[4]), "points need a row each"),
         ({"outputs": [{"name": "a"}, {"name": "b"}]}, "several outputs: name one of a, b"),
         (metadata() | {"inputs": 2 * metadata()["inputs"]}, "one input of real numbers")],
    )  # fmt: skip
    def test_what_can_not_be_asked_is_said(self, document: dict[str, Any], words: str) -> None:
        with pytest.raises(InvalidInput, match=words):
            dialect_of(document, inputs=None, output=None, is_binary=False)

    def test_single_precision_arrives_as_such(self) -> None:
        dialect = OpenInference("x", "FP32", (1,))
        output = {"name": "y", "datatype": "FP32", "shape": [2, 1], "data": [0.1, None]}
        answers = dialect.read(httpx.Response(200, json={"outputs": [output]}), 2)
        assert answers.dtype == np.float32
        np.testing.assert_array_equal(answers, np.array([[0.1], [np.nan]], dtype=np.float32))

    def test_one_of_several_binary_outputs_is_found(self) -> None:
        values = np.arange(4.0)
        parts = [
            {"name": name, "datatype": "FP64", "shape": [2, 1], "parameters": {"binary_data_size": 16}} for name in "ab"
        ]
        head = httpx.Response(200, json={"outputs": parts}).content
        response = httpx.Response(
            200, content=head + values.tobytes(), headers={"Inference-Header-Content-Length": str(len(head))}
        )
        np.testing.assert_array_equal(OpenInference("x", "FP64", (1,), output="b").read(response, 2), [[2.0], [3.0]])


@pytest.mark.parametrize(
    ("document", "answer", "rows"),
    [
        ({"p": [{"s": [1, 2]}, {"s": [3, 4]}]}, "$.p[*].s", [[1, 2], [3, 4]]),
        ({"p": [[1], [2]]}, "$.p", [[1], [2]]),
        ({"p": 5}, "$.p", [[5]]),
        ({"p": [None]}, "$.p[*]", [[np.nan]]),
    ],
)
def test_answers_are_found_wherever_they_are(document: dict[str, Any], answer: str, rows: list[list[float]]) -> None:
    read = template_of('{"rows": $points}', answer).read(httpx.Response(200, json=document), len(rows))
    np.testing.assert_array_equal(read, rows)


@pytest.mark.parametrize("document", [{"p": ["a", "b"]}, {"p": [[1], [2, 3]]}, {"p": [1, 2, 3]}, {"p": {"q": 1}}])
def test_answers_that_are_no_rows_of_numbers_end_the_run(document: dict[str, Any]) -> None:
    with pytest.raises(TransportFailed, match=r"the answer at \$\.p needs"):
        template_of('{"rows": $points}', "$.p").read(httpx.Response(200, json=document), 2)


class TestSecrets:
    @pytest.mark.parametrize(
        ("address", "shown"),
        [
            ("http://me:secret1@host:8/v2/models/m", "http://host:8/v2/models/m"),
            ("https://host/p?key=secret1&v=2#part", "https://host/p?key=***&v=***"),
            ("https://host/p?key=$NAME", "https://host/p?key=$NAME"),
        ],
    )
    def test_addresses_are_shown_without_them(self, address: str, shown: str) -> None:
        assert shown_address(address) == shown

    def test_words_of_headers_are_struck_out(self) -> None:
        secrets = Secrets().having("Bearer topsecret")
        assert secrets.hide("no Bearer topsecret, no topsecret, but Bearer") == "no ***, no ***, but ***"
        assert "topsecret" not in repr(secrets)

    def test_they_reach_the_server_and_no_message_or_log(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("A_TOKEN", "topsecret")
        caplog.set_level("DEBUG")
        with served(fault=lambda _: 401, path="/v2/models/secret?key=hushhush") as (server, ask):
            oracle = ask(headers={"Authorization": "Bearer $A_TOKEN"})
            assert server.seen_headers[0]["Authorization"] == "Bearer topsecret"
            server.fault = lambda _: 500
            with pytest.raises(TransportFailed) as raised:
                oracle.query(POINTS)
        for said in (str(raised.value), oracle.name, repr(oracle), caplog.text):
            assert "topsecret" not in said
            assert "hushhush" not in said

    @pytest.mark.parametrize("value", ["hush%2Fhush", "hush+hush=", "hushhush%21"])
    def test_they_are_struck_out_as_they_are_written(self, value: str, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("DEBUG")
        with served(path=f"/v2/models/secret?key={value}") as (_, ask):
            ask().query(POINTS)
        assert "?key=***" in caplog.text
        assert "hush" not in caplog.text

    @pytest.mark.parametrize("address", ["http://me:$A_WORD@host/v2/models/m", "http://me:pass/word@host/v2/models/m"])
    def test_no_part_of_a_password_is_in_a_message(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("A_WORD", "pass/word")
        with pytest.raises(InvalidInput, match=r"check its port, and write / and @ .* as %2F and %40") as raised:
            HttpOracle(address)
        assert "pass" not in str(raised.value).replace("password", "")

    def test_what_a_server_repeats_is_struck_out(self) -> None:
        client = Client("http://host", {}, Secrets().having("topsecret"), QUICK)
        response = httpx.Response(403, text="the token topsecret is not known")
        with pytest.raises(TransportFailed, match=r"the token \*\*\* is not known"):
            client._check_status(response)

    def test_name_and_password_of_an_address_are_sent_as_a_header(self) -> None:
        with served() as (server, _):
            HttpOracle(server.address.replace("//", "//me:topsecret@") + "/v2/models/secret")
            assert server.seen_headers[0]["Authorization"].startswith("Basic ")
