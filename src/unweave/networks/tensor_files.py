"""What files of networks hold: named arrays, metadata, and a checksum of all of it."""

import json

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from unweave.activations import Activation, activation_named
from unweave.exceptions import InvalidInput
from unweave.seals import check_tensors

FORMAT = "unweave-network"
# Version 2 holds a checksum.
FORMAT_VERSION = "2"

Tensors = dict[str, np.ndarray]


def read_tensors(data: bytes) -> Tensors:
    """Return the arrays of a safetensors file, which has to fit its checksum.

    Raises:
        InvalidInput: if it is something else, or damaged.
    """
    check_tensors(data)
    try:
        # Copied, because these may be views of bytes that nobody may write to.
        return {name: np.array(array) for name, array in load(data).items()}
    except (SafetensorError, KeyError, TypeError, ValueError, ImportError) as error:
        raise InvalidInput(f"its tensors can't be read: {error}.") from error


def activations_of(metadata: dict[str, str]) -> list[Activation]:
    """Return the activations of the layers of a network.

    Raises:
        InvalidInput: if metadata are those of something else.
    """
    if metadata.get("format") != FORMAT:
        raise InvalidInput(f"its metadata name the format {metadata.get('format')!r}, not {FORMAT!r}.")
    if metadata.get("format_version") != FORMAT_VERSION:
        raise InvalidInput(
            f"its format version is {metadata.get('format_version')!r}, not {FORMAT_VERSION!r}: "
            f"use Unweave {metadata.get('unweave_version', 'of another version')}."
        )
    try:
        names = json.loads(metadata.get("activations", ""))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput("its metadata hold no list of activations.")
    return [activation_named(name) for name in names]


def layer_tensors(tensors: Tensors, *, layers: int) -> Tensors:
    """Return the arrays of so many layers, and no others.

    Raises:
        InvalidInput: if names or types are others.
    """
    needed = {f"layers.{index}.{part}" for index in range(layers) for part in ("weights", "biases")}
    found = set(tensors)
    if found - {"skip"} != needed:
        strange = sorted((found - {"skip"}) ^ needed)
        raise InvalidInput(f"its {layers} layers do not fit its tensors (missing or too many: {strange[:4]}).")
    for name in sorted(found):
        if tensors[name].dtype != np.float64:
            raise InvalidInput(f"its tensor {name} needs the type F64, got {tensors[name].dtype}.")
    return tensors
