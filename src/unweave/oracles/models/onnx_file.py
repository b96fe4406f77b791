"""Ask the model of an ONNX file through onnxruntime, in the type and shape that its graph says."""

from math import prod
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.extras import need
from unweave.oracles.models.kinds import check_size
from unweave.oracles.oracle import Oracle, OracleSettings
from unweave.seals import checksum

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
# Dictionaries from class to probability, as converted scikit-learn classifiers give them.
MAPS = "seq(map("


class OnnxOracle(Oracle):
    """Ask an ONNX model that has one input of numbers.

    Args:
        path: of the file.
        output: name of the output that is asked; the only one of numbers if omitted.
        inputs: number of inputs, where the graph leaves it open.
        settings: of the oracle; where the graph fixes how many points are sent at once, it is that many.

    Raises:
        UnreadableFile: if there is no such file, or it is no ONNX model.
        InvalidInput: if its inputs or outputs can't be asked, or contradict what is given.
        MissingExtra: without onnxruntime.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        output: str | None = None,
        inputs: int | None = None,
        **settings: Unpack[OracleSettings],
    ) -> None:
        need("onnxruntime", purpose=f"asking {path}")
        self._session = _session(Path(path))
        entry, self._shape, fixed = _entry_of(self._session, inputs)
        check_size("inputs", inputs, prod(self._shape))
        self._entry, self._type, self._fixed = entry.name, TYPES[entry.type], fixed
        self._output = _output_of(self._session, output)
        if fixed is not None:
            settings["batch"] = fixed
        super().__init__(inputs=prod(self._shape), **settings)
        self.name = f"{Path(path).resolve()} {self._output}"
        self.fingerprint = checksum(Path(path).read_bytes())

    def _answer(self, points: Points) -> object:
        rows = len(points)
        if self._fixed is not None and rows < self._fixed:
            points = np.concatenate([points, np.repeat(points[-1:], self._fixed - rows, axis=0)])
        tensor = np.ascontiguousarray(points, dtype=self._type).reshape(len(points), *self._shape)
        answers = self._session.run([self._output], {self._entry: tensor})[0]
        if isinstance(answers, list):
            answers = _unpacked(answers)
        answers = np.asarray(answers)
        return (answers.reshape(len(answers), -1) if answers.ndim > 2 else answers)[:rows]


def _session(path: Path) -> Any:
    import onnxruntime

    if not path.exists():
        raise UnreadableFile(f"there is no model at {path}: check the path.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # Its exceptions have no common class of their own.
        raise UnreadableFile(f"{path} can't be read as an ONNX model: {error}") from error


def _entry_of(session: Any, inputs: int | None) -> tuple[Any, tuple[int, ...], int | None]:
    """Give the input of a graph, the shape of one point, and the number of points if it is fixed."""
    entries: list[Any] = session.get_inputs()
    if len(entries) != 1 or entries[0].type not in TYPES:
        named = ", ".join(f"{entry.name} of {entry.type}" for entry in entries)
        raise InvalidInput(f"a model needs one input of real numbers to be asked, this one has {named}.")
    dimensions: list[Any] = list(entries[0].shape) or [None]
    rows, shape = dimensions[0], dimensions[1:]
    open_axes = [axis for axis, size in enumerate(shape) if not isinstance(size, int)]
    if open_axes and (len(shape) > 1 or inputs is None):
        raise InvalidInput(
            f"the graph leaves the shape of its input {entries[0].name} open, {entries[0].shape}: "
            "give inputs= (--inputs), or export it with a fixed shape."
        )
    if not shape:
        raise InvalidInput(f"the input {entries[0].name} needs a row per point, but it has the shape ({rows},).")
    sizes = (inputs,) if open_axes and inputs is not None else tuple(shape)
    return entries[0], sizes, rows if isinstance(rows, int) else None


def _output_of(session: Any, name: str | None) -> str:
    """Choose the output that is asked: the one that is named, or the only one of numbers that are no labels."""
    outputs = {output.name: output.type for output in session.get_outputs()}
    if name is not None:
        if name not in outputs:
            raise InvalidInput(f"the model has no output {name!r}: use one of {', '.join(outputs)}.")
        return name
    telling = [each for each, kind in outputs.items() if kind in TYPES or kind.startswith(MAPS)]
    # Labels alone are asked, too: what they tell is decided later.
    telling = telling or list(outputs)
    if len(telling) > 1:
        raise InvalidInput(f"the model has several outputs: name one of {', '.join(telling)} as output (--output).")
    return telling[0]


def _unpacked(rows: list[dict[Any, float]]) -> np.ndarray:
    """Give the probabilities of dictionaries as an array, classes in the order of the first one."""
    classes = list(rows[0]) if rows else []
    return np.array([[row[each] for each in classes] for row in rows])
