"""Run folders: all that is needed to read or repeat a run, of queries or of samples.

A run folder holds

* `result.json`: outcome, reason, parameters, certificate, diagnostics, cost and notes (`docs/result.schema.json`);
* `settings.json`: every setting and the seed, versions, platform and date;
* `network.safetensors`: the network, if there is one, for `Network.load` (or `QuadraticDenseNet.load`);
* `first_layer.safetensors`: the first layer, where only that was found.
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unweave import __version__
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.network import Network
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.reports.fields import (
    certificate_of,
    cost_of,
    diagnostic_of,
    field_of,
    member,
    optional,
    route_choice_of,
    tuple_of,
)
from unweave.reports.json import RESULT_KIND, as_document, layer_document, network_document
from unweave.result import Outcome, Result
from unweave.writing import FORMAT, FORMAT_VERSION, Document, as_json, envelope, for_json, writing_to

# The format of version 1: such folders are recognised, so that they are named as old and may be overwritten.
OLD_FORMAT = "unweave-run"
NETWORK, RESULT, SETTINGS = "network.safetensors", "result.json", "settings.json"
FIRST_LAYER = "first_layer.safetensors"
# Packages that results depend on; some are optional extras.
PACKAGES = ("numpy", "scipy", "jax", "torch")
# What the fields of a network's document say of its sizes, and of its parameters.
SHAPE = ("kind", "inputs", "neurons", "outputs", "activations", "features", "connections", "parameters")
NETWORKS = {"layered": Network, "quadratic": QuadraticDenseNet}

AnyNetwork = Network | QuadraticDenseNet


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What a run folder holds.

    Args:
        result: with its network and its certificate.
        settings: what the run was asked to do, seed included.
        environment: versions, platform and date.
    """

    result: Result
    settings: Document
    environment: Document


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
        NotWritten: if the disk is full, or the folder turns out to be protected.
    """
    try:
        asked = {"settings": for_json(settings), "environment": environment()}
        settings_text = as_json(envelope("settings") | asked)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"settings need to be names, numbers and lists that JSON can hold: {error}.") from error
    folder = check_folder(folder, overwrite=overwrite)
    first_layer = None if found.first_layer is None else Network((found.first_layer,))
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # The result goes first and comes last: a folder with one is complete.
        for name in (RESULT, NETWORK, FIRST_LAYER):
            (folder / name).unlink(missing_ok=True)
        (folder / SETTINGS).write_text(settings_text + "\n", encoding="utf-8")
        for name, network in ((NETWORK, found.network), (FIRST_LAYER, first_layer)):
            if network is not None:
                network.save(folder / name)
        (folder / RESULT).write_text(as_json(as_document(found)) + "\n", encoding="utf-8")
    return folder


def environment() -> Document:
    """Versions, platform and date: with the settings all that is needed to repeat a run."""
    return {
        "versions": {
            "unweave": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES if find_spec(name) is not None},
        },
        "platform": platform.platform(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def read_run(folder: str | Path) -> SavedRun:
    """Read a run that `write_run` has written.

    Raises:
        UnreadableFile: if the folder, or a file in it, is not what `write_run` writes.
    """
    folder = Path(folder)
    settings, result = _documents(folder)
    try:
        found = _result(result, folder)
    except InvalidInput as error:
        raise _unreadable(folder / RESULT, str(error)) from error
    try:
        return SavedRun(found, field_of(settings, "settings", dict), field_of(settings, "environment", dict))
    except InvalidInput as error:
        raise _unreadable(folder / SETTINGS, str(error)) from error


def network_of_run(folder: str | Path) -> AnyNetwork | None:
    """The network of any run, recovered from queries or learnt from samples; None if it found none.

    Raises:
        UnreadableFile: if the folder, or a file in it, is not what a run writes.
    """
    folder = Path(folder)
    _, result = _documents(folder)
    try:
        return _network(optional(result, "network"), folder / NETWORK)
    except InvalidInput as error:
        raise _unreadable(folder / RESULT, str(error)) from error


def read_network(path: str | Path) -> AnyNetwork | None:
    """The network of a file or of a run folder; None for a run that found none.

    Raises:
        UnreadableFile: if it is neither.
    """
    path = Path(path)
    if path.is_dir():
        return network_of_run(path)
    try:
        return Network.load(path)
    except UnreadableFile as error:
        try:
            return QuadraticDenseNet.load(path)
        except UnreadableFile:
            raise error from None


def _documents(folder: Path) -> tuple[Document, Document]:
    """Settings and result."""
    if not folder.is_dir():
        raise UnreadableFile(f"no run at {folder}: there is no such folder, check the path.")
    return _read_json(folder / SETTINGS, "settings"), _read_json(folder / RESULT, RESULT_KIND)


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


def _read_json(path: Path, kind: str) -> Document:
    document = _parsed(path)
    if document.get("format_version") != FORMAT_VERSION:
        found = document.get("format_version")
        raise _unreadable(path, f"its format version is {found!r}, this Unweave reads {FORMAT_VERSION}.")
    if document.get("kind") != kind:
        raise _unreadable(path, f"its kind needs to be {kind!r}, got {document.get('kind')!r}.")
    return document


def _parsed(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"{path.parent} is not a complete run of Unweave: it has no {path.name}. Name a folder that "
            "`unweave identify --out` or `unweave learn ... --out` has written."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"{error}.") from error
    if not isinstance(document, dict) or document.get("format") not in (FORMAT, OLD_FORMAT):
        raise _unreadable(path, f"it does not name the format {FORMAT!r}.")
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _result(document: Document, folder: Path) -> Result:
    certificate = optional(document, "certificate")
    first_layer = _first_layer(optional(document, "first_layer"), folder / FIRST_LAYER)
    return Result(
        outcome=member(document, "outcome", Outcome),
        reason=field_of(document, "reason", str),
        network=_network(optional(document, "network"), folder / NETWORK),
        certificate=None if certificate is None else certificate_of(certificate),
        diagnostics=tuple(diagnostic_of(each) for each in field_of(document, "diagnostics", list)),
        equivalent_activations=tuple_of(document, "equivalent_activations", str),
        notes=tuple_of(document, "notes", str),
        cost=cost_of(field_of(document, "cost", dict)),
        route=field_of(document, "route", str),
        routes=tuple(route_choice_of(each) for each in field_of(document, "routes", list)),
        first_layer=None if first_layer is None else first_layer.layers[0],
    )


def _network(document: Document | None, path: Path) -> AnyNetwork | None:
    if document is None:
        return None
    kind = document.get("kind")
    if kind not in NETWORKS:
        raise InvalidInput(f"its network needs to be one of {', '.join(NETWORKS)}, got {kind!r}.")
    _check_exists(path)
    network = NETWORKS[kind].load(path)
    held = network_document(network)
    told, saved = ({name: each[name] for name in SHAPE if name in each} for each in (document, held))
    if told != saved:
        raise InvalidInput(f"it tells of a network of the shape {told}, but {path.name} holds {saved}.")
    if document != held:
        raise InvalidInput(f"it tells of other parameters than {path.name} holds.")
    return network


def _first_layer(document: Document | None, path: Path) -> Network | None:
    if document is None:
        return None
    _check_exists(path)
    alone = Network.load(path)
    if document != layer_document(alone.layers[0]):
        raise InvalidInput(f"it tells of another first layer than {path.name} holds.")
    return alone


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise InvalidInput(f"it tells of a network, but there is no {path.name}.")
