"""What a run notes beside its result: time and queries of every stage, and where the model was asked."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from unweave.arrays import Points
from unweave.oracles.oracle import Box, Ledger, Oracle
from unweave.result import Cost, InputRanges


class Record:
    """Time and queries of stages, and the ranges that were asked. Nothing is decided by it.

    Args:
        oracle: who is asked; its ledger is read, never changed.
        progress: called with the name of a stage and the queries so far, when it begins and when it ends.
    """

    def __init__(self, oracle: Oracle, progress: Callable[[str, int], None]) -> None:
        self._ledger: Ledger = oracle.ledger
        self._domain, self._inputs = oracle.domain, oracle.inputs
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._queries: dict[str, int] = {}
        # Stages that are under way, the innermost last, and how many queries their turns have counted.
        self._stages: list[str] = []
        self._counted = self._ledger.sent
        self._lower, self._upper = np.full(oracle.inputs, np.inf), np.full(oracle.inputs, -np.inf)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, count its queries, and report its beginning and end."""
        self._count()
        self._stages.append(name)
        self._progress(name, self._ledger.sent)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start
            self._count()
            self._stages.pop()
            self._progress(name, self._ledger.sent)

    def watch(self, points: Points) -> None:
        """Note where the model was asked."""
        if len(points):
            self._lower = np.minimum(self._lower, np.min(points, axis=0))
            self._upper = np.maximum(self._upper, np.max(points, axis=0))

    @property
    def cost(self) -> Cost:
        """What was spent so far."""
        queries = {name: self._queries.get(name, 0) for name in self._seconds}
        return Cost(queries=self._ledger.sent, seconds=dict(self._seconds), stage_queries=queries)

    @property
    def ranges(self) -> InputRanges | None:
        """Where the model was asked so far; None before the first answer."""
        if not np.all(np.isfinite(self._lower)):
            return None
        center, scale = self._domain.frame(self._inputs)
        parts = (tuple(map(float, each)) for each in (self._lower, self._upper, center, scale))
        return InputRanges(*parts, is_box=isinstance(self._domain, Box))

    def _count(self) -> None:
        """Charge queries since the last change of stages to the innermost one."""
        sent = self._ledger.sent
        if self._stages:
            name = self._stages[-1]
            self._queries[name] = self._queries.get(name, 0) + sent - self._counted
        self._counted = sent
