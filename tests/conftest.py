"""Seeds for every test: one by default, many with ``UNWEAVE_SEEDS=n``."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version

import jaxtyping
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from threadpoolctl import threadpool_limits

from quick_rewriting import use_located_parts
from typechecking import CHECKS, CHECKS_ALL, first_calls_checked, without_checks

# The older code generator of XLA compiles in half the time. Versions that were not tried may have dropped it, and an
# unknown flag ends the process.
NEWEST_WITH_OLD_FUSIONS = (0, 10)

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores already: threads of linear algebra would only wait for each other.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    threadpool_limits(1)

use_located_parts()

if CHECKS != "none":
    # Before anything of the package is imported.
    jaxtyping.install_import_hook("unweave", "typechecking.check")

if not CHECKS_ALL:
    # Problems of tests are so small that it takes longer to compile them well than to compute them.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    if tuple(map(int, version("jaxlib").split(".")[:2])) <= NEWEST_WITH_OLD_FUSIONS:
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

SEEDS = int(os.environ.get("UNWEAVE_SEEDS", "1"))

# One seed means a run that repeats exactly; asking for many asks for new examples, too, and for more of them.
EXAMPLES = 15 if SEEDS == 1 and not CHECKS_ALL else 30
settings.register_profile("unweave", deadline=None, max_examples=EXAMPLES, derandomize=SEEDS == 1, database=None)
settings.load_profile("unweave")
if SEEDS == 1 and not CHECKS_ALL:
    # Hypothesis draws numbers that stand in modules which are loaded, others after other tests; it reads all of them
    # for that while tests are listed. Where many examples are asked for, it may.
    providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[object]:
    """Look for no garbage among what is imported: it is a million objects that stay, and would be visited often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the slow tests the combinations that `each_value` does not need, one after the other."""
    groups: dict[tuple[str, object], dict[pytest.Item, set[tuple[str, str]]]] = {}
    for item in items:
        if item.get_closest_marker("each_value") and not item.get_closest_marker("slow"):
            values = item.callspec.params  # type: ignore[attr-defined]
            group = groups.setdefault((item.nodeid.partition("[")[0], values.get("seed")), {})
            group[item] = {(name, repr(value)) for name, value in values.items()}
    for group in groups.values():
        missing = set().union(*group.values())
        while missing:
            most = max(group, key=lambda item, group=group, missing=missing: len(group[item] & missing))
            missing -= group.pop(most)
        for item in group:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def torch_seeds_what_is_there() -> Iterator[None]:
    """Seed the generator of the CPU alone where there is no accelerator: for each kind torch would note the stack.

    A test that is the first one to import torch goes without.
    """
    torch = sys.modules.get("torch")
    if CHECKS_ALL or torch is None or torch.cuda.is_available() or torch.backends.mps.is_available():
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "manual_seed", lambda seed: torch.default_generator.manual_seed(int(seed)))
        yield


@pytest.fixture(params=range(SEEDS), scope="module")
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def one_thread_of_torch(seed: int) -> None:
    """Let torch compute on one thread, with random numbers of this seed."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)


@pytest.fixture
def without_type_checks() -> Iterator[None]:
    """Switch the run-time type checks of the tests off, so that wrong use meets the package's own checks."""
    with without_checks():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Check the types of the first calls in every test, if they are checked at all."""
    with first_calls_checked():
        return (yield)
