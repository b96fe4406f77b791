"""Blocks of Python and commands on pages, and what blocks of Python find when they run."""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import unweave

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from model_server import ModelServer

# A comment may say what a block needs that no test has.
PYTHON = re.compile(r"(?:^<!-- needs: (.+?) -->\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Addresses that pages ask, and what answers for them here.
ADDRESSES = {"http://host:8080/v2/models/name": "/v2/models/secret", "https://host/score": "/predict"}
INPUTS, SAMPLE_INPUTS = 20, 6


@dataclass(frozen=True)
class Block:
    """A block of Python: the line of its page that it begins at, and what it needs that is not here."""

    line: int
    code: str
    needs: str


def python_blocks(text: str) -> list[Block]:
    """All blocks of Python of a page, in their order."""
    return [Block(text[: found.start(2)].count("\n"), found[2], found[1] or "") for found in PYTHON.finditer(text)]


def commands(text: str) -> list[list[str]]:
    """Words of all commands `unweave ...` in blocks of shell."""
    lines = [line for block in SHELL.findall(text) for line in re.split(r"\n|&&", block.replace("\\\n", " "))]
    words = [shlex.split(line, comments=True) for line in lines]
    return [each[1:] for each in words if each and Path(each[0]).name == "unweave"]


def secret_network() -> unweave.Network:
    """What stands behind every model of the pages."""
    rng = np.random.default_rng(5)
    return unweave.Network.shallow(
        weights=rng.standard_normal((5, INPUTS)) / np.sqrt(INPUTS),
        biases=0.3 * rng.standard_normal(5),
        output_weights=rng.standard_normal((1, 5)),
        offset=np.zeros(1),
        activation=unweave.activation_named("tanh"),
    )


def planted_names() -> dict[str, Any]:
    """What pages call by name without making it: a model, samples, a module."""
    rng = np.random.default_rng(6)
    points = rng.standard_normal((5000, SAMPLE_INPUTS))
    units = np.maximum(points @ rng.standard_normal((SAMPLE_INPUTS, 3)) + rng.uniform(-0.5, 0.5, 3), 0.0)
    return {
        "__name__": "page",
        "np": np,
        "unweave": unweave,
        "rng": rng,
        "model": secret_network().to_sklearn(),
        "points": points,
        "labels": units @ np.array([1.0, -0.8, 0.6]),
    }


def add_torch_names(names: dict[str, Any]) -> None:
    """Plant a module of torch with two hidden layers, and images to train it on."""
    import torch

    torch.manual_seed(0)
    layers = {"layer1": torch.nn.Linear(SAMPLE_INPUTS, 8), "on1": torch.nn.ReLU(), "layer2": torch.nn.Linear(8, 8)}
    layers |= {"on2": torch.nn.ReLU(), "head": torch.nn.Linear(8, 2)}
    module = torch.nn.Sequential()
    for name, layer in layers.items():
        module.add_module(name, layer)
    inputs = names["points"][:400].astype(np.float32)
    classes = (names["labels"][:400] > np.median(names["labels"])).astype(int)
    names |= {"torch_module": module, "data": (inputs[:200], classes[:200], inputs[200:], classes[200:])}


@contextmanager
def served_addresses() -> Iterator[dict[str, str]]:
    """Answer for the addresses of the pages; gives what to put in their places."""
    with ModelServer(secret_network(), inputs=INPUTS).running() as server:
        yield {written: server.address + place for written, place in ADDRESSES.items()}


def write_files(folder: Path, names: dict[str, Any]) -> None:
    """Write what pages call by the names of files."""
    secret_network().to_onnx(str(folder / "model.onnx"))
    np.save(folder / "points.npy", names["points"])
    np.save(folder / "labels.npy", names["labels"])
