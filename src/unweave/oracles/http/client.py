"""Send requests until they are answered: at a rate, with time-outs, and again where the way has failed.

What fails on the way says nothing about the model: it is repeated, or ends the run with `TransportFailed`.
"""

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from unweave.exceptions import InvalidInput, TransportFailed
from unweave.oracles.http.secrets import Secrets, shown_address
from unweave.oracles.oracle import MAX_BATCH

Read = TypeVar("Read")
logger = logging.getLogger(__name__)

# The server, or what stands before it, asks to try again: too many requests, not ready, or a way that was cut.
AGAIN = frozenset({408, 429, 502, 503, 504})
TOO_LARGE = 413
# Attempts at one request from which on the user is told while they fail, and not only at the end: where a fifth of all
# requests fails, it is one in 600 that gets there.
SHOWN_ATTEMPT = 4
# What may help against a refusal.
HINTS = {
    400: " If it refuses points outside of a range, give a box.",
    401: " Give a header such as 'Authorization: Bearer $TOKEN'.",
    403: " Give a header such as 'Authorization: Bearer $TOKEN'.",
    404: " Check the address.",
    422: " If it refuses points outside of a range, give a box.",
}
# Characters that a message quotes from the beginning, and from the end of an answer.
QUOTED = 150


class TooLarge(Exception):
    """The server takes fewer points at once."""


class Garbled(Exception):
    """The answer is cut short, or no answer of this kind at all."""


@dataclass(frozen=True, kw_only=True)
class Transport:
    """Describe how requests are sent.

    Args:
        rate: requests per second, repeated ones included; as many as are answered if omitted.
        max_batch: points in a request.
        concurrency: requests that are under way at once.
        timeout: seconds after which a request is given up and repeated.
        attempts: times that a request is sent before the run ends; with the waits below a server may be away for a
            minute.
        garbled_attempts: times that it is sent where answers come and can't be read: that seldom passes.
        first_wait: seconds before the second attempt; doubled before every other one, and drawn between half and all
            of it, so that many clients do not come back together.
        longest_wait: at which doubling ends.
        longest_pause: seconds that the server may ask to wait (Retry-After); what asks for more ends the run.

    Raises:
        InvalidInput: for numbers that make no sense.
    """

    rate: float | None = None
    max_batch: int = MAX_BATCH
    concurrency: int = 4
    timeout: float = 30.0
    attempts: int = 8
    garbled_attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0
    longest_pause: float = 600.0

    def __post_init__(self) -> None:
        for name in ("max_batch", "concurrency", "attempts", "garbled_attempts"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InvalidInput(f"asking a server needs {name} to be a whole number of at least 1, got {count!r}.")
        for name in ("rate", "timeout", "first_wait", "longest_wait", "longest_pause"):
            number: Any = getattr(self, name)
            is_left_out = number is None and name == "rate"
            if not is_left_out and not (isinstance(number, int | float) and 0.0 < number < float("inf")):
                raise InvalidInput(f"asking a server needs {name} to be a positive number, got {number!r}.")

    def wait_before(self, attempt: int) -> float:
        """Draw the seconds to wait before an attempt, the second one being number 1."""
        return min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)


@dataclass
class Traffic:
    """What was sent: requests, those among them that were repeated, and points in repeated ones."""

    requests: int = 0
    repeated: int = 0
    repeated_points: int = 0


