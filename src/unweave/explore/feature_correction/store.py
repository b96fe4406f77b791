"""Where trainings are kept: in memory, or in a folder from which a run that was ended goes on."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from safetensors.numpy import save

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.explore.configurations import check_same
from unweave.explore.feature_correction.plan import Training
from unweave.explore.feature_correction.records import Record
from unweave.explore.feature_correction.subjects import Halfway, TrainedModel
from unweave.folders import names_in, read_file, write_files
from unweave.networks.tensor_files import read_tensors
from unweave.seals import UNSEALED, seal_tensors

CONFIGURATION, TRAININGS = "configuration.json", "trainings"
# How files of trainings that are not done end.
HALFWAY = "halfway.safetensors"
# Kept beside weights.
KEPT_BESIDE = ("test_outputs", "validation_outputs", "features")
# Between the names of units and arrays; names of torch have only dots.
SEPARATOR = "|"


@runtime_checkable
class Store(Protocol):
    """Keeps what trainings have left."""

    def record(self, training: Training) -> Record | None:
        """The numbers of a training, if it is done."""
        ...

    def trained(self, training: Training) -> TrainedModel:
        """What a training that is done has left."""
        ...

    def keep(self, training: Training, record: Record, trained: TrainedModel, *, is_needed: bool) -> None:
        """Keep a training; what it has left only if later ones need it."""
        ...

    def halfway(self, training: Training) -> Halfway | None:
        """Where a training under way keeps its state, if it may."""
        ...


@dataclass(frozen=True, eq=False)
class MemoryStore:
    """Keeps everything as long as the measurement runs."""

    _records: dict[str, Record] = field(default_factory=dict)
    _trained: dict[str, TrainedModel] = field(default_factory=dict)

    def record(self, training: Training) -> Record | None:
        """The numbers of a training, if it is done."""
        return self._records.get(training.name)

    def trained(self, training: Training) -> TrainedModel:
        """What a training that is done has left."""
        return self._trained[training.name]

    def keep(self, training: Training, record: Record, trained: TrainedModel, *, is_needed: bool) -> None:
        """Keep a training; what it has left only if later ones need it."""
        self._records[training.name] = record
        if is_needed:
            self._trained[training.name] = trained

    def part(self, trainings: Iterable[Training]) -> "MemoryStore":
        """A store with what some trainings have left, and nothing else."""
        return MemoryStore(_trained={each.name: self._trained[each.name] for each in trainings})

    def halfway(self, training: Training) -> None:
        """Nowhere: who stops loses what was in memory."""
        del training


@dataclass(frozen=True)
class HalfwayFile:
    """The state of a training under way, in a file that is whole or absent."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> bytes | None:
        """What was kept last, if anything was.

        Raises:
            UnreadableFile: if the disk does not give it.
        """
        try:
            return read_file(self.path) if self.path.exists() else None
        except OSError as error:
            raise UnreadableFile(f"{self.path} can't be read: {error}: remove it.") from error

    def keep(self, state: bytes) -> None:
        """Keep this in place of what was kept before."""
        write_files(self.path.parent, {self.path.name: state})


@dataclass(frozen=True, eq=False)
class FolderStore:
    """One JSON file per training, and one with arrays where later trainings need them.

    Both appear together and hold checksums: what is there can be trusted.
    """

    folder: Path
    digest: str

    @classmethod
    def open(cls, folder: str | Path, configuration: Mapping[str, Any]) -> "FolderStore":
        """Begin in an empty folder, or go on in one of the same configuration.

        Raises:
            InvalidInput: if the folder holds something else, or a measurement with other settings.
        """
        folder, path = Path(folder), Path(folder) / CONFIGURATION
        text = json.dumps(configuration, indent=2, sort_keys=True)
        try:
            if path.exists():
                held = json.loads(path.read_text(encoding="utf-8"))
                check_same(folder, held if isinstance(held, dict) else {}, json.loads(text))
            elif folder.exists() and not _is_begun(folder):
                raise InvalidInput(f"{folder} holds no measurement of Unweave, so it is left alone: name another.")
            (folder / TRAININGS).mkdir(parents=True, exist_ok=True)
            if not path.exists():
                write_files(folder, {CONFIGURATION: text + "\n"})
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InvalidInput(f"{folder} can't be used for a measurement: {error}: name another.") from error
        return cls(folder, hashlib.sha256(text.encode()).hexdigest())

    def record(self, training: Training) -> Record | None:
        """The numbers of a training, if it is done."""
        path = self._path(training, "json")
        if not path.exists():
            return None
        try:
            return Record.from_json(read_file(path).decode())
        except (OSError, TypeError, ValueError, AttributeError) as error:
            raise UnreadableFile(f"{path} is not the record of a training: {error}: remove it.") from error

    def trained(self, training: Training) -> TrainedModel:
        """What a training that is done has left."""
        path = self._path(training, "safetensors")
        try:
            arrays = read_tensors(read_file(path))
        except (OSError, InvalidInput) as error:
            raise UnreadableFile(f"{path} can't be read: {error}: remove it and the record beside it.") from error
        missing = [name for name in KEPT_BESIDE if name not in arrays]
        if missing:
            raise UnreadableFile(f"{path} has no {', '.join(missing)}: remove it and the record beside it.")
        others = {name: arrays.pop(name) for name in KEPT_BESIDE}
        weights: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            unit, _, own = name.partition(SEPARATOR)
            weights.setdefault(unit, {})[own] = array
        test, validation, features = (others[name] for name in KEPT_BESIDE)
        return TrainedModel(weights, test, validation, features)

    def keep(self, training: Training, record: Record, trained: TrainedModel, *, is_needed: bool) -> None:
        """Keep a training; what it has left only if later ones need it."""
        contents: dict[str, bytes | str] = {}
        if is_needed:
            arrays = {
                f"{unit}{SEPARATOR}{name}": array
                for unit, held in trained.weights.items()
                for name, array in held.items()
            }
            others = (trained.test_outputs, trained.validation_outputs, trained.features)
            arrays |= dict(zip(KEPT_BESIDE, others, strict=True))
            contents[self._path(training, "safetensors").name] = seal_tensors(save(arrays, UNSEALED))
        contents[self._path(training, "json").name] = record.as_json() + "\n"
        write_files(self.folder / TRAININGS, contents, removed=[self._path(training, HALFWAY).name])

    def halfway(self, training: Training) -> HalfwayFile:
        """Where a training under way keeps its state, until it is done."""
        return HalfwayFile(self._path(training, HALFWAY))

    def _path(self, training: Training, ending: str) -> Path:
        key = hashlib.sha256(f"{self.digest} {training.name}".encode()).hexdigest()[:16]
        readable = re.sub(r"[^a-z0-9.]+", "-", training.name.lower()).strip("-")
        return self.folder / TRAININGS / f"{readable}-{key}.{ending}"


def _is_begun(folder: Path) -> bool:
    """Whether a folder is empty, or was left by somebody who was killed before anything was written."""
    if not folder.is_dir():
        return False
    trainings = folder / TRAININGS
    is_bare = not trainings.exists() or (trainings.is_dir() and not names_in(trainings))
    return is_bare and names_in(folder) <= {TRAININGS}
