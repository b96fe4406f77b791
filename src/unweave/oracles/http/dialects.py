"""What any way to talk to a server gives: points into a request, and an answer into numbers."""

import json
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import httpx
import numpy as np

from unweave.arrays import Points
from unweave.exceptions import TransportFailed
from unweave.oracles.http.client import Garbled


@dataclass(frozen=True)
class Body:
    """What is sent.

    Args:
        content: bytes of it.
        headers: that say what they are.
    """

    content: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@runtime_checkable
class Dialect(Protocol):
    """How a server is talked to."""

    @property
    def most_points(self) -> int | None:
        """The largest number of points in a request that the dialect has; None for any."""
        ...

    def write(self, points: Points) -> Body:
        """Write points as a request."""
        ...

    def read(self, response: httpx.Response, points: int) -> np.ndarray:
        """Read one row of numbers per point."""
        ...


def json_of(response: httpx.Response, content: bytes | None = None) -> Any:
    """Read an answer, or a part of it, as JSON.

    Raises:
        Garbled: if it is none.
    """
    try:
        return json.loads(response.content if content is None else content)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"it is no JSON ({error})") from None


def numbers_of(values: object, *, points: int, where: str) -> np.ndarray:
    """Make an array of one row per point of what was found in an answer; null is not a number.

    Raises:
        TransportFailed: if these are no numbers, or not one row per point.
    """
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TransportFailed(f"{where} needs numbers, one row per point, but the server gives others.") from None
    if numbers.ndim == 0 and points == 1:
        # Some give a single answer without a list around it.
        return numbers.reshape(1, 1)
    if numbers.ndim == 0 or len(numbers) != points:
        rows = "one number" if numbers.ndim == 0 else f"{len(numbers)}"
        raise TransportFailed(
            f"{where} needs one row per point, {points} in this request, but the server gives {rows}."
        )
    return numbers.reshape(points, -1)
