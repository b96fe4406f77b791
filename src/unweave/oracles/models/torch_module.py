"""Ask a torch module: in eval mode, without gradients, in its own type and on its own device."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from math import prod
from typing import Any, Unpack

import torch
from torch import nn

from unweave.arrays import Points
from unweave.exceptions import BadAnswer, InvalidInput
from unweave.oracles.models.kinds import check_size
from unweave.oracles.oracle import Oracle, OracleSettings


class TorchOracle(Oracle):
    """Ask a `torch.nn.Module` whose first layer says how many inputs it has.

    Args:
        module: takes tensors of shape (points, inputs) and gives one row of answers per point.
        inputs: number of inputs, where its first layer does not say it.
        settings: of the oracle.

    Raises:
        InvalidInput: if it does not say how many inputs it has, or says another number.
    """

    def __init__(self, module: Any, *, inputs: int | None = None, **settings: Unpack[OracleSettings]) -> None:
        if not isinstance(module, nn.Module):
            raise InvalidInput(f"TorchOracle needs a torch.nn.Module, got {type(module).__name__}.")
        if any(nn.parameter.is_lazy(each) for each in module.parameters()):
            raise InvalidInput("the module has layers that were not used yet (Lazy...): call it once, then ask it.")
        known = _inputs_of(module)
        if known is not None:
            check_size("inputs", inputs, known)
        if inputs is None and known is None:
            raise InvalidInput(
                "the first layer of the module does not say how many inputs there are: give inputs= (--inputs); images "
                "are asked as rows with torch.nn.Sequential(torch.nn.Unflatten(1, shape), module)."
            )
        super().__init__(inputs=known or inputs or 0, **settings)
        numbers = next(
            (each for each in chain(module.parameters(), module.buffers()) if each.is_floating_point()), None
        )
        self._module = module
        self._type = torch.get_default_dtype() if numbers is None else numbers.dtype
        self._device = torch.device("cpu") if numbers is None else numbers.device

    def _answer(self, points: Points) -> object:
        tensor = torch.as_tensor(points, dtype=self._type, device=self._device)
        with _evaluating(self._module), torch.no_grad():
            answers = self._module(tensor)
        if not isinstance(answers, torch.Tensor):
            raise BadAnswer(
                f"the module answers with a {type(answers).__name__}, not with a tensor: wrap it in a module that "
                "gives the part that is asked for.",
                queries=self.ledger.sent,
            )
        # NumPy has no bfloat16; how many digits answers have is read off the answers.
        answers = answers.float() if answers.dtype == torch.bfloat16 else answers
        return (answers.flatten(1) if answers.ndim > 2 else answers).cpu().numpy()


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Set a module to eval mode, and every part of it back to what it was."""
    training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in training:
            part.training = was_training


def _inputs_of(module: nn.Module) -> int | None:
    """Number of inputs, as the first part with a size says it; None if that takes more than rows of numbers."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Bilinear):
            return part.in_features if isinstance(part, nn.Linear) else None
        if getattr(part, "original_name", None) == "Linear":
            # Scripted and traced modules keep the names of their parts, and no sizes but those of the parameters.
            return dict(part.named_parameters())["weight"].shape[1]
        if isinstance(part, nn.BatchNorm1d):
            return part.num_features
        if isinstance(part, nn.LayerNorm):
            return prod(part.normalized_shape) if len(part.normalized_shape) == 1 else None
        if isinstance(part, nn.Unflatten):
            sizes = [size[1] if isinstance(size, tuple) else size for size in part.unflattened_size]
            return prod(sizes) if min(sizes) > 0 else None
        if next(part.parameters(recurse=False), None) is not None:
            # Convolutions, embeddings, parameters of the user's own module.
            return None
    return None
