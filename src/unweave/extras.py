"""Optional packages: what is not needed to identify a network is not installed with Unweave."""

from importlib.util import find_spec

from unweave.exceptions import MissingExtra

# Packages as they are imported, and the extra of Unweave that brings them.
EXTRAS = {
    "jax": "jax",
    "sklearn": "learn",
    "matplotlib": "plots",
    "torch": "torch",
    "pyarrow": "data",
    "PIL": "plots",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "httpx": "http",
    "jsonpath": "http",
    "distributed": "dask",
}


def need(package: str, *, purpose: str) -> None:
    """Say how an optional package is installed, if it is not; imports nothing.

    Args:
        package: as it is imported.
        purpose: what needs it, as the subject of a sentence.

    Raises:
        MissingExtra: without the package.
    """
    if find_spec(package) is None:
        raise MissingExtra(f"{purpose} needs {package}: install it with pip install 'unweave[{EXTRAS[package]}]'.")
