"""Run folders: all that is needed to read or repeat a run, of queries or of samples.

A run folder holds

* `result.json`: outcome, reason, parameters, certificate, diagnostics, cost and notes (`docs/result.schema.json`);
* `settings.json`: every setting and the seed, versions, platform and date, and checksums of all files of the run;
* `network.safetensors`: the network, if there is one, for `Network.load` (or `QuadraticDenseNet.load`);
* `first_layer.safetensors`: the first layer, where only that was found;
* `journal.sqlite`: every answer of the model, from the first query on.

They are written together (`unweave.folders`): a reader sees all files of one run, or of the one before. Every file
holds a checksum of itself, so that damage is noticed.
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unweave import __version__
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.folders import PREFIX, names_in, read_file, read_files, write_files
from unweave.networks.network import Network
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.oracles.journal.store import FILES as ANSWERS
from unweave.reports.fields import (
    certificate_of,
    cost_of,
    diagnostic_of,
    field_of,
    floats_of,
    member,
    optional,
    ranges_of,
    route_choice_of,
    tuple_of,
)
from unweave.reports.json import RESULT_KIND, as_document, layer_document, network_document
from unweave.result import Outcome, Result
from unweave.seals import DAMAGED, check_document, checksum, sealed
from unweave.writing import FORMAT, FORMAT_VERSION, Document, as_json, envelope, for_json

# The format of version 1: such folders are recognised, so that they are named as old and may be overwritten.
OLD_FORMAT = "unweave-run"
# The version before the present one is read, too: it knew no queries of stages, errors at fresh points and ranges.
VERSION_WITHOUT_RANGES = 2
READ_VERSIONS = (VERSION_WITHOUT_RANGES, FORMAT_VERSION)
NETWORK, RESULT, SETTINGS = "network.safetensors", "result.json", "settings.json"
FIRST_LAYER = "first_layer.safetensors"
FILES = (SETTINGS, RESULT, NETWORK, FIRST_LAYER)
# Documents of folders that hold no result, by their kinds.
MEASUREMENTS = {
    "audit": "audit.json",
    "landscape": "landscape.json",
    "phase diagram": "phase_diagram.json",
    "training curves": "training_curves.json",
    "activation curves": "activation_curves.json",
}
# Folder of the sizes of a landscape that are done.
SIZES = "sizes"
# What `unweave report --html` writes beside the other files; it goes when another run comes.
REPORT = "report.html"
# Answers and sizes of a run that goes on: they are there before anything else is, and stay.
JOURNAL_FILES = frozenset((*ANSWERS, SIZES))
# How documents begin.
BEGINNING = b'{\n  "format": "unweave'
# Packages that results depend on; some are optional extras.
PACKAGES = ("numpy", "scipy", "jax", "torch")
# What the fields of a network's document say of its sizes, and of its parameters.
SHAPE = ("kind", "inputs", "neurons", "outputs", "activations", "features", "connections", "parameters")
NETWORKS = {"layered": Network, "quadratic": QuadraticDenseNet}

AnyNetwork = Network | QuadraticDenseNet
# Bytes of the files of a run that are there, by their names.
Files = Mapping[str, bytes]


@dataclass(frozen=True, eq=False)
class SavedRun:
    """Hold what a run folder contains.

    Args:
        result: with its network and its certificate.
        settings: what the run was asked to do, seed included.
        environment: versions, platform and date.
        files: checksums of the other files, by their names.
    """

    result: Result
    settings: Document
    environment: Document
    files: dict[str, str] = field(default_factory=dict)


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
    if folder.exists() and (names := names_in(folder) - JOURNAL_FILES):
        try:
            files = read_files(folder, (SETTINGS, RESULT))
        except OSError:
            files = {}
        _check_earlier(folder, names, files, overwrite=overwrite)
    return folder


def write_run(
    folder: str | Path, found: Result, settings: Mapping[str, Any] | None = None, *, overwrite: bool = False
) -> Path:
    """Write the network, the result and the settings of a run. Other files in the folder are left alone.

    Args:
        folder: where to; made if it does not exist.
        found: the result.
        settings: what the run was asked to do, as JSON can hold it; what the result knows of it if omitted.
        overwrite: whether an earlier run may be replaced.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
        NotWritten: if the disk is full, or the folder turns out to be protected.
    """
    settings = found.settings if settings is None else settings
    contents = {RESULT: as_json(sealed(as_document(found))).encode() + b"\n"}
    first_layer = None if found.first_layer is None else Network((found.first_layer,))
    for name, network in ((NETWORK, found.network), (FIRST_LAYER, first_layer)):
        if network is not None:
            contents[name] = network.as_bytes()
    return write_with_settings(folder, contents, settings, overwrite=overwrite)


def write_with_settings(
    folder: str | Path, contents: dict[str, bytes], settings: Mapping[str, Any], *, overwrite: bool
) -> Path:
    """Write the files of a run with its settings, and remove those of the run before, its report included.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
        NotWritten: if the disk is full, or the folder turns out to be protected.
    """
    files = {name: checksum(data) for name, data in contents.items()}
    try:
        asked = {"settings": for_json(settings), "environment": environment(), "files": files}
        contents[SETTINGS] = as_json(sealed(envelope("settings") | asked)).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"settings need to be names, numbers and lists that JSON can hold: {error}.") from error
    folder = check_folder(folder, overwrite=overwrite)

    def check_again() -> None:
        """Refuse what another writer has put there since, now that none is at work."""
        held = {each.name: each for each in folder.iterdir() if not each.name.startswith(PREFIX)}
        files = {name: held[name].read_bytes() for name in (SETTINGS, RESULT) if name in held and held[name].is_file()}
        if names := set(held) - JOURNAL_FILES:
            _check_earlier(folder, names, files, overwrite=overwrite)

    write_files(folder, contents, removed=(*FILES, *MEASUREMENTS.values(), REPORT), check=check_again)
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
        UnreadableFile: if the folder, or a file in it, is not what `write_run` writes, or damaged.
    """
    folder = Path(folder)
    files = files_of(folder)
    settings, result = documents_of(folder, files)
    try:
        found = _result(result, folder, files)
    except InvalidInput as error:
        raise _unreadable(folder / RESULT, str(error)) from error
    try:
        asked, surroundings = (field_of(settings, name, dict) for name in ("settings", "environment"))
        return SavedRun(found, asked, surroundings, field_of(settings, "files", dict))
    except InvalidInput as error:
        raise _unreadable(folder / SETTINGS, str(error)) from error


