"""A model cut off above one of its units, and what reaches or leaves a unit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.channels import Channels, pooled


class Reached(Exception):
    """Carries what reaches a unit out of the forward pass; never leaves the package."""

    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        self.value = value


class CutModel(nn.Module):
    """The units of a model up to a depth, with average pooling over all places and a new linear head.

    Args:
        body: the model; its forward pass ends where the next unit would begin.
        next_unit: name of the unit above the cut.
        example: a few inputs, from which the number of features is learnt.
        outputs: columns of the head.
        channels: axis of the features that reach the next unit.
    """

    def __init__(
        self, body: nn.Module, next_unit: str, example: torch.Tensor, outputs: int, channels: Channels | None = None
    ) -> None:
        super().__init__()
        self.body, self.channels = body, channels
        dict(body.named_modules())[next_unit].register_forward_pre_hook(_stop)
        # In evaluation mode: looking must neither move running averages nor draw for dropout.
        with in_evaluation(body), torch.no_grad():
            features = self.pooled(example)
        # Of the kind of the features: inputs may be whole numbers.
        self.head = nn.Linear(features.shape[1], outputs).to(features.device, features.dtype)

    def pooled(self, inputs: torch.Tensor) -> torch.Tensor:
        """What would reach the next unit, averaged over all places."""
        return pooled(reached(self.body, inputs), self.channels)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Answers of the new head."""
        return self.head(self.pooled(inputs))


@contextmanager
def in_evaluation(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while; every module is then left in the mode in which it was."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, is_training in modes.items():
            module.training = is_training


def reached(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """What arrives at the unit whose hook ends the forward pass."""
    try:
        model(inputs)
    except Reached as stop:
        return stop.value
    raise InvalidInput("the model did not run the unit above the cut for these inputs: every unit has to run always.")


def _stop(_: nn.Module, inputs: tuple[Any, ...]) -> None:
    given = inputs[0] if inputs else None
    raise Reached(_require_rows(given, "is given as first positional argument to the unit above"))


def stop_after(_: nn.Module, __: tuple[Any, ...], output: Any) -> None:
    """A forward hook that ends the pass with the output of its unit."""
    raise Reached(_require_rows(output, "leaves the unit"))


def _require_rows(value: Any, where: str) -> torch.Tensor:
    if not isinstance(value, torch.Tensor) or value.ndim < 2:
        came = "nothing" if value is None else type(value).__name__
        came = f"shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else came
        raise InvalidInput(
            f"a cut needs one tensor of a row per input, but {came} {where}: write a method `truncated(depth)`."
        )
    return value


def stop_before(model: nn.Module, unit: str) -> Any:
    """End every forward pass where a unit would begin; the handle returned takes that back."""
    return dict(model.named_modules())[unit].register_forward_pre_hook(_stop)


def body_of(model: nn.Module) -> nn.Module:
    """The module in which names of units are looked up."""
    return model.body if isinstance(model, CutModel) else model


def cuts_itself(model: nn.Module) -> bool:
    """Whether a model has a method that returns it without its upper units."""
    return callable(getattr(model, "truncated", None))
