"""A server on this machine that answers for a network, counts what it was asked, and fails where it is told to."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import numpy as np

# What may go wrong with a request: a status, or one of these.
DROPPED, SLOW, CUT, GARBLED, SHAPE, NAN = "dropped", "slow", "cut", "garbled", "shape", "nan"
Fault = int | str | None


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that are gone."""


class ModelServer:
    """Answers at ``/v2/models/secret`` (Open Inference Protocol), and at ``/predict`` (rows in, scores out).

    Args:
        model: maps (points, inputs) to (points, outputs).
        inputs: of the model.
        fault: what goes wrong with a request, by its number; None if nothing does.
        headers: that a refusal has, such as Retry-After.
        largest: points that it takes at once.
        seconds: that an answer takes.
        slow_seconds: that a slow one takes.
        extensions: of the protocol that it says it has.
    """

    def __init__(
        self,
        model: Callable[[np.ndarray], np.ndarray],
        *,
        inputs: int,
        fault: Callable[[int], Fault] = lambda _: None,
        headers: dict[str, str] | None = None,
        largest: int = 100_000,
        seconds: float = 0.0,
        slow_seconds: float = 3.0,
        extensions: tuple[str, ...] = (),
    ) -> None:
        self.model, self.inputs, self.fault, self.headers = model, inputs, fault, headers or {}
        self.largest, self.seconds, self.slow_seconds, self.extensions = largest, seconds, slow_seconds, extensions
        self.requests, self.asked, self.seen_headers = 0, Counter[bytes](), []
        self.lock = Lock()
        self._server = _QuietServer(("127.0.0.1", 0), _handler_of(self))

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["ModelServer"]:
        """Answer until the end of this context."""
        thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def metadata(self) -> dict[str, Any]:
        """Describe the model as the protocol does."""
        return {
            "name": "secret",
            "versions": ["1"],
            "platform": "test",
            "inputs": [{"name": "x", "datatype": "FP64", "shape": [-1, self.inputs]}],
            "outputs": [{"name": "y", "datatype": "FP64", "shape": [-1, 1]}],
        }


def random_faults(share: float, kinds: tuple[Fault, ...], seed: int) -> Callable[[int], Fault]:
    """Let a share of the requests fail, in one of some ways each."""
    drawn = random.Random(seed)
    return lambda _: drawn.choice(kinds) if drawn.random() < share else None


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body of an answer leave together: otherwise the second one waits for 40 milliseconds.
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Write nothing."""

        def do_GET(self) -> None:
            """Describe the server or the model."""
            with server.lock:
                server.seen_headers.append(dict(self.headers))
            is_server = self.path.split("?")[0] == "/v2"
            document = {"name": "test", "extensions": list(server.extensions)} if is_server else server.metadata()
            self._reply(200, json.dumps(document).encode())

        def do_POST(self) -> None:
            """Answer for the model, or fail."""
            content = self.rfile.read(int(self.headers["Content-Length"]))
            points, is_binary = self._points(content)
            with server.lock:
                server.requests += 1
                server.seen_headers.append(dict(self.headers))
                fault = server.fault(server.requests)
                if fault is None or fault in (SLOW, CUT):
                    server.asked.update(point.tobytes() for point in points)
            time.sleep(server.slow_seconds if fault == SLOW else server.seconds)
            if len(points) > server.largest:
                self._reply(413, b"too large")
            elif isinstance(fault, int):
                self._reply(fault, b'{"error": "out of order"}', server.headers)
            elif fault == DROPPED:
                self.close_connection = True
                self.connection.close()
            else:
                self._answer(points, fault, is_binary=is_binary)

        def _points(self, content: bytes) -> tuple[np.ndarray, bool]:
            length = self.headers.get("Inference-Header-Content-Length")
            document = json.loads(content if length is None else content[: int(length)])
            if "inputs" not in document:
                return np.array(document["rows"], dtype=np.float64), False
            entry = document["inputs"][0]
            data = np.array(entry["data"]) if length is None else np.frombuffer(content[int(length) :])
            return data.reshape(entry["shape"]), length is not None

        def _answer(self, points: np.ndarray, fault: Fault, *, is_binary: bool) -> None:
            answers = np.asarray(server.model(points)).reshape(len(points), -1)
            answers = answers[:-1] if fault == SHAPE else answers * np.nan if fault == NAN else answers
            output: dict[str, Any] = {"name": "y", "datatype": "FP64", "shape": list(answers.shape)}
            headers, tail = {}, b""
            if self.path.startswith("/predict"):
                document: dict[str, Any] = {"scores": answers.ravel().tolist()}
            elif is_binary:
                tail = np.ascontiguousarray(answers, dtype="<f8").tobytes()
                document = {"outputs": [output | {"parameters": {"binary_data_size": len(tail)}}]}
            else:
                document = {"outputs": [output | {"data": answers.ravel().tolist()}]}
            head = json.dumps(document).encode()
            if is_binary:
                headers = {"Inference-Header-Content-Length": str(len(head))}
            content = head + tail
            if fault == CUT:
                self._reply(200, content[: len(content) // 2], headers, length=len(content))
                self.close_connection = True
                return
            self._reply(200, content[: len(content) // 2] if fault == GARBLED else content, headers)

        def _reply(
            self, status: int, content: bytes, headers: dict[str, str] | None = None, *, length: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            self.end_headers()
            self.wfile.write(content)

    return Handler
