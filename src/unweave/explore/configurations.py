"""Folders that go on: whether what they hold was asked for with the same settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput


def check_same(folder: Path, held: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Compare the settings of a measurement that a folder holds with those of one that wants to go on there.

    Raises:
        InvalidInput: if they differ.
    """
    different = sorted(name for name in {*held, *asked} if held.get(name) != asked.get(name))
    if different:
        name = different[0]
        raise InvalidInput(
            f"{folder} holds a measurement with other settings ({', '.join(different)}); {name} is "
            f"{_short(held.get(name))} there and {_short(asked.get(name))} here: name another folder, or repeat the "
            "settings."
        )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
