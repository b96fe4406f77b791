"""Torch is an optional extra."""

from importlib.util import find_spec

from unweave.exceptions import InvalidInput


def need_torch() -> None:
    """Say how torch is installed, if it is not.

    Raises:
        InvalidInput: without torch.
    """
    if find_spec("torch") is None:
        raise InvalidInput("convolutional networks need torch: install it with pip install 'unweave[torch]'.")
