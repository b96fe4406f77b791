"""Sums of samples on workers of any kind: those of one process, also where one of two workers dies."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import InvalidInput, WorkersFailed
from unweave.jobs import LocalProcesses
from unweave.samples.engines import OnWorkers
from unweave.samples.hermite.inputs import InputMoments
from unweave.samples.sources import ArraySource, Chunk, HeldPiece, SourcePiece
from unweave.samples.sums import accumulate

INPUTS, ROWS = 3, 200
STATISTIC = InputMoments(np.zeros(INPUTS))


@pytest.fixture
def source(seed: int) -> ArraySource:
    rng = np.random.default_rng(seed)
    return ArraySource(rng.standard_normal((ROWS, INPUTS)), rng.standard_normal(ROWS), chunk_rows=20)


class LastFirst(Executor):
    """Jobs in this process, whose results come in the wrong order."""

    def submit(self, fn: Any, /, *arguments: Any, **settings: Any) -> Future:
        future = Future()
        future.set_result(fn(*arguments, **settings))
        return future


@dataclass(frozen=True, eq=False)
class DeadlyPiece(SourcePiece):
    """Rows that kill the process that reads them first."""

    rows: HeldPiece
    mark: Path

    def chunks(self) -> Iterator[Chunk]:
        if not self.mark.exists():
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        yield from self.rows.chunks()


def assert_sums_of_one_process(engine: OnWorkers, source: ArraySource, pieces: Iterator[SourcePiece]) -> None:
    found = engine.total(pieces, STATISTIC).finalise()
    expected = accumulate(source, STATISTIC).finalise()
    assert found.rows == ROWS
    for half in ("whole", "even", "odd"):
        mine, other = getattr(found, half), getattr(expected, half)
        np.testing.assert_allclose(mine.mean, other.mean, atol=1e-13)
        np.testing.assert_allclose(mine.covariance, other.covariance, atol=1e-13)


@pytest.mark.parametrize("window", [1, 5, 64])
def test_any_executor_sums_the_same(window: int, source: ArraySource) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert_sums_of_one_process(OnWorkers(threads, window=window), source, source.pieces())
    assert_sums_of_one_process(OnWorkers(LastFirst(), window=window), source, source.pieces())


def deadly(source: ArraySource, mark: Path) -> Iterator[SourcePiece]:
    """All pieces, of which one in the middle is deadly."""
    for place, piece in enumerate(source.pieces()):
        assert isinstance(piece, HeldPiece)
        yield DeadlyPiece(piece, mark) if place == 5 else piece


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(source: ArraySource, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    assert_sums_of_one_process(OnWorkers(LocalProcesses(2)), source, deadly(source, mark))
    assert int(mark.read_text()) != os.getpid()


@pytest.mark.slow
def test_an_executor_whose_process_dies_is_told(source: ArraySource, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool, pytest.raises(WorkersFailed, match="died"):
        OnWorkers(pool).total(deadly(source, tmp_path / "died"), STATISTIC)


def test_a_window_holds_a_piece() -> None:
    with pytest.raises(InvalidInput, match="window=0"):
        OnWorkers(LocalProcesses(1), window=0)
