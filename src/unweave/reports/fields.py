"""Documents of JSON back into values, with messages that name the field that is wrong."""

from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from unweave.exceptions import InvalidInput
from unweave.result import Cost, Diagnostic, Evidence, InputRanges, RouteChoice, RouteEnd, Verdict
from unweave.writing import NOT_FINITE, Document

Kind = TypeVar("Kind")
Member = TypeVar("Member", bound=Enum)

# Where the certificates of all doors are defined; a module is imported when a run with such a certificate is read.
CERTIFICATES = {
    "Certificate": "unweave.certificates.certify",
    "HierarchicalCertificate": "unweave.learn.hierarchical.certificate",
    "LowestLayerCertificate": "unweave.learn.lowest_layer.layer",
    "OptimalityCertificate": "unweave.learn.quadratic.certificate",
    "ReluCertificate": "unweave.learn.relu_network.certificate",
    "TrainingCertificate": "unweave.learn.overparameterized.certificates",
}


def field_of(document: Document, name: str, kind: type[Kind]) -> Kind:
    """A field of a type.

    Raises:
        InvalidInput: if it is missing, or has another one.
    """
    value = document.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        found = f"got {value!r}" if name in document else "there is none"
        raise InvalidInput(f"its {name!r} needs to be a {kind.__name__}, {found}.")
    return value


def optional(document: Document, name: str) -> Document | None:
    """A document inside of a document, or None."""
    return None if name in document and document[name] is None else field_of(document, name, dict)


def float_of(document: Document, name: str) -> float:
    """A number, or the name of one that is not finite."""
    value = document.get(name)
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in NOT_FINITE):
        raise InvalidInput(f"its {name!r} needs to be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInput(f"its {name!r} needs to be a number of float64: {error}.") from error


def tuple_of(document: Document, name: str, kind: type[Kind]) -> tuple[Kind, ...]:
    """A list of values of one type."""
    values = field_of(document, name, list)
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise InvalidInput(f"its {name!r} needs to be a list of {kind.__name__}, got {values!r}.")
    return tuple(values)


def floats_of(document: Document, name: str) -> tuple[float, ...]:
    """A list of numbers, or of names of those that are not finite."""
    values = field_of(document, name, list)
    return tuple(float_of({name: value}, name) for value in values)


def member(document: Document, name: str, kind: type[Member]) -> Member:
    """A member of an enumeration, by its value."""
    try:
        return kind(document.get(name))
    except ValueError as error:
        raise InvalidInput(f"its {name!r} needs to be one of {[each.value for each in kind]}: {error}.") from error


def diagnostic_of(document: object) -> Diagnostic:
    """A diagnostic."""
    if not isinstance(document, dict):
        raise InvalidInput(f"a diagnostic needs to be a dict, got {document!r}.")
    return Diagnostic(
        name=field_of(document, "name", str),
        value=float_of(document, "value"),
        threshold=float_of(document, "threshold"),
        verdict=member(document, "verdict", Verdict),
        advice=field_of(document, "advice", str),
    )


def route_choice_of(document: object) -> RouteChoice:
    """Why a route was taken or not."""
    if not isinstance(document, dict):
        raise InvalidInput(f"the choice of a route needs to be a dict, got {document!r}.")
    return RouteChoice(
        route=field_of(document, "route", str),
        end=member(document, "end", RouteEnd),
        because=field_of(document, "because", str),
        reason=field_of(document, "reason", str),
    )


def cost_of(document: Document) -> Cost:
    """What a result has cost."""
    seconds = field_of(document, "seconds", dict)
    # Version 2 did not tell.
    queries = field_of(document, "stage_queries", dict) if "stage_queries" in document else {}
    return Cost(
        queries=field_of(document, "queries", int),
        samples=field_of(document, "samples", int),
        seconds={stage: float_of(seconds, stage) for stage in seconds},
        stage_queries={stage: field_of(queries, stage, int) for stage in queries},
    )


def ranges_of(document: Document) -> InputRanges:
    """Where a model was asked."""
    parts = (floats_of(document, name) for name in ("lower", "upper", "center", "scale"))
    return InputRanges(*parts, is_box=field_of(document, "is_box", bool))


def certificate_of(document: Document) -> Evidence:
    """A certificate of the class that was written."""
    kind = field_of(document, "kind", str)
    if kind not in CERTIFICATES:
        raise InvalidInput(f"its certificate needs to be one of {', '.join(CERTIFICATES)}, got {kind!r}.")
    found = getattr(import_module(CERTIFICATES[kind]), kind)
    readers: dict[Any, Callable[[Document, str], object]] = {
        float: float_of,
        int: partial(field_of, kind=int),
        bool: partial(field_of, kind=bool),
        str: partial(field_of, kind=str),
        tuple[int, ...]: partial(tuple_of, kind=int),
    }
    return found(**{each.name: readers[each.type](document, each.name) for each in fields(found)})
