"""An identification as a plain dictionary, and run folders: all that is needed to read or repeat a run.

A run folder holds

* `network.safetensors`: the recovered network, if there is one;
* `result.json`: outcome, reason, certificate, diagnostics, queries, notes, seconds;
* `settings.json`: every setting and the seed, versions, platform and date.

JSON knows no infinity, so numbers that are not finite are the strings "inf", "-inf" and "nan", which
`float` of Python and of most other languages reads. None of them is null: null means "there is none".
"""

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from unweave import __version__
from unweave.certificates.certify import Certificate
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.network import Layer, Network
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict

FORMAT = "unweave-run"
FORMAT_VERSION = 1
NETWORK, RESULT, SETTINGS = "network.safetensors", "result.json", "settings.json"
FIRST_LAYER = "first_layer.safetensors"
NOT_FINITE = ("inf", "-inf", "nan")

Document = dict[str, Any]
Kind = TypeVar("Kind")
Member = TypeVar("Member", bound=Enum)


@runtime_checkable
class Savable(Protocol):
    """Any class of networks."""

    def save(self, path: str | Path) -> None:
        """Write to a safetensors file."""
        ...


@dataclass(frozen=True, eq=False)
class Run:
    """What a run folder holds.

    Args:
        identification: the result, with its network.
        settings: what the run was asked to do, seed included.
        environment: versions, platform and date.
    """

    identification: Result
    settings: Document
    environment: Document


def as_document(found: Result) -> Document:
    """The result as a dictionary for JSON; of the network its shape, not its numbers."""
    certificate = found.certificate
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "outcome": found.outcome.value,
        "reason": found.reason,
        "route": found.route,
        "network": None if found.network is None else network_shape(found.network),
        "first_layer": None if found.first_layer is None else network_shape(_alone(found.first_layer)),
        "equivalent_activations": list(found.equivalent_activations),
        "certificate": None if certificate is None else plain(vars(certificate)),
        "diagnostics": [plain(vars(each)) | {"verdict": each.verdict.value} for each in found.diagnostics],
        "queries": int(found.queries),
        "notes": list(found.notes),
        "seconds": plain(found.seconds),
    }


def network_shape(network: Network) -> Document:
    """The sizes and activations of a network."""
    return {
        "inputs": network.inputs,
        "neurons": list(network.widths),
        "outputs": network.outputs,
        "activations": [str(activation) for activation in network.activations],
        "has_skip": network.skip is not None,
        "parameters": network.parameters,
    }


def plain(values: Mapping[str, Any]) -> Document:
    """A copy that JSON can hold: floats that are not finite become strings."""
    return {name: json_number(value) if isinstance(value, float) else value for name, value in values.items()}


def json_number(value: float) -> float | str:
    """A float that JSON can hold, or its name if it is not finite."""
    return float(value) if math.isfinite(value) else str(float(value))


def as_json(document: Document) -> str:
    """JSON text of a document; a number that is not finite is an error here."""
    return json.dumps(document, indent=2, allow_nan=False)


def check_folder(folder: str | Path, *, overwrite: bool = False) -> Path:
    """Make sure that a run can be written to `folder`, before a query is spent on it. Nothing is changed.

    Raises:
        InvalidInput: if it holds something else, an earlier run without `overwrite`, or can't be written.
    """
    folder = Path(folder)
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not (existing.is_dir() and os.access(existing, os.R_OK | os.W_OK | os.X_OK)):
        problem = "protected" if existing.is_dir() else "not a folder"
        raise InvalidInput(f"a run needs a folder that can be written, but {existing} is {problem}: name another.")
    if not folder.exists() or not any(folder.iterdir()):
        return folder
    if not _is_run(folder):
        raise InvalidInput(f"{folder} is not empty and holds no run of Unweave, so it is left alone: name another.")
    if not overwrite:
        raise InvalidInput(f"{folder} holds an earlier run: name another folder, or say --overwrite (overwrite=True).")
    return folder


def write_run(folder: str | Path, found: Result, settings: Mapping[str, Any], *, overwrite: bool = False) -> Path:
    """Write the network, the result and the settings of a run. Other files in the folder are left alone.

    Args:
        folder: where to; made if it does not exist.
        found: the result.
        settings: what the run was asked to do, as JSON can hold it.
        overwrite: whether an earlier run may be replaced.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
    """
    first_layer = None if found.first_layer is None else _alone(found.first_layer)
    networks = {NETWORK: found.network, FIRST_LAYER: first_layer}
    return write_documents(folder, networks, as_document(found), settings, overwrite=overwrite)


def write_documents(
    folder: str | Path,
    networks: Mapping[str, Savable | None],
    result: Document,
    settings: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> Path:
    """Write the files of a run: networks by the names of their files, the result and the settings.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
    """
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    try:
        settings_text = as_json(head | {"settings": plain(settings), "environment": environment()})
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"settings need to be names, numbers and lists that JSON can hold: {error}.") from error
    folder = check_folder(folder, overwrite=overwrite)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The result goes first and comes last: a folder with one is complete.
        for name in (RESULT, NETWORK, FIRST_LAYER):
            (folder / name).unlink(missing_ok=True)
        (folder / SETTINGS).write_text(settings_text + "\n", encoding="utf-8")
        for name, network in networks.items():
            if network is not None:
                network.save(folder / name)
        (folder / RESULT).write_text(as_json(result) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"the run could not be written to {folder}: {error}.") from error
    return folder