def read_document(path: str | Path, *, kind: str) -> Document:
    """Read one document of Unweave from a file, and compare it with its checksum.

    Raises:
        UnreadableFile: if it is something else, or damaged.
    """
    path = Path(path)
    try:
        data = read_file(path)
    except OSError as error:
        raise UnreadableFile(f"{path} can't be read: {error}.") from error
    return _document(path.parent, {path.name: data}, path.name, kind)


def network_of_run(folder: str | Path) -> AnyNetwork | None:
    """The network of any run, recovered from queries or learnt from samples; None if it found none.

    Raises:
        UnreadableFile: if the folder, or a file in it, is not what a run writes, or damaged.
    """
    folder = Path(folder)
    files = files_of(folder)
    _, result = documents_of(folder, files)
    try:
        return _network(optional(result, "network"), folder, files)
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


def files_of(folder: Path, names: tuple[str, ...] = FILES) -> Files:
    """Read the files of a run, all of the same one.

    Raises:
        UnreadableFile: if there is no such folder, or it can't be read.
    """
    if not folder.is_dir():
        raise UnreadableFile(f"no run at {folder}: there is no such folder, check the path.")
    try:
        return read_files(folder, names)
    except OSError as error:
        raise UnreadableFile(f"{folder} can't be read as a run of Unweave: {error}.") from error


def documents_of(folder: Path, files: Files, name: str = RESULT, kind: str = RESULT_KIND) -> tuple[Document, Document]:
    """Read the settings, and the result or another document, which must belong together.

    Raises:
        UnreadableFile: if they do not, or one of them is damaged or missing.
    """
    settings, result = _document(folder, files, SETTINGS, "settings"), _document(folder, files, name, kind)
    told = settings.get("files")
    if not isinstance(told, dict):
        raise _unreadable(folder / SETTINGS, "it has no checksums of the other files.")
    for name in set(files) - {SETTINGS}:
        if told.get(name) != checksum(files[name]):
            raise _unreadable(folder / name, f"{DAMAGED} ({SETTINGS} tells of another {name}.)")
    return settings, result


def _unreadable(path: Path, problem: str) -> UnreadableFile:
    return UnreadableFile(f"{path} needs to be a file of a run of Unweave, but it is not: {problem}")


def _check_earlier(folder: Path, names: set[str], files: Files, *, overwrite: bool) -> None:
    """Refuse to replace anything but a run, and a run only where that is wanted."""
    if not _is_run(folder, names, files):
        raise InvalidInput(f"{folder} is not empty and holds no run of Unweave, so it is left alone: name another.")
    if not overwrite:
        raise InvalidInput(f"{folder} holds an earlier run: name another folder, or say --overwrite (overwrite=True).")


