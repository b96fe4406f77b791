"""Folders of what is measured without a result: one document with its settings, written as run folders are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave.exceptions import UnreadableFile
from unweave.reports.files import MEASUREMENTS, SETTINGS, documents_of, files_of, write_with_settings
from unweave.seals import sealed
from unweave.writing import Document, as_json


@dataclass(frozen=True, eq=False)
class SavedMeasurement:
    """What the folder of a measurement holds.

    Args:
        document: as it was written.
        settings: what was asked for, seed included.
        environment: versions, platform and date.
        files: checksums of the other files, by their names.
    """

    document: Document
    settings: Document
    environment: Document
    files: dict[str, str]


def write_measurement(folder: str | Path, document: Document, settings: Mapping[str, Any], *, overwrite: bool) -> Path:
    """Write a document of a kind of `MEASUREMENTS` with its settings.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
        NotWritten: if the disk is full, or the folder turns out to be protected.
    """
    contents = {MEASUREMENTS[document["kind"]]: as_json(sealed(document)).encode() + b"\n"}
    return write_with_settings(folder, contents, settings, overwrite=overwrite)


def read_measurement(folder: str | Path) -> SavedMeasurement:
    """Read what `write_measurement` has written.

    Raises:
        UnreadableFile: if the folder, or a file in it, is something else, or damaged.
    """
    folder = Path(folder)
    files = files_of(folder, (SETTINGS, *MEASUREMENTS.values()))
    kind = next((kind for kind, name in MEASUREMENTS.items() if name in files), None)
    if kind is None:
        names = ", ".join(MEASUREMENTS.values())
        raise UnreadableFile(f"{folder} holds no measurement of Unweave: it needs one of {names}, and has none.")
    settings, document = documents_of(folder, files, MEASUREMENTS[kind], kind)
    return SavedMeasurement(document, *(settings[name] for name in ("settings", "environment", "files")))
