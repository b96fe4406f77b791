"""Ask a model behind an address, several requests at a time, in as many points at once as the server takes."""

import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from string import Template
from typing import Any, Unpack
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx
import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, TransportFailed
from unweave.oracles.http.client import Client, TooLarge, Transport
from unweave.oracles.http.dialects import Dialect, json_of
from unweave.oracles.http.open_inference import ADDRESS, dialect_of
from unweave.oracles.http.secrets import (
    Secrets,
    from_environment,
    resolved_headers,
    secrets_of_address,
    shown_address,
)
from unweave.oracles.http.template import template_of
from unweave.oracles.oracle import Oracle, OracleSettings


class HttpOracle(Oracle):
    """Ask a model of a server that speaks the Open Inference Protocol, or any API of JSON.

    Args:
        address: ``http://host:8080/v2/models/name``, or that of another API.
        inputs: number of inputs, where the server does not say it.
        output: name of the output that is asked, if there are several.
        headers: of every request; ``$NAME`` in a value is taken from the environment. They are written nowhere.
        request: template of another API, with ``$points`` for the list of points, or ``$point`` for one per request.
        answer: JSONPath of the answers in what it gives.
        is_binary: whether tensors are sent as bytes; if the server says that it can, if omitted.
        transport: how requests are sent.
        settings: of the oracle.

    Raises:
        InvalidInput: if the model can't be asked like that, before any query.
        TransportFailed: if the server can't be asked what the model is.
    """

    is_remote = True

    def __init__(
        self,
        address: str,
        *,
        inputs: int | None = None,
        output: str | None = None,
        headers: Mapping[str, str] | None = None,
        request: str | None = None,
        answer: str | None = None,
        is_binary: bool | None = None,
        transport: Transport | None = None,
        **settings: Unpack[OracleSettings],
    ) -> None:
        self._transport = transport or Transport()
        self._address, self._client = _client_of(address, headers or {}, self._transport)
        self._dialect: Dialect
        if request is None and answer is None:
            self._dialect, known, fingerprint = self._described(inputs, output, is_binary)
        else:
            given = {"request": request, "answer": answer, "inputs": inputs}
            if request is None or answer is None or inputs is None:
                missing = ", ".join(name for name, value in given.items() if value is None)
                raise InvalidInput(
                    f"an API of JSON needs all of request, answer and inputs, got no {missing}: request says where "
                    "points go, answer where the numbers are, and inputs how many a point has."
                )
            if output is not None or is_binary is not None:
                raise InvalidInput("answer says which output of an API of JSON is asked: leave output and binary out.")
            self._dialect, known, fingerprint = template_of(request, answer), inputs, ""
        super().__init__(inputs=known, **settings)
        self.name = " ".join(word for word in (self._client.server, output, request, answer) if word)
        self.fingerprint = fingerprint
        self._points = min(self._transport.max_batch, self._dialect.most_points or self._transport.max_batch)
        self._pool = ThreadPoolExecutor(self._transport.concurrency, thread_name_prefix="unweave-http")
        weakref.finalize(self, self._pool.shutdown, wait=False)

    @property
    def points_at_once(self) -> int:
        """Give the largest number of points in a request, as far as the server has told it."""
        return self._points

    @property
    def traffic(self) -> str:
        """Say how many requests were sent, in words."""
        sent = self._client.traffic
        again = f", {sent.repeated:,} of them repeated ({sent.repeated_points:,} points)" if sent.repeated else ""
        return f"{sent.requests:,} requests were sent{again}"

    def _described(self, inputs: int | None, output: str | None, is_binary: bool | None) -> tuple[Dialect, int, str]:
        """Ask the server what the model is."""
        parts = urlsplit(self._address)
        named = ADDRESS.match(parts.path)
        if named is None:
            raise InvalidInput(
                f"{self._client.server} names no model: give http://host/v2/models/NAME (Open Inference Protocol), or "
                "--request and --answer for another API."
            )
        path = f"{named['server']}/v2/models/{named['model']}{named['version'] or ''}"
        metadata = self._client.send("GET", urlunsplit(parts._replace(path=path)), json_of)
        if not isinstance(metadata, dict):
            raise TransportFailed(f"{self._client.server} gives no description of a model.")
        if is_binary is None:
            is_binary = self._takes_binary(urlunsplit(parts._replace(path=f"{named['server']}/v2")))
        try:
            dialect, known = dialect_of(metadata, inputs=inputs, output=output, is_binary=is_binary)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise TransportFailed(
                f"{self._client.server} gives a description that can't be read: {error!r}."
            ) from error
        self._address = urlunsplit(parts._replace(path=f"{path}/infer"))
        return dialect, known, f"{metadata.get('platform')} {metadata.get('versions')}"

    def _takes_binary(self, address: str) -> bool:
        try:
            server = self._client.send("GET", address, json_of)
        except TransportFailed:
            # Some gateways let nothing through but the model.
            return False
        extensions: Any = server.get("extensions") if isinstance(server, dict) else None
        return isinstance(extensions, list) and any("binary" in str(each) for each in extensions)

    def _answer(self, points: Points) -> object:
        parts = sorted(self.pieces(points), key=lambda part: part[0].start)
        return np.concatenate([answers for _, answers in parts])

    def pieces(self, points: Points) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the answers of every request as it arrives, in any order.

        If one fails, or the run is interrupted, those that are under way are waited for: what they cost is paid.
        """
        self._client.begin()
        waiting = deque(self._slices(slice(0, len(points))))
        running: dict[Future[np.ndarray], slice] = {}
        failure: BaseException | None = None
        try:
            while running or (waiting and failure is None):
                try:
                    while waiting and failure is None and len(running) < self._transport.concurrency:
                        rows = waiting.popleft()
                        running[self._pool.submit(self._ask, points[rows])] = rows
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt as interruption:
                    if failure is not None:
                        raise
                    failure = interruption
                    self._client.stop()
                    continue
                for future in done:
                    rows, problem = running.pop(future), future.exception()
                    if problem is None:
                        yield rows, future.result()
                    elif isinstance(problem, TooLarge):
                        waiting.extendleft(reversed(self._smaller(rows)))
                    else:
                        failure = failure or problem
                        self._client.stop()
        finally:
            if running:
                # Whoever takes the answers was interrupted: nothing is repeated for them any more.
                self._client.stop()
        if failure is not None:
            raise failure

    def _ask(self, points: Points) -> np.ndarray:
        body = self._dialect.write(points)
        return self._client.send(
            "POST",
            self._address,
            lambda response: self._dialect.read(response, len(points)),
            content=body.content,
            headers=body.headers,
            points=len(points),
        )

    def _slices(self, rows: slice) -> list[slice]:
        """Cut rows into requests."""
        return [slice(i, min(i + self._points, rows.stop)) for i in range(rows.start, rows.stop, self._points)]

    def _smaller(self, rows: slice) -> list[slice]:
        """Cut a request that was too large, and all that follow."""
        count = rows.stop - rows.start
        if count == 1:
            raise TransportFailed(f"{self._client.server} takes not even one point at once (status 413).")
        # Others that were under way at the same time may have told it already.
        if count <= self._points:
            self._points = (count + 1) // 2
        return self._slices(rows)


def _client_of(address: str, headers: Mapping[str, str], transport: Transport) -> tuple[str, Client]:
    """Make the client of an address, and the address without what a client adds."""
    shown = shown_address(address)
    variables = from_environment(address, name="the address")
    full = Template(address).substitute(variables)
    resolved = resolved_headers(headers)
    secrets = Secrets().having(*variables.values(), *resolved.values(), *secrets_of_address(full))
    try:
        parts = urlsplit(str(httpx.URL(full)))
    except httpx.InvalidURL:
        # What it says, and what seems to be the host, may hold a part of a password.
        raise InvalidInput(
            "the address can't be asked: check its port, and write / and @ in a name or a password as %2F and %40."
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{shown} is no address of a server: it needs to begin with http:// or https://.")
    auth = None
    if parts.username is not None and "authorization" not in {name.lower() for name in resolved}:
        auth = unquote(parts.username), unquote(parts.password or "")
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    return plain, Client(shown, resolved, secrets, transport, auth=auth)
