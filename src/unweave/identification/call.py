"""What was asked for: the arguments of a call that differ from their defaults, as reports and JSON hold them.

Nothing secret is among them: of an address what is shown of it, and of an oracle its name and sizes, no headers.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from unweave.activations import Activation
from unweave.oracles.journal.oracle import Journal
from unweave.oracles.oracle import Domain, Everywhere, Oracle, name_of_object
from unweave.result import Result
from unweave.writing import Document, for_json

Given = ParamSpec("Given")
Found = TypeVar("Found", bound=Result)

# Arguments that say nothing about the result.
UNRECORDED = ("progress",)


def recording_settings(door: Callable[Given, Found]) -> Callable[Given, Found]:
    """Let the results of a function know the arguments that it was called with."""
    called = signature(door)

    @wraps(door)
    def recorded(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        found = door(*args, **kwargs)
        (_, model), *others = called.bind(*args, **kwargs).arguments.items()
        given = {name: _recorded(value) for name, value in others if name not in UNRECORDED}
        told = {name: value for name, value in given.items() if value != _recorded(called.parameters[name].default)}
        return replace(found, settings={"call": door.__name__} | model_settings(model) | told)

    return recorded


def model_settings(model: object) -> Document:
    """Name a model, without anything that is secret; of an oracle, which knows more, what it was told as well."""
    if isinstance(model, Oracle):
        told = {"inputs": model.inputs, "domain": _recorded(model.domain), "budget": model.ledger.budget}
        usual = {"domain": _recorded(Everywhere()), "budget": None}
        differing = {name: value for name, value in told.items() if name not in usual or value != usual[name]}
        return {"model": model.name, "oracle": differing}
    if isinstance(model, str | Path):
        return {"model": _shown(str(model))}
    return {"model": name_of_object(model)}


def _shown(place: str) -> str:
    if not place.startswith(("http://", "https://")):
        return place
    from unweave.oracles.http.secrets import shown_address

    return shown_address(place)


def _recorded(value: Any) -> Any:
    """Write an argument as JSON can hold it."""
    if isinstance(value, Domain):
        return {"kind": type(value).__name__} | for_json(vars(value))
    if isinstance(value, Activation):
        return value.name
    if isinstance(value, Journal):
        value = value.path
    return str(value) if isinstance(value, Path) else for_json(value)
