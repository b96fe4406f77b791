"""Steps 1 and 2 of [fiedler, Sec. 4.4] on planted networks, with the metrics of [fiedler, Tables 4.2 to 4.7]."""

import time
from dataclasses import dataclass

import numpy as np

from unweave.exceptions import StageFailed
from unweave.identification.peeling.layer_assignment import LayerAssignment, LayerRows
from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.fiedler.deep.teachers import Teacher, teacher_of
from unweave.reproduce.fiedler.deep_labels import EntangledRecovery, FarHessianLabels, GivenLabels, NullSpaceLabels
from unweave.reproduce.fiedler.derivative_sources import DerivativeSource
from unweave.reproduce.fiedler.direction_clusters import half_sphere_clusters, without_outputs
from unweave.reproduce.fiedler.entangled import target_span
from unweave.reproduce.fiedler.entangled_metrics import (
    false_positives,
    projector_distance,
    rightly_assigned,
    worst_of_found,
    worst_of_truth,
)
from unweave.reproduce.fiedler.entangled_recovery import EntangledSearch

# Radii of far points to try where the first layer does not fit, as [fiedler, Sec. 4.4] advises without naming any.
OTHER_RADII = (300.0, 100.0, 30.0)


@dataclass(frozen=True, eq=False)
class RecoveredTeacher:
    """A planted network after [fiedler, Alg. 4.1].

    Args:
        teacher: what was planted.
        derivatives: where its derivatives come from.
        recovery: what the algorithm returned.
        seconds: CPU seconds of its span and of its power method.
        rng: of the steps that follow.
    """

    teacher: Teacher
    derivatives: DerivativeSource
    recovery: EntangledRecovery
    seconds: dict[str, float]
    rng: np.random.Generator

    def hidden_directions(self) -> np.ndarray:
        """One direction per hidden neuron [fiedler, Alg. 4.2, lines 1 to 4].

        Raises:
            StageFailed: if there are not as many.
        """
        apart, count = without_outputs(self.recovery.ends.vectors, self.recovery.output_directions), self._hidden
        if len(apart) < count:
            raise StageFailed(f"{len(apart)} ends are left for {count} hidden neurons.")
        return half_sphere_clusters(apart, count=count, rng=self.rng).centers

    def assigned(self, directions: np.ndarray, *, radius: float) -> LayerAssignment:
        """Layers as in [fiedler, Sec. 4.4]: by far Hessians, and given by who knows them for four layers."""
        if len(self.teacher.architecture.widths) > 2:
            return self._labels(GivenLabels(self.teacher.layers_of), directions)
        return self._labels(FarHessianLabels(radii=(radius,)), directions)

    def assigned_otherwise(self, directions: np.ndarray, published: LayerAssignment) -> dict[str, LayerAssignment]:
        """Layers with other radii where that of the work does not separate, and by the null space (ours)."""
        by_null_space = {"null_space": self._labels(NullSpaceLabels(counts_layers=True), directions)}
        if len(self.teacher.architecture.widths) > 2:
            return by_null_space
        rules = FarHessianLabels(radii=OTHER_RADII)
        score, gap = rules.accepted
        first_layer = len(self.teacher.directions[0])
        fits = published.gap >= gap and published.spectrum[first_layer - 1] >= score
        return by_null_space | {"radii": published if fits else self._labels(rules, directions)}

    def matrices(self, directions: np.ndarray, assignment: LayerAssignment) -> LayerRows | None:
        """Directions of every layer, the output layer last; none if the widths are wrong."""
        if assignment.widths != self.teacher.architecture.widths:
            return None
        return (*assignment.groups(directions), self.recovery.output_directions)

    def is_right(self, layers: LayerRows | None) -> bool:
        """Whether every direction is in its layer [fiedler, (4.79)]."""
        pairs = zip(layers or (), self.teacher.directions, strict=layers is not None)
        return layers is not None and all(rightly_assigned(one, other) == 1.0 for one, other in pairs)

    @property
    def _hidden(self) -> int:
        return self.teacher.architecture.hidden

    def _labels(
        self, labelling: FarHessianLabels | GivenLabels | NullSpaceLabels, directions: np.ndarray
    ) -> LayerAssignment:
        return labelling(directions, self.recovery, self.derivatives, self.teacher.architecture, self.rng)


def recovered(cell: Cell) -> RecoveredTeacher:
    """Run [fiedler, Alg. 4.1] on the network of a cell."""
    planted, rng = teacher_of(cell), np.random.default_rng(cell.seed)
    derivatives = planted.derivatives(cell.settings["derivatives"])
    recovery, seconds = EntangledSearch()(derivatives, planted.architecture, rng)
    return RecoveredTeacher(planted, derivatives, recovery, seconds, rng)


def measure_entangled_weights(cell: Cell) -> Numbers:
    """Errors of the span and of the ends of the power method [fiedler, Tables 4.2 and 4.3]."""
    found = recovered(cell)
    ends, seen, network = found.recovery.ends.vectors, found.teacher.seen, found.teacher.network
    target = target_span(network, np.zeros(network.inputs))
    errors = {f"error_{layer}": worst_of_truth(ends, rows) for layer, rows in enumerate(seen, start=1)}
    return {
        "subspace": projector_distance(target, found.recovery.subspace.basis),
        **errors,
        "false_positives": false_positives(ends, np.concatenate(seen)),
        "span_seconds": found.seconds["span"],
        "power_seconds": found.seconds["power method"],
    }


def measure_labels(cell: Cell) -> Numbers:
    """Shares of directions in the right layer [fiedler, Tables 4.4 and 4.5], and what other labels achieve."""
    found = recovered(cell)
    began = time.process_time()
    try:
        directions = found.hidden_directions()
    except StageFailed:
        return {"is_right": 0.0}
    published = found.assigned(directions, radius=float(cell.settings["radius"]))
    seconds, layers = time.process_time() - began, found.matrices(directions, published)
    pairs = zip(layers or (), found.teacher.directions, strict=False)
    shares = {f"share_{layer}": rightly_assigned(*pair) for layer, pair in enumerate(pairs, start=1)}
    others = found.assigned_otherwise(directions, published)
    return {
        **shares,
        "is_right": float(found.is_right(layers)),
        "label_seconds": seconds,
        **{
            f"is_right_{name}": float(found.is_right(found.matrices(directions, each))) for name, each in others.items()
        },
    }


def measure_matrices(cell: Cell) -> Numbers:
    """Errors of the final matrices, if all labels are right [fiedler, Tables 4.6 and 4.7]."""
    found = recovered(cell)
    try:
        directions = found.hidden_directions()
    except StageFailed:
        return {"is_right": 0.0}
    layers = found.matrices(directions, found.assigned(directions, radius=float(cell.settings["radius"])))
    if layers is None or not found.is_right(layers):
        return {"is_right": 0.0}
    pairs = zip(layers, found.teacher.directions, strict=True)
    errors = {f"error_{layer}": worst_of_found(*pair) for layer, pair in enumerate(pairs, start=1)}
    return {"is_right": 1.0, **errors}
