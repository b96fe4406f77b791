"""Quadratic networks with skip links, as immutable values.

With ``z*z`` the packed products of two entries of z (`unweave.arrays.pack_squares`),

    h_0 = x,  h_1 = x^2 - E[x^2],  h_l = S_l * S_l,    S_l = K_l concat(h_j, j in sources of l)
    f(x) = sum_l weight_l sum_i sign_i (W_l concat(h_j))_i^2 + <linear, x> + intercept

where ``W_l = K_l`` unless a level has a readout of its own. A feature map that reads squares of a random frame,
``K (R z)^2``, is the same as one that reads ``z*z``, by the matrix ``K (R*R)``.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64
from safetensors.numpy import save

from unweave.arrays import PerPoint, Points, Values, Vector, as_float64, pack_squares
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.folders import read_file, write_file
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring, make_wiring
from unweave.networks.tensor_files import Tensors, read_tensors
from unweave.seals import UNSEALED, metadata_of, seal_tensors

# Version 2 holds a checksum.
FORMAT, FORMAT_VERSION = "unweave-quadratic-densenet", "2"
# Rows per block: products of two features stay in the cache.
BLOCK_ROWS = 4_096

# Levels differ in width, so that a list of these has no common second axis.
Features = Float64[np.ndarray, "points _"]
Terms = Float64[np.ndarray, "points _"]


@dataclass(frozen=True, eq=False)
class Level:
    """One level: what its features are, and what it adds to the output.

    Args:
        features: the matrix K, one row per feature; columns in the order of the sources.
        weight: factor of its squares in the output.
        signs: of the squares in the output; all plus if None.
        readout: the matrix W if the output does not read the features themselves.
    """

    features: Float64[np.ndarray, "features terms"]
    weight: float
    signs: Float64[np.ndarray, "readouts"] | None = None
    readout: Float64[np.ndarray, "readouts terms"] | None = None

    @property
    def output_matrix(self) -> np.ndarray:
        """The matrix whose rows are squared in the output."""
        return self.features if self.readout is None else self.readout

    @property
    def coefficients(self) -> np.ndarray:
        """Of each square in the output."""
        signs = np.ones(len(self.output_matrix)) if self.signs is None else self.signs
        return self.weight * signs


@dataclass(frozen=True, eq=False)
class QuadraticDenseNet:
    """Compute a quadratic network with skip links.

    Args:
        wiring: widths and links.
        levels: one per level of the wiring.
        mean_squares: E[x^2] per input, which belongs to the network.
        linear: slope of a linear part; zero if None.
        intercept: constant of the output.

    Raises:
        InvalidInput: if shapes do not fit the wiring, or a number is not finite.
    """

    wiring: Wiring
    levels: tuple[Level, ...]
    mean_squares: Vector
    linear: Vector | None = None
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.wiring.widths):
            raise InvalidInput(f"the wiring needs {len(self.wiring.widths)} levels, got {len(self.levels)}.")
        for level, part in enumerate(self.levels, start=FIRST_LEVEL):
            needed = (self.wiring.widths[level - FIRST_LEVEL], self.wiring.terms(level))
            if as_float64(part.features, name=f"features of level {level}", ndim=2).shape != needed:
                raise InvalidInput(f"features of level {level} need the shape {needed}, got {part.features.shape}.")
            if as_float64(part.output_matrix, name="readout", ndim=2).shape[1] != needed[1]:
                raise InvalidInput(f"the readout of level {level} needs {needed[1]} columns.")

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.wiring.inputs

    @property
    def depth(self) -> int:
        """Return the index of the last level."""
        return self.wiring.depth

    @property
    def parameters(self) -> int:
        """Return the number of parameters of the feature maps."""
        return sum(level.features.size for level in self.levels)

    def __call__(self, points: Points) -> Values:
        """Compute the output at every point."""
        points = as_float64(points, name="points", ndim=2)
        if points.shape[1] != self.inputs:
            raise InvalidInput(f"points need {self.inputs} columns, one per input, got {points.shape[1]}.")
        blocks = [self._values(points[start : start + BLOCK_ROWS]) for start in range(0, len(points), BLOCK_ROWS)]
        return np.concatenate([np.zeros((0, 1)), *blocks])

    def _values(self, points: Points) -> Values:
        terms, _ = self._forward(points)
        values = np.full(len(points), self.intercept)
        if self.linear is not None:
            values = values + points @ self.linear
        for level, part in zip(terms, self.levels, strict=True):
            values = values + (level @ part.output_matrix.T) ** 2 @ part.coefficients
        return values[:, None]

    def _forward(self, points: Points) -> tuple[list[Terms], list[Features]]:
        matrices = [level.features for level in self.levels]
        return forward(self.wiring, matrices, points, points**2 - self.mean_squares)

    def features(self, points: Points, level: int) -> Features:
        """Compute the features S of a level."""
        return self._forward(points)[1][level - FIRST_LEVEL]

    def all_features(self, points: Points) -> Features:
        """Compute the features of all levels, side by side."""
        return np.hstack(self._forward(points)[1])

    def contribution(self, points: Points, level: int) -> PerPoint:
        """Compute what a level adds to the output."""
        part = self.levels[level - FIRST_LEVEL]
        terms = self._forward(points)[0][level - FIRST_LEVEL]
        return (terms @ part.output_matrix.T) ** 2 @ part.coefficients

    def truncate(self, level: int) -> "QuadraticDenseNet":
        """Return the network without the levels above."""
        count = level - FIRST_LEVEL + 1
        return replace(self, wiring=self.wiring.up_to(level), levels=self.levels[:count])

    def save(self, path: str | Path) -> None:
        """Write to a safetensors file.

        Raises:
            NotWritten: if that is not possible; an earlier file is then still there.
        """
        write_file(path, self.as_bytes())

    def as_bytes(self) -> bytes:
        """Return what `save` writes."""
        arrays = {"mean_squares": self.mean_squares}
        if self.linear is not None:
            arrays["linear"] = self.linear
        for number, level in enumerate(self.levels, start=FIRST_LEVEL):
            parts = {"features": level.features, "signs": level.signs, "readout": level.readout}
            arrays |= {f"{name}_{number}": array for name, array in parts.items() if array is not None}
        header = {
            "inputs": self.inputs,
            "widths": self.wiring.widths,
            "sources": self.wiring.sources,
            "weights": [level.weight for level in self.levels],
            "intercept": self.intercept,
        }
        metadata = {"format": FORMAT, "version": FORMAT_VERSION, "header": json.dumps(header)} | UNSEALED
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        return seal_tensors(save(tensors, metadata))

    @classmethod
    def load(cls, path: str | Path) -> "QuadraticDenseNet":
        """Read what `save` has written.

        Raises:
            UnreadableFile: if the file is something else, or damaged.
        """
        try:
            return cls.from_bytes(read_file(path), path)
        except OSError as error:
            raise UnreadableFile(f"{path} can't be read as a quadratic network: {error}.") from error

    @classmethod
    def from_bytes(cls, data: bytes, path: str | Path) -> "QuadraticDenseNet":
        """Make the network of a file whose bytes were read.

        Raises:
            UnreadableFile: if it is something else, or damaged; it names the `path`.
        """
        try:
            metadata = metadata_of(data)
        except InvalidInput as error:
            raise UnreadableFile(f"{path} can't be read as a quadratic network: {error}") from error
        if (metadata.get("format"), metadata.get("version")) != (FORMAT, FORMAT_VERSION):
            found = f"{metadata.get('format')!r} of version {metadata.get('version')!r}"
            raise UnreadableFile(f"{path} holds no quadratic network of version {FORMAT_VERSION}, but {found}.")
        try:
            return cls(*_parts(json.loads(metadata["header"]), read_tensors(data)))
        except (InvalidInput, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise UnreadableFile(f"{path} holds no quadratic network: {error}.") from error


def _parts(header: dict[str, Any], arrays: Tensors) -> tuple[Any, ...]:
    """What a network is made of."""
    wiring = make_wiring(header["inputs"], header["widths"], header["sources"], is_strict=False)
    levels = tuple(
        Level(arrays[f"features_{n}"], weight, arrays.get(f"signs_{n}"), arrays.get(f"readout_{n}"))
        for n, weight in enumerate(header["weights"], start=FIRST_LEVEL)
    )
    return wiring, levels, arrays["mean_squares"], arrays.get("linear"), header["intercept"]


def forward(
    wiring: Wiring, matrices: list[np.ndarray], points: Points, squares: Points
) -> tuple[list[Terms], list[Features]]:
    """What every level reads, and its features.

    Args:
        wiring: widths and links.
        matrices: the feature maps K, one per level.
        points: inputs.
        squares: their centred squares.
    """
    given = {0: points, 1: squares}
    terms, features = [], []
    for level, (sources, matrix) in enumerate(zip(wiring.sources, matrices, strict=True), start=FIRST_LEVEL):
        read = np.concatenate([given[source] for source in sources], axis=1)
        terms.append(read)
        features.append(read @ matrix.T)
        given[level] = pack_squares(features[-1])
    return terms, features
