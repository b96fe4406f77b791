"""Parameters that stand beside units: class tokens, positions, scales of the model itself or of a container.

Nobody calls a parameter, so that the order of modules does not tell where it acts. The model is run with its graph cut
where units begin and where the last one ends; a parameter acts between two cuts if a gradient reaches it from the
later one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from unweave.exceptions import InvalidInput


def owners_beside(
    model: nn.Module, units: Sequence[str], example: torch.Tensor, beside: Mapping[str, nn.Parameter]
) -> dict[str, str | None]:
    """To which unit parameters belong that stand beside units; None for the head.

    What acts before the first unit belongs to that, what acts between two units to the lower one.

    Args:
        model: in evaluation mode.
        units: names, in the order in which they run.
        example: a few inputs.
        beside: parameters by their paths.

    Raises:
        InvalidInput: if a parameter acts nowhere, or on several units.
    """
    if not beside:
        return {}
    acting = _acting(model, units, example, list(beside.values()))
    owners: dict[str, str | None] = {}
    for place, path in enumerate(beside):
        # Before the first unit, in each of them or above it, and in the head.
        named = [(*units[:1], *units, None)[part] for part, acts in enumerate(acting) if acts[place]]
        several = list(dict.fromkeys(named))
        if not several:
            raise InvalidInput(
                f"parameter {path!r} stands beside units and acts on nothing: remove it, as nobody can tell to which "
                "unit it belongs."
            )
        if len(several) > 1:
            words = " and ".join("the head" if each is None else repr(each) for each in several)
            raise InvalidInput(
                f"parameter {path!r} stands beside units and acts on {words}: it can't be frozen in one and train in "
                "the other. Give each a parameter of its own."
            )
        owners[path] = several[0]
    return owners


def _acting(
    model: nn.Module, units: Sequence[str], example: torch.Tensor, parameters: list[nn.Parameter]
) -> list[list[bool]]:
    """For every part of the model, from its inputs to its outputs, which parameters act there."""
    modules, ends = dict(model.named_modules()), []

    def cut(value: Any) -> Any:
        """End the graph here, and begin another."""
        ends.append([each for each in _tensors(value) if each.requires_grad])
        return _detached(value)

    handles = [modules[unit].register_forward_pre_hook(lambda _, given: cut(given)) for unit in units]
    handles.append(modules[units[-1]].register_forward_hook(lambda _, __, output: cut(output)))
    learn = {parameter: parameter.requires_grad for parameter in parameters}
    try:
        with torch.enable_grad():
            for parameter in parameters:
                parameter.requires_grad_(True)
            ends.append(_tensors(model(example)))
            return [_reached(end, parameters) for end in ends]
    finally:
        for handle in handles:
            handle.remove()
        for parameter, is_learnt in learn.items():
            parameter.requires_grad_(is_learnt)


def _reached(end: list[torch.Tensor], parameters: list[nn.Parameter]) -> list[bool]:
    ends = [each.sum() for each in end if each.requires_grad]
    if not ends:
        return [False] * len(parameters)
    found = torch.autograd.grad(ends, parameters, allow_unused=True, retain_graph=True)
    return [each is not None for each in found]


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in _tensors(part)] if isinstance(value, list | tuple) else []


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if not isinstance(value, list | tuple):
        return value
    parts = [_detached(each) for each in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
