"""The record of the stages of a fit: how long each took, and who is told. Algorithms keep it without scikit-learn."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with the name of a stage when it begins, and with the number of samples if that is known.
Progress = Callable[[str, int], None]

# Who is told about the stages of a fit, which has no argument for it in scikit-learn.
_LISTENER: ContextVar[Progress | None] = ContextVar("_LISTENER", default=None)


@contextmanager
def telling(progress: Progress) -> Iterator[None]:
    """Tell about the stages of all fits inside this context."""
    token = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Stages:
    """Time stages and tell where a run is: the one that is given, or the one that `telling` names."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.samples = 0
        self._progress = progress if progress is not None else _LISTENER.get()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a stage; one that comes again adds to its time."""
        if self._progress is not None:
            self._progress(name, self.samples)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