def _is_run(folder: Path, names: set[str], files: Files) -> bool:
    """Whether one of the two documents of a run is there, or nothing but the beginning of one that was cut short."""
    for name in files:
        try:
            _parsed(folder / name, files[name])
        except UnreadableFile:
            continue
        return True
    is_begun = all(data.startswith(BEGINNING) or BEGINNING.startswith(data) for data in files.values())
    return names <= set(FILES) and bool(files) and is_begun


def _document(folder: Path, files: Files, name: str, kind: str) -> Document:
    if name not in files:
        raise UnreadableFile(
            f"{folder} is not a complete run of Unweave: it has no {name}. Name a folder that "
            "`unweave identify --out` or `unweave learn ... --out` has written."
        )
    document = _parsed(folder / name, files[name])
    if (found := document.get("format_version")) not in READ_VERSIONS:
        known = " and ".join(map(str, READ_VERSIONS))
        raise _unreadable(folder / name, f"its format version is {found!r}, this Unweave reads {known}.")
    if document.get("kind") != kind:
        raise _unreadable(folder / name, f"its kind needs to be {kind!r}, got {document.get('kind')!r}.")
    try:
        check_document(document)
    except InvalidInput as error:
        raise _unreadable(folder / name, str(error)) from error
    return document


def _parsed(path: Path, data: bytes) -> Document:
    try:
        document = json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"{error}.") from error
    if not isinstance(document, dict) or document.get("format") not in (FORMAT, OLD_FORMAT):
        raise _unreadable(path, f"it does not name the format {FORMAT!r}.")
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _result(document: Document, folder: Path, files: Files) -> Result:
    if document["format_version"] == VERSION_WITHOUT_RANGES:
        document = {"fresh_errors": [], "ranges": None} | document
    certificate, ranges = optional(document, "certificate"), optional(document, "ranges")
    first_layer = _first_layer(optional(document, "first_layer"), folder, files)
    return Result(
        outcome=member(document, "outcome", Outcome),
        reason=field_of(document, "reason", str),
        network=_network(optional(document, "network"), folder, files),
        certificate=None if certificate is None else certificate_of(certificate),
        diagnostics=tuple(diagnostic_of(each) for each in field_of(document, "diagnostics", list)),
        equivalent_activations=tuple_of(document, "equivalent_activations", str),
        # Runs of before have no imitations.
        is_imitation=field_of({"is_imitation": False} | document, "is_imitation", bool),
        notes=tuple_of(document, "notes", str),
        cost=cost_of(field_of(document, "cost", dict)),
        route=field_of(document, "route", str),
        routes=tuple(route_choice_of(each) for each in field_of(document, "routes", list)),
        first_layer=None if first_layer is None else first_layer.layers[0],
        fresh_errors=floats_of(document, "fresh_errors"),
        ranges=None if ranges is None else ranges_of(ranges),
        # Results of before do not know them; `settings.json` does.
        settings=field_of({"settings": {}} | document, "settings", dict),
        input_names=tuple_of({"input_names": []} | document, "input_names", str),
    )


def _network(document: Document | None, folder: Path, files: Files) -> AnyNetwork | None:
    if document is None:
        return None
    kind = document.get("kind")
    if kind not in NETWORKS:
        raise InvalidInput(f"its network needs to be one of {', '.join(NETWORKS)}, got {kind!r}.")
    network = NETWORKS[kind].from_bytes(_held(files, NETWORK), folder / NETWORK)
    held = network_document(network)
    told, saved = ({name: each[name] for name in SHAPE if name in each} for each in (document, held))
    if told != saved:
        raise InvalidInput(f"it tells of a network of the shape {told}, but {NETWORK} holds {saved}.")
    if document != held:
        raise InvalidInput(f"it tells of other parameters than {NETWORK} holds.")
    return network


def _first_layer(document: Document | None, folder: Path, files: Files) -> Network | None:
    if document is None:
        return None
    alone = Network.from_bytes(_held(files, FIRST_LAYER), folder / FIRST_LAYER)
    if document != layer_document(alone.layers[0]):
        raise InvalidInput(f"it tells of another first layer than {FIRST_LAYER} holds.")
    return alone


def _held(files: Files, name: str) -> bytes:
    if name not in files:
        raise InvalidInput(f"it tells of a network, but there is no {name}.")
    return files[name]