def network_of_run(folder: str | Path) -> Network | None:
    """The network of any run, recovered from queries or learnt from samples; None if it found none.

    Raises:
        UnreadableFile: if the folder, or a file in it, is not what a run writes.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UnreadableFile(f"no run at {folder}: there is no such folder, check the path.")
    _, result = _read_json(folder / SETTINGS), _read_json(folder / RESULT)
    try:
        return _network(_optional(result, "network"), folder / NETWORK)
    except InvalidInput as error:
        raise _unreadable(folder / RESULT, str(error)) from error


def environment() -> Document:
    """Versions, platform and date: with the settings all that is needed to repeat a run."""
    return {
        "versions": {
            "unweave": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "jax")},
        },
        "platform": platform.platform(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def read_run(folder: str | Path) -> Run:
    """Read a run that `write_run` has written.

    Raises:
        UnreadableFile: if the folder, or a file in it, is not what `write_run` writes.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UnreadableFile(f"no run at {folder}: there is no such folder, check the path.")
    settings, result = _read_json(folder / SETTINGS), _read_json(folder / RESULT)
    try:
        found = _identification(result, folder)
    except InvalidInput as error:
        raise _unreadable(folder / RESULT, str(error)) from error
    try:
        return Run(found, _field(settings, "settings", dict), _field(settings, "environment", dict))
    except InvalidInput as error:
        raise _unreadable(folder / SETTINGS, str(error)) from error


def _unreadable(path: Path, problem: str) -> UnreadableFile:
    return UnreadableFile(f"{path} needs to be a file of a run of Unweave, but it is not: {problem}")


def _is_run(folder: Path) -> bool:
    """Whether one of the two documents of a run is there, so that a run that was cut short counts, too."""
    for name in (SETTINGS, RESULT):
        try:
            _parsed(folder / name)
        except UnreadableFile:
            continue
        return True
    return False


def _read_json(path: Path) -> Document:
    document = _parsed(path)
    if document.get("format_version") != FORMAT_VERSION:
        found = document.get("format_version")
        raise _unreadable(path, f"its format version is {found!r}, this Unweave reads {FORMAT_VERSION}.")
    return document


def _parsed(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"{path.parent} is not a complete run of Unweave: it has no {path.name}. Name a folder that "
            "`unweave identify --out` has written."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"{error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _unreadable(path, f"it does not name the format {FORMAT!r}.")
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _identification(result: Document, folder: Path) -> Result:
    certificate, seconds = _optional(result, "certificate"), _field(result, "seconds", dict)
    first_layer = _network(_optional(result, "first_layer"), folder / FIRST_LAYER)
    return Result(
        outcome=_member(result, "outcome", Outcome),
        reason=_field(result, "reason", str),
        network=_network(_optional(result, "network"), folder / NETWORK),
        certificate=None if certificate is None else _certificate(certificate),
        diagnostics=tuple(_diagnostic(each) for each in _field(result, "diagnostics", list)),
        equivalent_activations=_strings(result, "equivalent_activations"),
        notes=_strings(result, "notes"),
        cost=Cost(queries=_field(result, "queries", int), seconds={stage: _float(seconds, stage) for stage in seconds}),
        route=_field(result, "route", str),
        first_layer=None if first_layer is None else first_layer.layers[0],
    )


def _alone(layer: Layer) -> Network:
    """A layer as a network without anything above it."""
    return Network((layer,))


def _network(shape: Document | None, path: Path) -> Network | None:
    if shape is None:
        return None
    if not path.exists():
        raise InvalidInput(f"it tells of a network of the shape {shape}, but there is no {path.name}.")
    network = Network.load(path)
    if (held := network_shape(network)) != shape:
        raise InvalidInput(f"it tells of a network of the shape {shape}, but {path.name} holds {held}.")
    return network


def _diagnostic(document: object) -> Diagnostic:
    if not isinstance(document, dict):
        raise InvalidInput(f"a diagnostic needs to be a dict, got {document!r}.")
    return Diagnostic(
        name=_field(document, "name", str),
        value=_float(document, "value"),
        threshold=_float(document, "threshold"),
        verdict=_member(document, "verdict", Verdict),
        advice=_field(document, "advice", str),
    )


def _certificate(document: Document) -> Certificate:
    readers = {float: _float, int: partial(_field, kind=int), bool: partial(_field, kind=bool)}
    return Certificate(**{each.name: readers[each.type](document, each.name) for each in fields(Certificate)})


def _field(document: Document, name: str, kind: type[Kind]) -> Kind:
    value = document.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        found = f"got {value!r}" if name in document else "there is none"
        raise InvalidInput(f"its {name!r} needs to be a {kind.__name__}, {found}.")
    return value


def _optional(document: Document, name: str) -> Document | None:
    return None if name in document and document[name] is None else _field(document, name, dict)


def _float(document: Document, name: str) -> float:
    value = document.get(name)
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in NOT_FINITE):
        raise InvalidInput(f"its {name!r} needs to be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInput(f"its {name!r} needs to be a number of float64: {error}.") from error


def _strings(document: Document, name: str) -> tuple[str, ...]:
    values = _field(document, name, list)
    if not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"its {name!r} need to be strings, got {values!r}.")
    return tuple(values)


def _member(document: Document, name: str, kind: type[Member]) -> Member:
    try:
        return kind(document.get(name))
    except ValueError as error:
        raise InvalidInput(f"its {name!r} needs to be one of {[each.value for each in kind]}: {error}.") from error
