"""What estimators share: the record of a run, which stage it is in and how long each took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called with the name of a stage when it begins, and with the number of samples if that is known.
Progress = Callable[[str, int], None]


class Stages:
    """Times stages and tells where a learner is."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.samples = 0
        self._progress = progress

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