class Pace:
    """When the next request may be sent, for all threads."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 0.0 if rate is None else 1.0 / rate
        self._next, self._lock = 0.0, threading.Lock()
        self.stopped = threading.Event()

    def wait(self) -> None:
        """Wait for a turn."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._gap
        self.sleep(turn - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Let nobody send for some seconds: the server has asked for it."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep, unless the run is ended meanwhile."""
        if seconds > 0.0:
            self.stopped.wait(seconds)


class Client:
    """Sends requests to one server.

    Args:
        server: its address, as it may be shown.
        headers: that every request gets.
        secrets: what no message may hold.
        transport: how requests are sent.
        auth: name and password, if the address held them.
    """

    def __init__(
        self,
        server: str,
        headers: Mapping[str, str],
        secrets: Secrets,
        transport: Transport,
        *,
        auth: tuple[str, str] | None = None,
    ) -> None:
        self.server, self.traffic = server, Traffic()
        self._secrets, self._transport, self._pace = secrets, transport, Pace(transport.rate)
        self._client = httpx.Client(headers=dict(headers), timeout=transport.timeout, auth=auth)
        weakref.finalize(self, self._client.close)
        self._has_answered, self._lock = False, threading.Lock()
        secrets.hide_in_log("httpx")

    def begin(self) -> None:
        """Allow requests, also after an interruption."""
        self._pace.stopped.clear()

    def stop(self) -> None:
        """Repeat nothing any more, and wait for nothing."""
        self._pace.stopped.set()

    def send(
        self,
        method: str,
        address: str,
        read: Callable[[httpx.Response], Read],
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        points: int = 0,
    ) -> Read:
        """Send a request until there is an answer that can be read.

        Args:
            method: of HTTP.
            address: with all that is secret in it.
            read: what makes a value of an answer; raises `Garbled` if it can't.
            content: of the request.
            headers: of this request.
            points: in it, for the record.

        Raises:
            TransportFailed: if that is not possible.
            TooLarge: if the server takes less at once.
        """
        problem, garbled, attempt = "", 0, 0
        for attempt in range(self._transport.attempts):
            if attempt:
                level = logging.INFO if attempt < SHOWN_ATTEMPT else logging.WARNING
                logger.log(level, "%s: attempt %d has failed: %s", self.server, attempt, self._secrets.hide(problem))
                self._pace.sleep(self._transport.wait_before(attempt))
            if self._pace.stopped.is_set():
                raise TransportFailed(f"the run was ended before {self.server} had answered.")
            self._pace.wait()
            self._note(points, is_repeated=attempt > 0)
            try:
                response = self._client.request(method, address, content=content, headers=headers)
            except httpx.TransportError as error:
                problem = self._trouble(error)
                continue
            self._has_answered = True
            logger.debug("%s: status %d for %d points", self.server, response.status_code, points)
            if response.status_code in AGAIN:
                problem = f"it answers with status {response.status_code}"
                self._pause(response)
                continue
            self._check_status(response)
            try:
                return read(response)
            except Garbled as error:
                problem, garbled = f"its answer can't be read: {error}", garbled + 1
                if garbled >= self._transport.garbled_attempts:
                    break
        raise TransportFailed(
            f"{self.server} could not be asked in {attempt + 1} attempts: {self._secrets.hide(problem)}. That says "
            "nothing about the model."
        )

    def _note(self, points: int, *, is_repeated: bool) -> None:
        with self._lock:
            self.traffic.requests += 1
            self.traffic.repeated += is_repeated
            self.traffic.repeated_points += points if is_repeated else 0

    def _trouble(self, error: httpx.TransportError) -> str:
        """Name what went wrong on the way; a server that never was there is not waited for."""
        said = self._secrets.hide(f"{type(error).__name__} {error}".strip())
        if isinstance(error, httpx.ConnectError) and not self._has_answered:
            raise TransportFailed(f"there is no server at {self.server}: {said}. Check the address.") from None
        return said

    def _pause(self, response: httpx.Response) -> None:
        """Wait as long as the server asks for.

        Raises:
            TransportFailed: if that is too long.
        """
        seconds = retry_after(response.headers.get("Retry-After", ""))
        if seconds > self._transport.longest_pause:
            raise TransportFailed(
                f"{self.server} asks to wait for {seconds:.0f} seconds (status {response.status_code}): go on later."
            )
        self._pace.pause(seconds)

    def _check_status(self, response: httpx.Response) -> None:
        if response.status_code == TOO_LARGE:
            raise TooLarge
        if response.status_code != httpx.codes.OK:
            said = " ".join(self._secrets.hide(response.text).split())
            # What matters stands at the beginning of a message, and at the end of a traceback.
            said = said if len(said) <= 2 * QUOTED else f"{said[:QUOTED]} ... {said[-QUOTED:]}"
            hint = HINTS.get(response.status_code, "")
            if response.has_redirect_location:
                target = shown_address(str(response.url.join(response.headers["Location"])))
                hint = f" It redirects to {self._secrets.hide(target)}: give that address if it is the model's."
            raise TransportFailed(
                f"{self.server} answered with status {response.status_code} {response.reason_phrase}: "
                f"{said or 'nothing more'}.{hint} That says nothing about the model."
            )


def retry_after(value: str) -> float:
    """Read how long a server asks to wait, in seconds or as a date; zero if it does not say it."""
    if value.strip().isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
