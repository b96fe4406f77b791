"""Whole runs do not check the types of every call, unless ``UNWEAVE_TYPE_CHECKS=all`` asks for it."""

from collections.abc import Iterator

import pytest

from typechecking import CHECKS_ALL, without_checks


@pytest.fixture(autouse=True, scope="module")
def few_type_checks() -> Iterator[None]:
    """Leave the checks to the unit tests: a run calls small functions so often that they would take most of it."""
    if CHECKS_ALL:
        yield
        return
    with without_checks():
        yield
