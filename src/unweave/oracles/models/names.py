"""What a text names: the address of a server, an object as ``module:name`` or ``file.py:name``, or else a file."""

import os
import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput

# How addresses of servers begin, and any other address; one letter may be the name of a disk.
ADDRESSES, ANY_ADDRESS = ("http://", "https://"), re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
# What stands behind the colon of an address whose beginning was left out.
PORT = re.compile(r"\d+(/|$)")


def is_address(text: str) -> bool:
    """Whether a text is the address of a server.

    Raises:
        InvalidInput: if it is an address of something else.
    """
    if text.lower().startswith(ADDRESSES):
        return True
    other = ANY_ADDRESS.match(text)
    if other is not None:
        # The rest may hold a password.
        raise InvalidInput(f"the address of a server begins with http:// or https://, got {other.group()}...")
    return False


def is_object(text: str) -> bool:
    """Whether a text names an object in a module or in a file."""
    return ":" in text and not is_address(text) and not Path(text).exists()


def named_object(target: str, *, name: str) -> Any:
    """Give the object that ``module:name`` or ``file.py:name`` names; modules are found from the current directory.

    Args:
        target: what the user wrote.
        name: of the argument, for messages.

    Raises:
        InvalidInput: if there is no such module or object, or importing it fails.
    """
    module_name, _, path = target.rpartition(":")
    if not path:
        raise InvalidInput(f"{name} needs the name of a function or of a model after the colon, got {target!r}.")
    value: Any = _read(module_name, name) if module_name.endswith(".py") else _imported(module_name, path, name)
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise InvalidInput(f"{name} {target!r} needs {part!r}, but {error}: check the name.") from error
    return value


def _imported(module_name: str, path: str, name: str) -> object:
    words = [*module_name.split("."), *path.split(".")]
    if PORT.match(path):
        # The rest may hold a password.
        raise InvalidInput(f"{name} looks like the address of a server: write http:// or https:// before it.")
    if not all(word.isidentifier() for word in words):
        raise InvalidInput(
            f"{name} needs a module and a function as in an import, such as package.models:predict, or a file and a "
            f"function, such as models.py:predict, got {module_name + ':' + path!r}."
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


def _read(file: str, name: str) -> object:
    """Run a file of Python, with its folder among those that it imports from."""
    path = Path(file).resolve()
    if not path.is_file():
        raise InvalidInput(f"{name} names the file {file}, but there is none: check the path.")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{file} can't be run as a file of Python.")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"running {file} raised {type(error).__name__}: {error}") from error
    return module
