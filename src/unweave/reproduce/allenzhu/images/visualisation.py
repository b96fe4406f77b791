"""What a feature looks for: images that excite one channel of a unit most, by gradient ascent; needs torch.

From a random image x, steps of size ``learning_rate`` along the gradient of

    activation of the channel at x - weight_decay / 2 |x|^2

For a linear unit with filter w the images converge to ``w / weight_decay``, by a factor ``1 - learning_rate
weight_decay`` per step. Images of networks that were not trained against attacks look like noise of high frequency.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.cuts import Reached, in_evaluation, stop_after
from unweave.reproduce.allenzhu.images.figure_results import FeatureImages
from unweave.reproduce.allenzhu.images.tensors import Images

# Told how many steps of how many are done.
StepsDone = Callable[[int, int], None]
# With the default weight decay of 0.003, 2000 steps of this size leave 0.25 % of the random start in a linear unit.
DEFAULT_LEARNING_RATE = 1.0


def visualise_features(
    model: nn.Module,
    unit: str,
    channels: Sequence[int],
    *,
    shape: tuple[int, int, int],
    steps: int = 2_000,
    weight_decay: float = 0.003,
    learning_rate: float = DEFAULT_LEARNING_RATE,
    is_averaged: bool = False,
    seed: int = 0,
    on_progress: StepsDone | None = None,
) -> FeatureImages:
    """Find for every channel an image that excites it most; all channels ascend at once.

    Args:
        model: runs in evaluation mode, up to the unit and not further; it is left as it was.
        unit: name of a submodule whose output is a map of channels, as in ``dict(model.named_modules())``.
        channels: numbers of the channels to visualise.
        shape: channels, height and width of an image.
        is_averaged: excite the average over all places, not the neuron in the centre.
        seed: of the random start images, whose pixels are uniform in [0, 1].

    Raises:
        InvalidInput: if there is no such unit or channel, or the steps would diverge.
    """
    _check_ascent(channels, steps, weight_decay, learning_rate)
    like = next(model.parameters())
    generator = torch.Generator().manual_seed(seed)
    images = torch.rand((len(channels), *shape), generator=generator).to(like.device, like.dtype)
    with _ending_at(model, unit) as unit_output:
        known = unit_output(images[:1]).shape
        if len(known) != 4 or not all(0 <= channel < known[1] for channel in channels):
            raise InvalidInput(f"{unit} answers with shape {tuple(known)[1:]}: it has no channels {list(channels)}.")

        def activations(points: Images) -> torch.Tensor:
            maps = unit_output(points)[torch.arange(len(channels)), list(channels)]
            return maps.mean(dim=(1, 2)) if is_averaged else maps[:, maps.shape[1] // 2, maps.shape[2] // 2]

        with torch.no_grad():
            before = activations(images)
        for step in range(steps):
            with torch.enable_grad():
                images.requires_grad_(True)
                (gradient,) = torch.autograd.grad(activations(images).sum(), images)
            images = images.detach() * (1 - learning_rate * weight_decay) + learning_rate * gradient
            if on_progress is not None:
                on_progress(step + 1, steps)
        with torch.no_grad():
            after = activations(images)
    return FeatureImages(unit, tuple(channels), _floats(images), _floats(before), _floats(after))


def _check_ascent(channels: Sequence[int], steps: int, weight_decay: float, learning_rate: float) -> None:
    if not channels:
        raise InvalidInput("visualisation needs at least one channel, got none.")
    if steps < 1:
        raise InvalidInput(f"visualisation needs at least one step, got {steps}.")
    if not (weight_decay >= 0 and learning_rate > 0 and learning_rate * weight_decay < 1):
        raise InvalidInput(
            f"ascent needs a positive learning rate, and learning rate times weight decay within [0, 1), got "
            f"{learning_rate} and {weight_decay}: lower one of them."
        )


@contextmanager
def _ending_at(model: nn.Module, unit: str) -> Iterator[Callable[[Images], torch.Tensor]]:
    """The model in evaluation mode, as a function whose value is what leaves the unit."""

    def unit_output(images: Images) -> torch.Tensor:
        try:
            model(images)
        except Reached as reached:
            return reached.value
        raise InvalidInput(f"{unit} does not run when the model does: name a unit that does.")

    modules = dict(model.named_modules())
    if unit not in modules:
        raise InvalidInput(f"there is no unit {unit!r} in the model: it has {', '.join(filter(None, modules))}.")
    hook = modules[unit].register_forward_hook(stop_after)
    try:
        with in_evaluation(model):
            yield unit_output
    finally:
        hook.remove()


def _floats(values: torch.Tensor) -> np.ndarray:
    return values.detach().cpu().numpy().astype(np.float32)
