"""A gateway before a real model server: requests and answers pass as they are, but for the faults that are put in."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import httpx

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from model_server import CUT, DROPPED, GARBLED, NAN, SHAPE, SLOW, Fault


class FaultyGateway:
    """Passes on what a server is asked and answers.

    Args:
        server: address of the server.
        fault: what goes wrong with a request for answers, by its number; None if nothing does.
        slow_seconds: that a slow answer is kept back.
    """

    def __init__(self, server: str, fault: Callable[[int], Fault], *, slow_seconds: float = 3.0) -> None:
        self.server, self.fault, self.slow_seconds = server, fault, slow_seconds
        self.requests = 0
        self.lock = Lock()

    @contextmanager
    def running(self) -> Iterator[str]:
        """Pass on until the end of this context; gives the address."""
        listening = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            listening.server_close()
            thread.join()


def _handler_of(gateway: FaultyGateway) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, *_: object) -> None:
            """Write nothing."""

        def do_GET(self) -> None:
            """Pass on a question about the model."""
            self._reply(httpx.get(f"{gateway.server}{self.path}", timeout=30.0))

        def do_POST(self) -> None:
            """Pass on a request for answers, or let it fail."""
            content = self.rfile.read(int(self.headers["Content-Length"]))
            with gateway.lock:
                gateway.requests += 1
                fault = gateway.fault(gateway.requests)
            if isinstance(fault, int):
                self._reply(httpx.Response(fault, content=b'{"error": "out of order"}'))
                return
            kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            answer = httpx.post(f"{gateway.server}{self.path}", content=content, headers=kept, timeout=30.0)
            if fault == SLOW:
                time.sleep(gateway.slow_seconds)
            if fault == DROPPED:
                self.close_connection = True
                self.connection.close()
            else:
                self._reply(answer, fault)

        def _reply(self, answer: httpx.Response, fault: str | None = None) -> None:
            content = _spoilt(answer.content, fault)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(2 * len(content) if fault == CUT else len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = fault == CUT

    return Handler


def _spoilt(content: bytes, fault: str | None) -> bytes:
    """Change an answer of the Open Inference Protocol, in JSON."""
    if fault in (CUT, GARBLED):
        return content[: len(content) // 2]
    if fault not in (SHAPE, NAN):
        return content
    document = json.loads(content)
    output = document["outputs"][0]
    if fault == SHAPE:
        output["shape"][0] -= 1
        output["data"] = output["data"][:-1]
    else:
        output["data"] = [float("nan")] * len(output["data"])
    return json.dumps(document).encode()
