"""The state of a training under way as bytes, and when it is kept: nothing is pickled, neither written nor read.

Tensors lie in a safetensors file; in its metadata stands, as JSON, the tree of dictionaries, lists and numbers that
holds them. A training that goes on from it does the same steps, bit by bit, as one that was never stopped.
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.explore.feature_correction.devices import draw_on, drawing_on
from unweave.explore.feature_correction.subjects import Halfway
from unweave.seals import UNSEALED, check_tensors, seal_tensors

TREE = "tree"
PLAIN = (bool, int, float, str, type(None))
CONTAINERS = {"list": list, "tuple": tuple, "dict": dict}


def packed(tree: Any) -> bytes:
    """Write a tree of dictionaries, lists, tuples, tensors, numbers, words and None.

    Raises:
        TypeError: if it holds anything else.
    """
    tensors: dict[str, torch.Tensor] = {}

    def told(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            name = str(len(tensors))
            # Of its own, as safetensors refuses tensors that share memory.
            tensors[name] = value.detach().cpu().clone().contiguous()
            return {"tensor": name}
        if isinstance(value, dict):
            return {"dict": [[told(key), told(each)] for key, each in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [told(each) for each in value]}
        if isinstance(value, PLAIN):
            return value
        raise TypeError(f"a training's state can't hold {type(value).__name__}.")

    text = json.dumps(told(tree))
    return seal_tensors(save(tensors, {**UNSEALED, TREE: text}))


def unpacked(data: bytes) -> Any:
    """Read what `packed` has written.

    Raises:
        InvalidInput: if it is something else, or damaged.
    """
    try:
        text = check_tensors(data)[TREE]
        tensors = load(data)

        def built(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            ((kind, inside),) = value.items()
            if kind == "tensor":
                return tensors[inside]
            items = [[built(part) for part in each] if kind == "dict" else built(each) for each in inside]
            return CONTAINERS[kind](items)

        return built(json.loads(text))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not the state of a training: {error}.") from error


@dataclass(frozen=True, kw_only=True)
class CheckpointRules:
    """When the state of a training is kept.

    Args:
        seconds: between two times, at least. Chosen: as much as anybody may lose without noticing.
        most_share: of the time of training that keeping may take. Chosen.
    """

    seconds: float = 30.0
    most_share: float = 0.02


CHECKPOINT_RULES = CheckpointRules()


@dataclass
class TrainingState:
    """All that decides how the steps go on that a training has left.

    Args:
        model: that trains; everything that changes in it is in its `state_dict`.
        optimiser: its optimiser.
        generator: draws batches, and what is done to them.
        losses: of all steps.
        epoch_began: state of the generator before it drew the order of this epoch's rows; None between epochs.
    """

    model: torch.nn.Module
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    losses: list[float] = field(default_factory=list)
    epoch_began: torch.Tensor | None = None

    @property
    def step(self) -> int:
        """How many steps are done."""
        return len(self.losses)

    def packed(self) -> bytes:
        """Write it.

        Raises:
            TypeError: if model or optimiser hold what is no tensor, number or word.
        """
        device = next(self.model.parameters()).device
        return packed(
            {
                "model": dict(self.model.state_dict()),
                "optimiser": self.optimiser.state_dict(),
                "generator": self.generator.get_state(),
                "epoch_began": self.epoch_began,
                "losses": torch.tensor(self.losses, dtype=torch.float64),
                "drawing": torch.get_rng_state(),
                "drawing_there": drawing_on(device),
            }
        )

    def go_on_from(self, data: bytes) -> None:
        """Read it.

        Raises:
            InvalidInput: if it is not the state of this training.
        """
        held = unpacked(data)
        try:
            self.model.load_state_dict(held["model"])
            self.optimiser.load_state_dict(held["optimiser"])
            self.generator.set_state(held["generator"])
            self.epoch_began, self.losses = held["epoch_began"], held["losses"].tolist()
            torch.set_rng_state(held["drawing"])
            draw_on(next(self.model.parameters()).device, held["drawing_there"])
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise InvalidInput(f"it is the state of another training: {error}.") from error


class Checkpoints:
    """Keeps the state of a training from time to time.

    Args:
        halfway: where; nothing is kept without.
        rules: how often.
    """

    def __init__(self, halfway: Halfway | None, rules: CheckpointRules = CHECKPOINT_RULES) -> None:
        self.halfway, self.rules = halfway, rules
        self.last, self.took = time.monotonic(), 0.0

    def resume(self, state: TrainingState) -> None:
        """Go on where the training was stopped, if it was.

        Raises:
            UnreadableFile: if what was kept is damaged.
        """
        data = None if self.halfway is None else self.halfway.read()
        if data is None:
            return
        try:
            state.go_on_from(data)
        except InvalidInput as error:
            raise UnreadableFile(f"{self.halfway} can't be gone on with: {error} Remove it.") from error

    def look(self, state: TrainingState) -> None:
        """Keep the state if it is time."""
        since = time.monotonic() - self.last
        if self.halfway is not None and since >= max(self.rules.seconds, self.took / self.rules.most_share):
            self.keep(state)

    def keep(self, state: TrainingState) -> None:
        """Keep the state now."""
        if self.halfway is None:
            return
        began = time.monotonic()
        try:
            data = state.packed()
        except TypeError:
            # Such a training begins again after a stop.
            self.halfway = None
            return
        self.halfway.keep(data)
        self.last = time.monotonic()
        self.took = self.last - began
