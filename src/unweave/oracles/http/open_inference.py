"""The Open Inference Protocol, version 2, as KServe, Triton and MLServer speak it: JSON, or tensors in binary."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import httpx
import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, TransportFailed
from unweave.oracles.http.client import Garbled
from unweave.oracles.http.dialects import Body, json_of
from unweave.oracles.models.kinds import check_size

REALS = {"FP16": "<f2", "FP32": "<f4", "FP64": "<f8"}
TYPES = REALS | {f"{sign}INT{8 * size}": f"<{sign.lower() or 'i'}{size}" for sign in ("", "U") for size in (1, 2, 4, 8)}
# Where a request or an answer ends that has tensors in binary after it.
LENGTH = "Inference-Header-Content-Length"
# An address of a model, with or without its version and what is asked of it.
ADDRESS = re.compile(r"(?P<server>.*)/v2/models/(?P<model>[^/]+)(?P<version>/versions/[^/]+)?(?:/infer)?/?$")


@dataclass(frozen=True)
class OpenInference:
    """Points as one tensor in, and one tensor of answers out.

    Args:
        entry: name of the input.
        datatype: of it.
        shape: of one point.
        rows: number of points in every request, where the model fixes it.
        output: name of the output that is asked; the only one if None.
        is_binary: whether tensors are sent as bytes.
    """

    entry: str
    datatype: str
    shape: tuple[int, ...]
    rows: int | None = None
    output: str | None = None
    is_binary: bool = False

    @property
    def most_points(self) -> int | None:
        """The number of points that the model fixes."""
        return self.rows

    def write(self, points: Points) -> Body:
        """Write points in the type and shape that the model takes."""
        if self.rows is not None and len(points) < self.rows:
            points = np.concatenate([points, np.repeat(points[-1:], self.rows - len(points), axis=0)])
        tensor = np.ascontiguousarray(points, dtype=REALS[self.datatype])
        entry: dict[str, Any] = {
            "name": self.entry,
            "shape": [len(points), *self.shape],
            "datatype": self.datatype,
        }
        output: dict[str, Any] = {} if self.output is None else {"outputs": [{"name": self.output}]}
        if not self.is_binary:
            entry["data"] = tensor.ravel().tolist()
            return Body(json.dumps({"inputs": [entry]} | output).encode())
        entry["parameters"] = {"binary_data_size": tensor.nbytes}
        if output:
            output["outputs"][0]["parameters"] = {"binary_data": True}
        else:
            output["parameters"] = {"binary_data_output": True}
        head = json.dumps({"inputs": [entry]} | output).encode()
        kind = {"Content-Type": "application/octet-stream", LENGTH: str(len(head))}
        return Body(head + tensor.tobytes(), kind)

    def read(self, response: httpx.Response, points: int) -> np.ndarray:
        """Read the tensor that was asked for, in its own type.

        Raises:
            Garbled: if it is no answer of the protocol.
            TransportFailed: if there are several outputs, none of that name, or other rows than points.
        """
        length = response.headers.get(LENGTH)
        if length is not None and not length.isdigit():
            raise Garbled(f"its {LENGTH} is no number")
        head = response.content if length is None else response.content[: int(length)]
        document = json_of(response, head)
        try:
            outputs: dict[str, Any] = {each["name"]: each for each in document["outputs"]}
            chosen = outputs[self._chosen(outputs)]
            values = _tensor(chosen, outputs, response.content[len(head) :])
        except (KeyError, TypeError, ValueError) as error:
            raise Garbled(f"it is no answer of the Open Inference Protocol ({type(error).__name__}: {error})") from None
        wanted = points if self.rows is None else self.rows
        if values.ndim == 0 or len(values) != wanted:
            raise TransportFailed(f"{wanted} points were sent, but the output {chosen['name']} has {chosen['shape']}.")
        return values.reshape(wanted, -1)[:points]

    def _chosen(self, outputs: Mapping[str, Any]) -> str:
        if self.output is not None and self.output not in outputs:
            raise TransportFailed(f"the model has no output {self.output!r}: use one of {', '.join(outputs)}.")
        if self.output is None and len(outputs) != 1:
            raise TransportFailed(f"the model has several outputs: name one of {', '.join(outputs)} as output.")
        return self.output or next(iter(outputs))


def _tensor(chosen: Mapping[str, Any], outputs: Mapping[str, Any], binary: bytes) -> np.ndarray:
    """Read one output: its numbers stand in the JSON, or behind it in the order of the outputs."""
    name, datatype = chosen["name"], chosen["datatype"]
    if datatype not in TYPES:
        raise TransportFailed(f"the output {name} has the type {datatype}, but answers must be real numbers.")
    shape = [int(size) for size in chosen["shape"]]
    if "data" in chosen:
        # Not a number is null in the JSON of some servers; a single type may have been widened on the way.
        numbers = np.array(chosen["data"], dtype=np.float64).reshape(shape)
        return numbers.astype(TYPES[datatype])
    start = 0
    for each, output in outputs.items():
        size = output.get("parameters", {}).get("binary_data_size", 0)
        if each == name:
            if len(binary) < start + size:
                raise Garbled("it is cut short")
            return np.frombuffer(binary[start : start + size], dtype=TYPES[datatype]).reshape(shape)
        start += size
    raise KeyError(name)


def dialect_of(
    metadata: Mapping[str, Any], *, inputs: int | None, output: str | None, is_binary: bool
) -> tuple[OpenInference, int]:
    """Read off the metadata of a model how it is asked, and the number of its inputs.

    Args:
        metadata: as the server gives it; some give no inputs.
        inputs: number of inputs, where the server does not say it.
        output: name of the output that is asked.
        is_binary: whether tensors are sent as bytes.

    Raises:
        InvalidInput: if the model can't be asked, or contradicts what is given.
    """
    outputs = [each["name"] for each in metadata.get("outputs") or ()]
    if output is None and len(outputs) > 1:
        raise InvalidInput(f"the model has several outputs: name one of {', '.join(outputs)} as output.")
    if output is not None and outputs and output not in outputs:
        raise InvalidInput(f"the model has no output {output!r}: use one of {', '.join(outputs)}.")
    output = output or (outputs[0] if outputs else None)
    entries: list[Any] = list(metadata.get("inputs") or ())
    if not entries:
        if inputs is None:
            raise InvalidInput("the server does not say how many inputs the model has: give inputs= (--inputs).")
        return OpenInference("input-0", "FP64", (inputs,), output=output, is_binary=is_binary), inputs
    entry = entries[0]
    if len(entries) > 1 or entry["datatype"] not in REALS:
        named = ", ".join(f"{each['name']} of {each['datatype']}" for each in entries)
        raise InvalidInput(f"a model needs one input of real numbers to be asked, this one has {named}.")
    shape = _shape_of(entry, inputs)
    check_size("inputs", inputs, prod(shape))
    rows = entry["shape"][0] if entry["shape"][0] > 0 else None
    return OpenInference(entry["name"], entry["datatype"], shape, rows, output, is_binary), prod(shape)


def _shape_of(entry: Mapping[str, Any], inputs: int | None) -> tuple[int, ...]:
    """Give the shape of one point."""
    shape = tuple(int(size) for size in entry["shape"])
    open_axes = [size for size in shape[1:] if size < 1]
    if len(shape) < 2 or len(open_axes) > 1 or (open_axes and inputs is None):
        raise InvalidInput(
            f"the input {entry['name']} has the shape {list(shape)}, but points need a row each: give inputs= "
            "(--inputs) if only their number is open."
        )
    known = prod(size for size in shape[1:] if size > 0)
    return tuple(size if size > 0 else (inputs or 0) // known for size in shape[1:])
