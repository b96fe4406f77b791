"""Whole runs do not check the types of every call, unless ``UNWEAVE_TYPE_CHECKS=all`` asks for it."""

from collections.abc import Iterator
from functools import cache

import pytest
import typer.main

from typechecking import CHECKS_ALL, without_checks


@pytest.fixture(autouse=True, scope="module")
def few_type_checks() -> Iterator[None]:
    """Leave the checks to the unit tests: a run calls small functions so often that they would take most of it."""
    if CHECKS_ALL:
        yield
        return
    with without_checks():
        yield


@pytest.fixture(autouse=True, scope="session")
def commands_are_built_once() -> Iterator[None]:
    """Keep the commands between runs of the command line: a process of a user builds them once, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield
