"""Identification of deep networks from queries as printed in [fiedler, Ch. 4], for comparison.

The architecture is given. Hessians near a base point span the squares of all entangled weights, nearly; the
subspace power method finds them; Hessians far away tell the first layer; and the network is written by the found
directions with diagonals and shifts that a descent fits. Errors of the directions are never repaired, so that the
result is a network with errors of about a percent, from which a fit of all weights can start.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput, StageFailed
from unweave.identification.peeling.layer_assignment import LayerAssignment, LayerRows
from unweave.networks.network import Network
from unweave.oracles.oracle import Oracle
from unweave.reproduce.fiedler import deep_diagnostics as checks
from unweave.reproduce.fiedler.deep_labels import Architecture, EntangledRecovery, FarHessianLabels, Labelling
from unweave.reproduce.fiedler.derivative_sources import DIFFERENCE_STEP, DerivativeSource, EntrywiseDifferences
from unweave.reproduce.fiedler.diagonal_descent import Completion, DiagonalDescent, DiagonalLevenbergMarquardt, start
from unweave.reproduce.fiedler.direction_clusters import (
    DirectionClusters,
    half_sphere_clusters,
    leader_clusters,
    without_outputs,
)
from unweave.reproduce.fiedler.entangled_metrics import projector_gap, uniform_error
from unweave.reproduce.fiedler.entangled_recovery import EntangledSearch, measured_span
from unweave.result import Diagnostic, Outcome, Verdict


@dataclass(frozen=True, eq=False)
class DeepReference:
    """What the reference pipeline found, stage by stage; later parts are None where it had to stop.

    Args:
        outcome: identified only if fresh answers agree within the tolerance, else partly or not identified.
        reason: why, in a sentence.
        network: the recovered network with ordinary weights.
        recovery: the first stage.
        clusters: the hidden directions.
        assignment: their layers.
        layers: directions of every layer, the output layer last.
        completion: the fit.
        diagnostics: every assumption that was checked.
        queries: answers asked, by stage.
        seconds: time, by stage; of the span and of the power method on the CPU.
    """

    outcome: Outcome
    reason: str
    network: Network | None
    recovery: EntangledRecovery | None
    clusters: DirectionClusters | None
    assignment: LayerAssignment | None
    layers: LayerRows | None
    completion: Completion | None
    diagnostics: tuple[Diagnostic, ...]
    queries: dict[str, int]
    seconds: dict[str, float]


@dataclass(frozen=True)
class DeepReferenceIdentifier:
    """Settings of the reference pipeline; the defaults are those of [fiedler, Sec. 4.4].

    Args:
        search: of the entangled weights.
        labelling: how layers are told apart.
        completion: the fit of diagonals and shifts.
        samples: Gaussian points for the fit; ``m D^2`` if omitted.
        fresh_points: Gaussian points for the last check.
        uses_leaders: group directions by leaders instead of k-means on a half sphere.
        checks_assumptions: also spend queries on noise, step and radius, which [fiedler] does not.
        tolerance: largest relative error on fresh answers of an identified network.
    """

    search: EntangledSearch = field(default_factory=EntangledSearch)
    labelling: Labelling = field(default_factory=FarHessianLabels)
    completion: DiagonalDescent | DiagonalLevenbergMarquardt = field(default_factory=DiagonalDescent)
    samples: int | None = None
    fresh_points: int = 1_000
    uses_leaders: bool = False
    checks_assumptions: bool = False
    tolerance: float = 1e-6

    def __call__(
        self,
        oracle: Oracle,
        architecture: Architecture,
        *,
        seed: int,
        derivatives: DerivativeSource | None = None,
    ) -> DeepReference:
        """Identify the network behind `oracle`.

        Args:
            oracle: answers everywhere, without noise.
            architecture: widths and activations.
            seed: of all random choices.
            derivatives: where gradients and Hessians come from; `EntrywiseDifferences` if omitted.

        Raises:
            InvalidInput: if oracle and architecture do not fit.

        Assumes: hidden layers that do not widen, pre-activations near the inflection of the activation at the
        base point zero, and entangled weights that are not nearly parallel.
        Guarantees: for the span only [fiedler, Thm. 4.1], and with constants that no experiment meets; labels
        and fit are heuristic. The diagnostics say what was seen.
        """
        if oracle.inputs != architecture.inputs or oracle.outputs not in (None, architecture.outputs):
            raise InvalidInput(f"the oracle has {oracle.inputs} inputs and {oracle.outputs} outputs: {architecture}.")
        run = _ReferenceRun(self, oracle, architecture, np.random.default_rng(seed))
        return run.finished(EntrywiseDifferences(oracle) if derivatives is None else derivatives)


class _ReferenceRun:
    """The state of one run. Lives inside one call only."""

    def __init__(
        self, settings: DeepReferenceIdentifier, oracle: Oracle, architecture: Architecture, rng: np.random.Generator
    ) -> None:
        self.settings, self.oracle, self.architecture, self.rng = settings, oracle, architecture, rng
        self.result = DeepReference(
            Outcome.NOT_IDENTIFIED, "", None, None, None, None, None, None,
            tuple(checks.architecture_limits(architecture)), {}, {},
        )  # fmt: skip

    def finished(self, derivatives: DerivativeSource) -> DeepReference:
        """All stages, or as many as make sense."""
        try:
            self._stop_where_impossible(self.result.diagnostics[:1])
            with self._stage("entangled weights"):
                self._recover(derivatives)
            if self.settings.checks_assumptions:
                with self._stage("checks"):
                    self._check_assumptions(derivatives)
            with self._stage("layers"):
                self._assign(derivatives)
            self._stop_where_impossible(self.result.diagnostics[1:2])
            with self._stage("completion"):
                self._complete()
            with self._stage("fresh answers"):
                self._judge()
        except StageFailed as failure:
            self._update(reason=str(failure))
        return self.result

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        asked, began = self.oracle.ledger.sent, time.perf_counter()
        try:
            yield
        finally:
            queries = self.result.queries | {name: self.oracle.ledger.sent - asked}
            self._update(queries=queries, seconds=self.result.seconds | {name: time.perf_counter() - began})

    def _update(self, **changes: object) -> None:
        self.result = replace(self.result, **changes)

    def _diagnose(self, found: list[Diagnostic]) -> None:
        self._update(diagnostics=(*self.result.diagnostics, *found))

    @staticmethod
    def _stop_where_impossible(diagnostics: tuple[Diagnostic, ...]) -> None:
        for diagnostic in diagnostics:
            if diagnostic.verdict is Verdict.FAIL:
                raise StageFailed(f"{diagnostic.name} is {diagnostic.value:.3g}: {diagnostic.advice}.")

    def _recover(self, derivatives: DerivativeSource) -> None:
        """Find entangled weights at a point [fiedler, Alg. 4.1]."""
        recovery, seconds = self.settings.search(derivatives, self.architecture, self.rng)
        self._update(recovery=recovery, seconds=seconds)
        self._diagnose(checks.recovery_quality(recovery, self.architecture))

    def _assign(self, derivatives: DerivativeSource) -> None:
        """Tell their layers apart [fiedler, Alg. 4.2], or by another labelling."""
        recovery = self._recovery()
        outputs = recovery.output_directions
        apart = without_outputs(recovery.ends.vectors, outputs)
        if len(apart) < self.architecture.hidden:
            raise StageFailed(f"{len(apart)} ends are left for {self.architecture.hidden} hidden neurons.")
        clusters = (
            leader_clusters(apart, np.ones(len(apart)))
            if self.settings.uses_leaders
            else half_sphere_clusters(apart, count=self.architecture.hidden, rng=self.rng)
        )
        self._update(clusters=clusters)
        self._diagnose(checks.direction_quality(clusters.centers, clusters.hits))
        if len(clusters.centers) != self.architecture.hidden:
            raise StageFailed(f"{len(clusters.centers)} directions for {self.architecture.hidden} hidden neurons.")
        assignment = self.settings.labelling(clusters.centers, recovery, derivatives, self.architecture, self.rng)
        self._update(assignment=assignment)
        if assignment.widths != self.architecture.widths:
            raise StageFailed(f"layers of {assignment.widths} directions for widths {self.architecture.widths}.")
        layers: tuple[Atoms, ...] = (*assignment.groups(clusters.centers), outputs)
        self._update(layers=layers)
        by_scores = isinstance(self.settings.labelling, FarHessianLabels)
        self._diagnose(checks.layer_quality(assignment, layers, is_by_scores=by_scores))

    def _complete(self) -> None:
        """The fit of diagonals and shifts (Section 4.3.3)."""
        layers = self.result.layers
        if layers is None:
            raise StageFailed("there are no layers to complete.")
        inputs = self.architecture.inputs
        count = self.settings.samples or self.architecture.neurons * inputs**2
        points = self.rng.standard_normal((count, inputs))
        model, values = start(layers, self.architecture.activations), self.oracle.query(points)
        fit = self.settings.completion
        descends = isinstance(fit, DiagonalDescent)
        completion = fit(model, points, values, rng=self.rng) if descends else fit(model, points, values)
        self._update(completion=completion, network=completion.model.network())

    def _judge(self) -> None:
        """Compare with fresh answers."""
        completion, network = self.result.completion, self.result.network
        if completion is None or network is None:
            raise StageFailed("there is no network to judge.")
        points = self.rng.standard_normal((self.settings.fresh_points, self.architecture.inputs))
        error = uniform_error(network(points), self.oracle.query(points))
        self._diagnose(checks.fit_quality(completion, fresh_error=error, tolerance=self.settings.tolerance))
        self._diagnose(checks.span_bounds(network, self._recovery()))
        is_exact = error <= self.settings.tolerance
        outcome = Outcome.IDENTIFIED if is_exact else Outcome.PARTLY_IDENTIFIED
        self._update(outcome=outcome, reason=f"fresh answers differ by {error:.1e} of the largest at most.")

    def _check_assumptions(self, derivatives: DerivativeSource) -> None:
        """Repeat an answer, halve the step, shrink the radius."""
        recovery = self._recovery()
        twice = np.zeros((2, self.architecture.inputs))
        spread = float(np.max(np.abs(np.diff(self.oracle.query(twice), axis=0))))
        halved = EntrywiseDifferences(self.oracle, step=0.5 * DIFFERENCE_STEP)
        whole = EntrywiseDifferences(self.oracle)
        difference = whole.hessians(recovery.center[None]) - halved.hessians(recovery.center[None])
        # An error of second order falls to a quarter, so that the difference is three quarters of it.
        error = float(np.max(np.linalg.norm(difference[0], axis=1))) * 4.0 / 3.0
        learnability = recovery.subspace.learnability
        self._diagnose(checks.differentiation_quality(learnability=learnability, hessian_error=error, spread=spread))
        points = self.settings.search.points(self.architecture, self.rng, shrunk=1.0 / 3.0)
        _, narrow = measured_span(derivatives, points, rank=self.architecture.visible)
        self._diagnose(checks.radius_quality(projector_gap(recovery.subspace.basis, narrow.basis)))

    def _recovery(self) -> EntangledRecovery:
        if self.result.recovery is None:
            raise StageFailed("there are no entangled weights.")
        return self.result.recovery
