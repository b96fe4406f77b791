"""Checksums inside documents and files of tensors, so that damage is noticed when they are read.

A JSON document holds in `sha256` the SHA-256 of all its other fields, written as JSON with sorted names and without
spaces. A safetensors file holds in its metadata the SHA-256 of the whole file, computed with zeros in its place.
"""

import hashlib
import json
from typing import Any

from unweave.exceptions import InvalidInput

SEAL = "sha256"
DAMAGED = "its checksum does not fit what it holds, so it was damaged or changed: take a fresh copy, or run again."
# In place of the checksum while it is computed.
BLANK = "0" * 64
# For the metadata of `safetensors.numpy.save`, whose bytes `seal_tensors` completes.
UNSEALED = {SEAL: BLANK}
# A safetensors file begins with the length of its header.
LENGTH_BYTES = 8


def checksum(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """Copy a document, with the checksum of its fields last.

    Raises:
        TypeError: if it holds something that JSON has no word for.
        ValueError: if a number is not finite.
    """
    fields = {name: value for name, value in document.items() if name != SEAL}
    return fields | {SEAL: _checksum_of(fields)}


def check_document(document: dict[str, Any]) -> None:
    """Compare a document with its checksum.

    Raises:
        InvalidInput: if it has none, or another one.
    """
    if SEAL not in document:
        raise InvalidInput(f"it has no checksum {SEAL!r}.")
    if document[SEAL] != _checksum_of({name: value for name, value in document.items() if name != SEAL}):
        raise InvalidInput(DAMAGED)


def seal_tensors(data: bytes) -> bytes:
    """Put the checksum into a safetensors file that was made with `UNSEALED` among its metadata."""
    return data.replace(BLANK.encode(), checksum(data).encode(), 1)


def check_tensors(data: bytes) -> dict[str, str]:
    """Compare a safetensors file with its checksum, and return its metadata.

    Raises:
        InvalidInput: if it is no such file, has no checksum, or another one.
    """
    metadata = metadata_of(data)
    told = metadata.get(SEAL)
    if told is None:
        raise InvalidInput(f"its metadata hold no checksum {SEAL!r}.")
    if len(told) != len(BLANK) or checksum(data.replace(told.encode(), BLANK.encode(), 1)) != told:
        raise InvalidInput(DAMAGED)
    return metadata


def metadata_of(data: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file, which are not compared with anything.

    Raises:
        InvalidInput: if it is no such file.
    """
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if not 0 < length <= len(data) - LENGTH_BYTES:
        raise InvalidInput("it is no safetensors file.")
    try:
        header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is no safetensors file: {error}.") from error
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise InvalidInput("it is no safetensors file.")
    return metadata


def _checksum_of(fields: dict[str, Any]) -> str:
    return checksum(json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
