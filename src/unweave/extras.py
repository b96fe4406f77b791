"""Optional packages: what is not needed to identify a network is not installed with Unweave."""

from importlib.util import find_spec

from unweave.exceptions import MissingExtra


def need(package: str, *, extra: str, purpose: str) -> None:
    """Say how an optional package is installed, if it is not; imports nothing.

    Args:
        package: as it is imported.
        extra: of Unweave that brings the package.
        purpose: what needs it, as the subject of a sentence.

    Raises:
        MissingExtra: without the package.
    """
    if find_spec(package) is None:
        raise MissingExtra(f"{purpose} needs {package}: install it with pip install 'unweave[{extra}]'.")
