"""The run-time type checker of the tests: an int is a float, as everywhere in Python's own typing.

``UNWEAVE_TYPE_CHECKS=first`` checks the first calls of every test, ``all`` checks every call. They take a third of the
time, so that they are off where nothing is said; CI switches them on.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from math import inf
from typing import Any

import jaxtyping

CHECKS = os.environ.get("UNWEAVE_TYPE_CHECKS", "none")
# Whether every call of every test is checked.
CHECKS_ALL = CHECKS == "all"
# So many checks are made in one test, of arguments and of results: loops repeat the same ones.
MOST_CHECKS = 250

# Checks that are left in this test; what is called while tests are collected does not count.
left = inf


def compile_check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write the check of a function; beartype is loaded when there is one to write."""
    from beartype import BeartypeConf, beartype

    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check calls of a function from its first one on: most functions are never called in one process of the tests."""
    compiled: list[Callable[..., Any]] = []

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        global left
        if not compiled:
            compiled.append(compile_check(function))
        left -= 1
        if left <= 0:
            jaxtyping.config.update("jaxtyping_disable", True)
        return compiled[0](*args, **kwargs)

    return checked


@contextmanager
def first_calls_checked() -> Iterator[None]:
    """Count checks anew, and switch them on again in the end if they were on."""
    global left
    left, before = inf if CHECKS_ALL else MOST_CHECKS, jaxtyping.config.jaxtyping_disable
    try:
        yield
    finally:
        left = inf
        jaxtyping.config.update("jaxtyping_disable", before)


@contextmanager
def without_checks() -> Iterator[None]:
    """Switch the checks off."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)
