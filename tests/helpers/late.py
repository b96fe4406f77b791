"""Modules that are imported when a test first uses something of them, so that listing the tests waits for none."""

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module until then; annotations at the top of a file quote its names.

    It can't be changed: patch the module by its name, as in ``monkeypatch.setattr("torch.cuda.is_available", ...)``.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "_mock_name":
            # pytest looks for fixtures behind whatever has a name in a file, and for mocks.
            raise AttributeError(attribute)
        module = import_module(self._name)
        # A module inside of a package is no attribute of it before it is imported.
        return getattr(module, attribute) if hasattr(module, attribute) else import_module(f"{self._name}.{attribute}")


nn: Any = LateModule("torch.nn")
pandas: Any = LateModule("pandas")
polars: Any = LateModule("polars")
pyarrow: Any = LateModule("pyarrow")
sklearn: Any = LateModule("sklearn")
torch: Any = LateModule("torch")
