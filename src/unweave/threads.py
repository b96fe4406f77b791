"""How many threads linear algebra may use."""

import os
from contextlib import AbstractContextManager

from threadpoolctl import threadpool_info, threadpool_limits


def available_cores() -> int:
    """Count the cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def limited_threads() -> AbstractContextManager:
    """Limit BLAS, inside this context, to as many threads as there are cores (or as it was told to use)."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return threadpool_limits(limits=min([available_cores(), *pools]), user_api="blas")
