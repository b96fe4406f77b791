"""Modules that are imported when a test first uses something of them, so that listing the tests waits for none."""

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module until then; in annotations of what is defined at the top of a file its names are quoted."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(object.__getattribute__(self, "name")), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        """Change the module itself: monkeypatching reaches it as if it had been imported."""
        setattr(import_module(self.name), attribute, value)


torch: Any = LateModule("torch")
nn: Any = LateModule("torch.nn")
