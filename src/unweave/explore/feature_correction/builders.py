"""How a torch model gets new random weights for every seed: a copy that is reset, or a function of the seed.

Builders are values, so that a measurement can be sent to other processes.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn

from unweave.exceptions import InvalidInput

# From a seed to a model with random weights.
Builder: TypeAlias = Callable[[int], nn.Module]
# How modules of torch call what draws their weights.
RESETS = ("reset_parameters", "_reset_parameters")


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Copies a model and draws its weights anew."""

    model: nn.Module

    def __call__(self, seed: int) -> nn.Module:
        """Build the model of a seed."""
        return rebuilt(self.model, seed)


@dataclass(frozen=True, eq=False)
class BuiltBy:
    """Calls somebody's function; what it returns is checked by the caller, who can say what is wrong."""

    function: Callable[[int], Any]

    def __call__(self, seed: int) -> Any:
        """Build the model of a seed.

        Raises:
            InvalidInput: if the function raises.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            try:
                return self.function(seed)
            except Exception as error:
                raise InvalidInput(
                    f"the function that builds the model needs to take a seed and return a torch module, but "
                    f"with the seed {seed} it raised {type(error).__name__}: {error}."
                ) from error


@dataclass(frozen=True, eq=False)
class BuiltThere:
    """Builds on the processor, so that weights are the same everywhere, and moves the model to a device."""

    build: Builder
    device: torch.device

    def __call__(self, seed: int) -> nn.Module:
        """Build the model of a seed.

        Raises:
            InvalidInput: if the device has no place for it, or no numbers of its precision.
        """
        model = self.build(seed)
        try:
            return model.to(self.device)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            raise InvalidInput(f"the model can't be moved to the device {self.device}: {error}.") from error


def builder_of(model: Any, device: torch.device | None) -> Builder:
    """Build a module, or what a function returns, anew for every seed.

    Args:
        model: the module or the function.
        device: where to; where it is, if None.

    Raises:
        InvalidInput: for a class, and for a function that returns no module, or the same one for all seeds.
    """
    if isinstance(model, type):
        raise InvalidInput(f"{model.__name__} is a class: give an instance, or a function from a seed to one.")
    build = Rebuilt(model) if isinstance(model, nn.Module) else BuiltBy(model)
    first = build(0)
    if not isinstance(first, nn.Module):
        raise InvalidInput(f"the function that builds the model needs to return a torch module, got {type(first)}.")
    second = build(1)
    if first is second or {id(weight) for weight in first.parameters()} & {id(each) for each in second.parameters()}:
        raise InvalidInput(
            "the function that builds the model returns the same weights for two seeds: build a new module each time."
        )
    if device is None:
        return build
    there = BuiltThere(build, device)
    there(0)
    return there


def rebuilt(model: nn.Module, seed: int) -> nn.Module:
    """A copy with new random weights, by the `reset_parameters` of all its modules.

    Raises:
        InvalidInput: if a module holds parameters that it can't reset.
    """
    copy = deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # A module may draw what its parts hold in its own way: it has the last word.
        for name, module in reversed(tuple(copy.named_modules())):
            reset = next((getattr(module, each) for each in RESETS if callable(getattr(module, each, None))), None)
            if reset is not None:
                reset()
            elif any(True for _ in module.parameters(recurse=False)):
                raise InvalidInput(
                    f"every seed needs new random weights, but module {name or type(module).__name__!r} has no "
                    "reset_parameters: give a function of the seed that builds the model instead."
                )
    return copy
