"""Objects of Python that a user names on the command line, as ``module:name``."""

import os
import sys
from importlib import import_module
from typing import Any

from unweave.exceptions import InvalidInput


def named_object(target: str, *, name: str) -> Any:
    """The object that ``module:name`` names; modules are looked for in the current directory, too.

    Args:
        target: what the user wrote.
        name: of the argument, for messages.

    Raises:
        InvalidInput: if there is no such module or object, or importing it fails.
    """
    module_name, _, path = target.partition(":")
    value: Any = _imported(module_name, path, name)
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise InvalidInput(f"{name} {target!r} needs {part!r}, but {error}: check the name.") from error
    return value


def _imported(module_name: str, path: str, name: str) -> object:
    words = [*module_name.split("."), *path.split(".")]
    if not all(word.isidentifier() for word in words) or module_name.endswith(".py"):
        raise InvalidInput(
            f"{name} needs a module and a function as in an import, such as package.models:predict, got "
            f"{module_name + ':' + path!r}: name a file models.py of the current directory as models."
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise InvalidInput(f"importing {module_name} failed: {error}.") from error
        raise InvalidInput(
            f"there is no module {module_name!r} in {os.getcwd()} or among the installed packages: check the name."
        ) from error
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"importing {module_name} raised {type(error).__name__}: {error}") from error
