"""The run-time type checker of the tests: an int is a float, as everywhere in Python's own typing."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from beartype import BeartypeConf, beartype

compile_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check a function from its first call on: most functions are never called in one process of the tests."""
    compiled: list[Callable[..., Any]] = []

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not compiled:
            compiled.append(compile_check(function))
        return compiled[0](*args, **kwargs)

    return checked
