"""What the experiments of figures return: arrays for pictures, numbers for tables, and files of both."""

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from unweave.explore.feature_correction.result import FeatureCorrection
from unweave.folders import write_files
from unweave.seals import sealed
from unweave.writing import Document, as_json, envelope, for_json

NUMBERS, ARRAYS = "figure.json", "figure.npz"

Filters = Float32[np.ndarray, "filters colours height width"]
Activations = Float32[np.ndarray, "filters"]


@runtime_checkable
class FigureResult(Protocol):
    """What one experiment has found."""

    def as_json(self) -> dict[str, Any]:
        """Its numbers."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Its images."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureImages:
    """One image per channel of a unit.

    Attributes:
        images: in the range that ascent has led to; `pictures.visualisation` scales them for the eye.
        activations_before: of each channel at its random start image.
        activations_after: at the image found.
    """

    unit: str
    channels: tuple[int, ...]
    images: Filters
    activations_before: Activations
    activations_after: Activations


@dataclass(frozen=True, eq=False)
class FilterPhases:
    """Filters of a first layer: at random, after it has trained alone, and after all layers have trained."""

    network: str
    random: Filters
    alone: Filters
    together: Filters
    accuracy_alone: float
    accuracy_together: float

    @property
    def correlations(self) -> tuple[float, float]:
        """Mean cosine of the filters after the first phase with those before, and with those after the second."""
        return mean_cosine(self.alone, self.random), mean_cosine(self.alone, self.together)

    def as_json(self) -> dict[str, Any]:
        """Accuracies and correlations."""
        with_random, with_together = self.correlations
        return {
            "network": self.network,
            "accuracy_alone": self.accuracy_alone,
            "accuracy_together": self.accuracy_together,
            "correlation_alone_random": with_random,
            "correlation_alone_together": with_together,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """The three sets of filters."""
        return {"random": self.random, "alone": self.alone, "together": self.together}


@dataclass(frozen=True, eq=False)
class UnitFeatures:
    """Features of units of one trained network."""

    network: str
    accuracy: float
    features: tuple[FeatureImages, ...]

    def as_json(self) -> dict[str, Any]:
        """The accuracy, attacked as in training if it was, and how far activations rose."""
        return {
            "network": self.network,
            "accuracy": self.accuracy,
            "units": [
                {
                    "unit": each.unit,
                    "channels": list(each.channels),
                    "mean_activation_before": float(np.mean(each.activations_before)),
                    "mean_activation_after": float(np.mean(each.activations_after)),
                }
                for each in self.features
            ],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Images by the names of units."""
        return {each.unit: each.images for each in self.features}


@dataclass(frozen=True, eq=False)
class CorrectedUnit:
    """Features of a unit when it was the last one to train, and after training with all units above it.

    Attributes:
        correlation: mean cosine of the weights of all units up to this one, before and after.
    """

    depth: int
    before: FeatureImages
    after: FeatureImages
    accuracy_before: float
    accuracy_after: float
    correlation: float


@dataclass(frozen=True, eq=False)
class CorrectedFeatures:
    """Features before and after backward correction, at several depths."""

    network: str
    units: tuple[CorrectedUnit, ...]

    def as_json(self) -> dict[str, Any]:
        """Accuracies and correlations."""
        names = ("depth", "accuracy_before", "accuracy_after", "correlation")
        rows = [{"unit": each.before.unit, **{name: getattr(each, name) for name in names}} for each in self.units]
        return {"network": self.network, "units": rows}

    def arrays(self) -> dict[str, np.ndarray]:
        """Images before and after, by the names of units."""
        before = {f"{each.before.unit} before": each.before.images for each in self.units}
        return before | {f"{each.after.unit} after": each.after.images for each in self.units}


@dataclass(frozen=True)
class MethodRow:
    """Accuracies of one network: of every seed, and of the averaged probabilities of all."""

    network: str
    singles: tuple[float, ...]
    ensemble: float

    @property
    def best(self) -> float:
        """The best single model on test images, as [allenzhu, Fig. 12] reports it: biased upwards."""
        return max(self.singles)


@dataclass(frozen=True)
class MethodTable:
    """Several networks on equal images."""

    rows: tuple[MethodRow, ...]

    def as_json(self) -> dict[str, Any]:
        """All accuracies."""
        return {"rows": [{**asdict(row), "best": row.best} for row in self.rows]}

    def arrays(self) -> dict[str, np.ndarray]:
        """None."""
        return {}


@dataclass(frozen=True)
class CorrectionTables:
    """Measurements of feature correction, one per network and recipe, by their names."""

    tables: dict[str, FeatureCorrection]

    @property
    def missing(self) -> int:
        """Trainings that were not done."""
        return sum(len(table.missing) for table in self.tables.values())

    def as_json(self) -> dict[str, Any]:
        """All numbers of all tables."""
        return {name: table.as_json() for name, table in self.tables.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        """None."""
        return {}


@dataclass(frozen=True)
class Phase:
    """One phase of a training unit by unit, with the weight decay that was better in it.

    Attributes:
        way: whether lower units were frozen ("layer-wise") or trained on ("joint").
        accuracy: on test images, which had no part in the choice.
    """

    way: str
    seed: int
    depth: int
    accuracy: float
    weight_decay: float


@dataclass(frozen=True)
class PhaseTables:
    """Phases of several networks, by their names."""

    tables: dict[str, tuple[Phase, ...]]

    def accuracies(self, network: str, way: str) -> dict[int, list[float]]:
        """Of all seeds, by depth."""
        found: dict[int, list[float]] = {}
        for phase in self.tables[network]:
            if phase.way == way:
                found.setdefault(phase.depth, []).append(phase.accuracy)
        return found

    def as_json(self) -> dict[str, Any]:
        """All phases."""
        return {name: [asdict(phase) for phase in phases] for name, phases in self.tables.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        """None."""
        return {}


@dataclass(frozen=True)
class FigureRun:
    """One experiment that was run.

    Attributes:
        label: whether it had the published size.
        source: of the images.
        result: None if the time was over before it was complete.
        differences: published numbers beside those measured; empty for miniatures.
        notes: what a reader should know.
    """

    name: str
    label: str
    source: str
    result: FigureResult | None
    differences: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all trainings were done."""
        return self.result is not None and not (isinstance(self.result, CorrectionTables) and self.result.missing)

    def as_document(self) -> Document:
        """The numbers, as a dictionary for JSON."""
        return envelope("reproduction") | for_json(
            {
                "work": "allenzhu",
                "number": self.name,
                "label": self.label,
                "images": self.source,
                "is_complete": self.is_complete,
                "result": None if self.result is None else self.result.as_json(),
                "published": self.differences,
                "notes": self.notes,
            }
        )

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write numbers as JSON, and images as NumPy arrays if there are any.

        Raises:
            NotWritten: if the folder cannot be written.
        """
        files: dict[str, bytes | str] = {NUMBERS: as_json(sealed(self.as_document())) + "\n"}
        arrays = {} if self.result is None else self.result.arrays()
        if arrays:
            archive = io.BytesIO()
            np.savez(archive, **arrays)  # type: ignore[arg-type]
            files[ARRAYS] = archive.getvalue()
        return write_files(folder, files)


def mean_cosine(one: np.ndarray, two: np.ndarray) -> float:
    """Mean over the first axis of the cosine between what both hold there."""
    one, two = (each.reshape(len(each), -1).astype(np.float64) for each in (one, two))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    return float(np.mean(np.sum(one * two, axis=1) / np.maximum(lengths, np.finfo(np.float64).tiny)))
