"""Devices of torch: whether one is there, and its random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from unweave.exceptions import InvalidInput


def checked_device(name: Any) -> torch.device:
    """Return the device of a name such as cpu, cuda, cuda:1 or mps.

    Raises:
        InvalidInput: if torch knows no such device, or it is not there.
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    # Torch raises errors of many kinds for devices that it was not built for, or that are not there.
    except Exception as error:
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        there += ["mps"] if torch.backends.mps.is_available() else []
        said = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InvalidInput(f"the device {name!r} can't be used: {said}: there are {', '.join(there)}.") from error
    return device


@contextmanager
def drawing_apart(device: torch.device) -> Iterator[None]:
    """Let torch's own generators go on afterwards as if nothing had been drawn; that of mps, which can't, is left."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def drawing_on(device: torch.device) -> torch.Tensor | None:
    """State of the random numbers that a device has beside those of the processor."""
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    return torch.mps.get_rng_state() if device.type == "mps" else None


def draw_on(device: torch.device, state: torch.Tensor | None) -> None:
    """Put that state back."""
    if state is not None and device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif state is not None and device.type == "mps":
        torch.mps.set_rng_state(state)
