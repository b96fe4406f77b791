"""When a run has to end: loops that do not ask anything look here whether the time is over."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def ending_after(seconds: float | None) -> Iterator[float | None]:
    """Set the time, inside this context, after which loops end with the best that they have; None for no limit."""
    deadline = None if seconds is None else time.monotonic() + seconds
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


def is_over() -> bool:
    """Say whether the time of the surrounding run is over."""
    deadline = _deadline.get()
    return deadline is not None and time.monotonic() > deadline
