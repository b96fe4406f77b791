"""Torch is an optional extra."""

from unweave.extras import need


def need_torch() -> None:
    """Say how torch is installed, if it is not.

    Raises:
        MissingExtra: without torch.
    """
    need("torch", purpose="training a torch model")
