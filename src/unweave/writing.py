"""How values are written for machines: as JSON documents.

Every JSON document of Unweave begins with the same envelope: `format`, `format_version` and `kind`. JSON knows no
infinity, so numbers that are not finite are the strings "inf", "-inf" and "nan", which `float` of Python and of most
other languages reads. None of them is null: null means "there is none".
"""

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

FORMAT = "unweave"
# Version 2 holds the parameters of networks, the kind of certificates, and the cost as one value; version 3 queries per
# stage, errors at fresh points, and where the model was asked.
FORMAT_VERSION = 3
NOT_FINITE = ("inf", "-inf", "nan")

Document = dict[str, Any]


def envelope(kind: str) -> Document:
    """Begin a document for JSON: what wrote it, in which version, and what it holds."""
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "kind": kind}


def json_number(value: float) -> float | str:
    """Return a float that JSON can hold, or its name if it is not finite."""
    return float(value) if math.isfinite(value) else str(float(value))


def for_json(value: Any) -> Any:
    """Copy a value with names for numbers that are not finite, and lists for tuples and arrays."""
    if isinstance(value, Mapping):
        return {str(name): for_json(each) for name, each in value.items()}
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "tolist"):
        # Arrays and numbers of NumPy, which need not be imported for this.
        return for_json(value.tolist())
    if isinstance(value, list | tuple):
        return [for_json(each) for each in value]
    return json_number(value) if isinstance(value, float) else value


def as_json(document: Document) -> str:
    """Write a document as JSON text, rows of numbers on one line each.

    Raises:
        TypeError: if it holds something that JSON has no word for.
        ValueError: if a number is not finite: see `for_json`.
    """
    return _indented(document, "")


def _indented(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(name)}: {_indented(each, inner)}" for name, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(not isinstance(each, int | float) for each in value):
        lines = [f"{inner}{_indented(each, inner)}" for each in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
