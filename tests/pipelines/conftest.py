"""Whole runs do not check the types of every call, unless ``UNWEAVE_TYPE_CHECKS=all`` asks for it."""

import os
from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture(autouse=True, scope="module")
def few_type_checks() -> Iterator[None]:
    """Leave the checks to the unit tests: a run calls small functions so often that they would take most of it."""
    if os.environ.get("UNWEAVE_TYPE_CHECKS") == "all":
        yield
        return
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
