"""What tells one function or object from another, so that results of one are not taken for those of the other."""

import hashlib
import re
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

# Where something lies in memory is another place in every run.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Beyond this many steps into an object only types are told: settings do not hide deeper.
DEEPEST = 12
SHOWN_DIGITS = 16


def described(value: object) -> str:
    """The text of an object without its place in memory."""
    return ADDRESS.sub("", str(value))


def fingerprint(function: Any) -> str | None:
    """A name, and a digest of code, defaults, closed-over values and settings; None for nothing.

    What a function calls by global names is told by those names alone: a change inside of it is not seen.
    """
    if function is None:
        return None
    named = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{named} {_digest(_told(function, ()))}"


def _told(value: Any, above: tuple[int, ...]) -> str:
    """All that decides what a value does, as text."""
    if id(value) in above or len(above) > DEEPEST:
        return type(value).__qualname__
    inside = (*above, id(value))
    if isinstance(value, np.ndarray | torch.Tensor):
        return _array(value)
    if isinstance(value, torch.nn.Module):
        parts = [described(value), *(f"{name} {_array(each)}" for name, each in sorted(value.state_dict().items()))]
        return "\n".join(parts)
    if isinstance(value, FunctionType):
        cells = [_cell(cell) for cell in value.__closure__ or ()]
        held = (value.__code__, value.__defaults__, value.__kwdefaults__, cells)
        return f"{value.__module__}.{value.__qualname__} {_told(held, inside)}"
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()} {value.co_names} {_told(value.co_consts, inside)}"
    if isinstance(value, MethodType):
        return _told((value.__func__, value.__self__), inside)
    if isinstance(value, partial):
        return _told((value.func, value.args, value.keywords), inside)
    return _told_of_parts(value, inside)


def _told_of_parts(value: Any, inside: tuple[int, ...]) -> str:
    name = type(value).__qualname__
    if isinstance(value, dict):
        return f"{name} {sorted((_told(key, inside), _told(each, inside)) for key, each in value.items())}"
    if isinstance(value, set | frozenset):
        return f"{name} {sorted(_told(each, inside) for each in value)}"
    if isinstance(value, list | tuple):
        return f"{name} {[_told(each, inside) for each in value]}"
    if isinstance(value, type | ModuleType):
        return described(value)
    if is_dataclass(value):
        return f"{name} {[(each.name, _told(getattr(value, each.name), inside)) for each in fields(value)]}"
    held = getattr(value, "__dict__", None)
    # Objects without attributes (numbers, words, built-in functions) are told by their text.
    return f"{name} {_told(held, inside)}" if held else f"{name} {ADDRESS.sub('', repr(value))}"


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "a name that has no value yet"


def _array(value: Any) -> str:
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    return f"{array.dtype} {array.shape} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:SHOWN_DIGITS]
