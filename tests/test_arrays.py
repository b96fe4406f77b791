"""Threads of linear algebra are used where they save time."""

import sys

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from unweave import arrays
from unweave.arrays import limited_threads, threads_for


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.mark.parametrize(("parameters", "expected"), [(999, 1), (1_000, 2)])
def test_large_networks_may_use_all_cores(parameters: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "available_cores", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        with limited_threads():
            assert blas_threads() == 1
            with threads_for(parameters):
                assert blas_threads() == expected
            assert blas_threads() == 1
        assert blas_threads() == 2


def test_no_more_threads_are_used_than_were_allowed_before() -> None:
    with threadpool_limits(1, user_api="blas"), limited_threads(), threads_for(10**6):
        assert blas_threads() == 1


def test_outside_of_a_run_nothing_is_changed() -> None:
    with threadpool_limits(2, user_api="blas"), threads_for(10**6):
        assert blas_threads() == 2


def test_libraries_are_looked_for_once_until_more_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(arrays, "ThreadpoolController", lambda: found.append(ThreadpoolController()) or found[-1])
    arrays._blas.cache_clear()
    for _ in range(2):
        with limited_threads():
            assert blas_threads() == 1
    assert len(found) == 1
    monkeypatch.setitem(sys.modules, "one_more", arrays)
    with limited_threads():
        pass
    assert len(found) == 2
